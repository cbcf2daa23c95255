//! A set of small numbers that knows how many of its members are smaller than another. It knows nothing of what the numbers
//! stand for.

use crate::bitmap::Bitmap;

/// An immutable set. The *rank* of a member is how many members are smaller: its index in an array with an entry for each.
#[derive(Debug, Clone)]
pub(crate) struct RankBitmap {
    members: Bitmap,
    /// For each word of the set, how many members are in the words before it.
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

    /// The number of members.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.members.contains(number)
    }

    /// The rank of a member; `None` of another number.
    #[inline]
    pub(crate) fn rank(&self, number: u32) -> Option<usize> {
        let (index, bit) = (number as usize / 64, number % 64);
        let word = *self.members.words().get(index)?;
        let smaller = word & ((1 << bit) - 1);
        (word >> bit & 1 == 1).then(|| self.before[index] as usize + smaller.count_ones() as usize)
    }

    /// The members, ascending, so in the order of their ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.members.iter()
    }

    /// The same members.
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
        assert_eq!(RankBitmap::of(Bitmap::default()).rank(0), None);
    }
}
