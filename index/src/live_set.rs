//! The documents of a run that are current copies, or the slots that have a resource. A new version copies only the
//! parts that were written to. It knows no runs.

use crate::bitmap::Bitmap;
use crate::slot_table::SlotTable;

/// A set of documents of one run, or of slots. Cloning is cheap, and a clone does not see later changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSet {
    words: SlotTable<u64>,
}

impl LiveSet {
    pub(crate) fn of(members: &Bitmap) -> LiveSet {
        LiveSet { words: SlotTable::of(members.words()) }
    }

    /// Returns its words, for tests that count the words a write copies.
    #[cfg(test)]
    pub(crate) fn words(&self) -> &SlotTable<u64> {
        &self.words
    }

    pub(crate) fn contains(&self, member: u32) -> bool {
        self.words.get(member / 64) >> (member % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, member: u32) {
        self.words.set(member / 64, self.words.get(member / 64) | 1 << (member % 64));
    }

    pub(crate) fn remove(&mut self, member: u32) {
        self.words.set(member / 64, self.words.get(member / 64) & !(1 << (member % 64)));
    }

    /// Returns the number of members.
    pub(crate) fn count(&self) -> usize {
        self.words.slices().flatten().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the set as a bitmap, which later changes do not affect.
    pub(crate) fn to_bitmap(&self) -> Bitmap {
        Bitmap::of_words(self.words.slices())
    }

    /// Returns whether it shares all memory with another set, which implies equal members.
    pub(crate) fn shares_all(&self, other: &LiveSet) -> bool {
        self.words.shares_all(&other.words)
    }

    /// Emits the numbers that are in this set or in `before`, but not in both, each with whether it is in this set.
    /// Takes little time if one set is a clone of the other with few changes.
    pub(crate) fn each_difference(&self, before: &LiveSet, mut emit: impl FnMut(u32, bool)) {
        self.words.each_difference(&before.words, |index, before, now| {
            let mut differing = before ^ now;
            while differing != 0 {
                let bit = differing.trailing_zeros();
                emit(index * 64 + bit, now >> bit & 1 == 1);
                differing &= differing - 1;
            }
        });
    }

    /// Removes the members of `others` that are not in this set.
    pub(crate) fn retain_in(&self, others: &mut Bitmap) {
        others.intersect_words(self.words.slices());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_documents() {
        let mut live = LiveSet::of(&[1, 64, 70_000].into_iter().collect());
        let before = live.clone();
        live.remove(64);
        live.insert(200_000);
        assert!(before.contains(64) && !before.contains(200_000) && !live.contains(64) && live.contains(200_000));
        assert_eq!((before.count(), live.count()), (3, 3));
        assert!(live.shares_all(&live.clone()) && !live.shares_all(&before));
        let mut differences = Vec::new();
        live.each_difference(&before, |member, is_new| differences.push((member, is_new)));
        assert_eq!(differences, [(64, false), (200_000, true)]);
        let mut documents: Bitmap = [1, 64, 65, 300_000].into_iter().collect();
        live.retain_in(&mut documents);
        assert_eq!(documents.iter().collect::<Vec<_>>(), [1]);
        assert_eq!(live.to_bitmap().iter().collect::<Vec<_>>(), [1, 70_000, 200_000]);
    }
}
