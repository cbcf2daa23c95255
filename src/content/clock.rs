//! The time by which reads decide what is published. It never goes back behind what the committer has recorded, even if the
//! system's clock does: what was reported as published stays so.

use std::sync::atomic::{AtomicI64, Ordering};

use bindery_model::time::{Millis, now_millis};

/// The content's clock.
#[derive(Debug)]
pub(crate) struct ContentClock {
    /// The latest time by which the committer decided anything.
    decided: AtomicI64,
}

impl ContentClock {
    /// A clock that is not before the time of the last transaction.
    pub(crate) fn new(last_time: Millis) -> ContentClock {
        ContentClock { decided: AtomicI64::new(last_time) }
    }

    /// The time.
    pub(crate) fn now(&self) -> Millis {
        now_millis().max(self.decided.load(Ordering::Acquire))
    }

    /// The time, for the committer: it never goes back.
    pub(crate) fn decide(&self, last_time: Millis) -> Millis {
        let now = now_millis().max(last_time);
        now.max(self.decided.fetch_max(now, Ordering::AcqRel))
    }
}
