//! Which slot belongs to which id, and which slots are free. It knows neither queries nor copies.

use std::collections::{HashMap, VecDeque};

use parking_lot::RwLock;

use crate::pins::Pins;
use crate::version::Version;

/// The slot of each id, shared by all versions of an index.
///
/// An id keeps its slot after its resource is deleted, until another resource reuses the slot. So an older version
/// still finds the resource, and every lookup must check the slot's row in its own version.
#[derive(Debug)]
pub(crate) struct SlotMap {
    slots: RwLock<HashMap<u128, u32>>,
}

/// The slots without a resource. The writer's; readers never see it.
#[derive(Default)]
pub(crate) struct VacantSlots {
    /// By version, ascending. An entry that `since` does not confirm is void.
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
        let mut slots = HashMap::with_capacity(version.total);
        slots.extend(version.live_slots.iter().map(|slot| (version.rows.get(slot).id, slot)));
        SlotMap { slots: RwLock::new(slots) }
    }

    /// The slot of a resource of this version.
    pub(crate) fn find(&self, version: &Version, id: u128) -> Option<u32> {
        let slot = *self.slots.read().get(&id)?;
        version.is_in_slot(id, slot).then_some(slot)
    }

    /// The slots of those ids that are resources of this version, ascending.
    pub(crate) fn find_all(&self, version: &Version, ids: &[u128]) -> Vec<u32> {
        let slots = self.slots.read();
        let slot = |id: &u128| slots.get(id).copied().filter(|&slot| version.is_in_slot(*id, slot));
        let mut found: Vec<u32> = ids.iter().filter_map(slot).collect();
        found.sort_unstable();
        found
    }

    /// Assigns a slot to an id that is not a resource of `version`, the version being written. The caller marks it as
    /// live.
    ///
    /// Chooses the slot that the id had before if no other resource has reused it, so that snapshots from before its
    /// deletion still find it. Otherwise a vacant slot that no version in use shows another resource in, otherwise a
    /// new slot.
    pub(crate) fn assign(&self, id: u128, version: &mut Version, vacant: &mut VacantSlots, pins: &Pins) -> u32 {
        let mut slots = self.slots.write();
        if let Some(&slot) = slots.get(&id) {
            vacant.remove(slot);
            return slot;
        }
        let slot = match vacant.take(pins.oldest()) {
            Some(slot) => {
                let previous_id = version.rows.get(slot).id;
                if slots.get(&previous_id) == Some(&slot) {
                    slots.remove(&previous_id);
                }
                slot
            }
            None => {
                version.slot_count += 1;
                version.slot_count - 1
            }
        };
        slots.insert(id, slot);
        slot
    }
}

impl VacantSlots {
    pub(crate) fn of(version: &Version) -> VacantSlots {
        let mut vacant = VacantSlots::default();
        for slot in (0..version.slot_count).filter(|&slot| !version.live_slots.contains(slot)) {
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

    /// Removes and returns a slot whose previous resource no version in use shows: it was vacated by version `oldest`
    /// or an earlier one.
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
