//! Scans of the store in key order.

use super::databases::Range;
use super::error::StoreError;
use super::key::{CHUNK, DICTIONARY, Key, Prefix};
use super::record;
use super::tree::{Leftovers, Store};

/// Iterates over the keys and values of a table, in key order or backwards.
#[derive(Debug)]
pub struct Scan(Entries);

/// A stored value, with the bytes of its key and the number of the log record that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The encoded key, see [`Key::encode`].
    pub key: Vec<u8>,
    /// The number of the log record.
    pub number: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// Iterates over the entries of a table, in key order or backwards.
pub struct Entries {
    store: Store,
    iter: Range,
    direction: Direction,
    failed: bool,
}

/// The direction of an iteration.
enum Direction {
    Forward,
    Back,
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Store {
    /// Scans a table, or a part of it, in key order. The scan is not a snapshot: it may or may not include concurrent
    /// writes.
    pub fn scan(&self, prefix: Prefix) -> Scan {
        Scan(self.entries(prefix, None))
    }

    /// Scans like [`Store::scan`], but starts after a key.
    pub fn scan_after(&self, prefix: Prefix, after: &Key) -> Scan {
        Scan(self.entries(prefix, Some(after)))
    }

    /// Scans like [`Store::scan`], but from the last key to the first.
    pub fn scan_back(&self, prefix: Prefix) -> Scan {
        let mut entries = self.entries(prefix, None);
        entries.direction = Direction::Back;
        Scan(entries)
    }

    /// Returns the last key of a table, or of a part of it, with its value.
    pub fn last(&self, prefix: Prefix) -> Result<Option<(Key, Vec<u8>)>, StoreError> {
        let start = prefix.encode();
        let last =
            self.guarded("read", || self.0.databases.range(start.clone(), end_of(&start)).next_back().transpose())?;
        let Some((key, _)) = last else { return Ok(None) };
        let Some((_, value)) = self.read(&key)? else { return Ok(None) };
        let key = self.check(&key, Key::decode(&key).ok_or("its key is malformed".into()))?;
        Ok(Some((key, value)))
    }

    /// Writes an entry of a base, with its number in the base.
    pub fn restore_entry(&self, entry: &Entry) -> Result<(), StoreError> {
        let mut writer = self.0.writer.lock();
        self.put(&mut writer, &entry.key, entry.number, &entry.value, Leftovers::OfCurrentValue)
    }

    /// Iterates over the raw entries of a table or a part of it, for bases and scans.
    pub fn entries(&self, prefix: Prefix, after: Option<&Key>) -> Entries {
        let mut start = prefix.encode();
        let end = end_of(&start);
        if let Some(after) = after {
            let mut behind = after.encode();
            behind.push(0);
            // If `after` belongs to another table, all entries follow it, or none do.
            start = start.max(behind).min(end.clone());
        }
        // Exclude the number of the last applied record and the dictionaries. `end` excludes the chunks.
        let start = start.max(vec![DICTIONARY + 1]);
        Entries::new(self.clone(), self.0.databases.range(start, end))
    }
}

impl Iterator for Scan {
    type Item = Result<(Key, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.0.next()?;
        Some(entry.and_then(|entry| {
            let key = self.0.store.check(&entry.key, Key::decode(&entry.key).ok_or("its key is malformed".into()))?;
            Ok((key, entry.value))
        }))
    }
}

impl Entries {
    fn new(store: Store, iter: Range) -> Entries {
        Entries { store, iter, direction: Direction::Forward, failed: false }
    }

    /// Returns the next entry, or `None` at the end.
    fn step(&mut self) -> Result<Option<Entry>, StoreError> {
        loop {
            let store = &self.store;
            let iter = &mut self.iter;
            let next = || match self.direction {
                Direction::Forward => iter.next().transpose(),
                Direction::Back => iter.next_back().transpose(),
            };
            let Some((key, bytes)) = store.guarded("list", next)? else { return Ok(None) };
            let record = store.check(&key, record::decode(&key, &bytes))?;
            let (number, value) = if record.form == record::Form::Chunked {
                match store.read(&key)? {
                    Some(read) => read,
                    // The entry was deleted after the iterator returned it.
                    None => continue,
                }
            } else {
                (record.number, store.value(&key, record.form, record.body.to_vec())?)
            };
            return Ok(Some(Entry { key: key.to_vec(), number, value }));
        }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, StoreError>;

    /// Ends after the first error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}

/// Returns the first key after all keys that begin with `prefix`, but at most the first key of a chunk.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![CHUNK]
}
