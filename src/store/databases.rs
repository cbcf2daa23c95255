//! The two databases of sled that hold a store: the choice of the database for a key, and the operations on both.
//!
//! sled writes changed pages one after another into segments of its file. It uses a segment again once few of its pages
//! are current; it moves those first. Keys that arrive in order (resources and copies by id, changes) fill pages that
//! soon no longer change. A key that arrives in the middle (a value of a unique field) rewrites a page there. Such
//! pages end up in all segments, and sled does not move enough of them. So these keys have their own database, which is
//! small.
//! See `ARCHITECTURE.md`, "Two databases".
//!
//! It must not know the form of a value.

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
    /// The database of the keys that arrive in order, and of all tables with few keys.
    pub(super) ordered: Database,
    /// The database of the keys that arrive in no order, and their chunks.
    pub(super) scattered: Database,
}

/// One database.
pub(super) struct Database {
    /// The database of sled; `None` once it is dropped.
    sled: Option<sled::Db>,
    /// A separate handle to sled's data file. Syncing it makes durable what sled wrote.
    data: File,
    path: PathBuf,
}

/// The entries between two keys, in key order. They may come from both databases.
pub(super) type Range = iter::Flatten<vec::IntoIter<sled::Iter>>;

impl Databases {
    /// Opens or creates both. They share the cache.
    pub(super) fn open(folder: &Path, options: &StoreOptions) -> Result<Databases, StoreError> {
        let half = StoreOptions { cache_bytes: options.cache_bytes / 2 };
        let open = |name| Database::open(folder, name, &half);
        Ok(Databases { ordered: open(ORDERED_FOLDER)?, scattered: open(SCATTERED_FOLDER)? })
    }

    /// Returns the database that holds a key.
    pub(super) fn of(&self, key: &[u8]) -> &sled::Db {
        if is_scattered(key) { self.scattered.sled() } else { self.ordered.sled() }
    }

    /// Returns the entries from `start` on and before `end`. No chunk may be before `end`.
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

    /// Makes flushed data durable. Fails also if a sync of any other file has failed.
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

/// Returns whether a key, or the value that a chunk belongs to, is in the database of scattered keys.
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

    /// Makes the data durable that sled flushed. sled's own flush is a `sync_file_range`, which syncs neither the cache
    /// of the disk nor the size of the file.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        failure::point("store::sync").and_then(|()| sync::all(&self.data)).map_err(at("sync", &self.path))
    }
}

impl Drop for Database {
    /// Drops the database. The destructor of sled panics if its file cannot be synced. Then the database is left to the
    /// end of the process, because the log contains everything.
    fn drop(&mut self) {
        let flushed = catch_unwind(AssertUnwindSafe(|| self.sled().flush())).is_ok_and(|flushed| flushed.is_ok());
        if !flushed || sync::all(&self.data).is_err() {
            std::mem::forget(self.sled.take());
        }
    }
}
