//! Keys and values in sled: reads them, applies writes to them, and writes checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_disk::failure;
use parking_lot::Mutex;

use super::boot;
use super::checkpoint;
use super::compress::{Compressor, Dictionaries, Dictionary};
use super::databases::{Databases, remove_scattered};
use super::dictionary_trainer::DictionaryTrainer;
use super::error::{StoreError, at, sled_at};
use super::key::{CHUNK, DICTIONARY, Key, is_copy};
use super::options::StoreOptions;
use super::record::{self, Form, RecordError};
use super::write::{StoreWrite, WriteOp};

/// The maximum size of an unsplit body; longer ones are split into chunks. A page of 24 entries of this size, keys
/// included, is smaller than a quarter of a segment (see `options.rs`).
pub(super) const CHUNK_BYTES: usize = 20 << 10;

/// An open store. All clones share the same store.
#[derive(Debug, Clone)]
pub struct Store(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) databases: Databases,
    folder: PathBuf,
    applied: AtomicU64,
    dictionaries: Dictionaries,
    pub(super) writer: Mutex<Writer>,
    /// The lock that is held during a checkpoint. Only one runs at a time, so that the recorded number never decreases.
    checkpointing: Mutex<()>,
}

/// The data that only the writing thread uses.
pub(super) struct Writer {
    compressor: Compressor,
    training: DictionaryTrainer,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("folder", &self.folder).field("applied", &self.applied).finish_non_exhaustive()
    }
}

/// The chunks of earlier values that a write may find under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftovers {
    /// The chunks of the current value.
    OfCurrentValue,
    /// The chunks of any value. A crash may have left a new value in place before the chunks of the old one were
    /// removed.
    OfAnyValue,
}

