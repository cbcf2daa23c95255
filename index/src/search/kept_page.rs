//! Pages that outlive writes: decides by the slots that changed since a page was found whether a new search would find
//! the same one. It knows nothing of what is shown of a page.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::context::SearchContext;
use super::evaluate::Evaluator;
use super::order::Sorter;
use super::snapshot::Snapshot;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Hit, Query};
use crate::version::Version;

/// The greatest number of changed slots that are tested. Each is tested in two versions, which takes some microseconds;
/// a page that misses more writes than this is found again in about that time.
const MAX_CHANGED: usize = 128;
/// The longest time that a page is compared: it happens on a thread that serves many. To unpack long texts takes
/// longer.
const LONGEST: Duration = Duration::from_millis(1);

/// The number of versions before the current one that are kept in use: a page that was asked for again within so many
/// writes can be compared. Each holds what the next write replaced, some KiB.
const RECENT_VERSIONS: usize = 64;

/// A page of the results of a query, with what decides whether a later search finds the same page. Holds no version in
/// use.
#[derive(Debug, Clone)]
pub struct KeptPage {
    context: Weak<SearchContext>,
    version: Weak<Version>,
    /// The first and the last slot of the page.
    ends: Option<(u32, u32)>,
    /// The slots of the page, ascending.
    slots: Arc<[u32]>,
    depends_on: PageDependence,
}

/// What an answer with a page depends on, beside the resources of the page and the number of all matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageDependence {
    /// Nothing else.
    Page,
    /// The page begins after a resource, so matches that come before the page must stay where they are.
    Beginning,
    /// Values of all matches.
    Matches,
}

/// The versions of an index that were published last, so that pages can be compared with them. Each holds those that
/// were made of it with working copies.
#[derive(Debug, Default)]
pub(crate) struct RecentVersions(Mutex<VecDeque<Arc<Version>>>);

/// The place of a match in the order.
#[derive(Debug, PartialEq, Eq)]
enum Side {
    Before,
    Among,
    After,
}

/// A query in one of the two versions that are compared.
struct Compared<'a> {
    evaluator: Evaluator<'a>,
    sorter: Sorter<'a>,
    filter: super::evaluate::Node,
    ends: Option<(u32, u32)>,
}

impl RecentVersions {
    /// Keeps a version that was replaced by a write of some slots, and returns what is no longer kept. The caller drops
    /// that outside of all locks: it may be the last reference to runs, with much memory to free.
    #[must_use]
    pub(crate) fn keep(&self, replaced: Arc<Version>, changed: usize) -> VecDeque<Arc<Version>> {
        if changed > MAX_CHANGED {
            let mut forgotten = self.forget();
            forgotten.push_back(replaced);
            return forgotten;
        }
        let mut recent = self.0.lock();
        recent.push_back(replaced);
        let surplus = recent.len().saturating_sub(RECENT_VERSIONS);
        recent.drain(..surplus).collect()
    }

    /// Returns all versions that were kept, and keeps none. After runs were replaced, they would hold files and memory
    /// that nothing else needs.
    #[must_use]
    pub(crate) fn forget(&self) -> VecDeque<Arc<Version>> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Snapshot {
    /// Remembers a page of this snapshot, to be compared by [`Snapshot::has_page`] with later ones.
    pub fn keep_page(&self, hits: &[Hit], depends_on: PageDependence) -> KeptPage {
        let mut slots: Vec<u32> = hits.iter().map(|hit| hit.slot).collect();
        let ends = slots.first().copied().zip(slots.last().copied());
        slots.sort_unstable();
        let (context, version) = (Arc::downgrade(&self.context), Arc::downgrade(&self.version));
        KeptPage { context, version, ends, slots: slots.into(), depends_on }
    }

    /// Returns whether a search for `now` in this snapshot would find the kept page again, with the same resources and
    /// the same number of matches: then the page, as a page of this snapshot. `then` is the query that found it.
    ///
    /// `None` also if that cannot be decided at little cost: for searches of words, after too many writes, or after
    /// runs were replaced.
    pub fn has_page(&self, kept: &KeptPage, then: &Query, now: &Query) -> Option<KeptPage> {
        let is_same = self.finds_again(kept, then, now).unwrap_or(false);
        let again = || KeptPage { version: Arc::downgrade(&self.version), ..kept.clone() };
        (is_same && !self.context.cache.damage.is_found()).then(again)
    }

    fn finds_again(&self, kept: &KeptPage, then: &Query, now: &Query) -> Result<bool, Error> {
        let is_own = std::ptr::eq(kept.context.as_ptr(), Arc::as_ptr(&self.context));
        let Some(version) = kept.version.upgrade().filter(|_| is_own) else { return Ok(false) };
        let changed = self.context.cache.changed(version.number, self.version.number);
        let Some(changed) = changed.filter(|changed| changed.len() <= MAX_CHANGED) else { return Ok(false) };
        let began = Instant::now();
        let is_over = || began.elapsed() > LONGEST;
        let interrupt = Interrupt::when(&is_over);
        let compared = |version, query| Compared::new(&self.context, version, query, kept.ends, &interrupt);
        let (Some(then), Some(now)) = (compared(&version, then), compared(&self.version, now)) else {
            return Ok(false);
        };
        for slot in changed {
            if kept.slots.binary_search(&slot).is_ok() {
                return Ok(false);
            }
            let is_same = match (then.side(slot)?, now.side(slot)?) {
                (None, None) => true,
                (Some(Side::After), Some(Side::After)) => kept.depends_on != PageDependence::Matches,
                // On a page beyond the end, all matches come before it.
                (Some(Side::Before), Some(Side::Before)) => kept.depends_on == PageDependence::Page,
                _ => false,
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl KeptPage {
    /// Returns whether later searches may still find it to be the same; false once its version is gone.
    pub fn is_comparable(&self) -> bool {
        self.version.strong_count() > 0
    }

    /// Returns roughly how many bytes it takes.
    pub fn bytes(&self) -> usize {
        size_of::<KeptPage>() + size_of_val(&self.slots[..])
    }
}

impl<'a> Compared<'a> {
    /// `None` if the query cannot be tested slot by slot.
    fn new(
        context: &'a SearchContext,
        version: &'a Version,
        query: &Query,
        ends: Option<(u32, u32)>,
        interrupt: &'a Interrupt<'a>,
    ) -> Option<Compared<'a>> {
        let evaluator = Evaluator::new(context, version, query.variant, interrupt);
        let filter = evaluator.testable(&query.filter)?;
        let sorter = Sorter::new(context, version, query.variant, &query.sort, interrupt);
        Some(Compared { evaluator, sorter, filter, ends })
    }

    /// Returns the place of the resource in a slot, which is not on the page; `None` if it does not match.
    fn side(&self, slot: u32) -> Result<Option<Side>, Error> {
        if !self.evaluator.version.live_slots.contains(slot) || !self.evaluator.holds(&self.filter, slot)? {
            return Ok(None);
        }
        let Some((first, last)) = self.ends else { return Ok(Some(Side::Before)) };
        let compare = |end| self.sorter.compare(slot, end);
        Ok(Some(match (compare(first), compare(last)) {
            (Ordering::Less, _) => Side::Before,
            (_, Ordering::Greater) => Side::After,
            _ => Side::Among,
        }))
    }
}
