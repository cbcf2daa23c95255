//! The matches of a filter in the order of a column: for each run, one bit for each document of its order. With them,
//! the matches between two values are counted without reading any. They are made when the same matches are asked for in
//! the same order again, and outlive writes. It knows no pages.

use std::sync::Arc;
use std::time::Duration;

use super::evaluate::Evaluator;
use super::matches::Matches;
use super::order::Sorter;
use super::query_cache::{CacheHit, OrderResult};
use super::results::Key;
use super::walk::Walk;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::live_set::LiveSet;
use crate::query::Filter;
use crate::rank_bitmap::RankBitmap;
use crate::run::{NumberedRun, Run, RunNumber, RunOrder};
use crate::schema::VariantNumber;

/// The matches of one filter in the order of one column, for each disk run. Runs in memory are small and grow, so they
/// have none.
#[derive(Debug, Default)]
pub(super) struct OrderedMatches {
    runs: Vec<(RunNumber, Arc<RunMatches>)>,
}

#[derive(Debug)]
struct RunMatches {
    /// The current documents of the run for which this was made.
    live: LiveSet,
    /// For each order of the run, the indexes of the documents that match and are current.
    indexes: Vec<Arc<RankBitmap>>,
}

/// The time to wait for another thread that makes the same matches. Bringing them up to date takes much less.
const PATIENCE: Duration = Duration::from_millis(2);

impl OrderedMatches {
    fn run(&self, number: RunNumber) -> Option<&Arc<RunMatches>> {
        self.runs.iter().find(|(of, _)| *of == number).map(|(_, matches)| matches)
    }

    /// Returns the indexes of the matches in each order of a run; `None` for a run in memory.
    pub(super) fn of_run(&self, numbered: &NumberedRun) -> Option<&[Arc<RankBitmap>]> {
        // In a newer version, a run of the same number may be on disk, with other documents.
        let on_disk = matches!(numbered.run, Run::Disk(_)).then(|| self.run(numbered.number))?;
        on_disk.map(|matches| &matches.indexes[..])
    }

    /// Returns whether it has every run of the walk as it is now.
    fn is_complete(&self, walk: &Walk<'_>) -> bool {
        walk.on_disk()
            .all(|(numbered, _)| self.run(numbered.number).is_some_and(|run| run.live.shares_all(&numbered.live)))
    }
}

impl OrderResult for OrderedMatches {
    const NAME: u8 = b'm';

    fn bytes(&self) -> usize {
        let indexes =
            |(_, run): &(RunNumber, Arc<RunMatches>)| run.indexes.iter().map(|set| set.bytes()).sum::<usize>();
        self.runs.iter().map(indexes).sum()
    }
}

