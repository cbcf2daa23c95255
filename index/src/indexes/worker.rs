//! The two threads behind all indexes: one writes frozen memory runs, so that writers need not wait; the other merges
//! disk runs, which may take long. They know no checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Shared;
use super::store::Store;
use crate::error::Error;

/// How long to wait after a fault.
const AFTER_FAULT: Duration = Duration::from_secs(5);

/// What the threads are told.
#[derive(Default)]
pub(super) struct Signal {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct Told {
    write: bool,
    merge: bool,
    stop: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Work {
    Write,
    Merge,
}

impl Signal {
    /// There is something to do.
    pub(super) fn tell(&self, work: Work) {
        *self.told.lock().flag(work) = true;
        self.changed.notify_all();
    }

    /// There will be nothing to do any more.
    pub(super) fn stop(&self) {
        self.told.lock().stop = true;
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.told.lock().stop
    }

    /// Waits for work, at most so long. False if it is to stop.
    fn wait(&self, work: Work, longest: Option<Duration>) -> bool {
        let mut told = self.told.lock();
        while !told.stop && !*told.flag(work) {
            match longest {
                None => self.changed.wait(&mut told),
                Some(longest) if self.changed.wait_for(&mut told, longest).timed_out() => break,
                Some(_) => {}
            }
        }
        *told.flag(work) = false;
        !told.stop
    }
}

impl Told {
    fn flag(&mut self, work: Work) -> &mut bool {
        match work {
            Work::Write => &mut self.write,
            Work::Merge => &mut self.merge,
        }
    }
}

/// Writes frozen runs until it is told to stop. While they cannot be written, nobody waits for that.
pub(super) fn write_runs(shared: &Arc<Shared>) {
    let mut longest = None;
    while shared.signal.wait(Work::Write, longest) {
        longest = None;
        for (_, store) in shared.stores() {
            match guarded(&store, Store::write_waiting) {
                Some(0) => {}
                Some(_) => {
                    store.index.set_unbounded(false);
                    shared.signal.tell(Work::Merge);
                }
                None => {
                    store.index.set_unbounded(true);
                    longest = Some(AFTER_FAULT);
                }
            }
        }
    }
}

/// Merges runs until it is told to stop.
pub(super) fn merge_runs(shared: &Arc<Shared>) {
    let mut longest = None;
    while shared.signal.wait(Work::Merge, longest) {
        longest = None;
        for (_, store) in shared.stores() {
            while !shared.signal.is_stopped() {
                match guarded(&store, Store::merge_one) {
                    Some(true) => {}
                    Some(false) => break,
                    None => {
                        longest = Some(AFTER_FAULT);
                        break;
                    }
                }
            }
        }
    }
}

/// The answer, or none and a word in the log if it fails in whatever way: a thread must not end by that.
fn guarded<T>(store: &Store, work: impl FnOnce(&Store) -> Result<T, Error>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| work(store))) {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::error!("runs of an index cannot be written: {error}");
            None
        }
        Err(_) => {
            tracing::error!("writing runs of the index in {} panicked", store.folder.display());
            None
        }
    }
}
