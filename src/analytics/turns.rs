//! The turns of filtered reports. It does not know what they read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bindery_model::error::{Code, Error, Result};
use parking_lot::{Mutex, MutexGuard};

/// The time that a report may wait for others.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The number of reports that may wait.
const MAX_WAITING: usize = 32;

/// Lets one filtered report at a time read visits: each takes a core and the memory of a day.
#[derive(Default)]
pub(super) struct Turns {
    waiting: AtomicUsize,
    turn: Mutex<()>,
}

impl Turns {
    /// Waits for a turn.
    ///
    /// Errors: `OVERLOADED` if too many reports wait already, or if the wait takes too long.
    pub(super) fn take(&self) -> Result<MutexGuard<'_, ()>> {
        let is_free = self.waiting.fetch_add(1, Ordering::AcqRel) < MAX_WAITING;
        let turn = if is_free { self.turn.try_lock_for(MAX_WAIT) } else { None };
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        turn.ok_or_else(|| {
            Error::new(Code::Overloaded, "too many reports with filters are being made; try again in a moment")
        })
    }
}
