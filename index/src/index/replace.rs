//! Replaces runs with a run of the same copies: a memory run with a disk run, or several disk runs with one. It knows
//! no writer and no files.
//!
//! The copies of a large run are in many chunks of the table of locations, and writers must not wait while all of those
//! are rewritten. So a [`Replacement`] is computed beside the writers, from a published version. Applying it checks the
//! few chunks that were written to since then, and uses the computed ones for the rest.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::live_set::LiveSet;
use crate::run::{NumberedRun, RunNumber};
use crate::slot_table::SlotTable;
use crate::version::{CopySet, Location};

/// A run to be replaced.
#[derive(Debug, Clone)]
pub(crate) struct ReplacedRun {
    pub(crate) number: RunNumber,
    /// The documents that went into the new run, in their order.
    pub(crate) live_docs: Arc<Bitmap>,
}

/// A replacement of runs.
pub(super) struct Replacement<'a> {
    replaced: &'a [ReplacedRun],
    /// The new run; `None` if the runs are only removed.
    new: Option<NewRun>,
}

/// The new run, with the locations of copies at the time when it was computed.
struct NewRun {
    run: NumberedRun,
    /// The locations of all copies before the replacement.
    before: SlotTable<Location>,
    /// The locations afterwards: copies of replaced runs are in the new run.
    after: SlotTable<Location>,
    /// For each replaced run, the number that each of its documents has in the new run, or [`DROPPED`].
    new_docs: HashMap<RunNumber, Vec<u32>>,
}

/// The number that stands for a document that is not in the new run.
const DROPPED: u32 = u32::MAX;

impl<'a> Replacement<'a> {
    /// Computes a replacement of runs by a new one, or their removal. The new run must hold the live documents of the
    /// replaced runs, one run after another. Takes time in proportion to the number of these documents.
    pub(super) fn new(copies: &CopySet, replaced: &'a [ReplacedRun], new: Option<NumberedRun>) -> Replacement<'a> {
        Replacement { replaced, new: new.map(|run| NewRun::new(copies, replaced, run)) }
    }

    /// Replaces the runs. Copies written or deleted since their live documents were collected stay as they are.
    ///
    /// Returns false and changes nothing if one of the runs does not exist (any more).
    pub(super) fn apply(self, copies: &mut CopySet) -> bool {
        let Replacement { replaced, new } = self;
        if replaced.iter().any(|run| copies.run(run.number).is_none()) {
            return false;
        }
        let new = new.map(|new| new.apply(&mut copies.locations));
        let runs = Arc::make_mut(&mut copies.runs);
        runs.retain(|run| !replaced.iter().any(|replaced| replaced.number == run.number));
        runs.extend(new);
        runs.sort_by_key(|run| run.number);
        true
    }
}

impl NewRun {
    fn new(copies: &CopySet, replaced: &[ReplacedRun], mut run: NumberedRun) -> NewRun {
        let before = copies.locations.clone();
        let mut after = before.clone();
        let mut live = Bitmap::default();
        let mut new_docs = HashMap::new();
        let mut new_doc = 0;
        for ReplacedRun { number, live_docs } in replaced {
            let Some(NumberedRun { run: old, live: still_live, .. }) = copies.numbered(*number) else { continue };
            let mut docs = vec![DROPPED; old.len() as usize];
            for doc in live_docs.iter() {
                if still_live.contains(doc) {
                    let slot = old.slot(doc);
                    after.set(slot, Location { run: run.number, doc: new_doc, ..before.get(slot) });
                    live.insert(new_doc);
                }
                docs[doc as usize] = new_doc;
                new_doc += 1;
            }
            new_docs.insert(*number, docs);
        }
        run.live = LiveSet::of(&live);
        NewRun { run, before, after, new_docs }
    }

    /// Points locations to the new run, and returns it.
    fn apply(self, locations: &mut SlotTable<Location>) -> NumberedRun {
        let NewRun { mut run, before, mut after, new_docs } = self;
        let new_doc = |location: Location| {
            let doc = new_docs.get(&location.run)?.get(location.doc as usize)?;
            (*doc != DROPPED).then_some(*doc)
        };
        let (mut chunks_before, mut start) = (before.slices(), 0);
        for chunk in locations.slices() {
            let first = start;
            start += chunk.len() as u32;
            if chunks_before.next().is_some_and(|before| std::ptr::eq(before, chunk)) {
                continue;
            }
            for (slot, &now) in (first..).zip(chunk) {
                let then = before.get(slot);
                if now == then {
                    continue;
                }
                if let Some(doc) = new_doc(then) {
                    run.live.remove(doc);
                }
                after.set(slot, now);
                if let Some(doc) = new_doc(now) {
                    after.set(slot, Location { run: run.number, doc, ..now });
                    run.live.insert(doc);
                }
            }
        }
        *locations = after;
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Document, MemoryRun, Run};
    use crate::schema::Variant;

    /// Returns a run with one document for each slot.
    fn run(slots: impl Iterator<Item = u32>) -> Arc<MemoryRun> {
        let run = Arc::new(MemoryRun::new(5_000, 4));
        slots.for_each(|slot| drop(run.append(Arc::new(Document::new(slot, Vec::new())))));
        run
    }

    fn numbered(number: RunNumber, run: &Arc<MemoryRun>) -> NumberedRun {
        NumberedRun::new(number, Run::Memory(Arc::clone(run)))
    }

    fn location(run: RunNumber, doc: u32) -> Location {
        Location { run, doc, number: 7 }
    }

    #[test]
    fn copies_written_since_a_replacement_was_computed_stay_as_they_are() {
        let mut copies = CopySet::empty(Variant { number: 0, locale: None });
        let old = run(0..3_000);
        copies.runs = Arc::new(vec![numbered(3, &old), numbered(5, &run(0..4_000))]);
        (0..3_000).for_each(|slot| copies.relocate(slot, location(3, slot)));
        // One copy is outdated, and every second of the others is in the new run.
        copies.relocate(20, location(5, 20));
        let live_docs: Bitmap = (0..3_000).filter(|doc| doc % 2 == 0 && *doc != 40).collect();
        let replaced = [ReplacedRun { number: 3, live_docs: Arc::new(live_docs.clone()) }];
        let new = run(live_docs.iter());
        let replacement = Replacement::new(&copies, &replaced, Some(numbered(3, &new)));

        copies.relocate(30, location(5, 30));
        copies.relocate(32, Location::default());
        copies.relocate(20, location(3, 20));
        copies.relocate(3_500, location(5, 3_500));
        let expected: Vec<Location> = (0..4_000).map(|slot| copies.locations.get(slot)).collect();
        assert!(replacement.apply(&mut copies));

        for (slot, before) in (0..).zip(expected) {
            let found = copies.locations.get(slot);
            match (before.run, live_docs.contains(slot)) {
                (3, true) => {
                    assert_eq!((found.run, new.document(found.doc).slot, found.number), (3, slot, 7));
                    assert!(copies.runs[0].live.contains(found.doc));
                }
                _ => assert_eq!(found, before, "slot {slot}"),
            }
        }
        let of_new = |slot: u32| copies.locations.get(slot).run == 3 && live_docs.contains(slot);
        assert_eq!(copies.runs[0].live.count(), (0..4_000).filter(|&slot| of_new(slot)).count());
        assert!(
            !Replacement::new(&copies, &[ReplacedRun { number: 4, ..replaced[0].clone() }], None).apply(&mut copies)
        );
    }
}
