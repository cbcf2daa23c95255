//! What a change does: slots, rows, documents, locations. It knows no queries and publishes nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::index::Shared;
use crate::memory::{Document, MemoryRun};
use crate::options::Options;
use crate::run::Run;
use crate::schema::{Copy, IndexOp, Schema, Stamps, VariantNumber};
use crate::state::{Location, Part, Pins, Row, State};

/// The writer's side of an index.
pub(crate) struct Writer {
    /// The version that is being made; also the published one, between two changes.
    pub(crate) state: State,
    /// Memory runs that are full, oldest first, until a disk run stands in their place.
    pub(crate) frozen: Vec<Frozen>,
    /// Run numbers of this index are below it.
    pub(crate) next_run: u32,
    /// The memory run of each variant that still grows.
    active: HashMap<VariantNumber, (u32, Arc<MemoryRun>)>,
    pins: Arc<Pins>,
    vacant: Vacant,
}

/// A full memory run.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    pub(crate) variant: VariantNumber,
    /// Its number.
    pub(crate) run: u32,
    pub(crate) memory: Arc<MemoryRun>,
    /// The documents that were current when it was frozen. No state published since names another one, so a disk run
    /// made of these, in their order, can stand in its place in any of them.
    pub(crate) alive: Arc<Bitmap>,
}

/// Slots without a resource. One is not taken while a snapshot can see who had it before.
#[derive(Default)]
struct Vacant {
    /// With the version that left it, ascending. Entries that `since` does not confirm are void.
    queue: VecDeque<(u64, u32)>,
    since: HashMap<u32, u64>,
}

impl Writer {
    pub(crate) fn new(state: State) -> Writer {
        let mut vacant = Vacant::default();
        for slot in (0..state.slots).filter(|&slot| !state.live.contains(slot)) {
            vacant.add(slot, state.version);
        }
        let next_run = state.parts.iter().flat_map(|part| part.runs.iter()).map(|(run, _)| run + 1).max();
        Writer {
            pins: state.pin.pins(),
            state,
            frozen: Vec::new(),
            next_run: next_run.unwrap_or(0),
            active: HashMap::new(),
            vacant,
        }
    }

