//! An order of documents, and the builder of it. It does not know where values come from.

use std::ops::Range;

use super::array::Array;

/// The values that an order compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// The rank: [`ValueRef::rank`](crate::value::ValueRef::rank).
    Rank,
    /// The sort text, by a collation: [`ValueRef::sort_text`](crate::value::ValueRef::sort_text).
    Text,
}

/// The documents that have a value in a column, in the order of their values. Documents with equal values are a
/// *group*.
#[derive(Debug)]
pub(crate) struct RunOrder {
    pub(crate) kind: KeyKind,
    pub(super) documents: Array<u32>,
    /// The start of each group in `documents`. Empty if every group is one document.
    pub(super) starts: Array<u32>,
    pub(super) keys: Keys,
}

/// The key of each group: its rank, or the beginning of the collation key, which may be equal for neighboring groups.
#[derive(Debug)]
pub(super) enum Keys {
    Ranks(Array<u64>),
    Prefixes(Array<u128>),
}

impl RunOrder {
    /// Returns the number of documents that have a value.
    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns the number of different values.
    pub(crate) fn groups(&self) -> usize {
        match &self.keys {
            Keys::Ranks(ranks) => ranks.len(),
            Keys::Prefixes(prefixes) => prefixes.len(),
        }
    }

    /// Returns the key of a group. Keys ascend.
    pub(crate) fn key(&self, group: usize) -> u128 {
        match &self.keys {
            Keys::Ranks(ranks) => u128::from(ranks.get(group)),
            Keys::Prefixes(prefixes) => prefixes.get(group),
        }
    }

    /// Returns the indexes of the documents of a group.
    pub(crate) fn group(&self, group: usize) -> Range<usize> {
        self.start(group)..self.start(group + 1)
    }

    /// Returns the indexes of the documents of some groups.
    pub(crate) fn of_groups(&self, groups: Range<usize>) -> Range<usize> {
        self.start(groups.start)..self.start(groups.end)
    }

    /// Returns the document at an index.
    pub(crate) fn document(&self, index: usize) -> u32 {
        self.documents.get(index)
    }

    /// Returns all documents that have a value.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter()
    }

    /// Returns the number of groups before the first whose key does not satisfy `is_before`.
    pub(crate) fn groups_before(&self, is_before: impl Fn(u128) -> bool) -> usize {
        let (mut low, mut high) = (0, self.groups());
        while low < high {
            let middle = low + (high - low) / 2;
            match is_before(self.key(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Returns the indexes of the documents whose groups have a key.
    pub(crate) fn with_key(&self, key: u128) -> Range<usize> {
        let first = self.groups_before(|other| other < key);
        self.of_groups(first..self.groups_before(|other| other <= key))
    }

    /// Returns the index of a document that is among these indexes.
    pub(crate) fn index_of(&self, document: u32, among: Range<usize>) -> Option<usize> {
        let (mut index, mut found) = (among.start, None);
        self.documents.each(among, |other| {
            if other == document {
                found = Some(index);
            }
            index += 1;
        });
        found
    }

    /// Returns the size in memory. Zero if it is read from a file.
    pub(crate) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Ranks(ranks) => ranks.bytes(),
            Keys::Prefixes(prefixes) => prefixes.bytes(),
        };
        self.documents.bytes() + self.starts.bytes() + keys
    }

    fn start(&self, group: usize) -> usize {
        match (self.starts.len(), group < self.groups()) {
            (0, _) => group.min(self.len()),
            (_, true) => self.starts.get(group) as usize,
            (_, false) => self.len(),
        }
    }
}

/// An order in the making: groups are added in their order.
pub(super) struct OrderBuilder {
    kind: KeyKind,
    documents: Vec<u32>,
    starts: Vec<u32>,
    ranks: Vec<u64>,
    prefixes: Vec<u128>,
}

impl OrderBuilder {
    pub(super) fn new(kind: KeyKind) -> OrderBuilder {
        OrderBuilder::with_room(kind, 0, 0)
    }

    /// Creates a builder with room for so many documents and groups.
    pub(super) fn with_room(kind: KeyKind, documents: usize, groups: usize) -> OrderBuilder {
        let (ranks, prefixes) = match kind {
            KeyKind::Rank => (groups, 0),
            KeyKind::Text => (0, groups),
        };
        OrderBuilder {
            kind,
            documents: Vec::with_capacity(documents),
            starts: Vec::with_capacity(groups),
            ranks: Vec::with_capacity(ranks),
            prefixes: Vec::with_capacity(prefixes),
        }
    }

    pub(super) fn add(&mut self, key: u128, documents: &[u32]) {
        self.begin(key);
        self.documents.extend_from_slice(documents);
    }

    /// Begins a group.
    fn begin(&mut self, key: u128) {
        self.starts.push(self.documents.len() as u32);
        match self.kind {
            KeyKind::Rank => self.ranks.push(key as u64),
            KeyKind::Text => self.prefixes.push(key),
        }
    }

    pub(super) fn finish(self) -> RunOrder {
        let OrderBuilder { kind, documents, starts, ranks, prefixes } = self;
        let keys = match kind {
            KeyKind::Rank => Keys::Ranks(ranks.into()),
            KeyKind::Text => Keys::Prefixes(prefixes.into()),
        };
        let starts = if starts.len() == documents.len() { Vec::new() } else { starts };
        RunOrder { kind, documents: documents.into(), starts: starts.into(), keys }
    }
}
