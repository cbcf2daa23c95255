//! Which slots each version changed, as far back as is worth remembering.

use std::collections::VecDeque;

/// More slots than this are not remembered.
const REMEMBERED: usize = 65_536;

/// The slots that the latest versions changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// By version, ascending.
    versions: VecDeque<(u64, Vec<u32>)>,
    slots: usize,
    /// What changed after this version is known.
    known_since: u64,
}

impl Changes {
    pub(crate) fn since(version: u64) -> Changes {
        Changes { known_since: version, ..Changes::default() }
    }

    /// Remembers what a new version changed.
    pub(crate) fn record(&mut self, version: u64, slots: Vec<u32>) {
        self.slots += slots.len();
        self.versions.push_back((version, slots));
        while self.slots > REMEMBERED {
            let Some((version, slots)) = self.versions.pop_front() else { break };
            self.slots -= slots.len();
            self.known_since = version;
        }
    }

    /// The slots in which two versions may differ, ascending; none if that is not known.
    pub(crate) fn between(&self, one: u64, other: u64) -> Option<Vec<u32>> {
        let (low, high) = (one.min(other), one.max(other));
        if low == high {
            return Some(Vec::new());
        }
        if low < self.known_since {
            return None;
        }
        let first = self.versions.partition_point(|(version, _)| *version <= low);
        let last = self.versions.partition_point(|(version, _)| *version <= high);
        let mut slots: Vec<u32> = self.versions.range(first..last).flat_map(|(_, slots)| slots).copied().collect();
        slots.sort_unstable();
        slots.dedup();
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up_in_both_directions_until_forgotten() {
        let mut changes = Changes::since(1);
        changes.record(2, vec![5, 1]);
        changes.record(3, vec![5, 9]);
        assert_eq!(changes.between(1, 3), Some(vec![1, 5, 9]));
        assert_eq!(changes.between(3, 2), Some(vec![5, 9]));
        assert_eq!(changes.between(2, 2), Some(Vec::new()));
        assert_eq!(changes.between(0, 3), None);
        changes.record(4, (0..REMEMBERED as u32).collect());
        assert_eq!(changes.between(2, 4), None);
        assert_eq!(changes.between(3, 4).map(|slots| slots.len()), Some(REMEMBERED));
        changes.record(5, vec![1]);
        assert_eq!(changes.between(3, 5), None);
        assert_eq!(changes.between(4, 5), Some(vec![1]));
    }
}
