//! Collects which documents have which keys, and hands the keys out in order, each with its posting list. It knows nothing
//! of what a key stands for.
//!
//! Building a run spends most of its time here and in its callers.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use tantivy::TantivyError;

use crate::run::segment::Posting;

/// Byte strings, numbered in the order of their first appearance.
#[derive(Default)]
struct Keys {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
}

impl Keys {
    /// The number of a key.
    fn number(&mut self, key: &[u8]) -> u32 {
        let Keys { table, hasher, bytes, ends } = self;
        let hash = hasher.hash_one(key);
        let is_same = |&number: &u32| key_at(bytes, ends, number) == key;
        if let Some(&number) = table.find(hash, is_same) {
            return number;
        }
        let number = ends.len() as u32;
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
        table.insert_unique(hash, number, |&number| hasher.hash_one(key_at(bytes, ends, number)));
        number
    }

    fn get(&self, number: u32) -> &[u8] {
        key_at(&self.bytes, &self.ends, number)
    }

    /// The numbers of all keys, by key, ascending.
    fn sorted(&self) -> Vec<u32> {
        // Most comparisons are decided by the first bytes, without a look at the keys.
        let prefix = |key: &[u8]| {
            let mut prefix = [0; 16];
            let length = key.len().min(16);
            prefix[..length].copy_from_slice(&key[..length]);
            u128::from_be_bytes(prefix)
        };
        let mut order: Vec<(u128, u32)> =
            (0..self.ends.len() as u32).map(|number| (prefix(self.get(number)), number)).collect();
        order.sort_unstable_by(|(one_prefix, one), (other_prefix, other)| {
            one_prefix.cmp(other_prefix).then_with(|| self.get(*one).cmp(self.get(*other)))
        });
        order.into_iter().map(|(_, number)| number).collect()
    }
}

fn key_at<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}

/// Which documents have the keys of these numbers, and how often.
#[derive(Default)]
struct Inverter {
    keys: Vec<KeyCount>,
    /// The keys of each document, one document after another.
    found: Vec<Found>,
    documents: Vec<DocumentEnd>,
}

#[derive(Clone, Copy, Default)]
struct KeyCount {
    /// How many documents have the key.
    documents: u32,
    /// The last document that has it, plus one.
    last: u32,
    /// Where that document has it in [`Inverter::found`].
    at: usize,
}

#[derive(Clone, Copy)]
struct Found {
    key: u32,
    count: u32,
}

struct DocumentEnd {
    document: u32,
    /// Where its keys end in [`Inverter::found`].
    end: usize,
}

impl Inverter {
    /// Adds a key, by its number, to a document. Documents must come in ascending order.
    fn add(&mut self, document: u32, key: u32) {
        if self.documents.last().is_none_or(|last| last.document != document) {
            self.documents.push(DocumentEnd { document, end: self.found.len() });
        }
        let mark = document + 1;
        if key as usize >= self.keys.len() {
            self.keys.resize(key as usize + 1, KeyCount::default());
        }
        let counted = &mut self.keys[key as usize];
        if counted.last == mark {
            self.found[counted.at].count += 1;
            return;
        }
        *counted = KeyCount { documents: counted.documents + 1, last: mark, at: self.found.len() };
        self.found.push(Found { key, count: 1 });
        if let Some(last) = self.documents.last_mut() {
            last.end = self.found.len();
        }
    }

    /// Emits each key's documents, in the order of keys given.
    fn each(
        &self,
        order: &[u32],
        mut emit: impl FnMut(u32, Posting<'_>) -> Result<(), TantivyError>,
    ) -> Result<(), TantivyError> {
        let mut next = vec![0; self.keys.len()];
        let mut total = 0;
        for &key in order {
            next[key as usize] = total;
            total += self.keys[key as usize].documents as usize;
        }
        let (mut documents, mut counts) = (vec![0; total], vec![0; total]);
        let mut start = 0;
        for &DocumentEnd { document, end } in &self.documents {
            for &Found { key, count } in &self.found[start..end] {
                let at = &mut next[key as usize];
                (documents[*at], counts[*at]) = (document, count);
                *at += 1;
            }
            start = end;
        }
        let mut start = 0;
        for &key in order {
            let end = next[key as usize];
            emit(key, Posting { documents: &documents[start..end], counts: &counts[start..end] })?;
            start = end;
        }
        Ok(())
    }
}

/// Keys with their documents.
#[derive(Default)]
pub(super) struct KeyedInverter {
    keys: Keys,
    inverter: Inverter,
}

impl KeyedInverter {
    /// Adds a key to a document. Documents must come in ascending order.
    pub(super) fn add(&mut self, document: u32, key: &[u8]) {
        let number = self.keys.number(key);
        self.inverter.add(document, number);
    }

    /// Emits every key in ascending order with its documents.
    pub(super) fn finish(
        self,
        mut emit: impl FnMut(&[u8], Posting<'_>) -> Result<(), TantivyError>,
    ) -> Result<(), TantivyError> {
        let order = self.keys.sorted();
        self.inverter.each(&order, |number, posting| emit(self.keys.get(number), posting))
    }
}
