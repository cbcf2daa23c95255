//! Wakes the threads that write and merge runs. It does not know their tasks.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::interrupt::StopSign;

/// Tasks that threads wait for.
#[derive(Default)]
pub(super) struct Signal {
    pending: Mutex<PendingSignals>,
    /// Set when all threads are to stop.
    stop: StopSign,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct PendingSignals {
    write: bool,
    merge: bool,
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
    /// The time to wait was over.
    TimedOut,
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
        let pending = self.pending.lock();
        self.stop.set();
        drop(pending);
        self.changed.notify_all();
    }

    /// Returns the sign that is set when all threads are to stop.
    pub(super) fn stop_sign(&self) -> &StopSign {
        &self.stop
    }

    /// Waits until it is notified of the task, until `timeout` if there is one, or until it is stopped.
    pub(super) fn wait(&self, task: Task, timeout: Option<Duration>) -> WakeReason {
        let mut pending = self.pending.lock();
        while !self.stop.is_set() && !*pending.flag(task) {
            match timeout {
                None => self.changed.wait(&mut pending),
                Some(timeout) if self.changed.wait_for(&mut pending, timeout).timed_out() => break,
                Some(_) => {}
            }
        }
        let is_notified = std::mem::take(pending.flag(task));
        match self.stop.is_set() {
            true => WakeReason::ToStop,
            false if is_notified => WakeReason::ToWork,
            false => WakeReason::TimedOut,
        }
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
