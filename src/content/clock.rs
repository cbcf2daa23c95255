//! The time by which reads decide what is published. It never goes back behind a time that the committer has recorded,
//! even if the system's clock does. So a published resource stays published.

use std::sync::atomic::{AtomicI64, Ordering};

use bindery_model::time::Millis;

/// The content's clock.
pub(crate) struct ContentClock {
    source: Box<dyn Fn() -> Millis + Send + Sync>,
    /// The latest time by which the committer decided anything.
    decided: AtomicI64,
}

impl ContentClock {
    /// Makes a clock that is not before the time of the last transaction, and otherwise that of `source`.
    pub(crate) fn new(last_time: Millis, source: impl Fn() -> Millis + Send + Sync + 'static) -> ContentClock {
        ContentClock { source: Box::new(source), decided: AtomicI64::new(last_time) }
    }

    /// Returns the time of the clock itself, which may go back.
    pub(crate) fn shown(&self) -> Millis {
        (self.source)()
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Millis {
        (self.source)().max(self.decided.load(Ordering::Acquire))
    }

    /// Returns the time, for the committer: it never goes back.
    pub(crate) fn decide(&self, last_time: Millis) -> Millis {
        let now = (self.source)().max(last_time);
        now.max(self.decided.fetch_max(now, Ordering::AcqRel))
    }
}

impl std::fmt::Debug for ContentClock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ContentClock").field("decided", &self.decided).finish()
    }
}
