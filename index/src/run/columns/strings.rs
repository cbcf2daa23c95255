//! A string for each document, read in place, and the two strings that make up a text. It knows no columns.

use std::sync::Arc;

use super::format::PACKED;
use crate::damage::FileDamage;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::sections::array;
use crate::text::with_lower_case;
use crate::value::{FRAME, FoldedText, PackedText, RawText, TextRef};

/// The byte strings of all documents, one after another, and their offsets.
pub(super) struct Strings {
    /// The start of each string, and the end of the last one.
    offsets: CheckedBytes,
    bytes: CheckedBytes,
    /// The number of bytes of an offset: 4 or 8.
    offset_width: usize,
}

impl Strings {
    /// Returns strings that are all empty.
    pub(super) fn empty(file: &Arc<CheckedFile>) -> Strings {
        Strings { offsets: CheckedBytes::empty(file), bytes: CheckedBytes::empty(file), offset_width: 4 }
    }

    /// Returns `None` if the lengths of the sections are inconsistent.
    pub(super) fn new(offsets: CheckedBytes, bytes: CheckedBytes, documents: usize) -> Option<Strings> {
        let offset_width = [4, 8].into_iter().find(|width| offsets.len() == (documents + 1) * width)?;
        Some(Strings { offsets, bytes, offset_width })
    }

    /// Returns a string; empty for a document that does not exist.
    pub(super) fn get(&self, document: u32) -> &[u8] {
        self.range(document as usize).and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }

    /// Returns a string as text.
    pub(super) fn str(&self, document: u32) -> &str {
        self.text(self.get(document))
    }

    /// Returns the elements of a list, framed.
    pub(super) fn list(&self, document: u32) -> &[u8] {
        let framed = self.get(document);
        for element in framed.split(|&byte| byte == FRAME) {
            self.text(element);
        }
        framed
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> &'a str {
        self.bytes.text(bytes)
    }

    fn range(&self, document: usize) -> Option<std::ops::Range<usize>> {
        let width = self.offset_width;
        let (start, end) = self.offsets.get(document * width..(document + 2) * width)?.split_at(width);
        let offset = |bytes: &[u8]| match width {
            8 => usize::try_from(u64::from_le_bytes(array(bytes))).ok(),
            _ => Some(u32::from_le_bytes(array(bytes)) as usize),
        };
        Some(offset(start)?..offset(end)?)
    }
}

/// The texts of all documents.
pub(super) struct Texts {
    /// The text; or [`PACKED`], the number of bytes of its start, the start, and what differs from the folded text.
    pub(super) raw: Strings,
    /// The folded text; or [`PACKED`] and the compressed one; empty if it is the raw text in lower-case ASCII letters.
    pub(super) folded: Strings,
}

impl Texts {
    pub(super) fn get(&self, document: u32) -> TextRef<'_> {
        let text = self.without_folded(document);
        let folded = match (self.folded.get(document), text.raw) {
            ([], RawText::Plain(raw)) => FoldedText::Capitals(raw),
            ([PACKED, packed @ ..], _) => FoldedText::Packed(packed, self.damage()),
            (plain, _) => FoldedText::Plain(self.folded.text(plain)),
        };
        TextRef { folded, ..text }
    }

    /// Returns the text of a document, with an empty folded text.
    pub(super) fn without_folded(&self, document: u32) -> TextRef<'_> {
        let raw = match self.raw.get(document) {
            [PACKED, length, packed @ ..] => {
                let (start, difference) = packed.split_at_checked(usize::from(*length)).unwrap_or_default();
                let folded = self.folded.get(document).get(1..).unwrap_or_default();
                RawText::Packed(PackedText { start: self.raw.text(start), difference, folded, file: self.damage() })
            }
            plain => RawText::Plain(self.raw.text(plain)),
        };
        TextRef { raw, folded: FoldedText::Plain("") }
    }

    /// Passes the folded text as bytes to `read`.
    pub(super) fn with_folded<T>(&self, document: u32, read: impl FnOnce(&[u8]) -> T) -> T {
        match self.folded.get(document) {
            [PACKED, packed @ ..] => FoldedText::Packed(packed, self.damage()).with(read),
            [] => with_lower_case(self.raw.get(document), read),
            plain => read(plain),
        }
    }

    fn damage(&self) -> FileDamage<'_> {
        self.raw.bytes.damage()
    }
}
