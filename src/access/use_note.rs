//! Decides when the use of a token or a session must be noted. Uses are noted rarely, because a read must not cause a
//! write. Must not know the thing that is used.

use std::sync::atomic::{AtomicI64, Ordering};

use bindery_model::time::Millis;

/// The minimum time between two notes of uses.
pub(super) const NOTED_AFTER: Millis = 3_600_000;

/// The time after which a failed note is tried again. Without it, every request would try to write to a full disk.
const RETRIED_AFTER: Millis = 60_000;

/// The moment from which on the next use must be noted.
#[derive(Debug)]
pub(super) struct UseNote {
    due: AtomicI64,
}

impl UseNote {
    /// Makes the note for something whose last noted use was at `used_at`.
    pub(super) fn new(used_at: Option<Millis>) -> UseNote {
        UseNote { due: AtomicI64::new(used_at.map_or(Millis::MIN, |used_at| used_at + NOTED_AFTER)) }
    }

    /// Is true if a use must be noted now. Only one caller gets true, until the note is due again.
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
