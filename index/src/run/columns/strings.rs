//! A string for each document, read in place, and the two strings that make up a text. It knows no columns.

use std::sync::{Arc, OnceLock};

use super::format::PACKED;
use crate::packing::CompressionDictionary;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::sections::array;
use crate::text::with_lower_case;
use crate::value::{FRAME, FoldedText, PackedFolded, PackedText, RawText, TextRef};

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
    /// The dictionary with which the folded texts are compressed, if there is one.
    pub(super) dictionary: Option<StoredDictionary>,
}

/// A dictionary for compression that is read on first use.
pub(super) struct StoredDictionary {
    stored: CheckedBytes,
    dictionary: OnceLock<Option<CompressionDictionary>>,
}

impl StoredDictionary {
    pub(super) fn new(stored: CheckedBytes) -> StoredDictionary {
        StoredDictionary { stored, dictionary: OnceLock::new() }
    }

    /// Returns it in its stored form; empty if it is damaged, which is reported.
    pub(super) fn stored(&self) -> &[u8] {
        self.stored.all()
    }

    /// Returns the dictionary; `None` if it is damaged, which is reported.
    fn get(&self) -> Option<&CompressionDictionary> {
        let read = || {
            let dictionary = CompressionDictionary::read(self.stored());
            if dictionary.is_none() {
                self.stored.report("a dictionary for compression is invalid");
            }
            dictionary
        };
        self.dictionary.get_or_init(read).as_ref()
    }
}

impl Texts {
    pub(super) fn get(&self, document: u32) -> TextRef<'_> {
        let text = self.without_folded(document);
        let folded = match (self.folded.get(document), text.raw) {
            ([], RawText::Plain(raw)) => FoldedText::Capitals(raw),
            ([PACKED, packed @ ..], _) => FoldedText::Packed(self.packed(packed)),
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
                RawText::Packed(PackedText { start: self.raw.text(start), difference, folded: self.packed(folded) })
            }
            plain => RawText::Plain(self.raw.text(plain)),
        };
        TextRef { raw, folded: FoldedText::Plain("") }
    }

    /// Passes the folded text as bytes to `read`.
    pub(super) fn with_folded<T>(&self, document: u32, read: impl FnOnce(&[u8]) -> T) -> T {
        match self.folded.get(document) {
            [PACKED, packed @ ..] => FoldedText::Packed(self.packed(packed)).with(read),
            [] => with_lower_case(self.raw.get(document), read),
            plain => read(plain),
        }
    }

    /// Returns a compressed folded text with what it takes to read it.
    fn packed<'a>(&'a self, bytes: &'a [u8]) -> PackedFolded<'a> {
        let dictionary = self.dictionary.as_ref().and_then(StoredDictionary::get);
        PackedFolded { bytes, dictionary, file: self.raw.bytes.damage() }
    }
}
