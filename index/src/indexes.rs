//! All indexes of a data folder, their files, and the threads that write them. It knows no queries.
//!
//! Only checkpoints are durable. After a start, the caller must apply the operations after the last one again, from its
//! log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::error::Error;
use crate::index::{Index, IndexContext};
use crate::options::Options;
use crate::schema::Schema;
pub use checkpoint::Checkpoint;
pub use folder_check::{FolderCheck, FolderProblem};
use index_folder::IndexFolder;
pub use manifest::TEXT_DATA;
use registry::{Registry, wake};
use signal::Task;

mod checkpoint;
mod cleanup;
#[cfg(test)]
mod damage_tests;
mod folder_check;
mod index_folder;
mod manifest;
mod registry;
mod signal;
mod slot_file;
#[cfg(test)]
mod tests;
mod worker;

/// The indexes of a data folder. Only one instance may be open on a folder at a time.
pub struct Indexes {
    registry: Arc<Registry>,
    threads: Vec<JoinHandle<()>>,
}

/// Returns the log number up to which everything is durable in `dir`, according to its manifest; 0 if there is none, or
/// it is damaged.
pub fn checkpointed(dir: &Path) -> u64 {
    manifest::Manifest::read(dir).map_or(0, |manifest| manifest.number)
}

impl Indexes {
    /// Opens the indexes in `dir`, which is created if missing, and removes every file that the manifest does not name.
    ///
    /// An index whose files are missing, damaged or of another format is dropped with a warning: it is not among
    /// [`Indexes::names`], and must be rebuilt. Fails only on I/O errors.
    pub fn open(dir: &Path, options: Options) -> Result<Indexes, Error> {
        let registry = Arc::new(Registry::open(dir, options)?);
        cleanup::remove_unneeded(&registry, &registry.manifest.lock());
        let mut indexes = Indexes { registry, threads: Vec::new() };
        indexes.spawn("index-write", worker::write_runs)?;
        indexes.spawn("index-merge", worker::merge_runs)?;
        indexes.registry.signal.notify(Task::Merge);
        Ok(indexes)
    }

    /// Returns the log number up to which everything is durable here; 0 if nothing is.
    pub fn number(&self) -> u64 {
        self.registry.number.load(Ordering::Acquire)
    }

    /// Returns the counter of merges since the start, which keeps counting.
    pub fn merges(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.registry.merges)
    }

    /// Returns the names of all indexes.
    pub fn names(&self) -> Vec<u32> {
        self.registry.folders.lock().keys().copied().collect()
    }

    /// Returns the index of that name.
    pub fn get(&self, name: u32) -> Option<Index> {
        self.registry.folders.lock().get(&name).map(|folder| folder.index.clone())
    }

    /// Creates an empty index, and removes one of the same name.
    pub fn create(&self, name: u32, schema: Schema) -> Index {
        let index = self.create_unfinished(name, schema);
        self.finish(name);
        index
    }

    /// Like [`Indexes::create`], but checkpoints leave the index out until [`Indexes::finish`]: for an index that is
    /// filled from the store while checkpoints are written.
    pub fn create_unfinished(&self, name: u32, schema: Schema) -> Index {
        let registry = &self.registry;
        let generation = registry.next_generation.fetch_add(1, Ordering::Relaxed);
        let shared = IndexContext {
            caches: Arc::clone(&registry.caches),
            damage: Arc::default(),
            options: registry.options.clone(),
            wake: Some(wake(&registry.signal)),
        };
        let index = Index::new(schema, shared);
        let folder = IndexFolder::create(&registry.dir, name, generation, index.clone());
        let previous = registry.folders.lock().insert(name, Arc::new(folder));
        release(previous);
        index
    }

    /// Makes the checkpoints that are frozen from now on include an index.
    pub fn finish(&self, name: u32) {
        if let Some(folder) = self.registry.folders.lock().get(&name) {
            folder.is_finished.store(true, Ordering::Release);
        }
    }

    /// Removes an index. The next checkpoint removes its files.
    pub fn remove(&self, name: u32) {
        let removed = self.registry.folders.lock().remove(&name);
        release(removed);
    }

    /// Returns whether any index [is behind](Index::is_behind).
    pub fn are_behind(&self) -> bool {
        self.registry.folders.lock().values().any(|folder| folder.index.is_behind())
    }

    /// Returns the names of the indexes whose files were found to be damaged. Their searches fail, and checkpoints
    /// leave them out: they must be created again and filled. [`Indexes::create`] drops the damaged one.
    pub fn damaged(&self) -> Vec<u32> {
        let folders = self.registry.folders.lock();
        folders.iter().filter(|(_, folder)| folder.index.is_damaged()).map(|(&name, _)| name).collect()
    }

    /// Compares every byte of the indexes in `dir` with its checksum, and each inverted index with its columns. Only
    /// reads: nothing is created, changed or removed. No process may write there meanwhile.
    ///
    /// Any damage of a file is among the problems. An error of the system may be too.
    pub fn check(dir: &Path) -> FolderCheck {
        folder_check::check(dir)
    }

    /// Fixes the contents of a checkpoint: everything applied so far, up to and including this log number. Fast.
    ///
    /// Must be called by the thread that applies, between two calls of [`Index::apply`].
    pub fn freeze(&self, number: u64) -> Checkpoint {
        Checkpoint::freeze(&self.registry, number)
    }

    fn spawn(&mut self, name: &str, work: fn(&Registry)) -> Result<(), Error> {
        let registry = Arc::clone(&self.registry);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&registry));
        self.threads.push(thread.map_err(Error::io(&self.registry.dir))?);
        Ok(())
    }
}

impl Drop for Indexes {
    fn drop(&mut self) {
        self.registry.signal.stop();
        for thread in self.threads.drain(..) {
            // The threads catch panics. If one panicked anyway, there is nothing left to do.
            let _ = thread.join();
        }
        for folder in self.registry.folders() {
            release(Some(folder));
        }
    }
}

/// Lets writers of an index continue, since its frozen runs will not be written any more.
fn release(folder: Option<Arc<IndexFolder>>) {
    if let Some(folder) = folder {
        folder.index.release();
    }
}
