//! Applies operations to slots, rows, documents and locations. It knows no queries and publishes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::options::Options;
use crate::pins::Pins;
use crate::run::{Document, FrozenRun, MemoryRun, NumberedRun, Run, RunNumber};
use crate::schema::{Copy, IndexOp, Schema, Stamps, VariantNumber};
use crate::slots::{SlotMap, VacantSlots};
use crate::version::{CopySet, Location, Row, Version};

/// The state that only the writing thread uses.
pub(crate) struct IndexWriter {
    /// The version being written. Between two writes, the published one.
    pub(crate) version: Version,
    /// Full memory runs, oldest first, until a disk run replaces them.
    pub(crate) frozen: Vec<FrozenRun>,
    /// The next run number; all numbers used by this index are smaller.
    next_run: RunNumber,
    /// The growing memory run of each variant.
    growing: HashMap<VariantNumber, GrowingRun>,
    pins: Arc<Pins>,
    slots: Arc<SlotMap>,
    vacant: VacantSlots,
    options: Options,
}

struct GrowingRun {
    number: RunNumber,
    memory: Arc<MemoryRun>,
}

impl IndexWriter {
    pub(crate) fn new(version: Version, slots: Arc<SlotMap>, options: Options) -> IndexWriter {
        let vacant = VacantSlots::of(&version);
        let runs = version.copy_sets.iter().flat_map(|copies| copies.runs.iter());
        let next_run = runs.map(|run| run.number + 1).max().unwrap_or(0);
        IndexWriter {
            pins: version.pin.pins(),
            version,
            frozen: Vec::new(),
            next_run,
            growing: HashMap::new(),
            slots,
            vacant,
            options,
        }
    }

    /// Writes the next version. Returns the slots that it changed, ascending.
    pub(crate) fn apply(&mut self, ops: Vec<IndexOp>) -> Vec<u32> {
        self.version.number += 1;
        let mut changed = Vec::with_capacity(ops.len());
        for op in ops {
            match op {
                IndexOp::Put { id, stamps, copies } => changed.push(self.put(id, stamps, copies)),
                IndexOp::Delete { id } => changed.extend(self.delete(id)),
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Writes the next version, with another schema.
    pub(crate) fn set_schema(&mut self, schema: Schema) {
        self.version.number += 1;
        let mut previous = std::mem::take(&mut self.version.copy_sets);
        for variant in &schema.variants {
            let kept = previous.iter().position(|copies| copies.variant.number == variant.number);
            let empty = CopySet::empty(variant.clone());
            self.version.copy_sets.push(match kept {
                Some(index) => {
                    CopySet { variant: empty.variant, collation: empty.collation, ..previous.swap_remove(index) }
                }
                None => empty,
            });
        }
        for removed in previous {
            self.growing.remove(&removed.variant.number);
            self.frozen.retain(|frozen| frozen.variant != removed.variant.number);
        }
        self.version.schema = Arc::new(schema);
    }

    /// Freezes every growing memory run.
    pub(crate) fn freeze_all(&mut self) {
        let variants: Vec<VariantNumber> = self.growing.keys().copied().collect();
        for variant in variants {
            self.freeze(variant);
        }
    }

    /// Returns a copy of the version for publishing.
    pub(crate) fn publishable(&mut self) -> Version {
        self.version.pin = Pins::pin(&self.pins, self.version.number);
        self.version.working = Arc::default();
        self.version.clone()
    }

    /// Returns a number for a new run.
    pub(crate) fn take_run_number(&mut self) -> RunNumber {
        self.next_run += 1;
        self.next_run - 1
    }

    fn put(&mut self, id: u128, stamps: Stamps, copies: Vec<(VariantNumber, Option<Copy>)>) -> u32 {
        let slot = match self.slots.find(&self.version, id) {
            Some(slot) => slot,
            None => self.create(id),
        };
        self.version.rows.set(slot, Row::new(id, stamps));
        for (variant, copy) in copies {
            let variants = &self.version.copy_sets;
            let Some(index) = variants.iter().position(|copies| copies.variant.number == variant) else { continue };
            let location = match copy {
                Some(copy) => self.append(variant, index, slot, copy),
                None if !variants[index].locations.get(slot).is_copy() => continue,
                None => Location::default(),
            };
            self.version.copy_sets[index].relocate(slot, location);
        }
        slot
    }

    fn delete(&mut self, id: u128) -> Option<u32> {
        let slot = self.slots.find(&self.version, id)?;
        self.version.rows.set(slot, Row { id, ..Row::default() });
        for copies in &mut self.version.copy_sets {
            if copies.locations.get(slot).is_copy() {
                copies.relocate(slot, Location::default());
            }
        }
        self.version.live_slots.remove(slot);
        self.version.total -= 1;
        self.vacant.add(slot, self.version.number);
        Some(slot)
    }

    /// Assigns a slot to a new resource.
    fn create(&mut self, id: u128) -> u32 {
        let slot = self.slots.assign(id, &mut self.version, &mut self.vacant, &self.pins);
        self.version.live_slots.insert(slot);
        self.version.total += 1;
        slot
    }

    /// Appends a document to the variant's growing run. `index` is the position of the variant's copies.
    fn append(&mut self, variant: VariantNumber, index: usize, slot: u32, copy: Copy) -> Location {
        let options = &self.options;
        let (max_documents, max_bytes) = (options.memory_run_entries, options.memory_run_bytes);
        let sorted_from = options.thresholds.sorted_from;
        let mut document = Arc::new(Document::new(slot, copy.values));
        loop {
            let growing = self.growing.entry(variant).or_insert_with(|| {
                let memory = Arc::new(MemoryRun::new(max_documents, sorted_from));
                let number = self.next_run;
                self.next_run += 1;
                let runs = Arc::make_mut(&mut self.version.copy_sets[index].runs);
                runs.push(NumberedRun::new(number, Run::Memory(Arc::clone(&memory))));
                GrowingRun { number, memory }
            });
            let memory = &growing.memory;
            let is_full = memory.len() as usize >= max_documents || memory.bytes() >= max_bytes;
            if is_full && memory.len() > 0 {
                self.freeze(variant);
                continue;
            }
            match memory.append(document) {
                Ok(doc) => return Location { run: growing.number, doc, number: copy.number },
                Err(rejected) => document = rejected,
            }
            self.freeze(variant);
        }
    }

    /// Freezes the variant's growing run. Drops it if none of its documents is current.
    fn freeze(&mut self, variant: VariantNumber) {
        let Some(copies) = self.version.copy_set_mut(variant) else { return };
        let Some(GrowingRun { number, memory }) = self.growing.remove(&variant) else { return };
        let live_docs = copies.numbered(number).map(|run| run.live.to_bitmap()).unwrap_or_default();
        if live_docs.count() == 0 {
            Arc::make_mut(&mut copies.runs).retain(|run| run.number != number);
            return;
        }
        self.frozen.push(FrozenRun { variant, number, memory, live_docs: Arc::new(live_docs) });
    }
}
