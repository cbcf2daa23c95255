//! The decision whether a checkpoint is due, and whether a base is written with it. Must not know how they are written.

use std::time::Duration;

/// The approximate size of the log after which a checkpoint is due. It limits the part of the log that a start has to
/// replay.
const CHECKPOINT_LOG_BYTES: u64 = 32 << 20;

/// The time after which a changed store is due for a checkpoint.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// The size of the log since the last base that makes a new base due, if it also exceeds the size of that base.
const BASE_LOG_BYTES: u64 = 256 << 20;

/// The time without a write after which a quarter of that size is enough. The log takes more space than the same data
/// in a base, and an import is often followed by days without one.
const IDLE_AFTER: Duration = Duration::from_secs(120);

/// The amount written since the last checkpoint and the last base.
pub(super) struct Situation {
    /// True if there was a transaction since the last checkpoint.
    pub(super) is_changed: bool,
    /// True if a checkpoint was requested.
    pub(super) is_wanted: bool,
    /// True if an index was rebuilt since the last checkpoint.
    pub(super) has_rebuilt_index: bool,
    /// True if parts of an index were merged since the last checkpoint, which still names what was merged.
    pub(super) has_merged: bool,
    /// The time since the last checkpoint was begun.
    pub(super) waited: Duration,
    /// The size of the log since the last checkpoint.
    pub(super) log_bytes: u64,
    /// The size of the log since the last base.
    pub(super) log_bytes_since_base: u64,
    /// True if the log needs a newer base for another reason.
    pub(super) needs_base: bool,
    /// The size of the last base; 0 without one.
    pub(super) base_bytes: u64,
}

impl Situation {
    /// Is true if a checkpoint is due. If nothing was written since the last one, only a rebuilt index, merges or a
    /// base make it due: after merges, the space of what was merged becomes free, and a start need not merge again.
    pub(super) fn is_due(&self) -> bool {
        if self.has_rebuilt_index {
            true
        } else if self.is_changed {
            self.is_wanted || self.log_bytes > CHECKPOINT_LOG_BYTES || self.waited > CHECKPOINT_INTERVAL
        } else {
            self.has_merged && self.waited > CHECKPOINT_INTERVAL || self.is_base_due() && self.waited > IDLE_AFTER
        }
    }

    /// Returns whether a checkpoint that is written now is followed by a base.
    pub(super) fn is_base_due(&self) -> bool {
        let busy = BASE_LOG_BYTES.max(self.base_bytes);
        let is_idle = !self.is_changed && self.waited > IDLE_AFTER;
        self.needs_base || self.log_bytes_since_base > if is_idle { busy / 4 } else { busy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Makes a situation. The numbers are seconds since the last checkpoint, and MiB of the log since then, of the log
    /// since the base, and of that base.
    fn situation(is_changed: bool, seconds: u64, log: u64, log_since_base: u64, base: u64) -> Situation {
        Situation {
            is_changed,
            is_wanted: false,
            has_rebuilt_index: false,
            has_merged: false,
            waited: Duration::from_secs(seconds),
            log_bytes: log * MIB,
            log_bytes_since_base: log_since_base * MIB,
            needs_base: false,
            base_bytes: base * MIB,
        }
    }

    #[test]
    fn a_checkpoint_is_due_by_time_or_size_and_a_base_by_size_which_is_smaller_while_nothing_is_written() {
        let (nothing, checkpoint, with_base) = ((false, false), (true, false), (true, true));
        let cases = [
            ("just written", situation(true, 1, 1, 1, 0), nothing),
            ("written some time ago", situation(true, 31, 1, 1, 0), checkpoint),
            ("much was written", situation(true, 1, 33, 33, 0), checkpoint),
            ("more than the first base needs", situation(true, 1, 33, 257, 0), with_base),
            ("less than the base has", situation(true, 1, 33, 900, 1000), checkpoint),
            ("more than the base has", situation(true, 1, 33, 1001, 1000), with_base),
            ("nothing written for a minute", situation(false, 60, 0, 300, 1000), nothing),
            ("nothing written for two minutes", situation(false, 121, 0, 251, 1000), with_base),
            ("nothing written for days, and little before", situation(false, 200_000, 0, 249, 1000), nothing),
            ("nothing written for days, and no base", situation(false, 200_000, 0, 65, 0), with_base),
        ];
        for (what, situation, expected) in cases {
            let is_due = situation.is_due();
            assert_eq!((is_due, is_due && situation.is_base_due()), expected, "{what}");
        }
        let wanted = Situation { is_wanted: true, ..situation(true, 1, 1, 1, 0) };
        assert!(wanted.is_due() && !wanted.is_base_due());
        let merged = |seconds| Situation { has_merged: true, ..situation(false, seconds, 0, 300, 1000) };
        let is_due = |situation: Situation| (situation.is_due(), situation.is_base_due());
        assert_eq!(is_due(merged(29)), (false, false));
        assert_eq!(is_due(merged(31)), (true, false), "merges are no reason for a base");
        assert_eq!(is_due(merged(121)), (true, true));
        let incomplete = |seconds| Situation { needs_base: true, ..situation(true, seconds, 1, 1, 1000) };
        assert_eq!(is_due(incomplete(1)), (false, true), "the next checkpoint makes one");
        assert_eq!(is_due(incomplete(31)), (true, true));
        let rebuilt = Situation { has_rebuilt_index: true, ..situation(false, 1, 0, 1, 0) };
        assert!(rebuilt.is_due() && !rebuilt.is_base_due());
    }
}
