//! One column of a column file: its values by document. It does not know the layout of the file.

use super::bits::Bits;
use super::columnar::ColumnarArray;
use super::format::Encoding;
use super::stored_ordinals::StoredOrdinals;
use super::strings::{StoredDictionary, Strings, Texts};
use crate::run::checked::CheckedBytes;
use crate::run::sections::array;
use crate::schema::ColumnId;
use crate::value::{ListRef, ValueRef};

/// One column in one encoding.
pub(crate) struct StoredColumn {
    pub(crate) id: ColumnId,
    pub(crate) encoding: Encoding,
    /// The documents that have a value in this encoding.
    pub(crate) presence: Bits,
    /// The ordinals of texts and lists, stored if there are few different ones.
    pub(crate) ordinals: Option<StoredOrdinals>,
    pub(super) values: Values,
}

/// The values of all documents. Entries of documents without a value have no meaning.
pub(super) enum Values {
    Text(Texts),
    Markup { hashes: CheckedBytes, text: Texts },
    Number(ColumnarArray<f64>),
    Bool(Bits),
    Instant { micros: ColumnarArray<i64>, text: Strings },
    List { raw: Strings, folded: Strings },
}

impl StoredColumn {
    /// Returns the value of a document that has one in this encoding.
    pub(crate) fn value(&self, document: u32) -> ValueRef<'_> {
        match &self.values {
            Values::Text(texts) => ValueRef::Text(texts.get(document)),
            Values::Markup { hashes, text } => {
                ValueRef::Markup { exact: hash(hashes, document), text: text.get(document) }
            }
            Values::Number(numbers) => ValueRef::Number(numbers.get(document)),
            Values::Bool(bits) => ValueRef::Bool(bits.contains(document)),
            Values::Instant { micros, text } => {
                ValueRef::Instant { micros: micros.get(document), text: text.str(document) }
            }
            Values::List { raw, folded } => {
                let raw = raw.list(document);
                let folded = folded.list(document);
                ValueRef::List(ListRef { raw, folded: if folded.is_empty() { raw } else { folded } })
            }
        }
    }

    /// Like [`StoredColumn::value`], but a text's folded form is left empty and not read.
    pub(crate) fn value_without_folded(&self, document: u32) -> ValueRef<'_> {
        match &self.values {
            Values::Text(texts) => ValueRef::Text(texts.without_folded(document)),
            Values::Markup { hashes, text } => {
                ValueRef::Markup { exact: hash(hashes, document), text: text.without_folded(document) }
            }
            _ => self.value(document),
        }
    }

    /// Passes only the folded text of a document, or the folded elements of a list, to `read`. Returns `None` for
    /// encodings without a folded form.
    pub(crate) fn with_folded<T>(&self, document: u32, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        match &self.values {
            Values::Text(texts) | Values::Markup { text: texts, .. } => Some(texts.with_folded(document, read)),
            Values::List { raw, folded } => Some(read(match folded.get(document) {
                [] => raw.get(document),
                folded => folded,
            })),
            Values::Number(_) | Values::Bool(_) | Values::Instant { .. } => None,
        }
    }

    /// Returns the dictionary with which long texts are compressed, in its stored form.
    pub(super) fn dictionary(&self) -> Option<&[u8]> {
        match &self.values {
            Values::Text(texts) | Values::Markup { text: texts, .. } => {
                texts.dictionary.as_ref().map(StoredDictionary::stored)
            }
            Values::Number(_) | Values::Bool(_) | Values::Instant { .. } | Values::List { .. } => None,
        }
    }

    /// Returns the numbers of all documents; `None` for other encodings. Entries of documents without a value have no
    /// meaning.
    pub(crate) fn numbers(&self) -> Option<&ColumnarArray<f64>> {
        match &self.values {
            Values::Number(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Returns the bits of booleans, zero for documents without a value; `None` for other encodings.
    pub(crate) fn bools(&self) -> Option<&Bits> {
        match &self.values {
            Values::Bool(bits) => Some(bits),
            _ => None,
        }
    }
}

/// Returns the hash of a document; zeros for a document that does not exist.
fn hash(hashes: &CheckedBytes, document: u32) -> [u8; 16] {
    let start = document as usize * 16;
    hashes.get(start..start + 16).map_or([0; 16], array)
}
