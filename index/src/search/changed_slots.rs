//! The slots that recent versions changed. It does not know the contents of a slot.

use std::collections::VecDeque;

/// The total number of slots beyond which the oldest versions are forgotten.
const MAX_SLOTS: usize = 65_536;
/// Once this many slots were forgotten, the results that need them are dropped: finding them looks at all results.
const MANY_FORGOTTEN: usize = MAX_SLOTS / 8;

/// The slots that recent versions changed.
#[derive(Debug, Default)]
pub(super) struct ChangedSlots {
    /// The changes by version, ascending.
    versions: VecDeque<VersionChange>,
    /// The total number of listed slots.
    slot_count: usize,
    /// The version after which all changes are known.
    known_since: u64,
    /// The number of slots forgotten since [`ChangedSlots::newly_forgotten`] returned a version.
    forgotten: usize,
}

#[derive(Debug)]
struct VersionChange {
    version: u64,
    slots: Vec<u32>,
}

impl ChangedSlots {
    /// Creates a record in which the changes of `version` and earlier ones are unknown.
    pub(super) fn since(version: u64) -> ChangedSlots {
        ChangedSlots { known_since: version, forgotten: MANY_FORGOTTEN, ..ChangedSlots::default() }
    }

    /// Records the slots that a new version changed.
    pub(super) fn record(&mut self, version: u64, slots: Vec<u32>) {
        self.slot_count += slots.len();
        self.versions.push_back(VersionChange { version, slots });
        while self.slot_count > MAX_SLOTS {
            let Some(VersionChange { version, slots }) = self.versions.pop_front() else { break };
            self.slot_count -= slots.len();
            self.forgotten += slots.len();
            self.known_since = version;
        }
    }

    /// Returns the version after which all changes are known, if many were forgotten since the last time.
    pub(super) fn newly_forgotten(&mut self) -> Option<u64> {
        if self.forgotten < MANY_FORGOTTEN {
            return None;
        }
        self.forgotten = 0;
        Some(self.known_since)
    }

    /// Returns the slots in which two versions may differ, ascending; `None` if they are unknown.
    pub(super) fn between(&self, one: u64, other: u64) -> Option<Vec<u32>> {
        let (low, high) = (one.min(other), one.max(other));
        if low == high {
            return Some(Vec::new());
        }
        if low < self.known_since {
            return None;
        }
        let first = self.versions.partition_point(|change| change.version <= low);
        let last = self.versions.partition_point(|change| change.version <= high);
        let mut slots: Vec<u32> = self.versions.range(first..last).flat_map(|change| &change.slots).copied().collect();
        slots.sort_unstable();
        slots.dedup();
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_accumulate_in_both_directions_until_forgotten() {
        let mut changed = ChangedSlots::since(1);
        changed.record(2, vec![5, 1]);
        changed.record(3, vec![5, 9]);
        assert_eq!(changed.between(1, 3), Some(vec![1, 5, 9]));
        assert_eq!(changed.between(3, 2), Some(vec![5, 9]));
        assert_eq!(changed.between(2, 2), Some(Vec::new()));
        assert_eq!(changed.between(0, 3), None);
        changed.record(4, (0..MAX_SLOTS as u32).collect());
        assert_eq!(changed.between(2, 4), None);
        assert_eq!(changed.between(3, 4).map(|slots| slots.len()), Some(MAX_SLOTS));
        changed.record(5, vec![1]);
        assert_eq!(changed.between(3, 5), None);
        assert_eq!(changed.between(4, 5), Some(vec![1]));
        assert_eq!([changed.newly_forgotten(), changed.newly_forgotten()], [Some(4), None]);
        changed.record(6, (0..MAX_SLOTS as u32).collect());
        assert_eq!(changed.newly_forgotten(), None, "a single slot was forgotten");
        changed.record(7, vec![1]);
        assert_eq!(changed.newly_forgotten(), Some(6));
    }
}
