//! The tree of keys and values in sled: opening, reading, applying writes, checkpoints.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::error::{StoreError, at, sled_at};
use super::key::{APPLIED, CHUNK, Key};
use super::options::StoreOptions;
use super::record::{self, Form};
use super::write::{StoreWrite, WriteOp};
use super::{boot, checkpoint};

/// Longer bodies are split: 24 entries of this size and their keys stay below a quarter of a segment.
pub(super) const CHUNK_BYTES: usize = 20 << 10;

/// An open store. Clones are the same store.
#[derive(Debug, Clone)]
pub struct Store(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) db: sled::Db,
    folder: PathBuf,
    /// sled's data file, by a handle of our own: syncing it syncs what sled wrote.
    data: File,
    applied: AtomicU64,
    pub(super) writer: Mutex<zstd::bulk::Compressor<'static>>,
    /// One checkpoint at a time, so that the noted number never goes back.
    checkpointing: Mutex<()>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("folder", &self.folder).field("applied", &self.applied).finish_non_exhaustive()
    }
}

/// What may be left of an earlier value's chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftovers {
    /// Those that the value in place names.
    OfTheValueInPlace,
    /// Any: a crash may have come between a new value and the removal of the old one's chunks.
    Any,
}

impl Store {
    /// Opens the store in `folder`, which is made if need be. sled is known to panic on damaged files: that is an error
    /// here.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Store, StoreError> {
        let db = boot::open(folder, options)?;
        let data_path = boot::data_path(folder);
        let data = File::open(&data_path).map_err(at("open", &data_path))?;
        let compressor = record::compressor().map_err(at("make a compressor for", folder))?;
        let inner = Inner {
            db,
            folder: folder.to_owned(),
            data,
            applied: AtomicU64::new(0),
            writer: Mutex::new(compressor),
            checkpointing: Mutex::new(()),
        };
        let store = Store(Arc::new(inner));
        let applied = match store.fetch(APPLIED)? {
            None => 0,
            Some(bytes) => store.check(APPLIED, record::decode(APPLIED, &bytes))?.number,
        };
        store.0.applied.store(applied, Ordering::Release);
        Ok(store)
    }

    /// A value, its checksum verified.
    pub fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(&key.encode())?.map(|(_, value)| value))
    }

    /// Makes the writes of the transaction that ends at log record `number`. One thread calls this, in log order.
    pub fn apply(&self, number: u64, writes: &[StoreWrite]) -> Result<(), StoreError> {
        self.write(number, writes, Leftovers::OfTheValueInPlace)
    }

    /// As [`Store::apply`], for transactions that may have been applied before, wholly or in part.
    pub fn replay(&self, number: u64, writes: &[StoreWrite]) -> Result<(), StoreError> {
        self.write(number, writes, Leftovers::Any)
    }

    /// The number of the log record that was applied last.
    pub fn applied(&self) -> u64 {
        self.0.applied.load(Ordering::Acquire)
    }

    /// Hands everything applied so far to the disk and notes its number, which is answered. Other threads may go on
    /// applying.
    pub fn checkpoint(&self) -> Result<u64, StoreError> {
        let _alone = self.0.checkpointing.lock();
        let number = self.applied();
        self.guarded("flush", || self.0.db.flush())?;
        let path = boot::data_path(&self.0.folder);
        // sled's own flush is a `sync_file_range`: neither the disk's cache nor the file's size.
        self.0.data.sync_all().map_err(at("sync", &path))?;
        checkpoint::write(&self.0.folder, number)?;
        Ok(number)
    }

    /// Bytes of the store's files.
    pub fn size_on_disk(&self) -> Result<u64, StoreError> {
        self.guarded("measure", || self.0.db.size_on_disk())
    }

    /// Makes the next start build the store again from the log and its base. Also done by every failed checksum.
    pub fn condemn(&self, reason: &str) {
        checkpoint::condemn(&self.0.folder, reason);
    }

    /// Notes that everything up to `number` is in.
    pub(crate) fn restored(&self, number: u64) -> Result<(), StoreError> {
        self.insert(APPLIED, record::encode(APPLIED, Form::Plain, number, &[]))?;
        self.0.applied.store(number, Ordering::Release);
        Ok(())
    }

    fn write(&self, number: u64, writes: &[StoreWrite], leftovers: Leftovers) -> Result<(), StoreError> {
        let mut compressor = self.0.writer.lock();
        for write in writes {
            let key = write.key.encode();
            match &write.op {
                WriteOp::Put(value) => self.put(&mut compressor, &key, number, value, leftovers)?,
                WriteOp::Delete => {
                    let old = self.guarded("delete", || self.0.db.remove(&key))?;
                    self.clear_chunks(&key, old, number, 0, leftovers)?;
                }
                WriteOp::Reindex => {}
            }
        }
        self.restored(number)
    }

    pub(super) fn put(
        &self,
        compressor: &mut zstd::bulk::Compressor<'static>,
        key: &[u8],
        number: u64,
        value: &[u8],
        leftovers: Leftovers,
    ) -> Result<(), StoreError> {
        let compressed = record::compress(compressor, value);
        let (form, body) = match &compressed {
            Some(body) => (Form::Compressed, body.as_slice()),
            None => (Form::Plain, value),
        };
        let mut count = 0;
        let record = if body.len() <= CHUNK_BYTES {
            record::encode(key, form, number, body)
        } else {
            // Chunks first, and under keys with the number: whoever reads the old value meanwhile finds its chunks.
            for chunk in body.chunks(CHUNK_BYTES) {
                let chunk_key = chunk_key(key, number, count);
                self.insert(&chunk_key, record::encode(&chunk_key, Form::Plain, number, chunk))?;
                count += 1;
            }
            record::encode(key, Form::Chunked, number, &record::chunked_body(form, count))
        };
        let old = self.insert(key, record)?;
        self.clear_chunks(key, old, number, count, leftovers)
    }

    /// Removes the chunks under a key but the first `count` ones of `number`.
    fn clear_chunks(
        &self,
        key: &[u8],
        old: Option<sled::IVec>,
        number: u64,
        count: u32,
        leftovers: Leftovers,
    ) -> Result<(), StoreError> {
        if leftovers == Leftovers::OfTheValueInPlace && !old.is_some_and(|old| record::has_chunks(&old)) {
            return Ok(());
        }
        let (first, end) = (chunk_key(key, number, 0), chunk_key(key, number, count));
        let kept = first..end;
        let keys = self.guarded("list", || {
            let keys = self.0.db.scan_prefix(chunk_prefix(key)).keys();
            keys.filter(|key| !key.as_ref().is_ok_and(|key| kept.contains(&key.to_vec())))
                .collect::<Result<Vec<_>, _>>()
        })?;
        for key in keys {
            self.guarded("delete", || self.0.db.remove(&key))?;
        }
        Ok(())
    }

    /// A value and the number of the log record that wrote it.
    pub(super) fn read(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let mut missed = None;
        while let Some(bytes) = self.fetch(key)? {
            let record = self.check(key, record::decode(key, &bytes))?;
            if record.form != Form::Chunked {
                let value = self.check(key, record::value(record.form, record.body.to_vec()))?;
                return Ok(Some((record.number, value)));
            }
            if let Some(value) = self.read_chunks(key, record)? {
                return Ok(Some((record.number, value)));
            }
            // Another value has taken its place while it was read, unless the same one is found again.
            if missed.replace(record.number) == Some(record.number) {
                return self.check(key, Err("one of its chunks is missing"));
            }
        }
        Ok(None)
    }

    /// The value of a record in chunks; nothing if one is not there.
    fn read_chunks(&self, key: &[u8], record: record::Record<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let (form, count) = self.check(key, record::read_chunked_body(record.body))?;
        let mut body = Vec::new();
        for at in 0..count {
            let chunk_key = chunk_key(key, record.number, at);
            let Some(bytes) = self.fetch(&chunk_key)? else { return Ok(None) };
            body.extend_from_slice(self.check(key, record::decode(&chunk_key, &bytes))?.body);
        }
        self.check(key, record::value(form, body)).map(Some)
    }

    fn fetch(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        self.guarded("read", || self.0.db.get(key))
    }

    fn insert(&self, key: &[u8], record: Vec<u8>) -> Result<Option<sled::IVec>, StoreError> {
        self.guarded("write", || self.0.db.insert(key, record))
    }

    /// Turns what is wrong with a record into an error, and has the store built again at the next start.
    pub(super) fn check<T>(&self, key: &[u8], result: Result<T, &'static str>) -> Result<T, StoreError> {
        result.map_err(|what| {
            let key = Key::decode(key).map_or_else(|| format!("{key:02x?}"), |key| format!("{key:?}"));
            let error = StoreError::Damaged { key, what };
            self.condemn(&error.to_string());
            error
        })
    }

    /// Calls sled, which panics on some damage. A failure has the store built again at the next start, unless it is one
    /// of the disk.
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
            self.condemn(&error.to_string());
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

pub(super) fn chunk_key(key: &[u8], number: u64, at: u32) -> Vec<u8> {
    let mut bytes = chunk_prefix(key);
    bytes.extend(number.to_be_bytes());
    bytes.extend(at.to_be_bytes());
    bytes
}
