//! Collects the documents of each key, and emits the keys in order, each with its posting list. It does not know the
//! meaning of a key.
//!
//! Building a run spends most of its time here and in its callers, and most of that is waiting for memory. So one entry
//! of a hash table has all data for adding a key to a document, including the key if it is short. The short keys of a
//! document are collected first and then looked up in a row. This lets the processor wait for several at once, which
//! takes half the time.

use std::hash::BuildHasher;
use std::io;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::run::postings::Posting;

/// Keys with their documents.
pub(super) struct KeyedInverter {
    entries: HashTable<KeyEntry>,
    hasher: DefaultHashBuilder,
    long: LongKeys,
    /// Short keys of the last document that are not added yet.
    waiting: Vec<HashedKey>,
    /// The most of them.
    max_waiting: usize,
    /// The numbers of the keys of each document, one document after another.
    found: Vec<u32>,
    /// For each of `found`, the number of times that the document has the key; empty without counts.
    counts: Vec<u32>,
    has_counts: bool,
    documents: Vec<DocumentEnd>,
}

/// A short key with its hash.
#[derive(Clone, Copy)]
struct HashedKey {
    hash: u64,
    key: Code,
}

struct KeyEntry {
    key: Code,
    /// Keys are numbered in the order of their first appearance.
    number: u32,
    /// The number of documents that have the key.
    documents: u32,
    /// The last document that has it.
    last: u32,
    /// The position of that document's entry in [`KeyedInverter::found`].
    at: u32,
}

struct DocumentEnd {
    document: u32,
    /// The end of its keys in [`KeyedInverter::found`].
    end: usize,
}

/// A key in the table. For a short key, the lowest byte is its length and the upper bytes are the key. For a long key,
/// the lowest byte is [`LONG`], the upper half is the hash of the key, and bits 8 to 39 are its number among the long
/// ones.
type Code = u128;

const LONG: u8 = 0xFF;
/// The greatest length of a short key in bytes.
const MAX_SHORT: usize = 15;
/// So many keys wait at most.
const MAX_WAITING: usize = 1_024;

/// The bytes of the long keys.
#[derive(Default)]
struct LongKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl LongKeys {
    fn push(&mut self, key: &[u8]) -> u32 {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.ends.len() as u32 - 1
    }

    fn get(&self, code: Code) -> &[u8] {
        let number = (code >> 8) as u32 as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }
}

fn is_long(code: Code) -> bool {
    code as u8 == LONG
}

fn hash_of_long(code: Code) -> u64 {
    (code >> 64) as u64
}

/// Returns the first bytes of a key above a number for the lowest byte. Codes of short keys sort as the keys do.
#[inline]
fn code(key: &[u8], lowest: u8) -> Code {
    let mut bytes = [0; 16];
    let length = key.len().min(MAX_SHORT);
    bytes[..length].copy_from_slice(&key[..length]);
    bytes[MAX_SHORT] = lowest;
    Code::from_be_bytes(bytes)
}

/// A key in the sorted list.
struct SortedKey {
    /// The first bytes of the key, which decide most comparisons.
    start: Code,
    key: Code,
    number: u32,
    documents: u32,
}

impl KeyedInverter {
    /// Creates an empty inverter. `has_counts` determines whether it counts how often each document has each key.
    pub(super) fn new(has_counts: bool) -> KeyedInverter {
        KeyedInverter {
            entries: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            long: LongKeys::default(),
            max_waiting: MAX_WAITING,
            waiting: Vec::new(),
            found: Vec::new(),
            counts: Vec::new(),
            has_counts,
            documents: Vec::new(),
        }
    }

    /// Adds a key to a document. Documents must come in ascending order.
    #[inline]
    pub(super) fn add(&mut self, document: u32, key: &[u8]) {
        if self.documents.last().is_none_or(|last| last.document != document) {
            self.add_waiting();
            self.documents.push(DocumentEnd { document, end: self.found.len() });
        }
        if key.len() > MAX_SHORT {
            self.add_long(document, key);
            return;
        }
        let key = code(key, key.len() as u8);
        self.waiting.push(HashedKey { hash: self.hasher.hash_one(key), key });
        if self.waiting.len() == self.max_waiting {
            self.add_waiting();
        }
    }

    /// Adds the waiting keys to the last document.
    fn add_waiting(&mut self) {
        let Some(&DocumentEnd { document, .. }) = self.documents.last() else { return };
        let mut waiting = std::mem::take(&mut self.waiting);
        for HashedKey { hash, key } in waiting.drain(..) {
            self.add_hashed(document, hash, |entry, _| entry.key == key, |_| key);
        }
        self.waiting = waiting;
    }

    fn add_long(&mut self, document: u32, key: &[u8]) {
        let hash = self.hasher.hash_one(key);
        let is_same = |entry: &KeyEntry, long: &LongKeys| {
            is_long(entry.key) && hash_of_long(entry.key) == hash && long.get(entry.key) == key
        };
        let code = |long: &mut LongKeys| Code::from(hash) << 64 | Code::from(long.push(key)) << 8 | Code::from(LONG);
        self.add_hashed(document, hash, is_same, code);
    }

