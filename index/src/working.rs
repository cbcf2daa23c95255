//! Versions in which working copies stand in the place of live ones. It knows no queries: to a search, such a version is like
//! any other.
//!
//! Working copies have copy sets of their own. The copy set of a variant with its working copies has the runs of both, and the
//! live documents that a working copy replaces are not current in it. So the bitmaps of both kinds of runs are complementary,
//! no resource is found twice, and every search costs what it costs without working copies. Making such a version copies the
//! chunks of the tables in which working copies are, and shares the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::run::NumberedRun;
use crate::schema::{VariantNumber, WORKING_UPDATED, variant_of_working, working_variant};
use crate::value::ValueRef;
use crate::version::{CopySet, Version};

/// The microseconds of a millisecond.
const MICROS: i64 = 1_000;

/// The versions that were made of one version, by the variant that they are read in.
#[derive(Debug, Default)]
pub(crate) struct WorkingVersions(Mutex<BTreeMap<VariantNumber, Arc<Version>>>);

impl WorkingVersions {
    /// Returns the version that was made of `live` for a variant, and makes it if there is none yet.
    pub(crate) fn of(&self, live: &Version, variant: VariantNumber) -> Arc<Version> {
        // Made under the lock, so that it is made once.
        let mut made = self.0.lock();
        Arc::clone(made.entry(variant).or_insert_with(|| Arc::new(live.with_working_copies(variant))))
    }
}

impl Version {
    /// Returns the number of working copies.
    pub(crate) fn working_copies(&self) -> u64 {
        let working = self.copy_sets.iter().filter(|copies| variant_of_working(copies.variant.number).is_some());
        working.flat_map(|copies| copies.runs.iter()).map(|run| run.live.count() as u64).sum()
    }

    /// Returns the version with working copies in the place of live ones. Its rows have the time of the last change of the
    /// working copies of `variant`.
    fn with_working_copies(&self, variant: VariantNumber) -> Version {
        let mut version = self.clone();
        // Otherwise the version would hold itself.
        version.working = Arc::default();
        for copies in &mut version.copy_sets {
            if let Some(working) = self.copy_set(working_variant(copies.variant.number))
                && variant_of_working(copies.variant.number).is_none()
            {
                copies.put_over(working);
            }
        }
        if let Some(working) = self.copy_set(working_variant(variant)) {
            working.each_document(|slot, run, document| {
                if let ValueRef::Instant { micros, .. } = run.run.value_without_folded(document, WORKING_UPDATED) {
                    let mut row = version.rows.get(slot);
                    row.updated = micros.div_euclid(MICROS);
                    version.rows.set(slot, row);
                }
            });
        }
        version
    }
}

impl CopySet {
    /// Puts working copies in the place of live ones.
    fn put_over(&mut self, working: &CopySet) {
        if working.runs.iter().all(|run| run.live.count() == 0) {
            return;
        }
        let mut runs: Vec<NumberedRun> = self.runs.iter().map(NumberedRun::with_working_lengths).collect();
        runs.extend(working.runs.iter().cloned());
        runs.sort_by_key(|run| run.number);
        self.runs = Arc::new(runs);
        working.each_document(|slot, _, _| self.relocate(slot, working.locations.get(slot)));
    }

    /// Calls `each` with the slot, the run and the document of each copy.
    fn each_document(&self, mut each: impl FnMut(u32, &NumberedRun, u32)) {
        for run in self.runs.iter() {
            for document in run.live.to_bitmap().iter() {
                each(run.run.slot(document), run, document);
            }
        }
    }
}

#[cfg(test)]
mod tests;
