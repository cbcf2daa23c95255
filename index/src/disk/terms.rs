//! The terms of a run's inverted file: for each column exact values, list elements and grams. What a term is made of is
//! decided here alone, for writing and for asking.

use tantivy::TantivyError;

use super::grams::Grams;
use crate::schema::ColumnId;
use crate::segment::TermWriter;
use crate::value::{ValueRef, unframed};

/// What a term says of its column. Part of the file format; a term is the column's number (4 bytes, big-endian), the
/// tag, and the payload.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Tag {
    /// The exact form is the payload.
    Exact = 1,
    /// The exact form has the payload as BLAKE3 hash.
    ExactHash = 2,
    /// The list has the payload as an element.
    Element = 3,
    /// The list has an element with the payload as BLAKE3 hash.
    ElementHash = 4,
    /// The markup's exact form has the payload as its hash.
    MarkupHash = 5,
    /// The folded text form has the payload, of one to three code points, somewhere in it; of a list, an element has.
    Gram = 6,
}

/// Longer exact values stand as their hash.
const LONGEST_EXACT: usize = 64;

/// The term of a text whose exact form is `text`, or of a list whose elements joined are.
pub(super) fn exact(column: ColumnId, text: &str) -> Vec<u8> {
    let mut term = Vec::new();
    term.extend_from_slice(&column.to_be_bytes());
    push_exact(&mut term, [Tag::Exact, Tag::ExactHash], text);
    term
}

/// The term of a list that has this element.
pub(super) fn element(column: ColumnId, element: &str) -> Vec<u8> {
    let mut term = Vec::new();
    term.extend_from_slice(&column.to_be_bytes());
    push_exact(&mut term, [Tag::Element, Tag::ElementHash], element);
    term
}

/// The term of a markup whose exact form has this hash.
pub(super) fn markup(column: ColumnId, hash: &[u8; 16]) -> Vec<u8> {
    term(column, Tag::MarkupHash, hash)
}

/// The term of texts that have one to three code points.
pub(super) fn gram(column: ColumnId, gram: &str) -> Vec<u8> {
    term(column, Tag::Gram, gram.as_bytes())
}

/// Writes the terms of one column, given by document, ascending. Columns must be written in ascending order.
pub(super) fn write<'a>(
    writer: &mut TermWriter<'_>,
    column: ColumnId,
    values: impl Iterator<Item = (u32, ValueRef<'a>)>,
) -> Result<(), TantivyError> {
    let mut exacts = Exacts::default();
    let mut grams = Grams::default();
    for (document, value) in values {
        match value {
            ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
            ValueRef::Text(text) => {
                exacts.add(document, |key| push_exact(key, [Tag::Exact, Tag::ExactHash], &text.whole()));
                grams.add(document, text.folded);
            }
            ValueRef::Markup { exact, text } => {
                exacts.add(document, |key| push(key, Tag::MarkupHash, &exact));
                grams.add(document, text.folded);
            }
            ValueRef::List(list) => {
                exacts.add(document, |key| push_exact(key, [Tag::Exact, Tag::ExactHash], &list.joined()));
                for element in list.elements() {
                    exacts.add(document, |key| push_exact(key, [Tag::Element, Tag::ElementHash], element));
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
        writer.term(&term, documents)
    })?;
    term.truncate(4);
    term.push(Tag::Gram as u8);
    grams.finish(|gram, documents| {
        term.truncate(5);
        term.extend_from_slice(gram.as_bytes());
        writer.term(&term, documents)
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

fn push_exact(key: &mut Vec<u8>, [plain, hashed]: [Tag; 2], text: &str) {
    match text.len() <= LONGEST_EXACT {
        true => push(key, plain, text.as_bytes()),
        false => push(key, hashed, blake3::hash(text.as_bytes()).as_bytes()),
    }
}

/// The terms of a column that are not grams: their keys (tag and payload) one after the other.
#[derive(Default)]
struct Exacts {
    keys: Vec<u8>,
    /// Start and end in `keys`, and the document.
    rows: Vec<(usize, usize, u32)>,
}

impl Exacts {
    fn add(&mut self, document: u32, push: impl FnOnce(&mut Vec<u8>)) {
        let start = self.keys.len();
        push(&mut self.keys);
        self.rows.push((start, self.keys.len(), document));
    }

    /// Gives every key in ascending order with its documents.
    fn finish(mut self, mut emit: impl FnMut(&[u8], &[u32]) -> Result<(), TantivyError>) -> Result<(), TantivyError> {
        let keys = &self.keys;
        self.rows.sort_unstable_by_key(|&(start, end, document)| (&keys[start..end], document));
        let mut documents = Vec::new();
        for rows in self.rows.chunk_by(|a, b| keys[a.0..a.1] == keys[b.0..b.1]) {
            documents.clear();
            documents.extend(rows.iter().map(|row| row.2));
            documents.dedup();
            emit(&keys[rows[0].0..rows[0].1], &documents)?;
        }
        Ok(())
    }
}
