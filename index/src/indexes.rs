//! All indexes of a data folder: which there are, what is on disk of them, and the threads that write it. Nothing is
//! durable but at a checkpoint; what came after is the caller's to apply again, from its log. It knows no queries.

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use crate::error::Error;
use crate::index::{Index, Wake};
use crate::manifest::{Entry, Manifest};
use crate::options::Options;
use crate::schema::Schema;
pub use checkpoint::Checkpoint;
use checkpoint::Held;
use store::Store;
use worker::{Signal, Work};

mod checkpoint;
mod slots;
mod store;
#[cfg(test)]
mod tests;
mod worker;

/// The indexes of a data folder. Only one may be open on a folder at a time.
pub struct Indexes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    dir: PathBuf,
    options: Options,
    signal: Arc<Signal>,
    stores: Mutex<BTreeMap<u32, Arc<Store>>>,
    /// Locked while a checkpoint is written.
    published: Mutex<Published>,
    /// The manifest's, to be read while it is locked.
    number: AtomicU64,
    next_generation: AtomicU64,
    /// What checkpoints hold that are not written yet.
    held: Mutex<Vec<Weak<Store>>>,
}

struct Published {
    manifest: Manifest,
}

impl Indexes {
    /// Opens the indexes in `dir`, which is made if it is not there, and removes everything in it that the manifest does
    /// not name. An index whose files are missing, damaged or of another format is dropped with a warning: it is not
    /// among [`Indexes::names`] then, and must be made again. Fails only if the operating system refuses.
    pub fn open(dir: &Path, options: Options) -> Result<Indexes, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        let mut manifest = Manifest::read(dir)?;
        let signal = Arc::new(Signal::default());
        let mut stores = BTreeMap::new();
        let next_generation = manifest.indexes.iter().map(|entry| entry.generation + 1).max().unwrap_or(0);
        manifest.indexes.retain(|entry| {
            let store = load(dir, entry, &options, wake(&signal));
            if let Some(store) = store {
                stores.insert(entry.name, Arc::new(store));
                return true;
            }
            false
        });
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            options,
            signal,
            stores: Mutex::new(stores),
            number: AtomicU64::new(manifest.number),
            published: Mutex::new(Published { manifest }),
            next_generation: AtomicU64::new(next_generation),
            held: Mutex::default(),
        });
        checkpoint::remove_unneeded(&shared, &shared.published.lock());
        let mut indexes = Indexes { shared, threads: Vec::new() };
        indexes.spawn("index-write", worker::write_runs)?;
        indexes.spawn("index-merge", worker::merge_runs)?;
        indexes.shared.signal.tell(Work::Merge);
        Ok(indexes)
    }

    /// The number of the log up to which everything is durable here; 0 if nothing is.
    pub fn number(&self) -> u64 {
        self.shared.number.load(Ordering::Acquire)
    }

    /// The indexes that there are.
    pub fn names(&self) -> Vec<u32> {
        self.shared.stores.lock().keys().copied().collect()
    }

    /// The index of that name.
    pub fn get(&self, name: u32) -> Option<Index> {
        self.shared.stores.lock().get(&name).map(|store| store.index.clone())
    }

    /// Makes an empty index, in the place of one of that name.
    pub fn create(&self, name: u32, schema: Schema) -> Index {
        let shared = &self.shared;
        let generation = shared.next_generation.fetch_add(1, Ordering::Relaxed);
        let store = Store::create(&shared.dir, name, generation, schema, shared.options.clone(), wake(&shared.signal));
        let index = store.index.clone();
        let before = shared.stores.lock().insert(name, Arc::new(store));
        release(before);
        index
    }

    /// Forgets an index. Its files go with the next checkpoint.
    pub fn remove(&self, name: u32) {
        let before = self.shared.stores.lock().remove(&name);
        release(before);
    }

    /// Holds on to everything that was applied so far, which belongs to this number of the log. Quick. To be called by
    /// the thread that applies, and between two calls of `apply`.
    pub fn freeze(&self, number: u64) -> Checkpoint {
        let held = |(name, store): (u32, Arc<Store>)| {
            let (state, frozen) = store.freeze();
            Held { name, store, state, frozen }
        };
        let indexes: Vec<Held> = self.shared.stores().into_iter().map(held).collect();
        let mut folders = self.shared.held.lock();
        folders.retain(|store| store.strong_count() > 0);
        folders.extend(indexes.iter().map(|held| Arc::downgrade(&held.store)));
        self.shared.signal.tell(Work::Write);
        Checkpoint { shared: Arc::clone(&self.shared), number, indexes }
    }

    fn spawn(&mut self, name: &str, work: fn(&Arc<Shared>)) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared));
        self.threads.push(thread.map_err(Error::io(&self.shared.dir))?);
        Ok(())
    }
}

impl Drop for Indexes {
    fn drop(&mut self) {
        self.shared.signal.stop();
        for thread in self.threads.drain(..) {
            // It does not panic; if it did, there is nothing left to do about it.
            let _ = thread.join();
        }
        for (_, store) in self.shared.stores() {
            release(Some(store));
        }
    }
}

impl Shared {
    fn stores(&self) -> Vec<(u32, Arc<Store>)> {
        self.stores.lock().iter().map(|(name, store)| (*name, Arc::clone(store))).collect()
    }

    /// All of them, and those that checkpoints hold which are not written yet.
    fn stores_in_use(&self) -> Vec<Arc<Store>> {
        let mut stores: Vec<Arc<Store>> = self.held.lock().iter().filter_map(Weak::upgrade).collect();
        stores.extend(self.stores().into_iter().map(|(_, store)| store));
        stores
    }
}

/// Nobody will write its frozen runs any more: nobody shall wait for that.
fn release(store: Option<Arc<Store>>) {
    if let Some(store) = store {
        store.index.set_unbounded(true);
    }
}

fn wake(signal: &Arc<Signal>) -> Wake {
    let signal = Arc::clone(signal);
    Arc::new(move || signal.tell(Work::Write))
}

/// None, and a word in the log, if it cannot be loaded for whatever reason. Damaged files may make tantivy panic.
fn load(dir: &Path, entry: &Entry, options: &Options, wake: Wake) -> Option<Store> {
    let (options, name) = (options.clone(), entry.name);
    let load = std::panic::AssertUnwindSafe(|| Store::load(dir, entry, options, wake));
    match catch_unwind(load) {
        Ok(Ok(store)) => Some(store),
        Ok(Err(error)) => {
            tracing::warn!("index {name} is dropped and must be made anew: {error}");
            None
        }
        Err(_) => {
            tracing::warn!("index {name} is dropped and must be made anew: reading it panicked");
            None
        }
    }
}
