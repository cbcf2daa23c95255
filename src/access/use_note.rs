//! When it is due to note that a token or a session is used: a request that reads must not cause a write. Must not know what
//! is used.

use std::sync::atomic::{AtomicI64, Ordering};

use bindery_model::time::Millis;

/// A use is noted again only after this time.
pub(super) const NOTED_AFTER: Millis = 3_600_000;

/// A note that is not there after this time is tried again: a disk that is full would otherwise be asked by every request.
const RETRIED_AFTER: Millis = 60_000;

/// The moment from which on the next use is to be noted.
#[derive(Debug)]
pub(super) struct UseNote {
    due: AtomicI64,
}

impl UseNote {
    /// For something that was last noted to be used at this moment.
    pub(super) fn new(used_at: Option<Millis>) -> UseNote {
        UseNote { due: AtomicI64::new(used_at.map_or(Millis::MIN, |used_at| used_at + NOTED_AFTER)) }
    }

    /// True if a use is to be noted now. True for one caller only, until it is tried again.
    pub(super) fn begins(&self, now: Millis) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        let next = now.saturating_add(RETRIED_AFTER);
        now >= due && self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_an_hour_by_one_request_and_tried_again_after_a_minute() {
        let note = UseNote::new(Some(1_000));
        let due = 1_000 + NOTED_AFTER;
        assert!(!note.begins(due - 1));
        assert!(note.begins(due) && !note.begins(due) && !note.begins(due + RETRIED_AFTER - 1));
        assert!(note.begins(due + RETRIED_AFTER) && !note.begins(due + RETRIED_AFTER));
        assert!(UseNote::new(None).begins(0), "the first use is noted at once");
    }
}
