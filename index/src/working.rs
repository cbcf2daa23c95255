//! Versions in which working copies stand in the place of live ones. It knows no queries: to a search, such a version
//! is like any other.
//!
//! Working copies have copy sets of their own. The copy set of a variant with its working copies has the runs of both,
//! and the live documents that a working copy replaces are not current in it. So the bitmaps of both kinds of runs are
//! complementary, no resource is found twice, and every search costs what it costs without working copies. The tables
//! of the version that was made last are kept, so the next one costs what has changed since, and not what all working
//! copies cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::live_set::LiveSet;
use crate::run::{NumberedRun, RunNumber};
use crate::schema::{Schema, VariantNumber, WORKING_UPDATED, variant_of_working, working_variant};
use crate::slot_table::SlotTable;
use crate::value::ValueRef;
use crate::version::{CopySet, Location, Row, Version};

/// The microseconds of a millisecond.
const MICROS: i64 = 1_000;

/// The versions that were made of one version, by the variant that they are read in.
#[derive(Debug, Default)]
pub(crate) struct WorkingVersions(Mutex<BTreeMap<VariantNumber, Arc<Version>>>);

/// The tables of the version with working copies that was made last, and of the version that it was made of. Without
/// their runs, whose files and memory must not stay until somebody reads working copies again.
#[derive(Debug)]
pub(crate) struct WorkingBase {
    schema: Arc<Schema>,
    /// The variant whose working copies have put their dates into `rows`.
    variant: VariantNumber,
    live_rows: SlotTable<Row>,
    rows: SlotTable<Row>,
    sets: Vec<BaseSet>,
}

/// The tables of one variant.
#[derive(Debug)]
struct BaseSet {
    variant: VariantNumber,
    live: SlotTable<Location>,
    working: SlotTable<Location>,
    shown: SlotTable<Location>,
    /// The current documents among the shown ones, by run.
    current: BTreeMap<RunNumber, LiveSet>,
}

impl WorkingVersions {
    /// Returns the version that was made of `live` for a variant, and makes it if there is none yet.
    pub(crate) fn of(&self, live: &Version, variant: VariantNumber, base: &Mutex<Option<WorkingBase>>) -> Arc<Version> {
        // Made under the locks, so that it is made once.
        let mut made = self.0.lock();
        let make = || {
            let mut base = base.lock();
            let version = base.as_ref().and_then(|base| live.with_working_copies_after(base, variant));
            let version = version.unwrap_or_else(|| live.with_working_copies(variant));
            *base = Some(WorkingBase::of(live, &version, variant));
            Arc::new(version)
        };
        Arc::clone(made.entry(variant).or_insert_with(make))
    }
}

impl WorkingBase {
    fn of(live: &Version, shown: &Version, variant: VariantNumber) -> WorkingBase {
        let set = |copies: &CopySet| {
            let working = live.working_set(copies)?;
            let shown = shown.copy_set(copies.variant.number)?;
            Some(BaseSet {
                variant: copies.variant.number,
                live: copies.locations.clone(),
                working: working.locations.clone(),
                shown: shown.locations.clone(),
                current: shown.runs.iter().map(|run| (run.number, run.live.clone())).collect(),
            })
        };
        WorkingBase {
            schema: Arc::clone(&live.schema),
            variant,
            live_rows: live.rows.clone(),
            rows: shown.rows.clone(),
            sets: live.copy_sets.iter().filter_map(set).collect(),
        }
    }

    fn set(&self, variant: VariantNumber) -> Option<&BaseSet> {
        self.sets.iter().find(|set| set.variant == variant)
    }
}

