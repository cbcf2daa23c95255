//! Checkpoints: making everything up to a log number durable. It knows no queries and no merges.
//!
//! The order of steps makes an interruption at any point safe. Runs and slot files are synced, then their folders, then
//! the manifest is replaced. Only then are files removed that neither the manifest nor anything in memory needs.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bindery_disk::failure;

use super::cleanup::remove_unneeded;
use super::index_folder::{FrozenCopies, FrozenTables, IndexFolder, VariantLocations, WrittenSlots};
use super::manifest::{IndexManifest, Manifest, NamedSlotFile};
use super::registry::Registry;
use super::signal::Task;
use super::slot_file::{SLOTS, SlotFile};
use crate::error::Error;
use crate::files::sync_folder;
use crate::run::{FrozenRun, RunNumber};
use crate::version::Location;

/// The contents of all indexes at a log number. Nothing is durable before [`Checkpoint::write`] returns.
#[must_use = "a checkpoint that is not written makes nothing durable"]
pub struct Checkpoint {
    registry: Arc<Registry>,
    number: u64,
    indexes: Vec<FrozenIndex>,
}

/// One index at that log number.
struct FrozenIndex {
    folder: Arc<IndexFolder>,
    tables: Arc<FrozenTables>,
    /// The runs in memory that the tables refer to, oldest first. Held until this index is written, also those that
    /// the thread which writes runs has written meanwhile.
    runs: Vec<FrozenRun>,
}

impl Checkpoint {
    pub(super) fn freeze(registry: &Arc<Registry>, number: u64) -> Checkpoint {
        let freeze = |folder: Arc<IndexFolder>| {
            let (tables, runs) = folder.freeze();
            FrozenIndex { folder, tables, runs }
        };
        let indexes: Vec<FrozenIndex> = registry
            .folders()
            .into_iter()
            .filter(|folder| folder.is_finished.load(Ordering::Acquire))
            .map(freeze)
            .collect();
        registry.add_frozen(indexes.iter().map(|index| Arc::downgrade(&index.folder)));
        registry.signal.notify(Task::Write);
        Checkpoint { registry: Arc::clone(registry), number, indexes }
    }

    /// Returns its log number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Writes everything that is not on disk yet; durable on return. Slow. Does nothing if a later checkpoint is
    /// already durable.
    pub fn write(self) -> Result<(), Error> {
        let Checkpoint { registry, number, mut indexes } = self;
        let mut current = registry.manifest.lock();
        if number < current.number {
            return Ok(());
        }
        // Incremented even if the checkpoint fails, so that names of slot files are never reused.
        current.sequence += 1;
        let sequence = current.sequence;
        let mut manifest = Manifest::new(number, sequence);
        let mut written = Vec::new();
        failure::point("index::checkpoint").map_err(Error::io(&registry.dir))?;
        for index in &mut indexes {
            let runs = std::mem::take(&mut index.runs);
            let disk_docs = DiskDocs::new(&runs);
            index.folder.write_frozen(runs)?;
            let slots = index.write_slots(sequence, &disk_docs)?;
            manifest.indexes.push(index.manifest(&slots)?);
            written.push((Arc::clone(&index.folder), slots));
        }
        // A damaged index is left out: this process or the next start rebuilds it.
        let is_sound = |name: u32| indexes.iter().any(|index| index.folder.name == name && !index.is_damaged());
        manifest.indexes.retain(|index| is_sound(index.name));
        failure::point("index::folder_sync").map_err(Error::io(&registry.dir))?;
        sync_folder(&registry.dir)?;
        manifest.write(&registry.dir)?;

        for (folder, slots) in written {
            *folder.written_slots.lock() = slots;
        }
        registry.number.store(number, Ordering::Release);
        *current = manifest;
        // Releases the tables, so that files only they needed are removed.
        drop(indexes);
        remove_unneeded(&registry, &current);
        Ok(())
    }
}

impl FrozenIndex {
    fn is_damaged(&self) -> bool {
        self.folder.index.damage().is_found()
    }

