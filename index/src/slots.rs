//! The slots of ids, and the vacant slots. It knows neither queries nor copies.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::RwLock;

use crate::pins::Pins;
use crate::version::Version;

/// The slot of each id, shared by all versions of an index.
///
/// An id keeps its slot after its resource is deleted, until another resource reuses the slot. So an older version
/// still finds the resource, and every lookup must check the slot's row in its own version.
///
/// Only slots are kept, 4 bytes each: their ids are in the rows.
#[derive(Debug)]
pub(crate) struct SlotMap {
    /// The slots of the latest version, by the hash of the id in their row.
    slots: RwLock<HashTable<u32>>,
    hasher: DefaultHashBuilder,
}

/// The slots without a resource. Only the writer uses it; readers never see it.
#[derive(Default)]
pub(crate) struct VacantSlots {
    /// The vacated slots by version, ascending. An entry is void unless `since` has the same version for its slot.
    queue: VecDeque<VacatedSlot>,
    /// For each vacant slot, the version that vacated it.
    since: HashMap<u32, u64>,
}

#[derive(Clone, Copy)]
struct VacatedSlot {
    slot: u32,
    /// The first version without the resource.
    version: u64,
}

impl SlotMap {
    pub(crate) fn of(version: &Version) -> SlotMap {
        let hasher = DefaultHashBuilder::default();
        let hash = |&slot: &u32| hasher.hash_one(version.rows.get(slot).id);
        let mut slots = HashTable::with_capacity(version.total);
        for slot in version.live_slots.to_bitmap().iter() {
            slots.insert_unique(hash(&slot), slot, hash);
        }
        SlotMap { slots: RwLock::new(slots), hasher }
    }

    /// Returns the slot of a resource of this version.
    pub(crate) fn find(&self, version: &Version, id: u128) -> Option<u32> {
        self.find_in(&self.slots.read(), version, id)
    }

    /// Returns the slots of those ids that are resources of this version, ascending.
    pub(crate) fn find_all(&self, version: &Version, ids: &[u128]) -> Vec<u32> {
        let slots = self.slots.read();
        let mut found: Vec<u32> = ids.iter().filter_map(|&id| self.find_in(&slots, version, id)).collect();
        found.sort_unstable();
        found
    }

    fn find_in(&self, slots: &HashTable<u32>, version: &Version, id: u128) -> Option<u32> {
        slots.find(self.hasher.hash_one(id), |&slot| version.is_in_slot(id, slot)).copied()
    }

    /// Assigns a slot to an id that is not a resource of `version`, the version being written. The caller marks it as
    /// live, and writes its row before the next call.
    ///
    /// Chooses the slot that the id had before, unless another resource has reused it, so that snapshots from before
    /// its deletion still find it. Otherwise chooses a vacant slot in which no version in use shows another resource,
    /// or else a new slot.
    pub(crate) fn assign(&self, id: u128, version: &mut Version, vacant: &mut VacantSlots, pins: &Pins) -> u32 {
        let hash = |id: u128| self.hasher.hash_one(id);
        let mut slots = self.slots.write();
        if let Some(&slot) = slots.find(hash(id), |&slot| version.rows.get(slot).id == id) {
            vacant.remove(slot);
            return slot;
        }
        let slot = match vacant.take(pins.oldest()) {
            Some(slot) => {
                // A slot that was already vacant at the start is in no table.
                if let Ok(previous) = slots.find_entry(hash(version.rows.get(slot).id), |&other| other == slot) {
                    previous.remove();
                }
                slot
            }
            None => {
                version.slot_count += 1;
                version.slot_count - 1
            }
        };
        slots.insert_unique(hash(id), slot, |&slot| hash(version.rows.get(slot).id));
        slot
    }
}

impl VacantSlots {
    pub(crate) fn of(version: &Version) -> VacantSlots {
        let mut vacant = VacantSlots::default();
        let live = version.live_slots.to_bitmap();
        for slot in (0..version.slot_count).filter(|&slot| !live.contains(slot)) {
            vacant.add(slot, version.number);
        }
        vacant
    }

    /// Adds a slot that `version` vacated.
    pub(crate) fn add(&mut self, slot: u32, version: u64) {
        self.queue.push_back(VacatedSlot { slot, version });
        self.since.insert(slot, version);
    }

    fn remove(&mut self, slot: u32) {
        self.since.remove(&slot);
    }

    /// Removes and returns a slot whose previous resource is not shown by any version in use: it was vacated by version
    /// `oldest` or an earlier one.
    fn take(&mut self, oldest: u64) -> Option<u32> {
        while let Some(&VacatedSlot { slot, version }) = self.queue.front() {
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
