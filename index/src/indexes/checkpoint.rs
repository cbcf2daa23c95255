//! Checkpoints: making everything up to a number of the log durable, and removing what nothing needs any more.
//!
//! The order is what makes it safe to be cut at any point: runs and slots are synced, then their folders, then the
//! manifest is replaced, then files are removed that neither it nor anybody alive names.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slots::{SLOTS, SlotFile};
use super::store::{RUN, Store, Stored, folder};
use super::{Published, Shared};
use crate::apply::Frozen;
use crate::disk::{VERIFYING, sync_folder};
use crate::error::Error;
use crate::manifest::{Entry, Manifest};
use crate::run::Run;
use crate::state::{Location, Part, State};
use crate::table::{CHUNK, Table};

/// What all indexes held at a number of the log. Nothing is durable before [`Checkpoint::write`].
#[must_use = "a checkpoint that is not written makes nothing durable"]
pub struct Checkpoint {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) indexes: Vec<Held>,
}

/// One index as it was.
pub(super) struct Held {
    pub(super) name: u32,
    pub(super) store: Arc<Store>,
    pub(super) state: Arc<State>,
    pub(super) frozen: Vec<Frozen>,
}

impl Checkpoint {
    /// The number of the log that it stands for.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Writes what is not on disk yet; durable on return. Slow. One that is older than what is durable does nothing.
    pub fn write(self) -> Result<(), Error> {
        let Checkpoint { shared, number, indexes } = self;
        let mut published = shared.published.lock();
        if number < published.manifest.number {
            return Ok(());
        }
        // Counted up also if this fails: names of files are never used again.
        published.manifest.sequence += 1;
        let sequence = published.manifest.sequence;
        let mut manifest = Manifest::new(number, sequence);
        let mut written = Vec::new();
        for held in &indexes {
            held.store.write(&held.frozen)?;
            let stored = held.write_slots(sequence)?;
            manifest.indexes.push(held.entry(&stored));
            written.push(stored);
        }
        sync_folder(&shared.dir)?;
        manifest.write(&shared.dir)?;

        for (held, stored) in indexes.iter().zip(written) {
            *held.store.last.lock() = stored;
        }
        shared.number.store(number, Ordering::Release);
        published.manifest = manifest;
        drop(indexes);
        remove_unneeded(&shared, &published);
        Ok(())
    }
}

impl Held {
    fn entry(&self, stored: &Stored) -> Entry {
        let mut entry = Entry::new(self.name, self.store.generation, &self.state.schema);
        entry.slots = stored.slots;
        entry.slot_files.clone_from(&stored.files);
        entry.runs = self.state.parts.iter().map(|part| (part.variant.number, runs_of(part))).collect();
        entry
    }

    /// Writes the files whose slots have changed since the last checkpoint.
    fn write_slots(&self, sequence: u64) -> Result<Stored, Error> {
        let folder = &self.store.folder;
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let last = self.store.last.lock();
        let mut stored = Stored {
            rows: self.state.rows.clone(),
            parts: self.state.parts.iter().map(|part| (part.variant.number, part.locations.clone())).collect(),
            slots: self.state.slots,
            files: Vec::new(),
        };
        let places = Places::new(&self.frozen);
        for number in 0..(stored.slots as usize).div_ceil(SLOTS) {
            if let Some(file) = last.files.get(number)
                && is_same(&last, &stored, number)
            {
                stored.files.push(file.clone());
                continue;
            }
            let name = format!("slots-{number}-{sequence}");
            self.slot_file(number, &places)?.write(&folder.join(&name))?;
            stored.files.push(name);
        }
        sync_folder(folder)?;
        Ok(stored)
    }

    fn slot_file(&self, number: usize, places: &Places) -> Result<SlotFile, Error> {
        let state = &self.state;
        let slots = (number * SLOTS) as u32..((number + 1) * SLOTS).min(state.slots as usize) as u32;
        let mut parts = Vec::new();
        for part in &state.parts {
            let locations = slots.clone().map(|slot| places.on_disk(part, part.locations.get(slot)));
            let locations: Option<Vec<Location>> = locations.collect();
            let locations = locations
                .ok_or_else(|| Error::corrupt(&self.store.folder, "a copy is in a run that is not on disk"))?;
            parts.push((part.variant.number, locations));
        }
        Ok(SlotFile { rows: slots.map(|slot| state.rows.get(slot)).collect(), parts })
    }
}