impl BaseSet {
    /// Returns the slots whose live or working copy is another one now, ascending.
    fn changed_slots(&self, live: &CopySet, working: &CopySet) -> Vec<u32> {
        let mut slots = Vec::new();
        live.locations.each_difference(&self.live, |slot, _, _| slots.push(slot));
        working.locations.each_difference(&self.working, |slot, _, _| slots.push(slot));
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

impl Version {
    /// Returns the number of working copies.
    pub(crate) fn working_copies(&self) -> u64 {
        let working = self.copy_sets.iter().filter(|copies| variant_of_working(copies.variant.number).is_some());
        working.flat_map(|copies| copies.runs.iter()).map(|run| run.live.count() as u64).sum()
    }

    /// Returns the working copies of the variant of live ones; `None` for copies that are working copies themselves.
    fn working_set(&self, live: &CopySet) -> Option<&CopySet> {
        let variant = live.variant.number;
        self.copy_set(working_variant(variant)).filter(|_| variant_of_working(variant).is_none())
    }

    /// Returns the version with working copies in the place of live ones. Its rows have the time of the last change of
    /// the working copies of `variant`.
    fn with_working_copies(&self, variant: VariantNumber) -> Version {
        let mut version = self.without_working_versions();
        for (copies, live) in version.copy_sets.iter_mut().zip(&self.copy_sets) {
            if let Some(working) = self.working_set(live).filter(|working| working.has_copies()) {
                copies.runs = live.runs_with(working, |run| run.live.clone());
                working.each_slot(|slot| copies.relocate(slot, working.locations.get(slot)));
            }
        }
        if let Some(working) = self.copy_set(working_variant(variant)) {
            working.each_slot(|slot| version.rows.set(slot, self.working_row(working, slot)));
        }
        version
    }

    /// Like [`Version::with_working_copies`], made of the tables of another such version. `None` if more has changed
    /// since than there are working copies.
    fn with_working_copies_after(&self, base: &WorkingBase, variant: VariantNumber) -> Option<Version> {
        if !Arc::ptr_eq(&self.schema, &base.schema) || variant != base.variant {
            return None;
        }
        let mut version = self.without_working_versions();
        version.rows = base.rows.clone();
        let mut slots_of_rows = Vec::new();
        self.rows.each_difference(&base.live_rows, |slot, _, _| slots_of_rows.push(slot));
        let most = self.working_copies() as usize;
        for (copies, live) in version.copy_sets.iter_mut().zip(&self.copy_sets) {
            let Some(working) = self.working_set(live) else { continue };
            let base = base.set(live.variant.number)?;
            let changed = base.changed_slots(live, working);
            if changed.len() > most {
                return None;
            }
            if working.has_copies() {
                let current = |run: &NumberedRun| base.current.get(&run.number).cloned().unwrap_or_default();
                copies.runs = live.runs_with(working, current);
                copies.locations = base.shown.clone();
                // All old ones are taken out first: after a run was written to disk, other documents have their
                // numbers.
                changed.iter().for_each(|slot| copies.relocate(*slot, Location::default()));
                for slot in &changed {
                    let location = working.locations.get(*slot);
                    let shown = if location.is_copy() { location } else { live.locations.get(*slot) };
                    copies.relocate(*slot, shown);
                }
            }
            if live.variant.number == variant {
                slots_of_rows.extend(changed);
            }
        }
        let working = self.copy_set(working_variant(variant));
        for slot in slots_of_rows {
            let row = working.map_or_else(|| self.rows.get(slot), |working| self.working_row(working, slot));
            version.rows.set(slot, row);
        }
        Some(version)
    }

    fn without_working_versions(&self) -> Version {
        // Otherwise a version made of it would hold it.
        Version { working: Arc::default(), ..self.clone() }
    }

    /// Returns the row of a slot with the time of the last change of its working copy, if it has one.
    fn working_row(&self, working: &CopySet, slot: u32) -> Row {
        let mut row = self.rows.get(slot);
        if let ValueRef::Instant { micros, .. } = working.value_without_folded(slot, WORKING_UPDATED) {
            row.updated = micros.div_euclid(MICROS);
        }
        row
    }
}

impl CopySet {
    fn has_copies(&self) -> bool {
        self.runs.iter().any(|run| run.live.count() > 0)
    }

    /// Returns the runs of live copies together with those of working copies, by number. `current` returns the current
    /// documents of a run.
    fn runs_with(&self, working: &CopySet, current: impl Fn(&NumberedRun) -> LiveSet) -> Arc<Vec<NumberedRun>> {
        let live = self.runs.iter().map(NumberedRun::with_working_lengths);
        let mut runs: Vec<NumberedRun> = live.chain(working.runs.iter().cloned()).collect();
        runs.iter_mut().for_each(|run| run.live = current(run));
        runs.sort_by_key(|run| run.number);
        Arc::new(runs)
    }

    /// Calls `each` with the slot of each copy.
    fn each_slot(&self, mut each: impl FnMut(u32)) {
        for run in self.runs.iter() {
            run.live.to_bitmap().iter().for_each(|document| each(run.run.slot(document)));
        }
    }
}

#[cfg(test)]
mod tests;
