//! Walking over the store in the order of keys.

use super::error::StoreError;
use super::key::{APPLIED, CHUNK, Key, Prefix};
use super::record;
use super::tree::{Leftovers, Store};

/// The values of a table, in the order of their keys.
#[derive(Debug)]
pub struct Scan(Entries);

/// One value as it stands in the store: its key's bytes and the number of the log record that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// See [`Key::encode`].
    pub key: Vec<u8>,
    /// The number of the log record.
    pub number: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// The entries of a table, in the order of their keys.
pub struct Entries {
    store: Store,
    iter: sled::Iter,
    failed: bool,
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Store {
    /// The values of a table, or of a part of it, in the order of their keys. Not a snapshot: changes made meanwhile may
    /// or may not be seen.
    pub fn scan(&self, prefix: Prefix) -> Scan {
        Scan(self.entries(prefix, None))
    }

    /// As [`Store::scan`], from behind a key on.
    pub fn scan_after(&self, prefix: Prefix, after: &Key) -> Scan {
        Scan(self.entries(prefix, Some(after)))
    }

    /// Puts a value that is not of a log record of its own: what a base holds.
    pub(crate) fn restore_entry(&self, entry: &Entry) -> Result<(), StoreError> {
        let mut compressor = self.0.writer.lock();
        self.put(&mut compressor, &entry.key, entry.number, &entry.value, Leftovers::OfTheValueInPlace)
    }

    /// The raw entries of a part, for bases and scans.
    pub(crate) fn entries(&self, prefix: Prefix, after: Option<&Key>) -> Entries {
        let mut start = prefix.encode();
        let end = end_of(&start);
        if let Some(after) = after {
            let mut behind = after.encode();
            behind.push(0);
            // A key of another table bounds nothing, or everything.
            start = start.max(behind).min(end.clone());
        }
        // Neither the number nor chunks.
        let start = start.max(vec![APPLIED[0] + 1]);
        Entries::new(self.clone(), self.0.db.range(start..end))
    }
}

impl Iterator for Scan {
    type Item = Result<(Key, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.0.next()?;
        Some(entry.and_then(|entry| {
            let key = self.0.store.check(&entry.key, Key::decode(&entry.key).ok_or("its key is not one"))?;
            Ok((key, entry.value))
        }))
    }
}

impl Entries {
    fn new(store: Store, iter: sled::Iter) -> Entries {
        Entries { store, iter, failed: false }
    }

    /// The next entry; nothing at the end.
    fn step(&mut self) -> Result<Option<Entry>, StoreError> {
        loop {
            let store = &self.store;
            let iter = &mut self.iter;
            let Some((key, bytes)) = store.guarded("list", || iter.next().transpose())? else { return Ok(None) };
            let record = store.check(&key, record::decode(&key, &bytes))?;
            let (number, value) = if record.form == record::Form::Chunked {
                match store.read(&key)? {
                    Some(read) => read,
                    // Deleted since the iterator saw it.
                    None => continue,
                }
            } else {
                (record.number, store.check(&key, record::value(record.form, record.body.to_vec()))?)
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

/// The first bytes behind all keys that begin with `prefix`, and not behind the last table.
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
