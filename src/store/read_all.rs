//! The reading of all values of a store, damaged or not. For the commands `verify` and `salvage`.

use super::error::StoreError;
use super::key::{APPLIED, CHUNK, DICTIONARY, Key};
use super::record::{self, Form};
use super::scan::Entry;
use super::tree::Store;

/// The number of bytes of a chunk's key that follow the key of its value: number and index.
const CHUNK_SUFFIX_BYTES: usize = 12;

impl Store {
    /// Passes every value to `visit`, or the reason why it cannot be read, and continues after a damaged one. The order
    /// is key order, with the scattered keys last. The reading of a database ends early only if sled fails. Returns the
    /// number of chunks that belong to no value. A kill may leave some; they do no harm.
    pub fn read_all<E>(&self, mut visit: impl FnMut(Result<Entry, StoreError>) -> Result<(), E>) -> Result<u64, E> {
        let databases = &self.0.databases;
        let in_ordered = self.read_database(databases.ordered.sled(), &mut visit)?;
        Ok(in_ordered + self.read_database(databases.scattered.sled(), &mut visit)?)
    }

    fn read_database<E>(
        &self,
        database: &sled::Db,
        visit: &mut impl FnMut(Result<Entry, StoreError>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut iter = database.iter();
        let mut orphans = 0;
        loop {
            let (key, bytes) = match self.guarded("list", || iter.next().transpose()) {
                Ok(None) => return Ok(orphans),
                Ok(Some(item)) => item,
                Err(error) => {
                    visit(Err(error))?;
                    return Ok(orphans);
                }
            };
            if *key == *APPLIED {
                continue;
            }
            if key.first() == Some(&DICTIONARY) {
                self.read(&key).map_or_else(|error| visit(Err(error)), |_| Ok(()))?;
                continue;
            }
            if key.first() == Some(&CHUNK) {
                orphans += u64::from(!self.is_chunk_of_a_value(&key));
                continue;
            }
            visit(self.entry_of(&key, &bytes))?;
        }
    }

    fn entry_of(&self, key: &[u8], bytes: &[u8]) -> Result<Entry, StoreError> {
        self.check(key, Key::decode(key).ok_or("its key is malformed".into()))?;
        self.check(key, record::decode(key, bytes))?;
        match self.read(key)? {
            Some((number, value)) => Ok(Entry { key: key.to_vec(), number, value }),
            None => self.check(key, Err("it cannot be read".into())),
        }
    }

    /// Returns whether a value refers to the chunk. (The bytes of a chunk are checked with its value.)
    fn is_chunk_of_a_value(&self, chunk: &[u8]) -> bool {
        let Some(named) = chunk.len().checked_sub(CHUNK_SUFFIX_BYTES).and_then(|end| chunk.get(1..end)) else {
            return false;
        };
        let Ok(Some(bytes)) = self.guarded("read", || self.0.databases.of(named).get(named)) else { return false };
        let Ok(record) = record::decode(named, &bytes) else { return false };
        let (number, index) = chunk[chunk.len() - CHUNK_SUFFIX_BYTES..].split_at(8);
        let count = match record.form {
            Form::Chunked => record::read_chunked_body(record.body).map_or(0, |(_, count)| count),
            _ => 0,
        };
        number == record.number.to_be_bytes() && index < count.to_be_bytes().as_slice()
    }
}
