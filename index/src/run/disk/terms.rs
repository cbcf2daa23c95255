//! The terms of a run's inverted index: for each column its exact values, list elements and grams. Defines what a term
//! consists of, both for writing and for lookups. It knows no predicates.

use std::ops::Range;

use tantivy::TantivyError;

use super::grams::Grams;
use crate::run::segment::TermSink;
use crate::schema::ColumnId;
use crate::value::{ValueRef, unframed};

/// What a term states about the value in its column. Part of the file format: a term is the column's number (4 bytes,
/// big-endian), the tag and the payload.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Tag {
    /// The payload is the exact form.
    Exact = 1,
    /// The payload is the BLAKE3 hash of the exact form.
    ExactHash = 2,
    /// The payload is an element of the list.
    Element = 3,
    /// The payload is the BLAKE3 hash of an element of the list.
    ElementHash = 4,
    /// The payload is the hash of the markup's exact form.
    MarkupHash = 5,
    /// The folded text form, or an element of a folded list, contains the payload of one to three code points.
    Gram = 6,
}

/// Exact values of more bytes are hashed.
const MAX_EXACT_BYTES: usize = 64;

/// The term of texts whose exact form is `text`, and of lists whose joined elements are.
pub(super) fn exact(column: ColumnId, text: &str) -> Vec<u8> {
    let mut term = column.to_be_bytes().to_vec();
    push_exact(&mut term, ExactTags::VALUE, text);
    term
}

/// The term of lists that have this element.
pub(super) fn element(column: ColumnId, element: &str) -> Vec<u8> {
    let mut term = column.to_be_bytes().to_vec();
    push_exact(&mut term, ExactTags::ELEMENT, element);
    term
}

/// The term of markup whose exact form has this hash.
pub(super) fn markup(column: ColumnId, hash: &[u8; 16]) -> Vec<u8> {
    term(column, Tag::MarkupHash, hash)
}

/// The term of texts that contain these one to three code points.
pub(super) fn gram(column: ColumnId, gram: &str) -> Vec<u8> {
    term(column, Tag::Gram, gram.as_bytes())
}

/// Emits the terms of one column from its values by document, ascending. Columns must come in ascending order.
pub(super) fn write<'a>(
    sink: &mut TermSink<'_>,
    column: ColumnId,
    values: impl Iterator<Item = (u32, ValueRef<'a>)>,
) -> Result<(), TantivyError> {
    let mut exacts = Exacts::default();
    let mut grams = Grams::default();
    for (document, value) in values {
        match value {
            ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
            ValueRef::Text(text) => {
                exacts.add(document, |key| push_exact(key, ExactTags::VALUE, &text.whole()));
                grams.add(document, text.folded);
            }
            ValueRef::Markup { exact, text } => {
                exacts.add(document, |key| push(key, Tag::MarkupHash, &exact));
                grams.add(document, text.folded);
            }
            ValueRef::List(list) => {
                exacts.add(document, |key| push_exact(key, ExactTags::VALUE, &list.joined()));
                for element in list.elements() {
                    exacts.add(document, |key| push_exact(key, ExactTags::ELEMENT, element));
                }
                for element in unframed(list.folded) {
                    grams.add(document, element);
                }
            }
        }
    }
    let mut term = column.to_be_bytes().to_vec();
    exacts.finish(|key, documents| {
        term.truncate(4);
        term.extend_from_slice(key);
        sink(&term, documents)
    })?;
    term.truncate(4);
    term.push(Tag::Gram as u8);
    grams.finish(|gram, documents| {
        term.truncate(5);
        term.extend_from_slice(gram.as_bytes());
        sink(&term, documents)
    })
}

fn term(column: ColumnId, tag: Tag, payload: &[u8]) -> Vec<u8> {
    let mut term = Vec::with_capacity(5 + payload.len());
    term.extend_from_slice(&column.to_be_bytes());
    push(&mut term, tag, payload);
    term
}

fn push(key: &mut Vec<u8>, tag: Tag, payload: &[u8]) {
    key.push(tag as u8);
    key.extend_from_slice(payload);
}

/// The tags of one kind of exact value.
#[derive(Clone, Copy)]
struct ExactTags {
    short: Tag,
    hashed: Tag,
}

impl ExactTags {
    const VALUE: ExactTags = ExactTags { short: Tag::Exact, hashed: Tag::ExactHash };
    const ELEMENT: ExactTags = ExactTags { short: Tag::Element, hashed: Tag::ElementHash };
}

fn push_exact(key: &mut Vec<u8>, tags: ExactTags, text: &str) {
    match text.len() <= MAX_EXACT_BYTES {
        true => push(key, tags.short, text.as_bytes()),
        false => push(key, tags.hashed, blake3::hash(text.as_bytes()).as_bytes()),
    }
}

/// Collects the terms of a column that are not grams.
#[derive(Default)]
struct Exacts {
    /// Tag and payload of each term, one after another.
    keys: Vec<u8>,
    rows: Vec<ExactRow>,
}

/// A term of a document.
struct ExactRow {
    /// Where its key is in [`Exacts::keys`].
    key: Range<usize>,
    document: u32,
}

impl Exacts {
    fn add(&mut self, document: u32, push: impl FnOnce(&mut Vec<u8>)) {
        let start = self.keys.len();
        push(&mut self.keys);
        self.rows.push(ExactRow { key: start..self.keys.len(), document });
    }

    /// Emits every key in ascending order with its documents, ascending.
    fn finish(mut self, mut emit: impl FnMut(&[u8], &[u32]) -> Result<(), TantivyError>) -> Result<(), TantivyError> {
        let keys = &self.keys;
        self.rows.sort_unstable_by(|a, b| {
            keys[a.key.clone()].cmp(&keys[b.key.clone()]).then_with(|| a.document.cmp(&b.document))
        });
        let mut documents = Vec::new();
        for rows in self.rows.chunk_by(|a, b| keys[a.key.clone()] == keys[b.key.clone()]) {
            documents.clear();
            documents.extend(rows.iter().map(|row| row.document));
            documents.dedup();
            emit(&keys[rows[0].key.clone()], &documents)?;
        }
        Ok(())
    }
}
