//! The moments at which publications of a scheduled blueprint become due (`API.md` 3.5): at each, the committer makes a
//! transaction of what is due.

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_index::{Bound, DateColumn, Filter, Query, Range, Snapshot};
use bindery_model::time::Millis;
use parking_lot::Mutex;

/// The number of resources that are read from a snapshot at a time.
const BATCH: usize = 1_024;

/// The moments of one blueprint. Clones share them, also across versions of its resources: at a moment that no longer
/// means anything, nothing is due.
#[derive(Clone, Default)]
pub(crate) struct Releases {
    known: Arc<Mutex<KnownMoments>>,
}

#[derive(Default)]
struct KnownMoments {
    moments: BTreeSet<Millis>,
    /// True if the moments include those of the resources that existed when the first reader asked.
    is_complete: bool,
}

impl Releases {
    /// Adds the publication date of a resource, before readers see it. `now` is the time of the transaction; what was
    /// due by then is forgotten.
    pub(crate) fn add(&self, published: Millis, now: Millis) {
        self.known.lock().moments.insert(published);
        self.forget(now);
    }

    /// Forgets the moments until `until`: what was due then is recorded, or nothing was.
    pub(crate) fn forget(&self, until: Millis) {
        let moments = &mut self.known.lock().moments;
        *moments = moments.split_off(&until.saturating_add(1));
    }

    /// Returns the first moment after `after`.
    ///
    /// # Errors
    /// The errors of the index, which is read only on the first call.
    pub(crate) fn first_after(
        &self,
        after: Millis,
        snapshot: &Snapshot,
    ) -> Result<Option<Millis>, bindery_index::Error> {
        self.complete(after, snapshot)?;
        let range = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        Ok(self.known.lock().moments.range(range).next().copied())
    }

    /// Adds the moments of all resources; used when the index is damaged and cannot provide them.
    pub(crate) fn fill(&self, moments: impl Iterator<Item = Millis>) {
        let mut known = self.known.lock();
        known.moments.extend(moments);
        known.is_complete = true;
    }

    /// Reads the moments of the resources that existed before, unless that was done.
    fn complete(&self, after: Millis, snapshot: &Snapshot) -> Result<(), bindery_index::Error> {
        if !self.known.lock().is_complete {
            let moments = moments_of(snapshot, after)?;
            let mut known = self.known.lock();
            known.moments.extend(moments);
            known.is_complete = true;
        }
        Ok(())
    }
}

/// All publication dates after `after`.
fn moments_of(snapshot: &Snapshot, after: Millis) -> Result<Vec<Millis>, bindery_index::Error> {
    let future = Range { from: Some(Bound::Excluded(after)), to: None };
    let filter = Filter::Date(DateColumn::Published, future);
    let mut moments = Vec::new();
    let mut stream = snapshot.stream(&Query { variant: 0, filter, sort: Vec::new() })?;
    loop {
        let hits = stream.next(BATCH);
        if hits.is_empty() {
            return Ok(moments);
        }
        moments.extend(hits.iter().filter_map(|hit| hit.stamps.published));
        // Many resources may have the same date.
        moments.dedup();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_first_moment_is_that_of_the_next_publication() {
        let index = bindery_index::Index::in_memory(
            bindery_index::Schema { columns: Vec::new(), variants: Vec::new() },
            bindery_index::Options::default(),
        );
        let day = 86_400_000;
        let put = |id: u128, published| bindery_index::IndexOp::Put {
            id,
            stamps: bindery_index::Stamps { version: 1, created: 1, updated: 1, published },
            copies: Vec::new(),
        };
        index.apply(vec![put(1, Some(3 * day)), put(2, Some(9 * day)), put(3, Some(5 * day)), put(4, None)]);
        let (releases, snapshot) = (Releases::default(), index.snapshot());
        releases.add(7 * day, 4 * day);
        let first = |after: Millis| releases.first_after(after * day, &snapshot).unwrap().map(|first| first / day);
        assert_eq!([4, 5, 6, 7, 8, 9].map(first), [Some(5), Some(7), Some(7), Some(9), Some(9), None]);
        releases.add(20 * day, 8 * day);
        // Forgotten: what was due before.
        assert_eq!([6, 8, 9, 20].map(first), [Some(9), Some(9), Some(20), None]);
    }
}
