//! Wakes the threads that write and merge runs. It does not know their tasks.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Tasks that threads wait for.
#[derive(Default)]
pub(super) struct Signal {
    pending: Mutex<PendingSignals>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct PendingSignals {
    write: bool,
    merge: bool,
    stop: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Task {
    Write,
    Merge,
}

/// The reason why a thread stopped waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// There may be something to do.
    ToWork,
    ToStop,
}

impl Signal {
    /// Wakes the thread that does this task.
    pub(super) fn notify(&self, task: Task) {
        *self.pending.lock().flag(task) = true;
        self.changed.notify_all();
    }

    /// Makes all threads stop.
    pub(super) fn stop(&self) {
        self.pending.lock().stop = true;
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.pending.lock().stop
    }

    /// Waits until it is notified of the task, until `timeout` if there is one, or until it is stopped.
    pub(super) fn wait(&self, task: Task, timeout: Option<Duration>) -> WakeReason {
        let mut pending = self.pending.lock();
        while !pending.stop && !*pending.flag(task) {
            match timeout {
                None => self.changed.wait(&mut pending),
                Some(timeout) if self.changed.wait_for(&mut pending, timeout).timed_out() => break,
                Some(_) => {}
            }
        }
        *pending.flag(task) = false;
        if pending.stop { WakeReason::ToStop } else { WakeReason::ToWork }
    }
}

impl PendingSignals {
    fn flag(&mut self, task: Task) -> &mut bool {
        match task {
            Task::Write => &mut self.write,
            Task::Merge => &mut self.merge,
        }
    }
}
