//! An array of integers, in memory or in place in a file. It does not know their meaning.

use std::ops::Range;

use crate::run::checked::CheckedBytes;
use crate::run::sections::array;

/// Integers of a fixed width, little-endian in a file.
#[derive(Debug)]
pub(crate) enum Array<T> {
    Kept(Vec<T>),
    Stored(CheckedBytes),
}

/// An integer of an [`Array`].
pub(crate) trait Element: Copy + Default {
    const BYTES: usize;

    fn read(bytes: &[u8]) -> Self;
}

impl Element for u32 {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(array(bytes))
    }
}

impl Element for u64 {
    const BYTES: usize = 8;

    fn read(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(array(bytes))
    }
}

impl Element for u128 {
    const BYTES: usize = 16;

    fn read(bytes: &[u8]) -> u128 {
        u128::from_le_bytes(array(bytes))
    }
}

impl<T> Default for Array<T> {
    fn default() -> Array<T> {
        Array::Kept(Vec::new())
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(elements: Vec<T>) -> Array<T> {
        Array::Kept(elements)
    }
}

impl<T: Element> Array<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Array::Kept(elements) => elements.len(),
            Array::Stored(bytes) => bytes.len() / T::BYTES,
        }
    }

    /// Returns an element. Returns zero if it does not exist, or if it is damaged, which is reported.
    #[inline]
    pub(super) fn get(&self, index: usize) -> T {
        match self {
            Array::Kept(elements) => elements.get(index).copied().unwrap_or_default(),
            Array::Stored(bytes) => bytes.get(index * T::BYTES..(index + 1) * T::BYTES).map_or(T::default(), T::read),
        }
    }

    /// Emits the elements of a range, which is faster than getting each. Emits none if any is damaged, which is
    /// reported.
    pub(super) fn each(&self, range: Range<usize>, emit: impl FnMut(T)) {
        match self {
            Array::Kept(elements) => elements.get(range).unwrap_or_default().iter().copied().for_each(emit),
            Array::Stored(bytes) => {
                let bytes = bytes.get(range.start * T::BYTES..range.end * T::BYTES).unwrap_or_default();
                bytes.chunks_exact(T::BYTES).map(T::read).for_each(emit);
            }
        }
    }

    /// Returns the size in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Array::Kept(elements) => elements.capacity() * T::BYTES,
            Array::Stored(_) => 0,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}