    fn manifest(&self, slots: &WrittenSlots) -> Result<IndexManifest, Error> {
        let mut index = IndexManifest::new(self.folder.name, self.folder.generation, &self.tables.schema);
        index.slots = slots.slot_count;
        index.slot_files.clone_from(&slots.files);
        for copies in &self.tables.copy_sets {
            let named = copies.runs.iter().map(|run| self.folder.named_run(run.number)).collect::<Option<_>>();
            let named = named.ok_or_else(|| self.not_written())?;
            index.runs.push((copies.variant, named));
        }
        Ok(index)
    }

    fn not_written(&self) -> Error {
        Error::corrupt(&self.folder.path, "a copy is in a run that was not written to disk")
    }

    /// Writes the slot files whose slots changed since the last checkpoint.
    fn write_slots(&self, sequence: u64, disk_docs: &DiskDocs) -> Result<WrittenSlots, Error> {
        let path = &self.folder.path;
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let last = self.folder.written_slots.lock();
        let variant_locations =
            |copies: &FrozenCopies| VariantLocations { variant: copies.variant, locations: copies.locations.clone() };
        let mut slots = WrittenSlots {
            rows: self.tables.rows.clone(),
            locations: self.tables.copy_sets.iter().map(variant_locations).collect(),
            slot_count: self.tables.slot_count,
            files: Vec::new(),
        };
        for number in 0..(slots.slot_count as usize).div_ceil(SLOTS) {
            if let Some(file) = last.files.get(number)
                && is_unchanged(&last, &slots, number)
            {
                slots.files.push(file.clone());
                continue;
            }
            let name = format!("slots-{number}-{sequence}");
            let crc = self.slot_file(number, disk_docs)?.write(&path.join(&name))?;
            slots.files.push(NamedSlotFile { name, crc });
        }
        sync_folder(path)?;
        Ok(slots)
    }

    fn slot_file(&self, number: usize, disk_docs: &DiskDocs) -> Result<SlotFile, Error> {
        let FrozenTables { rows, slot_count, copy_sets, .. } = &*self.tables;
        let slots = (number * SLOTS) as u32..((number + 1) * SLOTS).min(*slot_count as usize) as u32;
        let mut all_locations = Vec::new();
        for copies in copy_sets {
            let locations = slots.clone().map(|slot| disk_docs.on_disk(copies, copies.locations.get(slot)));
            let locations: Option<Vec<Location>> = locations.collect();
            all_locations.push((copies.variant, locations.ok_or_else(|| self.not_written())?));
        }
        let rows = slots.map(|slot| rows.get(slot)).collect();
        Ok(SlotFile { rows, locations: all_locations })
    }
}

/// For each frozen run, the new number of each of its live documents in the disk run that replaces it.
struct DiskDocs(HashMap<RunNumber, HashMap<u32, u32>>);

impl DiskDocs {
    fn new(frozen: &[FrozenRun]) -> DiskDocs {
        let docs = |frozen: &FrozenRun| frozen.live_docs.iter().zip(0..).collect();
        DiskDocs(frozen.iter().map(|frozen| (frozen.number, docs(frozen))).collect())
    }

    /// Returns the location after all frozen runs are replaced. `None` if it is in another memory run.
    fn on_disk(&self, copies: &FrozenCopies, location: Location) -> Option<Location> {
        if !location.is_copy() {
            return Some(location);
        }
        let index = copies.runs.binary_search_by_key(&location.run, |run| run.number).ok()?;
        match copies.runs[index].was_in_memory {
            false => Some(location),
            true => {
                let doc = *self.0.get(&location.run)?.get(&location.doc)?;
                Some(Location { doc, ..location })
            }
        }
    }
}

/// Returns whether a slot file holds the same slots as before. A change of a slot, or of a copy's location, copies its
/// chunk.
fn is_unchanged(last: &WrittenSlots, new: &WrittenSlots, number: usize) -> bool {
    let end = |slots: &WrittenSlots| ((number + 1) * SLOTS).min(slots.slot_count as usize);
    let variants = |slots: &WrittenSlots| slots.locations.iter().map(|of| of.variant).collect::<Vec<_>>();
    let mut locations = last.locations.iter().zip(&new.locations);
    let range = number * SLOTS..(number + 1) * SLOTS;
    end(last) == end(new)
        && variants(last) == variants(new)
        && last.rows.shares(&new.rows, range.clone())
        && locations.all(|(last, new)| last.locations.shares(&new.locations, range.clone()))
}
