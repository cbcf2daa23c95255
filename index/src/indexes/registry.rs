//! The data that the indexes of a data folder and their threads share: the index folders, the manifest, and their
//! location. It writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::index_folder::IndexFolder;
use super::manifest::{IndexManifest, Manifest};
use super::signal::{Signal, Task};
use crate::error::Error;
use crate::index::Wake;
use crate::options::Options;
use crate::search::Caches;

/// The data that the indexes of a data folder and their threads share.
pub(super) struct Registry {
    pub(super) dir: PathBuf,
    pub(super) options: Options,
    pub(super) signal: Arc<Signal>,
    /// The results that queries of all indexes computed.
    pub(super) caches: Arc<Caches>,
    /// The folder of each index, by the index's name.
    pub(super) folders: Mutex<BTreeMap<u32, Arc<IndexFolder>>>,
    /// The manifest on disk. Locked while a checkpoint is written.
    pub(super) manifest: Mutex<Manifest>,
    /// The manifest's log number, to be read while the manifest is locked.
    pub(super) number: AtomicU64,
    pub(super) next_generation: AtomicU64,
    /// The number of merges of runs that were done since the start.
    pub(super) merges: Arc<AtomicU64>,
    /// The folders that unwritten checkpoints refer to. They may belong to indexes that are removed meanwhile.
    frozen: Mutex<Vec<Weak<IndexFolder>>>,
}

impl Registry {
    /// Loads the indexes that the manifest in `dir` names and that can be read. Creates `dir` if it is missing.
    pub(super) fn open(dir: &Path, options: Options) -> Result<Registry, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        let mut manifest = Manifest::read(dir)?;
        let signal = Arc::new(Signal::default());
        let caches = Arc::new(Caches::new(&options));
        let mut folders = BTreeMap::new();
        let next_generation = manifest.indexes.iter().map(|index| index.generation + 1).max().unwrap_or(0);
        manifest.indexes.retain(|index| match load(dir, index, &caches, &options, wake(&signal)) {
            Some(folder) => {
                folders.insert(index.name, Arc::new(folder));
                true
            }
            None => false,
        });
        Ok(Registry {
            dir: dir.to_owned(),
            options,
            signal,
            caches,
            folders: Mutex::new(folders),
            number: AtomicU64::new(manifest.number),
            manifest: Mutex::new(manifest),
            next_generation: AtomicU64::new(next_generation),
            merges: Arc::default(),
            frozen: Mutex::default(),
        })
    }

    pub(super) fn folders(&self) -> Vec<Arc<IndexFolder>> {
        self.folders.lock().values().cloned().collect()
    }

    /// Keeps folders in use while a checkpoint holds them.
    pub(super) fn add_frozen(&self, folders: impl Iterator<Item = Weak<IndexFolder>>) {
        let mut frozen = self.frozen.lock();
        frozen.retain(|folder| folder.strong_count() > 0);
        frozen.extend(folders);
    }

    /// Returns the folders of all indexes and of unwritten checkpoints.
    pub(super) fn folders_in_use(&self) -> Vec<Arc<IndexFolder>> {
        let mut folders: Vec<Arc<IndexFolder>> = self.frozen.lock().iter().filter_map(Weak::upgrade).collect();
        folders.extend(self.folders());
        folders
    }
}

/// Lets an index request that its frozen runs are written.
pub(super) fn wake(signal: &Arc<Signal>) -> Wake {
    let signal = Arc::clone(signal);
    Arc::new(move || signal.notify(Task::Write))
}

/// Loads an index. Returns `None`, after a warning in the log, if it cannot be loaded. Catches panics, since Tantivy
/// may panic on damaged files.
fn load(dir: &Path, index: &IndexManifest, caches: &Arc<Caches>, options: &Options, wake: Wake) -> Option<IndexFolder> {
    let load = AssertUnwindSafe(|| IndexFolder::load(dir, index, caches, options.clone(), wake));
    let reason = match catch_unwind(load) {
        Ok(Ok(folder)) => return Some(folder),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "reading its files panicked".to_owned(),
    };
    tracing::warn!("dropping index {}, which must be rebuilt: {reason}", index.name);
    None
}
