//! The two background threads of all indexes. One writes frozen memory runs; the other merges disk runs, which may take
//! long and must not delay the first. They know no checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::index_folder::{IndexFolder, MergeOutcome, MergePace};
use super::registry::Registry;
use super::signal::{Task, WakeReason};
use crate::error::Error;
use crate::priority;

/// The time to wait after an error before trying again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Writes frozen runs until it is stopped. While writing fails, writers do not wait for it. Its priority is that of
/// threads that answer requests: beside many readers it would otherwise fall behind, and writers would wait for it.
pub(super) fn write_runs(registry: &Registry) {
    let mut timeout = None;
    while registry.signal.wait(Task::Write, timeout) != WakeReason::ToStop {
        timeout = None;
        for folder in registry.folders() {
            match guarded(&folder, IndexFolder::write_all_frozen) {
                Some(0) => {}
                Some(_) => {
                    folder.index.enable_backpressure();
                    registry.signal.notify(Task::Merge);
                }
                None => {
                    folder.index.disable_backpressure();
                    timeout = Some(RETRY_AFTER);
                }
            }
        }
    }
}

/// Merges runs until it is stopped. Once no run was written for a while, merges more than what is due.
pub(super) fn merge_runs(registry: &Registry) {
    priority::lower();
    let mut after = None;
    loop {
        let pace = match (registry.signal.wait(Task::Merge, after.map(|(timeout, _)| timeout)), after) {
            (WakeReason::ToStop, _) => return,
            (WakeReason::TimedOut, Some((_, pace))) => pace,
            _ => MergePace::Busy,
        };
        after = match (merge_all(registry, pace), pace) {
            (None, _) => Some((RETRY_AFTER, pace)),
            (Some(_), MergePace::Busy) => Some((registry.options.quiet_after, MergePace::Quiet)),
            (Some(true), MergePace::Quiet) => Some((Duration::ZERO, MergePace::Quiet)),
            (Some(false), MergePace::Quiet) => None,
        };
    }
}

/// Merges what is due in all indexes; at most one merge in each if they are quiet, because a run may be written
/// meanwhile. Returns whether anything was merged; `None` if that failed.
fn merge_all(registry: &Registry, pace: MergePace) -> Option<bool> {
    let mut is_merged = Some(false);
    for folder in registry.folders() {
        let stop = registry.signal.stop_sign();
        while !stop.is_set() {
            match guarded(&folder, |folder| folder.merge_once(pace, stop)) {
                Some(MergeOutcome::Merged) => {
                    registry.merges.fetch_add(1, Ordering::Relaxed);
                    is_merged = is_merged.map(|_| true);
                }
                Some(MergeOutcome::NothingToDo | MergeOutcome::Stopped) => break,
                None => {
                    is_merged = None;
                    break;
                }
            }
            if pace == MergePace::Quiet {
                break;
            }
        }
    }
    is_merged
}

/// Runs the work. Returns `None`, after an error in the log, if it fails or panics, because that must not end the
/// thread.
fn guarded<T>(folder: &IndexFolder, work: impl FnOnce(&IndexFolder) -> Result<T, Error>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| work(folder))) {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            tracing::error!("cannot write or merge runs of the index: {error}");
            None
        }
        Err(_) => {
            tracing::error!("writing or merging runs of the index in {} panicked", folder.path.display());
            None
        }
    }
}
