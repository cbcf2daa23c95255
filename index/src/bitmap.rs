//! A set of small numbers with a bit for each. It does not know the meaning of the numbers.

/// The number of words read between two calls of `check`.
const WORDS_AT_ONCE: usize = 256;

/// A set of slots, or of the documents of a run. Numbers beyond its last word are not members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// Makes an empty set with room for the numbers below `len`.
    pub(crate) fn with_room(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)] }
    }

    /// Returns the set whose bits are in these words. The smallest number is the lowest bit of the first word.
    pub(crate) fn of_words<'a>(slices: impl Iterator<Item = &'a [u64]>) -> Bitmap {
        let mut words = Vec::new();
        slices.for_each(|slice| words.extend_from_slice(slice));
        Bitmap { words }
    }

    /// Returns its words; see [`Bitmap::of_words`].
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, number: u32) {
        let index = number as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.words[index] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Removes the members from `end` on.
    pub(crate) fn truncate(&mut self, end: u32) {
        let words = (end as usize).div_ceil(64);
        if words <= self.words.len() {
            self.words.truncate(words);
            if let Some(last) = self.words.last_mut().filter(|_| !end.is_multiple_of(64)) {
                *last &= (1 << (end % 64)) - 1;
            }
        }
    }

    /// Returns the number of members.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns whether the two sets have a common member.
    pub(crate) fn meets(&self, other: &Bitmap) -> bool {
        self.words.iter().zip(&other.words).any(|(word, other)| word & other != 0)
    }

    /// Removes the members that the other set lacks.
    pub(crate) fn intersect(&mut self, other: &Bitmap) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Removes the members that these words lack; see [`Bitmap::of_words`].
    pub(crate) fn intersect_words<'a>(&mut self, slices: impl Iterator<Item = &'a [u64]>) {
        let mut rest = &mut self.words[..];
        for slice in slices {
            let (words, after) = rest.split_at_mut(slice.len().min(rest.len()));
            words.iter_mut().zip(slice).for_each(|(word, other)| *word &= other);
            rest = after;
        }
        rest.fill(0);
    }

    /// Removes the members of the other set.
    pub(crate) fn subtract(&mut self, other: &Bitmap) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Adds the members of the other set.
    pub(crate) fn union(&mut self, other: &Bitmap) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Adds the numbers from `first` on whose bits are set in a word, the lowest for `first` itself.
    pub(crate) fn insert_word(&mut self, first: u32, word: u64) {
        let (index, bits) = (first as usize / 64, first % 64);
        // A shift by 64 is no shift.
        let parts = [word << bits, (word >> 1) >> (63 - bits)];
        for (index, part) in (index..).zip(parts) {
            if part != 0 {
                if index >= self.words.len() {
                    self.words.resize(index + 1, 0);
                }
                self.words[index] |= part;
            }
        }
    }

    /// Returns the members among the 64 numbers from `first` on; see [`Bitmap::insert_word`].
    pub(crate) fn word(&self, first: u32) -> u64 {
        let (index, bits) = (first as usize / 64, first % 64);
        let at = |index: usize| self.words.get(index).copied().unwrap_or(0);
        at(index) >> bits | (at(index + 1) << 1) << (63 - bits)
    }

    /// Emits the members, ascending. `check` is called before each few thousand of them, and ends it if it fails.
    pub(crate) fn each<E>(&self, check: impl Fn() -> Result<(), E>, mut emit: impl FnMut(u32)) -> Result<(), E> {
        for (part, words) in (0u32..).zip(self.words.chunks(WORDS_AT_ONCE)) {
            check()?;
            for (index, &word) in (part * WORDS_AT_ONCE as u32..).zip(words) {
                let mut rest = word;
                while rest != 0 {
                    emit(index * 64 + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
        }
        Ok(())
    }

    /// Returns the members, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }

    /// Returns the size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

impl From<Vec<u64>> for Bitmap {
    /// Returns the set whose bits are in these words; see [`Bitmap::of_words`].
    fn from(words: Vec<u64>) -> Bitmap {
        Bitmap { words }
    }
}

impl FromIterator<u32> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Bitmap {
        let mut bitmap = Bitmap::default();
        for number in numbers {
            bitmap.insert(number);
        }
        bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(numbers: &[u32]) -> Bitmap {
        numbers.iter().copied().collect()
    }

    #[test]
    fn sets_of_different_lengths_combine() {
        let (short, long) = (bitmap(&[1, 63]), bitmap(&[1, 64, 200]));
        let combine = |with: fn(&mut Bitmap, &Bitmap), left: &Bitmap, right: &Bitmap| {
            let mut left = left.clone();
            with(&mut left, right);
            left.iter().collect::<Vec<_>>()
        };
        assert_eq!(combine(Bitmap::intersect, &short, &long), [1]);
        assert_eq!(combine(Bitmap::intersect, &long, &short), [1]);
        assert_eq!(combine(Bitmap::union, &short, &long), [1, 63, 64, 200]);
        assert_eq!(combine(Bitmap::subtract, &long, &short), [64, 200]);
        assert_eq!(combine(Bitmap::subtract, &short, &long), [63]);
    }

    #[test]
    fn words_are_read_and_added_at_any_number() {
        let members = [2, 5, 63, 64, 70, 127, 130, 500];
        for first in [0, 1, 5, 63, 64, 65, 130, 437, 500, 501, 10_000] {
            let set = bitmap(&members);
            let expected: Vec<u32> =
                members.into_iter().filter(|member| (first..first + 64).contains(member)).collect();
            let mut read = Bitmap::default();
            read.insert_word(first, set.word(first));
            assert_eq!(read.iter().collect::<Vec<_>>(), expected, "{first}");
            let mut more = set.clone();
            more.insert_word(first, 1 | 1 << 63);
            let mut expected: Vec<u32> = members.into_iter().chain([first, first + 63]).collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(more.iter().collect::<Vec<_>>(), expected, "{first}");
        }
    }

    #[test]
    fn sets_are_cut_off() {
        for end in [0, 1, 63, 64, 65, 70, 71, 900] {
            let mut set = bitmap(&[0, 63, 64, 70, 130]);
            let expected: Vec<u32> = set.iter().filter(|member| *member < end).collect();
            set.truncate(end);
            assert_eq!(set.iter().collect::<Vec<_>>(), expected, "{end}");
        }
    }

    #[test]
    fn members_are_emitted_until_a_check_fails() {
        let set = bitmap(&[1, 64, 40_000, 900_000]);
        let mut found = Vec::new();
        assert_eq!(set.each(|| Ok::<_, ()>(()), |member| found.push(member)), Ok(()));
        assert_eq!(found, [1, 64, 40_000, 900_000]);
        assert_eq!(set.each(|| Err(()), |_| unreachable!("the check failed")), Err(()));
    }

    #[test]
    fn members_can_be_inserted_and_removed() {
        let mut set = Bitmap::with_room(10);
        set.insert(130);
        set.insert(3);
        set.remove(3);
        set.remove(9_999);
        assert!(set.contains(130) && !set.contains(3) && !set.contains(9_999));
        assert_eq!(set.count(), 1);
    }
}
