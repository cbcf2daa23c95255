//! The terms of a column, which are the strings in its dictionary: exact values, list elements, grams, joints, words
//! and tokens. Defines the form of a term for writing and for lookups. It knows no predicates.

use std::io;
use std::ops::Range;

use super::dictionary::{StringSink, StringsOf};
use super::grams::Grams;
use super::tokens::{DocumentLength, Tokens};
use super::words::{Joints, Words};
use crate::ids;
use crate::run::postings::Posting;
use crate::value::{ValueRef, unframed};

/// The kind of an exact term. Part of the file format: an exact term is this tag followed by the payload. Neither
/// contains a byte `FF`.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Tag {
    /// The payload is the exact form.
    Exact = 1,
    /// The payload is the hash of the exact form.
    ExactHash = 2,
    /// The payload is an element of the list.
    Element = 3,
    /// The payload is the hash of an element of the list.
    ElementHash = 4,
    /// The payload is the hash of the markup's exact form.
    MarkupHash = 5,
    /// Marks a folded text form, or an element of a folded list, with a word that is too long to be a term. No payload.
    LongWord = 8,
}

/// The length in bytes above which exact values are hashed. It is just enough for ids, which must be readable for
/// comparison with sets of ids.
const MAX_EXACT_BYTES: usize = ids::TEXT_BYTES;

/// The exact terms of whole texts, or of the elements of lists.
#[derive(Clone, Copy)]
pub(super) struct WholeTerms {
    short: Tag,
    /// The tag of terms with the hash of a long text.
    hashed: Tag,
}

impl WholeTerms {
    /// The terms of exact forms of texts, and of lists, by their joined elements.
    pub(super) const OF_TEXTS: WholeTerms = WholeTerms { short: Tag::Exact, hashed: Tag::ExactHash };
    /// The terms of elements of lists.
    pub(super) const OF_ELEMENTS: WholeTerms = WholeTerms { short: Tag::Element, hashed: Tag::ElementHash };

    /// Returns the term of this text.
    pub(super) fn term(self, text: &[u8]) -> Vec<u8> {
        let mut term = Vec::new();
        self.push(&mut term, text);
        term
    }

    fn push(self, term: &mut Vec<u8>, text: &[u8]) {
        match text.len() <= MAX_EXACT_BYTES {
            true => {
                term.push(self.short as u8);
                term.extend_from_slice(text);
            }
            false => push_hash(term, self.hashed, blake3::hash(text).as_bytes()),
        }
    }

    /// Returns a range that contains all of these terms: from its beginning on, and before its end.
    pub(super) fn range(self) -> Range<[u8; 1]> {
        [self.short as u8]..[self.hashed as u8 + 1]
    }

    /// Returns the text of one of the terms; `None` if the term has only its hash.
    pub(super) fn text(self, term: &[u8]) -> Option<&[u8]> {
        let (tag, text) = term.split_first()?;
        (*tag == self.short as u8).then_some(text)
    }
}

/// Returns the exact term of markup whose exact form has this hash.
pub(super) fn markup(hash: &[u8; 16]) -> Vec<u8> {
    let mut term = Vec::new();
    push_hash(&mut term, Tag::MarkupHash, hash);
    term
}

/// The exact term of texts with a word that is too long to be a term.
pub(super) const LONG_WORD: &[u8] = &[Tag::LongWord as u8];

/// The terms of one column, from its values by document, ascending.
pub(super) struct ColumnTerms<V> {
    values: V,
    /// True if ranked search looks at the column.
    is_ranked: bool,
    /// The documents with a word that is too long to be a term.
    long: Vec<u32>,
    lengths: Vec<DocumentLength>,
}

impl<'a, V: Iterator<Item = (u32, ValueRef<'a>)> + Clone> ColumnTerms<V> {
    /// Begins to collect terms. `is_ranked` determines whether the column has tokens, for ranked search.
    pub(super) fn of(values: V, is_ranked: bool) -> ColumnTerms<V> {
        ColumnTerms { values, is_ranked, long: Vec::new(), lengths: Vec::new() }
    }

