//! Converts slots to documents of runs. It knows no values.

use super::snapshot::Snapshot;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::NumberedRun;
use crate::schema::VariantNumber;
use crate::version::CopySet;

/// Documents of a run.
pub(super) struct RunDocuments<'a> {
    pub(super) numbered: &'a NumberedRun,
    pub(super) documents: Bitmap,
    pub(super) count: usize,
}

/// Returns the documents of the copies in these slots.
pub(super) fn documents<'a>(
    snapshot: &'a Snapshot,
    slots: &Bitmap,
    variant: VariantNumber,
    interrupt: &Interrupt<'_>,
) -> Result<Vec<RunDocuments<'a>>, Error> {
    let Some(copies) = snapshot.version.copy_set(variant) else { return Ok(Vec::new()) };
    let mut found: Vec<Bitmap> =
        if slots.count() < snapshot.version.total / snapshot.context.options.thresholds.looked_up_share {
            by_location(copies, slots, interrupt)?
        } else {
            let mut found = Vec::with_capacity(copies.runs.len());
            for numbered in copies.runs.iter() {
                interrupt.check()?;
                found.push(numbered.current_in(slots));
            }
            found
        };
    let parts = copies.runs.iter().zip(found.drain(..)).map(|(numbered, documents)| {
        let count = documents.count();
        RunDocuments { numbered, documents, count }
    });
    Ok(parts.filter(|part| part.count > 0).collect())
}

/// Like [`documents`], for few slots. The result is by run.
fn by_location(copies: &CopySet, slots: &Bitmap, interrupt: &Interrupt<'_>) -> Result<Vec<Bitmap>, Error> {
    let mut found: Vec<Bitmap> = copies.runs.iter().map(|_| Bitmap::default()).collect();
    for slot in slots.iter() {
        interrupt.step()?;
        let location = copies.locations.get(slot);
        if let Ok(index) = copies.runs.binary_search_by_key(&location.run, |numbered| numbered.number) {
            found[index].insert(location.doc);
        }
    }
    Ok(found)
}
