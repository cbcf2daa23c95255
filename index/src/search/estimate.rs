//! Estimates the time that a search will take, so that its caller can decide where it runs. Computes nothing and caches
//! nothing.

use super::evaluate::Primitive;
use super::order::{KeySource, Sorter};
use super::query_cache::CacheStatus;
use super::snapshot::Snapshot;
use crate::interrupt::Interrupt;
use crate::query::{Filter, SortKey};
use crate::schema::VariantNumber;

/// The nanoseconds of updating an order. All numbers here are rough: they need only distinguish microseconds,
/// milliseconds and seconds.
const UPDATED_ORDER: u64 = 50_000;
/// The nanoseconds per slot of sorting.
const SORTED: u64 = 60;
const MERGED: u64 = 40;
const TEXT_KEY: u64 = 400;
const OTHER_KEY: u64 = 30;
/// The nanoseconds per step along the orders of runs.
const STEP: u64 = 20;
/// The nanoseconds per document that is counted to find the start of a page.
const COUNTED: u64 = 5;
/// The nanoseconds of finding a page whose matches are counted by chunk.
const COUNTED_PAGE: u64 = 20_000;
/// The number of slots that are read for each match of a filter.
const STEPS_PER_MATCH: u64 = 64;

impl Snapshot {
    /// Returns roughly how many nanoseconds [`Snapshot::find`] takes. Cached results cost next to nothing.
    pub fn estimate_find(&self, variant: VariantNumber, filter: &Filter) -> u64 {
        let interrupt = Interrupt::never();
        let evaluator = self.evaluator(variant, &interrupt);
        let known = |primitive: &Primitive| self.context.cache.knows_bitmap(&primitive.key, self.version.number);
        evaluator.cost(&evaluator.prepare(filter), &known)
    }

    /// Returns roughly how many nanoseconds ordering the matches takes, as far as a page needs that begins at `offset`.
    /// `is_filtered` is false if nearly all resources match.
    pub fn estimate_order(&self, variant: VariantNumber, sort: &[SortKey], is_filtered: bool, offset: u64) -> u64 {
        let interrupt = Interrupt::never();
        let slots = u64::from(self.version.slot_count);
        let sorter = Sorter::new(&self.context, &self.version, variant, sort, &interrupt);
        match sorter.knows_order() {
            CacheStatus::Current => 0,
            CacheStatus::Outdated => UPDATED_ORDER,
            CacheStatus::No => {
                let steps_per_match = if is_filtered { STEPS_PER_MATCH } else { 1 };
                let walk = |count: u64| count.saturating_add(100).saturating_mul(steps_per_match).saturating_mul(STEP);
                match is_column_first(&sorter) {
                    true => walk(offset).min(walk(0) + slots * COUNTED),
                    false => cost_of_order(&sorter, slots),
                }
            }
        }
    }

    /// Returns roughly how many nanoseconds finding the page takes that begins at `offset`, among the matches of the
    /// filter in an order of all.
    pub fn estimate_page(&self, variant: VariantNumber, sort: &[SortKey], filter: &Filter, offset: u64) -> u64 {
        if *filter == Filter::All {
            return 0;
        }
        let slots = u64::from(self.version.slot_count);
        // From the nearer end; half of all is the most.
        let walk = offset.min(slots / 2);
        if walk <= self.context.options.thresholds.walked_steps as u64 {
            return walk;
        }
        let interrupt = Interrupt::never();
        match Sorter::new(&self.context, &self.version, variant, sort, &interrupt).are_counted(variant, filter) {
            Some(true) => COUNTED_PAGE,
            Some(false) => slots,
            None => walk,
        }
    }
}

/// Returns the cost of the order of all slots.
fn cost_of_order(sorter: &Sorter<'_>, slots: u64) -> u64 {
    let cost = |source: &KeySource<'_>| match source {
        KeySource::Text(..) => TEXT_KEY,
        KeySource::Rank(..) | KeySource::Date(_) => OTHER_KEY,
    };
    let first = if is_column_first(sorter) { MERGED } else { SORTED };
    let rest = sorter.keys.iter().skip(usize::from(is_column_first(sorter)));
    slots * (first + rest.map(|key| cost(&key.source)).sum::<u64>())
}

fn is_column_first(sorter: &Sorter<'_>) -> bool {
    sorter.keys.first().is_some_and(|key| match key.source {
        KeySource::Date(_) => false,
        KeySource::Rank(of) | KeySource::Text(of) => of.is_plain(),
    })
}
