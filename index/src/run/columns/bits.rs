//! A bit for each document, read in place. It does not know the meaning of the bits.

use crate::bitmap::Bitmap;
use crate::run::checked::CheckedBytes;
use crate::run::sections::array;

/// Bits in little-endian words of 64. The bits after the last document are zero.
pub(crate) struct Bits(CheckedBytes);

impl Bits {
    /// Returns the number of bytes that hold a bit for each of `documents`.
    pub(super) fn bytes(documents: usize) -> usize {
        documents.div_ceil(64) * 8
    }

    /// Creates the bits. The length of `bytes` must be a multiple of 8.
    pub(super) fn new(bytes: CheckedBytes) -> Bits {
        Bits(bytes)
    }

    /// Returns whether a document's bit is set.
    pub(crate) fn contains(&self, document: u32) -> bool {
        let byte = document as usize / 8;
        self.0.get(byte..byte + 1).is_some_and(|bytes| bytes[0] & (1 << (document % 8)) != 0)
    }

    /// Returns all documents whose bit is set.
    pub(crate) fn to_bitmap(&self) -> Bitmap {
        let words = self.0.all().chunks_exact(8).map(|bytes| u64::from_le_bytes(array(bytes)));
        Bitmap::from(words.collect::<Vec<_>>())
    }

    /// Emits the documents whose bit is set, ascending, until `emit` fails.
    pub(crate) fn each<E>(&self, mut emit: impl FnMut(u32) -> Result<(), E>) -> Result<(), E> {
        let words = self.0.all().chunks_exact(8).map(|bytes| u64::from_le_bytes(array(bytes)));
        for (number, mut word) in words.enumerate() {
            while word != 0 {
                emit(number as u32 * 64 + word.trailing_zeros())?;
                word &= word - 1;
            }
        }
        Ok(())
    }
}
