//! Exchanging runs for others that hold the same: memory runs for disk runs, several disk runs for one. No version is
//! made, since nothing that a query sees changes. It knows no files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::apply::Frozen;
use crate::bitmap::Bitmap;
use crate::disk::DiskRun;
use crate::index::{Index, Wake};
use crate::options::Options;
use crate::run::Run;
use crate::schema::{Schema, VariantNumber};
use crate::state::{Location, Part, Pins, Row, State};
use crate::table::Table;

/// A run that another takes the place of.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its number.
    pub(crate) run: u32,
    /// The documents that went into the new run, in their order.
    pub(crate) alive: Arc<Bitmap>,
}

/// The copies of one variant as they come from disk.
#[derive(Debug)]
pub(crate) struct StoredPart {
    pub(crate) variant: VariantNumber,
    pub(crate) locations: Table<Location>,
    /// With their numbers.
    pub(crate) runs: Vec<(u32, Arc<DiskRun>)>,
}

impl Index {
    /// An index as it was stored. Every location must name a run of its part and a document of that run.
    pub(crate) fn load(
        schema: Schema,
        rows: Table<Row>,
        stored: Vec<StoredPart>,
        options: Options,
        wake: Option<Wake>,
    ) -> Index {
        let mut state = State::new(schema, &Arc::new(Pins::default()));
        let live: Bitmap = (0..rows.len() as u32).filter(|&slot| rows.get(slot).is_live()).collect();
        state.total = live.count();
        state.slots = live.iter().last().map_or(0, |slot| slot + 1);
        state.live = Arc::new(live);
        state.rows = rows;
        for stored in stored {
            let Some(part) = state.parts.iter_mut().find(|part| part.variant.number == stored.variant) else {
                continue;
            };
            let mut runs: Vec<_> = stored.runs.into_iter().map(|(number, run)| (number, Run::Disk(run))).collect();
            runs.sort_by_key(|(number, _)| *number);
            part.locations = stored.locations;
            part.runs = Arc::new(runs);
        }
        Index::of(state, options, wake)
    }

    /// Freezes the growing memory runs. The state that is given names disk runs and the frozen runs that are given with
    /// it alone, and is that of every change applied so far.
    pub(crate) fn freeze(&self) -> (Arc<State>, Vec<Frozen>) {
        let mut writer = self.shared.writer.lock();
        writer.freeze_all();
        self.shared.publish(&mut writer);
        (self.shared.current(), writer.frozen.clone())
    }

    /// The frozen runs that wait to be written, oldest first.
    pub(crate) fn frozen(&self) -> Vec<Frozen> {
        self.shared.writer.lock().frozen.clone()
    }

    /// A number for a new run.
    pub(crate) fn take_run_number(&self) -> u32 {
        let mut writer = self.shared.writer.lock();
        writer.next_run += 1;
        writer.next_run - 1
    }

    /// Puts a new run in the place of others, or takes wholly dead ones away. The new run holds the living documents
    /// of the sources, one source after another, each in its order. What was replaced or deleted meanwhile stays so.
    ///
    /// False, and nothing done, if a source is not there (any more), as when its variant was removed.
    pub(crate) fn install(&self, variant: VariantNumber, sources: &[Source], new: Option<(u32, Arc<DiskRun>)>) -> bool {
        self.replace(variant, sources, new.map(|(number, run)| (number, Run::Disk(run))))
    }

    /// What [`Index::install`] does, whatever the new run lies in.
    pub(crate) fn replace(&self, variant: VariantNumber, sources: &[Source], new: Option<(u32, Run)>) -> bool {
        let mut writer = self.shared.writer.lock();
        let Some(part) = writer.state.parts.iter_mut().find(|part| part.variant.number == variant) else {
            return false;
        };
        if sources.iter().any(|source| part.run(source.run).is_none()) {
            return false;
        }
        if let Some((number, _)) = new {
            relocate(part, sources, number);
        }
        exchange(part, sources, new);
        writer.frozen.retain(|frozen| !sources.iter().any(|source| source.run == frozen.run));
        self.shared.publish(&mut writer);
        drop(writer);
        self.shared.room.notify_all();
        true
    }

    /// Lets `apply` go on however many frozen runs wait, or not: for when they cannot be written for now.
    pub(crate) fn set_unbounded(&self, unbounded: bool) {
        self.shared.unbounded.store(unbounded, Ordering::Relaxed);
        // Under the lock, so that nobody has looked and not yet begun to wait.
        drop(self.shared.writer.lock());
        self.shared.room.notify_all();
    }
}

/// Lets locations that name a source's document name the new run's.
fn relocate(part: &mut Part, sources: &[Source], number: u32) {
    let runs = Arc::clone(&part.runs);
    let mut rank = 0;
    for source in sources {
        let Ok(place) = runs.binary_search_by_key(&source.run, |(number, _)| *number) else { continue };
        let run = &runs[place].1;
        for doc in source.alive.iter() {
            let slot = run.slot(doc);
            let location = part.locations.get(slot);
            if location.run == source.run && location.doc == doc {
                part.locations.set(slot, Location { run: number, doc: rank, ..location });
            }
            rank += 1;
        }
    }
}

fn exchange(part: &mut Part, sources: &[Source], new: Option<(u32, Run)>) {
    let runs = Arc::make_mut(&mut part.runs);
    runs.retain(|(number, _)| !sources.iter().any(|source| source.run == *number));
    runs.extend(new);
    runs.sort_by_key(|(number, _)| *number);
}