    /// Collects the terms of one list. Words must be collected before exact terms, which mark texts with words that are
    /// too long.
    ///
    /// Each list reads the texts again: the tables of all lists together would need much memory, and fit into no cache.
    pub(super) fn collect(&mut self, of: StringsOf) -> TermList {
        match of {
            StringsOf::Words => {
                let mut words = Words::default();
                self.each_text(|document, text| words.add(document, text));
                self.long = words.take_long();
                TermList::Words(words)
            }
            StringsOf::Joints => {
                let mut joints = Joints::default();
                self.each_text(|document, text| joints.add(document, text));
                TermList::Joints(joints)
            }
            StringsOf::Grams => {
                let mut grams = Grams::default();
                self.each_text(|document, text| grams.add(document, text));
                TermList::Grams(grams)
            }
            StringsOf::Exacts => {
                let mut exacts = Exacts::default();
                self.values.clone().for_each(|(document, value)| exacts.add_value(document, value));
                self.long.iter().for_each(|&document| exacts.add(document, |key| key.extend_from_slice(LONG_WORD)));
                TermList::Exacts(exacts)
            }
            StringsOf::Tokens => {
                let mut tokens = Tokens::default();
                if self.is_ranked {
                    self.each_searched_text(|document, folded, raw| tokens.add(document, folded, raw));
                    self.lengths = tokens.take_lengths();
                }
                TermList::Tokens(tokens)
            }
        }
    }

    /// Returns the number of tokens of each document that has a text. Valid once the tokens were collected.
    pub(super) fn lengths(&self) -> &[DocumentLength] {
        &self.lengths
    }

    /// Returns these numbers for all documents of the run, rounded as Tantivy does; `None` if the column has no tokens.
    pub(super) fn length_steps(&self, documents: usize) -> Option<Vec<u8>> {
        let mut steps = vec![0; if self.lengths.is_empty() { return None } else { documents }];
        self.lengths.iter().for_each(|of| steps[of.document as usize] = of.step());
        Some(steps)
    }

    /// Emits the texts, folded and as they are. A document may have several.
    fn each_searched_text(&self, mut add: impl FnMut(u32, &str, &str)) {
        for (document, value) in self.values.clone() {
            value.each_text(|folded, raw| add(document, folded, raw));
        }
    }

    /// Emits the folded texts. A document may have several.
    fn each_text(&self, mut add: impl FnMut(u32, &str)) {
        for (document, value) in self.values.clone() {
            match value {
                ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
                ValueRef::Text(text) | ValueRef::Markup { text, .. } => add(document, &text.folded.get()),
                ValueRef::List(list) => unframed(list.folded).for_each(|element| add(document, element)),
            }
        }
    }
}

/// The terms of one list of a column.
pub(super) enum TermList {
    Words(Words),
    Joints(Joints),
    Grams(Grams),
    Exacts(Exacts),
    Tokens(Tokens),
}

impl TermList {
    /// Emits each term in ascending order with its documents.
    pub(super) fn write(self, sink: &mut StringSink<'_>) -> io::Result<()> {
        match self {
            TermList::Words(words) => words.finish(sink),
            TermList::Joints(joints) => joints.finish(sink),
            TermList::Grams(grams) => grams.finish(sink),
            TermList::Exacts(exacts) => exacts.finish(|key, documents| sink(key, Posting { documents, counts: &[] })),
            TermList::Tokens(tokens) => tokens.finish(sink),
        }
    }
}

/// Pushes the first 16 bytes of a hash, 7 bits in each byte, so that no byte is `FF`.
fn push_hash(key: &mut Vec<u8>, tag: Tag, hash: &[u8]) {
    let hash = u128::from_be_bytes(*hash.first_chunk().unwrap_or(&[0; 16]));
    key.push(tag as u8);
    key.extend((0..19).map(|index| (hash >> (7 * index)) as u8 & 0x7F));
}

/// Collects the exact terms of a column.
#[derive(Default)]
pub(super) struct Exacts {
    /// Tag and payload of each term, one after another.
    keys: Vec<u8>,
    rows: Vec<ExactRow>,
}

/// A term of a document.
struct ExactRow {
    /// The position of its key in [`Exacts::keys`].
    key: Range<usize>,
    document: u32,
}

impl Exacts {
    fn add_value(&mut self, document: u32, value: ValueRef<'_>) {
        match value {
            ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
            ValueRef::Text(text) => self.add(document, |key| WholeTerms::OF_TEXTS.push(key, text.whole().as_bytes())),
            ValueRef::Markup { exact, .. } => self.add(document, |key| push_hash(key, Tag::MarkupHash, &exact)),
            ValueRef::List(list) => {
                self.add(document, |key| WholeTerms::OF_TEXTS.push(key, list.joined().as_bytes()));
                for element in list.elements() {
                    self.add(document, |key| WholeTerms::OF_ELEMENTS.push(key, element.as_bytes()));
                }
            }
        }
    }

    fn add(&mut self, document: u32, push: impl FnOnce(&mut Vec<u8>)) {
        let start = self.keys.len();
        push(&mut self.keys);
        self.rows.push(ExactRow { key: start..self.keys.len(), document });
    }

    /// Emits every key in ascending order with its documents, ascending.
    fn finish(mut self, mut emit: impl FnMut(&[u8], &[u32]) -> io::Result<()>) -> io::Result<()> {
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