impl Store {
    /// Opens the store in `folder`. Creates the folder if it is missing. sled may panic on damaged files; this method
    /// then returns an error.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Store, StoreError> {
        let checkpoint = checkpoint::checkpointed(folder)?;
        let store = Store::open_databases(folder, options)?;
        if let Some(number) = checkpoint {
            store.check_scattered(number)?;
        }
        store.load()?;
        Ok(store)
    }

    /// Opens a damaged store without its scattered keys, which it removes. This is for salvage, in a copy that does not
    /// open with them.
    pub fn open_damaged(folder: &Path, options: &StoreOptions) -> Result<Store, StoreError> {
        remove_scattered(folder)?;
        let store = Store::open_databases(folder, options)?;
        store.load()?;
        Ok(store)
    }

    fn open_databases(folder: &Path, options: &StoreOptions) -> Result<Store, StoreError> {
        let databases = Databases::open(folder, options)?;
        let compressor = Compressor::new().map_err(at("create a compressor for", folder))?;
        let inner = Inner {
            databases,
            folder: folder.to_owned(),
            applied: AtomicU64::new(0),
            dictionaries: Dictionaries::default(),
            writer: Mutex::new(Writer { compressor, training: DictionaryTrainer::new(0) }),
            checkpointing: Mutex::new(()),
        };
        Ok(Store(Arc::new(inner)))
    }

    /// Reads the data that is needed before anything else can be read.
    fn load(&self) -> Result<(), StoreError> {
        self.0.applied.store(self.noted_in(&self.0.databases.ordered)?, Ordering::Release);
        self.load_dictionaries()
    }

    fn load_dictionaries(&self) -> Result<(), StoreError> {
        let ordered = self.0.databases.ordered.sled();
        let keys = self.guarded("list", || ordered.scan_prefix([DICTIONARY]).keys().collect::<Result<Vec<_>, _>>())?;
        for key in keys {
            let Some((_, bytes)) = self.read(&key)? else { continue };
            let dictionary = self.check(&key, Dictionary::new(&bytes).ok_or("it is no dictionary".into()))?;
            self.0.dictionaries.add(Arc::new(dictionary));
        }
        self.0.writer.lock().training = DictionaryTrainer::new(self.0.dictionaries.len());
        Ok(())
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Reads a value and verifies its checksum.
    pub fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(&key.encode())?.map(|(_, value)| value))
    }

    /// Returns the number of the log record that wrote a value, by its encoded key.
    pub fn written_at(&self, key: &[u8]) -> Result<Option<u64>, StoreError> {
        Ok(self.read(key)?.map(|(number, _)| number))
    }

    /// Applies the writes of the transaction that ends at log record `number`. One thread calls this, in log order.
    pub fn apply(&self, number: u64, writes: &[StoreWrite]) -> Result<(), StoreError> {
        self.write(number, writes, Leftovers::OfCurrentValue)
    }

    /// Applies a transaction like [`Store::apply`]. The transaction may have been applied before, completely or in
    /// part.
    pub fn replay(&self, number: u64, writes: &[StoreWrite]) -> Result<(), StoreError> {
        self.write(number, writes, Leftovers::OfAnyValue)
    }

    /// Returns the number like [`Store::applied`], but waits for the transaction that is being applied, if one is. So
    /// everything that a scan has seen before the call belongs to the returned number or an earlier one.
    pub fn applied_in_full(&self) -> u64 {
        let _no_writer = self.0.writer.lock();
        self.applied()
    }

    /// Returns the number of the last applied log record.
    pub fn applied(&self) -> u64 {
        self.0.applied.load(Ordering::Acquire)
    }

    /// Makes everything applied so far durable, records its number, and returns it. Another thread may apply
    /// transactions meanwhile.
    pub fn checkpoint(&self) -> Result<u64, StoreError> {
        let _guard = self.0.checkpointing.lock();
        let number = self.applied();
        self.note_in(&self.0.databases.scattered, number)?;
        let flushed = self.guarded("flush", || self.0.databases.flush()).and_then(|()| self.0.databases.sync());
        flushed.inspect_err(|error| {
            // The system may have dropped data that it could not write. Then the next sync would succeed and prove
            // nothing.
            if error.may_have_dropped_writes() {
                self.condemn(&format!("its data could not be synced: {error}"));
            }
        })?;
        checkpoint::write(&self.0.folder, number)?;
        Ok(number)
    }

    /// Returns the size of the store's files in bytes.
    pub fn size_on_disk(&self) -> Result<u64, StoreError> {
        self.guarded("measure", || self.0.databases.size_on_disk())
    }

    /// Marks the store, so that the next start rebuilds it from the base and the log. A failed checksum does the same.
    pub fn condemn(&self, reason: &str) {
        checkpoint::condemn(&self.0.folder, reason);
    }

    /// Records that everything up to log record `number` is applied.
    pub fn set_applied(&self, number: u64) -> Result<(), StoreError> {
        self.note_in(&self.0.databases.ordered, number)?;
        self.0.applied.store(number, Ordering::Release);
        Ok(())
    }

    fn write(&self, number: u64, writes: &[StoreWrite], leftovers: Leftovers) -> Result<(), StoreError> {
        let mut writer = self.0.writer.lock();
        for write in writes {
            let key = write.key.encode();
            match &write.op {
                WriteOp::Put(value) => self.put(&mut writer, &key, number, value, leftovers)?,
                WriteOp::Delete => {
                    let old = self.guarded("delete", || self.0.databases.of(&key).remove(&key))?;
                    failure::point("store::delete_chunks").map_err(at("delete chunks in", &self.0.folder))?;
                    self.clear_chunks(&key, old, number, 0, leftovers)?;
                }
                WriteOp::Reindex => {}
            }
        }
        self.set_applied(number)
    }

    pub(super) fn put(
        &self,
        Writer { compressor, training }: &mut Writer,
        key: &[u8],
        number: u64,
        value: &[u8],
        leftovers: Leftovers,
    ) -> Result<(), StoreError> {
        let mut dictionary = None;
        if is_copy(key) {
            dictionary = self.0.dictionaries.newest();
            if let Some(made) = training.note(value, dictionary.as_ref()) {
                self.add_dictionary(compressor, number, &made)?;
                dictionary = self.0.dictionaries.newest();
            }
        }
        self.put_with(compressor, dictionary.as_deref(), key, number, value, leftovers)
    }

    /// Stores a dictionary, before anything is compressed with it.
    fn add_dictionary(&self, compressor: &mut Compressor, number: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let dictionaries = &self.0.dictionaries;
        if let Some(dictionary) = Dictionary::new(bytes).filter(|made| !dictionaries.knows(made)) {
            // There are never so many dictionaries that a byte would be too small.
            let key = [DICTIONARY, dictionaries.len() as u8];
            self.put_with(compressor, None, &key, number, bytes, Leftovers::OfAnyValue)?;
            dictionaries.add(Arc::new(dictionary));
        }
        Ok(())
    }

    fn put_with(
        &self,
        compressor: &mut Compressor,
        dictionary: Option<&Dictionary>,
        key: &[u8],
        number: u64,
        value: &[u8],
        leftovers: Leftovers,
    ) -> Result<(), StoreError> {
        let compressed = compressor.compress(value, dictionary);
        let (form, body) = match &compressed {
            Some(body) => (Form::Compressed, body.as_slice()),
            None => (Form::Plain, value),
        };
        let mut count = 0;
        let record = if body.len() <= CHUNK_BYTES {
            record::encode(key, form, number, body)
        } else {
            // The chunks are written first, under keys that contain the number. So a concurrent reader of the old value
            // still finds the old chunks.
            for chunk in body.chunks(CHUNK_BYTES) {
                let chunk_key = chunk_key(key, number, count);
                self.insert(&chunk_key, record::encode(&chunk_key, Form::Plain, number, chunk))?;
                count += 1;
            }
            record::encode(key, Form::Chunked, number, &record::chunked_body(form, count))
        };
        let old = self.insert(key, record)?;
        failure::point("store::replace_chunks").map_err(at("replace chunks in", &self.0.folder))?;
        self.clear_chunks(key, old, number, count, leftovers)
    }

    /// Removes all chunks of a key except the first `count` of `number`.
    fn clear_chunks(
        &self,
        key: &[u8],
        old: Option<sled::IVec>,
        number: u64,
        count: u32,
        leftovers: Leftovers,
    ) -> Result<(), StoreError> {
        if leftovers == Leftovers::OfCurrentValue && !old.is_some_and(|old| record::has_chunks(&old)) {
            return Ok(());
        }
        let (first, end) = (chunk_key(key, number, 0), chunk_key(key, number, count));
        let kept = first..end;
        let keys = self.guarded("list", || {
            let keys = self.0.databases.of(key).scan_prefix(chunk_prefix(key)).keys();
            keys.filter(|key| !key.as_ref().is_ok_and(|key| kept.contains(&key.to_vec())))
                .collect::<Result<Vec<_>, _>>()
        })?;
        for key in keys {
            self.guarded("delete", || self.0.databases.of(&key).remove(&key))?;
        }
        Ok(())
    }

    /// Reads a value and the number of the log record that wrote it.
    pub(super) fn read(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let mut missed = None;
        while let Some(bytes) = self.fetch(key)? {
            let record = self.check(key, record::decode(key, &bytes))?;
            if record.form != Form::Chunked {
                let value = self.value(key, record.form, record.body.to_vec())?;
                return Ok(Some((record.number, value)));
            }
            if let Some(value) = self.read_chunks(key, record)? {
                return Ok(Some((record.number, value)));
            }
            // The value was replaced while it was read, so read again. If the record is the same, a chunk is missing.
            if missed.replace(record.number) == Some(record.number) {
                return self.check(key, Err(RecordError::Damaged("one of its chunks is missing")));
            }
        }
        Ok(None)
    }

    /// Reads the value of a chunked record. `None` if a chunk is missing.
    fn read_chunks(&self, key: &[u8], record: record::Record<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let (form, count) = self.check(key, record::read_chunked_body(record.body))?;
        let mut body = Vec::new();
        for index in 0..count {
            let chunk_key = chunk_key(key, record.number, index);
            let Some(bytes) = self.fetch(&chunk_key)? else { return Ok(None) };
            body.extend_from_slice(self.check(key, record::decode(&chunk_key, &bytes))?.body);
        }
        self.value(key, form, body).map(Some)
    }

    /// Returns the value of a plain or compressed body.
    pub(super) fn value(&self, key: &[u8], form: Form, body: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        self.check(key, record::value(form, body, &self.0.dictionaries))
    }

    fn fetch(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        self.guarded("read", || self.0.databases.of(key).get(key))
    }

    fn insert(&self, key: &[u8], record: Vec<u8>) -> Result<Option<sled::IVec>, StoreError> {
        self.guarded("write", || self.0.databases.of(key).insert(key, record))
    }

    /// Turns damage of a record into an error, and marks the store to be rebuilt at the next start. A record of another
    /// format is an error only.
    pub(super) fn check<T>(&self, key: &[u8], result: Result<T, RecordError>) -> Result<T, StoreError> {
        result.map_err(|invalid| {
            let key = Key::decode(key).map_or_else(|| format!("{key:02x?}"), |key| format!("{key:?}"));
            let error = match invalid {
                RecordError::Version(version) => {
                    StoreError::Version { what: format!("the stored value of {key}"), version }
                }
                RecordError::Damaged(what) => StoreError::Damaged { key, what },
            };
            self.condemn_if_damaged(&error);
            error
        })
    }

    fn condemn_if_damaged(&self, error: &StoreError) {
        if error.is_damage() {
            self.condemn(&error.to_string());
        }
    }

    /// Calls sled, and turns its panics into errors: it panics on some damage. A panic or reported corruption marks the
    /// store to be rebuilt at the next start. An error of the environment does not.
    pub(super) fn guarded<T>(
        &self,
        action: &'static str,
        call: impl FnOnce() -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        let result = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => result.map_err(sled_at(action)),
            Err(panic) => Err(StoreError::Panicked { action, what: boot::panic_text(panic.as_ref()) }),
        };
        if let Err(
            error @ (StoreError::Panicked { .. } | StoreError::Sled { source: sled::Error::Corruption { .. }, .. }),
        ) = &result
        {
            self.condemn_if_damaged(error);
        }
        result
    }
}

fn chunk_prefix(key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.len() + 13);
    bytes.push(CHUNK);
    bytes.extend(key);
    bytes
}

pub(super) fn chunk_key(key: &[u8], number: u64, index: u32) -> Vec<u8> {
    let mut bytes = chunk_prefix(key);
    bytes.extend(number.to_be_bytes());
    bytes.extend(index.to_be_bytes());
    bytes
}
