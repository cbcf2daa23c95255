//! A bit for each document, in place.

use tantivy::directory::OwnedBytes;

/// Bits in little-endian words of 64; the bits after the last document are zero.
pub(crate) struct Bits(OwnedBytes);

impl Bits {
    /// How many bytes hold a bit for each of `documents`.
    pub(super) fn bytes(documents: usize) -> usize {
        documents.div_ceil(64) * 8
    }

    /// `bytes` is a multiple of 8 long.
    pub(super) fn new(bytes: OwnedBytes) -> Bits {
        Bits(bytes)
    }

    /// Whether a document's bit is set.
    pub(crate) fn has(&self, document: u32) -> bool {
        self.0.get(document as usize / 8).is_some_and(|byte| byte & (1 << (document % 8)) != 0)
    }

    /// The words.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.chunks_exact(8).map(|bytes| u64::from_le_bytes(super::array(bytes)))
    }

    /// Gives the documents whose bit is set, ascending.
    pub(crate) fn each(&self, mut emit: impl FnMut(u32)) {
        for (number, mut word) in self.words().enumerate() {
            while word != 0 {
                emit(number as u32 * 64 + word.trailing_zeros());
                word &= word - 1;
            }
        }
    }
}
