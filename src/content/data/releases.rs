//! The moments at which publications of a scheduled blueprint become due. What readers see changes at such a moment without
//! a write, so the versions of their lists name the last one (`API.md` 3.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_index::{Bound, DateColumn, Filter, Query, Range, Snapshot, SortBy, SortKey};
use bindery_model::time::Millis;
use parking_lot::Mutex;

/// Moments that are over for longer than this are forgotten, but for the last of them. No reader's clock is behind by more.
const KEPT: Millis = 60_000;

/// The number of resources that are read from a snapshot at a time.
const BATCH: usize = 1_024;

/// The moments of one blueprint. Clones share them, also across versions of its resources: a moment that no longer means
/// anything only makes a version differ that need not.
#[derive(Clone, Default)]
pub(crate) struct Releases {
    known: Arc<Mutex<KnownMoments>>,
}

#[derive(Default)]
struct KnownMoments {
    moments: BTreeSet<Millis>,
    /// True if they include those of the resources that existed when the first reader asked.
    is_complete: bool,
}

impl Releases {
    /// Adds the publication date of a resource, before readers see it.
    pub(crate) fn add(&self, published: Millis, now: Millis) {
        let moments = &mut self.known.lock().moments;
        moments.insert(published);
        if let Some(&last) = moments.range(..=now - KEPT).next_back() {
            *moments = moments.split_off(&last);
        }
    }

    /// The first moment after `after`, if there is one.
    ///
    /// # Errors
    /// Those of the index, which is asked once.
    pub(crate) fn first_after(
        &self,
        after: Millis,
        snapshot: &Snapshot,
    ) -> Result<Option<Millis>, bindery_index::Error> {
        self.complete(after, snapshot)?;
        let range = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        Ok(self.known.lock().moments.range(range).next().copied())
    }

    /// The last moment that is over at `now`; the earliest time there is if there was none.
    ///
    /// # Errors
    /// Those of the index, which is asked once.
    pub(crate) fn last_before(&self, now: Millis, snapshot: &Snapshot) -> Result<Millis, bindery_index::Error> {
        self.complete(now, snapshot)?;
        Ok(self.known.lock().moments.range(..=now).next_back().copied().unwrap_or(Millis::MIN))
    }

    /// Adds the moments of all resources, for an index that cannot tell them.
    pub(crate) fn fill(&self, moments: impl Iterator<Item = Millis>) {
        let mut known = self.known.lock();
        known.moments.extend(moments);
        known.is_complete = true;
    }

    /// Reads the moments of the resources that existed before, unless that was done.
    fn complete(&self, now: Millis, snapshot: &Snapshot) -> Result<(), bindery_index::Error> {
        if !self.known.lock().is_complete {
            let moments = moments_of(snapshot, now)?;
            let mut known = self.known.lock();
            known.moments.extend(moments);
            known.is_complete = true;
        }
        Ok(())
    }
}

/// The last publication date until `now`, and all later ones.
fn moments_of(snapshot: &Snapshot, now: Millis) -> Result<Vec<Millis>, bindery_index::Error> {
    let query = |range, descending| {
        let sort = vec![SortKey { by: SortBy::Date(DateColumn::Published), descending }];
        Query { variant: 0, filter: Filter::Date(DateColumn::Published, range), sort }
    };
    let past = Range { from: None, to: Some(Bound::Included(now)) };
    let last = snapshot.search(&query(past, true), 0, 1)?;
    let mut moments: Vec<Millis> = last.hits.iter().filter_map(|hit| hit.stamps.published).collect();
    let future = Range { from: Some(Bound::Excluded(now)), to: None };
    let mut stream = snapshot.stream(&Query { sort: Vec::new(), ..query(future, false) })?;
    loop {
        let hits = stream.next(BATCH);
        if hits.is_empty() {
            return Ok(moments);
        }
        moments.extend(hits.iter().filter_map(|hit| hit.stamps.published));
        // Many resources may have one date.
        moments.dedup();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_last_moment_is_that_of_the_newest_publication_that_is_due() {
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
        let last = |now: Millis| releases.last_before(now, &snapshot).unwrap();
        assert_eq!([4, 5, 6, 7, 8, 9, 10].map(|days| last(days * day) / day), [3, 5, 5, 7, 7, 9, 9]);
        releases.add(20 * day, 8 * day);
        // Forgotten: what was before the last moment that is long over.
        assert_eq!([6, 7, 8, 9, 30].map(|days| last(days * day).max(0) / day), [0, 7, 7, 9, 20]);
    }
}
