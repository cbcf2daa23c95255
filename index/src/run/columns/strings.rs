//! A string for each document, read in place, and the three strings that make up a text. It knows no columns.

use tantivy::directory::OwnedBytes;

use super::format::{PLAIN, array};
use crate::value::{FullText, TextRef};

/// The byte strings of all documents, one after another, and their offsets.
pub(super) struct Strings {
    /// Where each string begins, and where the last one ends.
    offsets: OwnedBytes,
    bytes: OwnedBytes,
    /// How many bytes an offset has: 4 or 8.
    offset_width: usize,
}

impl Strings {
    /// Every string is empty.
    pub(super) fn empty() -> Strings {
        Strings { offsets: OwnedBytes::empty(), bytes: OwnedBytes::empty(), offset_width: 4 }
    }

    /// `None` if the lengths of the sections are inconsistent.
    pub(super) fn new(offsets: OwnedBytes, bytes: OwnedBytes, documents: usize) -> Option<Strings> {
        let offset_width = [4, 8].into_iter().find(|width| offsets.len() == (documents + 1) * width)?;
        let strings = Strings { offsets, bytes, offset_width };
        (strings.offset(documents)? == strings.bytes.len()).then_some(strings)
    }

    /// Empty for a document that does not exist.
    pub(super) fn get(&self, document: u32) -> &[u8] {
        let document = document as usize;
        let range = self.offset(document).zip(self.offset(document + 1));
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// Empty if a damaged file holds invalid UTF-8.
    pub(super) fn str(&self, document: u32) -> &str {
        utf8(self.get(document))
    }

    fn offset(&self, index: usize) -> Option<usize> {
        if self.offset_width == 8 {
            let bytes = self.offsets.get(index * 8..index * 8 + 8)?;
            usize::try_from(u64::from_le_bytes(array(bytes))).ok()
        } else {
            let bytes = self.offsets.get(index * 4..index * 4 + 4)?;
            Some(u32::from_le_bytes(array(bytes)) as usize)
        }
    }
}

/// The texts of all documents.
pub(super) struct Texts {
    /// The first 256 code points.
    pub(super) heads: Strings,
    /// The whole text after [`PLAIN`] or [`PACKED`](super::format::PACKED); empty if the head is the whole text.
    pub(super) fulls: Strings,
    /// The folded text; empty if it equals the whole text and that is not compressed.
    pub(super) folded: Strings,
}

impl Texts {
    pub(super) fn get(&self, document: u32) -> TextRef<'_> {
        TextRef { folded: utf8(self.folded(document)), ..self.without_folded(document) }
    }

    /// The same with an empty folded text.
    pub(super) fn without_folded(&self, document: u32) -> TextRef<'_> {
        let full = match self.fulls.get(document) {
            [PLAIN, whole @ ..] => FullText::Plain(utf8(whole)),
            [_, packed @ ..] => FullText::Packed(packed),
            [] => FullText::Head,
        };
        TextRef { head: self.heads.str(document), full, folded: "" }
    }

    /// The folded text as bytes.
    pub(super) fn folded(&self, document: u32) -> &[u8] {
        match (self.folded.get(document), self.fulls.get(document)) {
            ([], []) => self.heads.get(document),
            ([], [PLAIN, whole @ ..]) => whole,
            (folded, _) => folded,
        }
    }
}

fn utf8(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
