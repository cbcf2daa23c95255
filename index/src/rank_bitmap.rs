//! A set of small numbers that can count the members below a number. It does not know the meaning of the numbers.

use crate::bitmap::Bitmap;

/// An immutable set. The *rank* of a member is the number of smaller members: its index in an array with an entry for
/// each.
#[derive(Debug, Clone)]
pub(crate) struct RankBitmap {
    members: Bitmap,
    /// For each word of the set, the number of members in the words before it.
    before: Vec<u32>,
    count: usize,
}

impl RankBitmap {
    pub(crate) fn of(members: Bitmap) -> RankBitmap {
        let mut before = Vec::with_capacity(members.words().len());
        let mut count = 0u32;
        for word in members.words() {
            before.push(count);
            count += word.count_ones();
        }
        RankBitmap { members, before, count: count as usize }
    }

    /// Returns the number of members.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.members.contains(number)
    }

    /// Returns the rank of a member; `None` if the number is not a member.
    #[inline]
    pub(crate) fn rank(&self, number: u32) -> Option<usize> {
        let (index, bit) = (number as usize / 64, number % 64);
        let word = *self.members.words().get(index)?;
        let smaller = word & ((1 << bit) - 1);
        (word >> bit & 1 == 1).then(|| self.before[index] as usize + smaller.count_ones() as usize)
    }

    /// Returns the number of members in a range.
    pub(crate) fn count_in(&self, numbers: std::ops::Range<usize>) -> usize {
        self.below(numbers.end).saturating_sub(self.below(numbers.start))
    }

    /// Returns the number of members below a number.
    fn below(&self, number: usize) -> usize {
        let (index, bit) = (number / 64, number % 64);
        match self.members.words().get(index) {
            Some(word) => self.before[index] as usize + (word & ((1 << bit) - 1)).count_ones() as usize,
            None => self.count,
        }
    }

    /// Returns the size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.members.bytes() + self.before.capacity() * size_of::<u32>()
    }

    /// Returns the members, ascending, so in the order of their ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.members.iter()
    }

    /// Returns the members as a bitmap.
    pub(crate) fn members(&self) -> &Bitmap {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_positions_of_members() {
        let numbers = [0, 3, 63, 64, 127, 128, 500];
        let set = RankBitmap::of(numbers.into_iter().collect());
        assert_eq!(set.count(), numbers.len());
        for number in 0..1_000 {
            assert_eq!(set.rank(number), numbers.iter().position(|member| *member == number), "{number}");
            assert_eq!(set.contains(number), numbers.contains(&number));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), numbers);
        for (start, end) in [(0, 0), (0, 1), (1, 64), (63, 65), (64, 500), (500, 501), (0, 1_000), (900, 1_000)] {
            let inside = numbers.iter().filter(|&&number| (start..end).contains(&(number as usize))).count();
            assert_eq!(set.count_in(start..end), inside, "{start}..{end}");
        }
        assert_eq!(RankBitmap::of(Bitmap::default()).rank(0), None);
    }
}