    /// Makes the next version and gives the slots that it changed.
    pub(crate) fn apply(&mut self, changes: Vec<IndexOp>, shared: &Shared) -> Vec<u32> {
        self.state.version += 1;
        let mut changed = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                IndexOp::Put { id, stamps, copies } => changed.push(self.put(id, stamps, copies, shared)),
                IndexOp::Delete { id } => changed.extend(self.delete(id, shared)),
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Makes a version with another schema.
    pub(crate) fn set_schema(&mut self, schema: Schema) {
        self.state.version += 1;
        let mut before = std::mem::take(&mut self.state.parts);
        for variant in &schema.variants {
            let kept = before.iter().position(|part| part.variant.number == variant.number);
            let fresh = Part::new(variant.clone());
            self.state.parts.push(match kept {
                Some(place) => Part { variant: fresh.variant, collation: fresh.collation, ..before.swap_remove(place) },
                None => fresh,
            });
        }
        for gone in before {
            self.active.remove(&gone.variant.number);
            self.frozen.retain(|frozen| frozen.variant != gone.variant.number);
        }
        self.state.schema = Arc::new(schema);
    }

    /// Freezes every memory run that still grows and holds something.
    pub(crate) fn freeze_all(&mut self) {
        let variants: Vec<VariantNumber> = self.active.keys().copied().collect();
        for variant in variants {
            self.freeze(variant);
        }
    }

    /// A copy of the state for publication.
    pub(crate) fn publishable(&mut self) -> State {
        self.state.pin = Pins::pin(&self.pins, self.state.version);
        self.state.clone()
    }

    fn put(&mut self, id: u128, stamps: Stamps, copies: Vec<(VariantNumber, Option<Copy>)>, shared: &Shared) -> u32 {
        let slot = match self.slot(id, shared) {
            Some(slot) => slot,
            None => self.settle(id, shared),
        };
        self.state.rows.set(slot, Row::new(id, stamps));
        for (variant, copy) in copies {
            let Some(place) = self.state.parts.iter().position(|part| part.variant.number == variant) else { continue };
            let location = match copy {
                Some(copy) => self.store(variant, place, slot, copy, &shared.options),
                None => Location::default(),
            };
            self.state.parts[place].locations.set(slot, location);
        }
        slot
    }

    fn delete(&mut self, id: u128, shared: &Shared) -> Option<u32> {
        let slot = self.slot(id, shared)?;
        self.state.rows.set(slot, Row { id, ..Row::default() });
        for part in &mut self.state.parts {
            if part.locations.get(slot).is_copy() {
                part.locations.set(slot, Location::default());
            }
        }
        Arc::make_mut(&mut self.state.live).remove(slot);
        self.state.total -= 1;
        self.vacant.add(slot, self.state.version);
        Some(slot)
    }

    /// The slot of a resource that is there.
    fn slot(&self, id: u128, shared: &Shared) -> Option<u32> {
        let slot = shared.slots.read().get(&id).copied()?;
        self.state.live.contains(slot).then_some(slot)
    }

    /// A slot for a resource that is not there: its last one if nobody took it since (so that snapshots from before
    /// its deletion still find it), else one that no snapshot remembers, else a new one.
    fn settle(&mut self, id: u128, shared: &Shared) -> u32 {
        let mut slots = shared.slots.write();
        let slot = match slots.get(&id) {
            Some(&slot) => {
                self.vacant.since.remove(&slot);
                slot
            }
            None => match self.vacant.take(self.pins.oldest()) {
                Some(slot) => {
                    let before = self.state.rows.get(slot).id;
                    if slots.get(&before) == Some(&slot) {
                        slots.remove(&before);
                    }
                    slot
                }
                None => {
                    self.state.slots += 1;
                    self.state.slots - 1
                }
            },
        };
        slots.insert(id, slot);
        Arc::make_mut(&mut self.state.live).insert(slot);
        self.state.total += 1;
        slot
    }

    /// Appends a document to the variant's growing run.
    fn store(&mut self, variant: VariantNumber, place: usize, slot: u32, copy: Copy, options: &Options) -> Location {
        let mut document = Arc::new(Document::new(slot, copy.values));
        loop {
            let (run, memory) = self.active.entry(variant).or_insert_with(|| {
                let memory = Arc::new(MemoryRun::new(options.memory_run_entries));
                let run = self.next_run;
                self.next_run += 1;
                let runs = Arc::make_mut(&mut self.state.parts[place].runs);
                runs.push((run, Run::Memory(Arc::clone(&memory))));
                (run, memory)
            });
            let is_full =
                memory.len() as usize >= options.memory_run_entries || memory.bytes() >= options.memory_run_bytes;
            if is_full && memory.len() > 0 {
                self.freeze(variant);
                continue;
            }
            match memory.append(document) {
                Ok(doc) => return Location { run: *run, doc, number: copy.number },
                Err(back) => document = back,
            }
            self.freeze(variant);
        }
    }

    fn freeze(&mut self, variant: VariantNumber) {
        let Some(part) = self.state.parts.iter_mut().find(|part| part.variant.number == variant) else { return };
        let Some((run, memory)) = self.active.remove(&variant) else { return };
        let alive = part.alive(run, &Run::Memory(Arc::clone(&memory)));
        if alive.count() == 0 {
            Arc::make_mut(&mut part.runs).retain(|(number, _)| *number != run);
            return;
        }
        self.frozen.push(Frozen { variant, run, memory, alive: Arc::new(alive) });
    }
}

impl Vacant {
    fn add(&mut self, slot: u32, version: u64) {
        self.queue.push_back((version, slot));
        self.since.insert(slot, version);
    }

    /// A slot that was left at a version no newer than the oldest that is looked at.
    fn take(&mut self, oldest: u64) -> Option<u32> {
        while let Some(&(version, slot)) = self.queue.front() {
            let is_void = self.since.get(&slot) != Some(&version);
            if !is_void && version > oldest {
                return None;
            }
            self.queue.pop_front();
            if !is_void {
                self.since.remove(&slot);
                return Some(slot);
            }
        }
        None
    }
}
