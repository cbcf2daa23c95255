//! The tokens of texts, the number of times that each document has them, and its total number: the input of ranked
//! search. It does not know columns, or how terms are written.

use std::io;

use tantivy::fieldnorm::FieldNormReader;

use super::dictionary::StringSink;
use super::inverter::KeyedInverter;
use crate::names::each_key;

/// Collects the tokens of documents, which must come in ascending order.
pub(super) struct Tokens {
    tokens: KeyedInverter,
    lengths: Vec<DocumentLength>,
}

/// The number of tokens in the text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DocumentLength {
    pub(super) document: u32,
    pub(super) length: u32,
}

impl DocumentLength {
    /// Returns the length rounded as Tantivy does, which fits into a byte. Longer lengths are less exact.
    pub(super) fn step(&self) -> u8 {
        FieldNormReader::fieldnorm_to_id(self.length)
    }
}

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens { tokens: KeyedInverter::new(true), lengths: Vec::new() }
    }
}

impl Tokens {
    /// Adds the keys of a text of a document. A list, from before a change of the column's kind, has several texts.
    pub(super) fn add(&mut self, document: u32, folded: &str, raw: &str) {
        let length = each_key(folded, raw, |key| self.tokens.add(document, key.as_bytes()));
        match self.lengths.last_mut() {
            Some(last) if last.document == document => last.length += length,
            _ => self.lengths.push(DocumentLength { document, length }),
        }
    }

    /// Returns the lengths of the documents that have a text.
    pub(super) fn take_lengths(&mut self) -> Vec<DocumentLength> {
        std::mem::take(&mut self.lengths)
    }

    /// Emits every token.
    pub(super) fn finish(self, sink: &mut StringSink<'_>) -> io::Result<()> {
        self.tokens.finish(sink)
    }
}
