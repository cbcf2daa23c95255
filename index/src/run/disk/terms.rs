//! The terms of a run's inverted index: for each column its exact values, list elements, grams, joints and words. Defines
//! what a term consists of, both for writing and for lookups. It knows no predicates.

use std::ops::Range;

use tantivy::TantivyError;

use super::dictionary::{StringsOf, WordFileWriter};
use super::grams::Grams;
use super::words::Words;
use crate::run::segment::{Posting, TermList, TermSink};
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
    /// The folded text form, or an element of a folded list, contains the payload of one or two code points.
    Gram = 6,
    /// The same, for a payload that is a joint; see [`Words`].
    Joint = 7,
    /// It contains a word that is too long to be a term. No payload.
    LongWord = 8,
    /// It contains the payload as a word. In the list with counts.
    Word = 9,
}

/// Exact values of more bytes are hashed.
const MAX_EXACT_BYTES: usize = 64;

/// The term of texts whose exact form is `text`, and of lists whose joined elements are.
pub(super) fn exact(column: ColumnId, text: &str) -> Vec<u8> {
    WholeTerms::of_texts(column).term(text.as_bytes())
}

/// The term of lists that have this element.
pub(super) fn element(column: ColumnId, element: &str) -> Vec<u8> {
    WholeTerms::of_elements(column).term(element.as_bytes())
}

/// The terms of texts, or of lists by their elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeTerms {
    column: ColumnId,
    tags: ExactTags,
}

impl WholeTerms {
    /// Of texts whose exact form is something.
    pub(super) fn of_texts(column: ColumnId) -> WholeTerms {
        WholeTerms { column, tags: ExactTags::VALUE }
    }

    /// Of lists that have some element.
    pub(super) fn of_elements(column: ColumnId) -> WholeTerms {
        WholeTerms { column, tags: ExactTags::ELEMENT }
    }

    /// The term of this text.
    pub(super) fn term(self, text: &[u8]) -> Vec<u8> {
        let mut term = self.column.to_be_bytes().to_vec();
        push_exact(&mut term, self.tags, text);
        term
    }

    /// All of them: the first is the beginning of the range or greater, and the last is less than its end.
    pub(super) fn range(self) -> Range<Vec<u8>> {
        let bound = |tag| [&self.column.to_be_bytes()[..], &[tag]].concat();
        bound(self.tags.short as u8)..bound(self.tags.hashed as u8 + 1)
    }

    /// The text of one of the terms; `None` if the term has only its hash.
    pub(super) fn text(self, term: &[u8]) -> Option<&[u8]> {
        let (tag, text) = term.get(4..)?.split_first()?;
        (*tag == self.tags.short as u8).then_some(text)
    }
}

/// The term of markup whose exact form has this hash.
pub(super) fn markup(column: ColumnId, hash: &[u8; 16]) -> Vec<u8> {
    term(column, Tag::MarkupHash, hash)
}

/// The term of texts that contain these one or two code points.
pub(super) fn gram(column: ColumnId, gram: &str) -> Vec<u8> {
    term(column, Tag::Gram, gram.as_bytes())
}

/// The term of texts with a word that is too long to be a term.
pub(super) fn long_word(column: ColumnId) -> Vec<u8> {
    term(column, Tag::LongWord, &[])
}

/// The string that a term stands for in the word file, with its column and list; `None` if it is not in that file.
pub(super) fn string_of(term: &[u8]) -> Option<(ColumnId, StringsOf, &[u8])> {
    let (column, rest) = term.split_first_chunk::<4>()?;
    let column = ColumnId::from_be_bytes(*column);
    match rest.split_first()? {
        (&tag, string) if tag == Tag::Joint as u8 => Some((column, StringsOf::Joints, string)),
        (&tag, string) if tag == Tag::Word as u8 => Some((column, StringsOf::Words, string)),
        _ => None,
    }
}

/// The terms of one column.
pub(super) struct ColumnTerms {
    column: ColumnId,
    exacts: Exacts,
    grams: Grams,
    pub(super) words: Words,
}

impl ColumnTerms {
    /// Collects the terms of a column from its values by document, ascending.
    pub(super) fn of<'a>(column: ColumnId, values: impl Iterator<Item = (u32, ValueRef<'a>)>) -> ColumnTerms {
        let mut exacts = Exacts::default();
        let (mut grams, mut words) = (Grams::default(), Words::default());
        let mut add_text = |document, text: &str| {
            grams.add(document, text);
            words.add(document, text);
        };
        for (document, value) in values {
            match value {
                ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
                ValueRef::Text(text) => {
                    exacts.add(document, |key| push_exact(key, ExactTags::VALUE, text.whole().as_bytes()));
                    add_text(document, text.folded);
                }
                ValueRef::Markup { exact, text } => {
                    exacts.add(document, |key| push(key, Tag::MarkupHash, &exact));
                    add_text(document, text.folded);
                }
                ValueRef::List(list) => {
                    exacts.add(document, |key| push_exact(key, ExactTags::VALUE, list.joined().as_bytes()));
                    for element in list.elements() {
                        exacts.add(document, |key| push_exact(key, ExactTags::ELEMENT, element.as_bytes()));
                    }
                    unframed(list.folded).for_each(|element| add_text(document, element));
                }
            }
        }
        ColumnTerms { column, exacts, grams, words }
    }

    /// Adds how long the texts are. `documents` is how many documents the run has.
    pub(super) fn add_lengths(&self, words: &mut WordFileWriter, documents: usize) {
        if !self.words.lengths().is_empty() {
            words.add_lengths(self.column, documents, self.words.lengths());
        }
    }

    /// Emits the terms of one list. May be called once for each. Columns must come in ascending order.
    pub(super) fn write(&mut self, list: TermList, sink: &mut TermSink<'_>) -> Result<(), TantivyError> {
        let mut term = self.column.to_be_bytes().to_vec();
        let mut emit = |tag: &[u8], key: &[u8], posting: Posting<'_>| {
            term.truncate(4);
            term.extend_from_slice(tag);
            term.extend_from_slice(key);
            sink(&term, posting)
        };
        if list == TermList::Counted {
            return self.words.finish_words(&mut |word, posting| emit(&[Tag::Word as u8], word, posting));
        }
        std::mem::take(&mut self.exacts)
            .finish(|key, documents| emit(&[], key, once_each(documents, &mut Vec::new())))?;
        std::mem::take(&mut self.grams).finish(|gram, posting| emit(&[Tag::Gram as u8], gram, posting))?;
        self.words.finish_joints(&mut |joint, posting| emit(&[Tag::Joint as u8], joint, posting))?;
        let long = self.words.documents_with_long_words();
        emit(&[Tag::LongWord as u8], &[], once_each(long, &mut Vec::new()))
    }
}

/// A posting list of documents that have their term once.
fn once_each<'a>(documents: &'a [u32], counts: &'a mut Vec<u32>) -> Posting<'a> {
    counts.resize(documents.len(), 1);
    Posting { documents, counts }
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
#[derive(Debug, Clone, Copy)]
struct ExactTags {
    short: Tag,
    hashed: Tag,
}

impl ExactTags {
    const VALUE: ExactTags = ExactTags { short: Tag::Exact, hashed: Tag::ExactHash };
    const ELEMENT: ExactTags = ExactTags { short: Tag::Element, hashed: Tag::ElementHash };
}

fn push_exact(key: &mut Vec<u8>, tags: ExactTags, text: &[u8]) {
    match text.len() <= MAX_EXACT_BYTES {
        true => push(key, tags.short, text),
        false => push(key, tags.hashed, blake3::hash(text).as_bytes()),
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
