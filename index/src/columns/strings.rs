//! A string for each document, in place; and the three strings that a text is.

use tantivy::directory::OwnedBytes;

use super::array;
use crate::value::{Full, TextRef};

/// Byte strings: one after the other, and where each begins and the last ends.
pub(super) struct Strings {
    offsets: OwnedBytes,
    bytes: OwnedBytes,
    wide: bool,
}

impl Strings {
    /// Where every string is empty.
    pub(super) fn none() -> Strings {
        Strings { offsets: OwnedBytes::empty(), bytes: OwnedBytes::empty(), wide: false }
    }

    /// `None` if the lengths do not agree.
    pub(super) fn new(offsets: OwnedBytes, bytes: OwnedBytes, documents: usize) -> Option<Strings> {
        let wide = match offsets.len() {
            length if length == (documents + 1) * 4 => false,
            length if length == (documents + 1) * 8 => true,
            _ => return None,
        };
        let strings = Strings { offsets, bytes, wide };
        (strings.offset(documents)? == strings.bytes.len()).then_some(strings)
    }

    /// Empty for a document that there is not.
    pub(super) fn get(&self, document: u32) -> &[u8] {
        let document = document as usize;
        let range = self.offset(document).zip(self.offset(document + 1));
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// What was written is UTF-8; of a file that was damaged since, nothing.
    pub(super) fn str(&self, document: u32) -> &str {
        text(self.get(document))
    }

    fn offset(&self, index: usize) -> Option<usize> {
        if self.wide {
            let bytes = self.offsets.get(index * 8..index * 8 + 8)?;
            usize::try_from(u64::from_le_bytes(array(bytes))).ok()
        } else {
            let bytes = self.offsets.get(index * 4..index * 4 + 4)?;
            Some(u32::from_le_bytes(array(bytes)) as usize)
        }
    }
}

/// Texts: the head, the whole where it is longer (after a byte that says how it is kept), and the folded text, which is
/// left empty where it is the whole, unless that is packed.
pub(super) struct Texts {
    pub(super) heads: Strings,
    pub(super) fulls: Strings,
    pub(super) folded: Strings,
}

/// How a whole text is kept. Part of the file format.
pub(super) const PLAIN: u8 = 0;
pub(super) const PACKED: u8 = 1;

impl Texts {
    pub(super) fn get(&self, document: u32) -> TextRef<'_> {
        TextRef { folded: text(self.folded(document)), ..self.unfolded(document) }
    }

    /// With nothing for the folded text.
    pub(super) fn unfolded(&self, document: u32) -> TextRef<'_> {
        let full = match self.fulls.get(document) {
            [PLAIN, whole @ ..] => Full::Plain(text(whole)),
            [_, packed @ ..] => Full::Packed(packed),
            [] => Full::Head,
        };
        TextRef { head: self.heads.str(document), full, folded: "" }
    }

    pub(super) fn folded(&self, document: u32) -> &[u8] {
        match (self.folded.get(document), self.fulls.get(document)) {
            ([], []) => self.heads.get(document),
            ([], [PLAIN, whole @ ..]) => whole,
            (folded, _) => folded,
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
