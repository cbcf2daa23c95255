//! Replaces runs with a run of the same copies: a memory run with a disk run, or several disk runs with one. It knows
//! no writer and no files.

use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::live_set::LiveSet;
use crate::run::{NumberedRun, RunNumber};
use crate::version::{CopySet, Location};

/// A run to be replaced.
#[derive(Debug, Clone)]
pub(crate) struct ReplacedRun {
    pub(crate) number: RunNumber,
    /// The documents that went into the new run, in their order.
    pub(crate) live_docs: Arc<Bitmap>,
}

/// Replaces runs with a new one, or removes them if there is none. The new run must hold the live documents of the
/// replaced runs, one run after another. Copies written or deleted since those were collected stay as they are.
///
/// Returns false and changes nothing if one of the runs does not exist (any more).
pub(super) fn replace_runs(copies: &mut CopySet, replaced: &[ReplacedRun], new: Option<NumberedRun>) -> bool {
    if replaced.iter().any(|run| copies.run(run.number).is_none()) {
        return false;
    }
    let new = new.map(|new| NumberedRun { live: relocate(copies, replaced, new.number), ..new });
    let runs = Arc::make_mut(&mut copies.runs);
    runs.retain(|run| !replaced.iter().any(|replaced| replaced.number == run.number));
    runs.extend(new);
    runs.sort_by_key(|run| run.number);
    true
}

/// Points locations of documents in replaced runs to the same documents in the new run. Returns which documents of that are
/// current.
fn relocate(copies: &mut CopySet, replaced: &[ReplacedRun], new: RunNumber) -> LiveSet {
    let runs = Arc::clone(&copies.runs);
    let mut live = Bitmap::default();
    let mut new_doc = 0;
    for ReplacedRun { number, live_docs } in replaced {
        let Ok(index) = runs.binary_search_by_key(number, |run| run.number) else { continue };
        let NumberedRun { run, live: still_live, .. } = &runs[index];
        for doc in live_docs.iter() {
            if still_live.contains(doc) {
                let slot = run.slot(doc);
                let location = copies.locations.get(slot);
                copies.locations.set(slot, Location { run: new, doc: new_doc, ..location });
                live.insert(new_doc);
            }
            new_doc += 1;
        }
    }
    LiveSet::of(&live)
}