impl Sorter<'_> {
    /// Returns the key of the matches of a filter in the order of a walk, if they were asked for before. Otherwise,
    /// notes that they were. `None` also for filters that have words, or name resources.
    pub(super) fn key_if_asked_before(&self, walk: &Walk<'_>, filter: &Filter) -> Option<Key> {
        let cache = &self.context.cache;
        let mut key = cache.new_order_key::<OrderedMatches>();
        walk.write_key(&mut key);
        let key = self.key_with_filter(key, walk.variant(), filter)?;
        if cache.is_kept(&key) {
            return Some(key);
        }
        cache.put_order_result(&key, self.version.number, Arc::<OrderedMatches>::default());
        None
    }

    /// Returns the key of the matches of a filter in an order whose key this is; `None` for filters that have words or
    /// name resources.
    pub(super) fn key_with_filter(&self, mut order: Vec<u8>, variant: VariantNumber, filter: &Filter) -> Option<Key> {
        let evaluator = Evaluator::new(self.context, self.version, variant, self.interrupt);
        evaluator.prepare(filter).write_key(&mut order).then(|| order.into())
    }

    /// Returns the matches in the order of a walk, from the cache as far as possible. `key` is that of
    /// [`Sorter::key_if_asked_before`]. `None` if another thread has been making them for a while.
    pub(super) fn ordered_matches(
        &self,
        key: &Key,
        walk: &Walk<'_>,
        matches: &Matches,
    ) -> Result<Option<Arc<OrderedMatches>>, Error> {
        let cache = &self.context.cache;
        let mut has_waited = false;
        let (before, changed, _claim) = loop {
            let (before, changed) = match cache.order_result::<OrderedMatches>(key, self.version.number) {
                Some(CacheHit::Current(before)) if before.is_complete(walk) => return Ok(Some(before)),
                Some(CacheHit::Current(before)) => (before, Vec::new()),
                Some(CacheHit::Outdated { result, changed }) => (result, changed),
                None => (Arc::default(), Vec::new()),
            };
            match cache.claim_order(key, PATIENCE) {
                Some(claim) => break (before, changed, claim),
                None if has_waited => return Ok(None),
                None => has_waited = true,
            }
        };
        let mut runs = Vec::new();
        for (numbered, orders) in walk.on_disk() {
            let of_run = OrdersOfRun { numbered, orders, matches, walk };
            let updated = match before.run(numbered.number) {
                Some(known) => of_run.updated(known, &changed, self.interrupt)?,
                None => None,
            };
            let made = match updated {
                Some(updated) => updated,
                None => Arc::new(of_run.made(self.interrupt)?),
            };
            runs.push((numbered.number, made));
        }
        let ordered = Arc::new(OrderedMatches { runs });
        cache.put_order_result(key, self.version.number, Arc::clone(&ordered));
        Ok(Some(ordered))
    }
}

/// The orders of a run, and the slots that match.
struct OrdersOfRun<'a> {
    numbered: &'a NumberedRun,
    orders: &'a [Arc<RunOrder>],
    matches: &'a Matches,
    walk: &'a Walk<'a>,
}

impl OrdersOfRun<'_> {
    fn is_match(&self, document: u32) -> bool {
        let NumberedRun { run, live, .. } = self.numbered;
        live.contains(document)
            && match self.matches {
                Matches::All => true,
                Matches::Some(slots) => slots.contains(run.slot(document)),
            }
    }

    /// Tests every document.
    fn made(&self, interrupt: &Interrupt<'_>) -> Result<RunMatches, Error> {
        let mut indexes = Vec::new();
        for order in self.orders {
            let mut found = Bitmap::with_room(order.len());
            let mut index = 0;
            order.each_document(interrupt, |document| {
                if self.is_match(document) {
                    found.insert(index);
                }
                index += 1;
            })?;
            indexes.push(Arc::new(RankBitmap::of(found)));
        }
        Ok(RunMatches { live: self.numbered.live.clone(), indexes })
    }

    /// Tests the documents again that may have changed. `None` if making all is as fast.
    fn updated(
        &self,
        known: &Arc<RunMatches>,
        changed: &[u32],
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Arc<RunMatches>>, Error> {
        let NumberedRun { number, run, live, .. } = self.numbered;
        let mut documents = self.walk.documents_of(*number, changed);
        live.each_difference(&known.live, |document, _| documents.push(document));
        if documents.is_empty() {
            return Ok(Some(Arc::clone(known)));
        }
        let mut indexes = Vec::new();
        for (order, before) in self.orders.iter().zip(&known.indexes) {
            let mut found = before.members().clone();
            let mut left = order.len();
            for &document in &documents {
                interrupt.step()?;
                let Some(key) = self.walk.key_of(run, document) else { continue };
                let among = order.with_key(key);
                let Some(enough) = left.checked_sub(among.len()) else { return Ok(None) };
                left = enough;
                match order.index_of(document, among).map(|index| index as u32) {
                    Some(index) if self.is_match(document) => found.insert(index),
                    Some(index) => found.remove(index),
                    None => {}
                }
            }
            indexes.push(Arc::new(RankBitmap::of(found)));
        }
        Ok(Some(Arc::new(RunMatches { live: live.clone(), indexes })))
    }
}
