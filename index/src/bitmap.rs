//! A set of small numbers, one bit each. What lies beyond its words is not in it.

/// A set of slots, or of documents of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// Empty, with room for numbers below `len`.
    pub(crate) fn with_room(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)] }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, number: u32) {
        let place = number as usize / 64;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        self.words[place] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// How many are in it.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Keeps what is in the other as well.
    pub(crate) fn keep(&mut self, other: &Bitmap) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Takes out what is in the other.
    pub(crate) fn take_out(&mut self, other: &Bitmap) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Adds what is in the other.
    pub(crate) fn add(&mut self, other: &Bitmap) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// What is in it, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(place as u32 * 64 + bit)
            })
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * 8
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
    fn sets_of_unequal_length_combine() {
        let (short, long) = (bitmap(&[1, 63]), bitmap(&[1, 64, 200]));
        let combine = |with: fn(&mut Bitmap, &Bitmap), left: &Bitmap, right: &Bitmap| {
            let mut left = left.clone();
            with(&mut left, right);
            left.iter().collect::<Vec<_>>()
        };
        assert_eq!(combine(Bitmap::keep, &short, &long), [1]);
        assert_eq!(combine(Bitmap::keep, &long, &short), [1]);
        assert_eq!(combine(Bitmap::add, &short, &long), [1, 63, 64, 200]);
        assert_eq!(combine(Bitmap::take_out, &long, &short), [64, 200]);
        assert_eq!(combine(Bitmap::take_out, &short, &long), [63]);
    }

    #[test]
    fn members_come_and_go() {
        let mut set = Bitmap::with_room(10);
        set.insert(130);
        set.insert(3);
        set.remove(3);
        set.remove(9_999);
        assert!(set.contains(130) && !set.contains(3) && !set.contains(9_999));
        assert_eq!(set.count(), 1);
    }
}