    /// Adds a key to the last document. `code` returns the code of a new key.
    #[inline]
    fn add_hashed(
        &mut self,
        document: u32,
        hash: u64,
        is_same: impl Fn(&KeyEntry, &LongKeys) -> bool,
        code: impl FnOnce(&mut LongKeys) -> Code,
    ) {
        let KeyedInverter { entries, hasher, long, .. } = self;
        let at = self.found.len() as u32;
        let number = match entries.find_mut(hash, |entry| is_same(entry, long)) {
            Some(entry) if entry.last == document => {
                if self.has_counts {
                    self.counts[entry.at as usize] += 1;
                }
                return;
            }
            Some(entry) => {
                (entry.documents, entry.last, entry.at) = (entry.documents + 1, document, at);
                entry.number
            }
            None => {
                let number = entries.len() as u32;
                let entry = KeyEntry { key: code(long), number, documents: 1, last: document, at };
                let rehash = |entry: &KeyEntry| {
                    if is_long(entry.key) { hash_of_long(entry.key) } else { hasher.hash_one(entry.key) }
                };
                entries.insert_unique(hash, entry, rehash);
                number
            }
        };
        self.found.push(number);
        if self.has_counts {
            self.counts.push(1);
        }
        if let Some(last) = self.documents.last_mut() {
            last.end = self.found.len();
        }
    }

    /// Emits every key in ascending order with its documents.
    pub(super) fn finish(mut self, mut emit: impl FnMut(&[u8], Posting<'_>) -> io::Result<()>) -> io::Result<()> {
        self.add_waiting();
        let KeyedInverter { entries, long, found, counts, has_counts, documents, .. } = self;
        let keys = sorted(entries, &long);
        // The position for the next document of each key.
        let mut next = vec![0; keys.len()];
        let mut total = 0;
        for key in &keys {
            next[key.number as usize] = total;
            total += key.documents as usize;
        }
        let mut sorted_documents = vec![0; total];
        let mut sorted_counts = vec![0; if has_counts { total } else { 0 }];
        let mut start = 0;
        for DocumentEnd { document, end } in documents {
            for index in start..end {
                let at = &mut next[found[index] as usize];
                sorted_documents[*at] = document;
                if has_counts {
                    sorted_counts[*at] = counts[index];
                }
                *at += 1;
            }
            start = end;
        }
        drop((found, counts, next));
        let mut start = 0;
        for SortedKey { start: first, key, documents, .. } in keys {
            let end = start + documents as usize;
            let counts = if has_counts { &sorted_counts[start..end] } else { &[] };
            let posting = Posting { documents: &sorted_documents[start..end], counts };
            match is_long(key) {
                true => emit(long.get(key), posting)?,
                false => emit(&first.to_be_bytes()[..usize::from(first as u8)], posting)?,
            }
            start = end;
        }
        Ok(())
    }
}

fn sorted(entries: HashTable<KeyEntry>, long: &LongKeys) -> Vec<SortedKey> {
    let start = |key| if is_long(key) { code(long.get(key), LONG) } else { key };
    let sorted = |KeyEntry { key, number, documents, .. }| SortedKey { start: start(key), key, number, documents };
    let mut keys: Vec<SortedKey> = entries.into_iter().map(sorted).collect();
    keys.sort_unstable_by(|one, other| {
        one.start.cmp(&other.start).then_with(|| match is_long(one.key) {
            // Short keys with equal beginnings are equal, and keys are distinct.
            false => std::cmp::Ordering::Equal,
            true => long.get(one.key).cmp(long.get(other.key)),
        })
    });
    keys
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_come_in_order_with_their_documents(
            documents in prop::collection::vec(prop::collection::vec("[a\0\u{ff}]{0,3}|a{13,16}[ab]{0,2}", 0..9), 0..6),
            has_counts in any::<bool>(),
        ) {
            let mut inverter = KeyedInverter { max_waiting: 3, ..KeyedInverter::new(has_counts) };
            let mut expected: BTreeMap<&[u8], BTreeMap<u32, u32>> = BTreeMap::new();
            for (document, keys) in (0..).zip(&documents) {
                for key in keys {
                    inverter.add(document, key.as_bytes());
                    *expected.entry(key.as_bytes()).or_default().entry(document).or_default() += 1;
                }
            }
            let mut found = Vec::new();
            inverter.finish(|key, Posting { documents, counts }| {
                found.push((key.to_vec(), documents.to_vec(), counts.to_vec()));
                Ok(())
            }).unwrap();
            let expected: Vec<_> = expected.into_iter().map(|(key, documents)| {
                let counts = if has_counts { documents.values().copied().collect() } else { Vec::new() };
                (key.to_vec(), Vec::from_iter(documents.into_keys()), counts)
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
