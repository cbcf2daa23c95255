//! The time by which reads decide what is published. It never goes back behind a time that the committer has recorded,
//! even if the system's clock does. So a published resource stays published.

use std::sync::atomic::{AtomicI64, Ordering};

use bindery_model::time::{Millis, now_millis};

/// The content's clock.
#[derive(Debug)]
pub(crate) struct ContentClock {
    /// The latest time by which the committer decided anything.
    decided: AtomicI64,
}

impl ContentClock {
    /// Makes a clock that is not before the time of the last transaction.
    pub(crate) fn new(last_time: Millis) -> ContentClock {
        ContentClock { decided: AtomicI64::new(last_time) }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Millis {
        now_millis().max(self.decided.load(Ordering::Acquire))
    }

    /// Returns the time, for the committer: it never goes back.
    pub(crate) fn decide(&self, last_time: Millis) -> Millis {
        let now = now_millis().max(last_time);
        now.max(self.decided.fetch_max(now, Ordering::AcqRel))
    }
}