/// Where the documents of frozen runs are in the disk runs that take their places.
struct Places(HashMap<u32, HashMap<u32, u32>>);

impl Places {
    fn new(frozen: &[Frozen]) -> Places {
        let ranks = |frozen: &Frozen| frozen.alive.iter().zip(0..).collect();
        Places(frozen.iter().map(|frozen| (frozen.run, ranks(frozen))).collect())
    }

    fn on_disk(&self, part: &Part, location: Location) -> Option<Location> {
        if !location.is_copy() {
            return Some(location);
        }
        match part.run(location.run)? {
            Run::Disk(_) => Some(location),
            Run::Memory(_) => {
                let doc = *self.0.get(&location.run)?.get(&location.doc)?;
                Some(Location { doc, ..location })
            }
        }
    }
}

fn runs_of(part: &Part) -> Vec<u32> {
    part.runs.iter().map(|(number, _)| *number).collect()
}

/// Whether the slots of a file are those that are stored. What changes a slot, or where its copy is, copies its chunk.
fn is_same(last: &Stored, new: &Stored, number: usize) -> bool {
    let end = |stored: &Stored| ((number + 1) * SLOTS).min(stored.slots as usize);
    let of = |stored: &Stored| stored.parts.iter().map(|(variant, _)| *variant).collect::<Vec<_>>();
    end(last) == end(new)
        && of(last) == of(new)
        && same_chunks(&last.rows, &new.rows, number)
        && last.parts.iter().zip(&new.parts).all(|((_, last), (_, new))| same_chunks(last, new, number))
}

fn same_chunks<T: Copy + Default>(last: &Table<T>, new: &Table<T>, number: usize) -> bool {
    let chunks = SLOTS / CHUNK;
    (number * chunks..(number + 1) * chunks).all(|chunk| match (last.chunks().get(chunk), new.chunks().get(chunk)) {
        (Some(last), Some(new)) => Arc::ptr_eq(last, new),
        (None, None) => true,
        _ => false,
    })
}

/// Removes what neither the manifest nor anybody alive needs. What cannot be removed is tried again next time.
pub(super) fn remove_unneeded(shared: &Shared, published: &Published) {
    // Listed before it is asked what is needed: what is made meanwhile is not in the list.
    let listed = list(&shared.dir);
    let stores: HashMap<String, Arc<Store>> =
        shared.stores_in_use().into_iter().map(|store| (file_name(&store.folder), store)).collect();
    let named = published.manifest.indexes.iter();
    let entries: HashMap<String, &Entry> =
        named.map(|entry| (file_name(&folder(&shared.dir, entry.name, entry.generation)), entry)).collect();
    for name in listed {
        let path = shared.dir.join(&name);
        match (stores.get(&name), entries.get(&name)) {
            _ if Manifest::is_at(&name) => {}
            (None, None) => remove(&path),
            (store, entry) => remove_unneeded_of(&path, store.map(Arc::as_ref), entry.copied()),
        }
    }
}

/// The same in the folder of one index, that there is, that the manifest names, or both.
fn remove_unneeded_of(folder: &Path, store: Option<&Store>, entry: Option<&Entry>) {
    let listed = list(folder);
    let in_use = store.map(Store::runs_in_use).unwrap_or_default();
    for name in listed {
        let number = |name: &str| name.strip_prefix(RUN).and_then(|number| number.parse::<u32>().ok());
        // Somebody compares that run at the moment.
        if name.strip_suffix(VERIFYING).and_then(number).is_some_and(|run| in_use.contains(&run)) {
            continue;
        }
        let is_needed = match number(&name) {
            Some(run) => {
                let is_named = entry.is_some_and(|entry| entry.runs.iter().any(|(_, runs)| runs.contains(&run)));
                if !is_named
                    && !in_use.contains(&run)
                    && let Some(store) = store
                {
                    store.forget(run);
                }
                is_named || in_use.contains(&run)
            }
            None => entry.is_some_and(|entry| entry.slot_files.contains(&name)),
        };
        if !is_needed {
            remove(&folder.join(&name));
        }
    }
}

fn list(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn remove(path: &Path) {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    if let Err(error) = removed {
        tracing::warn!("cannot remove {}: {error}", path.display());
    }
}
