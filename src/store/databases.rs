//! The two databases of sled that hold a store: which of them holds a key, and what is done with both.
//!
//! sled writes changed pages one after another into segments of its file, and uses a segment again once few pages in it are
//! current, which it moves first. Keys that arrive in their order (resources and copies by id, changes) fill pages that are
//! left alone soon. Each key that arrives somewhere in the middle (a value of a unique field) rewrites a page there. Such
//! pages end up in all segments, more of them than sled moves. So these keys have a database of their own, which is small.
//! See `ARCHITECTURE.md`, "Two databases".
//!
//! It must not know what a value looks like.

use std::fs::{self, File};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::vec;

use bindery_disk::failure;
use bindery_disk::sync;

use super::boot;
use super::error::{StoreError, at};
use super::key::{CHUNK, SCATTERED};
use super::options::StoreOptions;

/// The folders of the databases.
const ORDERED_FOLDER: &str = "sled";
const SCATTERED_FOLDER: &str = "scattered";

/// The databases of an open store.
pub(super) struct Databases {
    /// The keys that arrive in their order, and all others of which there are few.
    pub(super) ordered: Database,
    /// The keys that arrive in no order, and their chunks.
    pub(super) scattered: Database,
}

/// One database.
pub(super) struct Database {
    /// `None` once it is dropped.
    sled: Option<sled::Db>,
    /// A separate handle to sled's data file. Syncing it makes durable what sled wrote.
    data: File,
    path: PathBuf,
}

/// The entries between two keys, in key order, whichever database holds them.
pub(super) type Range = iter::Flatten<vec::IntoIter<sled::Iter>>;

impl Databases {
    /// Opens or creates both. They share the cache.
    pub(super) fn open(folder: &Path, options: &StoreOptions) -> Result<Databases, StoreError> {
        let half = StoreOptions { cache_bytes: options.cache_bytes / 2 };
        let open = |name| Database::open(folder, name, &half);
        Ok(Databases { ordered: open(ORDERED_FOLDER)?, scattered: open(SCATTERED_FOLDER)? })
    }

    /// The database that holds a key.
    pub(super) fn of(&self, key: &[u8]) -> &sled::Db {
        if is_scattered(key) { self.scattered.sled() } else { self.ordered.sled() }
    }

    /// The entries from `start` on and before `end`, which no chunk may be before.
    pub(super) fn range(&self, start: Vec<u8>, end: Vec<u8>) -> Range {
        let mut parts = Vec::new();
        let mut from = start;
        for table in SCATTERED {
            let (first, behind) = (vec![table], vec![table + 1]);
            for (part_end, database) in [(first, &self.ordered), (behind, &self.scattered)] {
                let part_end = part_end.min(end.clone());
                if from < part_end {
                    parts.push(database.sled().range(from..part_end.clone()));
                    from = part_end;
                }
            }
        }
        if from < end {
            parts.push(self.ordered.sled().range(from..end));
        }
        parts.into_iter().flatten()
    }

    /// Hands everything written so far to the system.
    pub(super) fn flush(&self) -> sled::Result<()> {
        failure::point("store::flush")?;
        self.ordered.sled().flush()?;
        self.scattered.sled().flush()?;
        Ok(())
    }

    /// Makes durable what was flushed. A failed sync of any other file makes it fail, too.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.ordered.sync()?;
        self.scattered.sync()?;
        match sync::has_failed() {
            false => Ok(()),
            true => Err(at("sync", &self.ordered.path)(std::io::Error::other("an earlier sync failed"))),
        }
    }

    pub(super) fn size_on_disk(&self) -> sled::Result<u64> {
        Ok(self.ordered.sled().size_on_disk()? + self.scattered.sled().size_on_disk()?)
    }
}

/// Removes the database of scattered keys of a store that is not open.
pub(super) fn remove_scattered(folder: &Path) -> Result<(), StoreError> {
    let scattered = folder.join(SCATTERED_FOLDER);
    if !scattered.exists() {
        return Ok(());
    }
    fs::remove_dir_all(&scattered).map_err(at("remove", &scattered))
}

/// Tests whether a key, or the value that a chunk belongs to, is in the database of scattered keys.
pub(super) fn is_scattered(key: &[u8]) -> bool {
    let table = match key {
        [CHUNK, table, ..] | [table, ..] => table,
        [] => return false,
    };
    SCATTERED.contains(table)
}

impl Database {
    fn open(folder: &Path, name: &str, options: &StoreOptions) -> Result<Database, StoreError> {
        let sled_folder = folder.join(name);
        let sled = Some(boot::open(folder, &sled_folder, options)?);
        let path = sled_folder.join("db");
        let data = File::open(&path).map_err(at("open", &path))?;
        Ok(Database { sled, data, path })
    }

    pub(super) fn sled(&self) -> &sled::Db {
        self.sled.as_ref().expect("invariant: only `drop` removes it")
    }

    /// Makes durable what sled flushed: its own flush is a `sync_file_range`, which syncs neither the disk's cache nor the
    /// file's size.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        failure::point("store::sync").and_then(|()| sync::all(&self.data)).map_err(at("sync", &self.path))
    }
}

impl Drop for Database {
    /// sled's own destructor panics if its file cannot be synced. Then it is left to the end of the process: the log has
    /// everything.
    fn drop(&mut self) {
        let flushed = catch_unwind(AssertUnwindSafe(|| self.sled().flush())).is_ok_and(|flushed| flushed.is_ok());
        if !flushed || sync::all(&self.data).is_err() {
            std::mem::forget(self.sled.take());
        }
    }
}
