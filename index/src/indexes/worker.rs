//! The two background threads of all indexes. One writes frozen memory runs; the other merges disk runs, which may take
//! long and must not delay the first. They know no checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::index_folder::{IndexFolder, MergeOutcome};
use super::registry::Registry;
use super::signal::{Task, WakeReason};
use crate::error::Error;
use crate::priority;

/// The time to wait after an error before trying again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Writes frozen runs until it is stopped. While writing fails, writers do not wait for it.
pub(super) fn write_runs(registry: &Registry) {
    priority::lower();
    let mut timeout = None;
    while registry.signal.wait(Task::Write, timeout) == WakeReason::ToWork {
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

/// Merges runs until it is stopped.
pub(super) fn merge_runs(registry: &Registry) {
    priority::lower();
    let mut timeout = None;
    while registry.signal.wait(Task::Merge, timeout) == WakeReason::ToWork {
        timeout = None;
        for folder in registry.folders() {
            while !registry.signal.is_stopped() {
                match guarded(&folder, IndexFolder::merge_once) {
                    Some(MergeOutcome::Merged) => {
                        registry.merges.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(MergeOutcome::NothingToDo) => break,
                    None => {
                        timeout = Some(RETRY_AFTER);
                        break;
                    }
                }
            }
        }
    }
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
