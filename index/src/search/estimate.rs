//! Estimates the time that a search will take, so that its caller can decide where it runs. Computes nothing and caches
//! nothing.

use super::context::SearchContext;
use super::evaluate::Evaluator;
use super::order::{KeySource, Sorter};
use super::query_cache::CacheStatus;
use crate::interrupt::Interrupt;
use crate::query::{Filter, Query};
use crate::schema::VariantNumber;
use crate::version::Version;

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
/// The number of slots that are read for each match of a filter.
const STEPS_PER_MATCH: u64 = 64;

/// Estimates the nanoseconds of finding the matches of a filter, without an order.
pub(super) fn estimate_filter(
    context: &SearchContext,
    version: &Version,
    variant: VariantNumber,
    filter: &Filter,
) -> u64 {
    let interrupt = Interrupt::never();
    let evaluator = Evaluator::new(context, version, variant, &interrupt);
    evaluator.cost_before_look_up(&evaluator.prepare(filter))
}

/// Estimates the nanoseconds of a query.
pub(super) fn estimate(context: &SearchContext, version: &Version, query: &Query, offset: u64) -> u64 {
    let interrupt = Interrupt::never();
    let slots = u64::from(version.slot_count);
    let sorter = Sorter::new(context, version, query.variant, &query.sort, &interrupt);
    let order = match sorter.knows_order() {
        CacheStatus::Current => 0,
        CacheStatus::Outdated => UPDATED_ORDER,
        CacheStatus::No => {
            let steps_per_match = if query.filter == Filter::All { 1 } else { STEPS_PER_MATCH };
            let walk = |count: u64| count.saturating_add(100).saturating_mul(steps_per_match).saturating_mul(STEP);
            match is_column_first(&sorter) {
                true => walk(offset).min(walk(0) + slots * COUNTED),
                false => cost_of_order(&sorter, slots),
            }
        }
    };
    // A page is found by a walk from the nearer end.
    let walk = if query.filter == Filter::All { 0 } else { offset.min(slots / 2) };
    estimate_filter(context, version, query.variant, &query.filter) + order + walk
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
