//! Roughly how long a search will take, so that its caller can decide where it runs. Computes nothing and caches nothing.

use super::context::SearchContext;
use super::evaluate::{Evaluator, Node, Test};
use super::order::Sorter;
use super::query_cache::Known;
use crate::interrupt::Interrupt;
use crate::predicate::PreparedPredicate;
use crate::query::{self, Query};
use crate::run::Run;
use crate::schema::VariantNumber;
use crate::version::Version;

/// Nanoseconds for each slot. Rough: what matters is whether a search takes microseconds, milliseconds or seconds.
const UPDATED_BITMAP: u64 = 1;
const UPDATED_ORDER: u64 = 3;
const SORTED: u64 = 60;
const TEXT_KEY: u64 = 400;
const OTHER_KEY: u64 = 30;

/// An estimate in nanoseconds of finding what a filter holds for, without an order.
pub(super) fn estimate_filter(
    context: &SearchContext,
    version: &Version,
    variant: VariantNumber,
    filter: &query::Filter,
) -> u64 {
    let interrupt = Interrupt::never();
    let evaluator = Evaluator::new(context, version, variant, &interrupt);
    let costs = Filter { context, version, memory_bytes: memory_bytes(version, variant) };
    costs.cost(&evaluator.prepare(filter))
}

/// An estimate in nanoseconds.
pub(super) fn estimate(context: &SearchContext, version: &Version, query: &Query, offset: u64) -> u64 {
    let interrupt = Interrupt::never();
    let slots = u64::from(version.slot_count);
    let sorter = Sorter::new(&context.cache, version, query.variant, &query.sort, &interrupt);
    let order = match sorter.knows_order() {
        Known::Current => 0,
        Known::Outdated => slots * UPDATED_ORDER,
        Known::No => {
            let (texts, others) = sorter.key_counts();
            slots * (SORTED + texts as u64 * TEXT_KEY + others as u64 * OTHER_KEY)
        }
    };
    // A page is found by a walk from the nearer end.
    let walk = offset.min(slots / 2);
    estimate_filter(context, version, query.variant, &query.filter) + order + walk
}

struct Filter<'a> {
    context: &'a SearchContext,
    version: &'a Version,
    /// Of the runs in memory, whose documents are all tested.
    memory_bytes: u64,
}

impl Filter<'_> {
    fn cost(&self, node: &Node) -> u64 {
        let slots = u64::from(self.version.slot_count);
        // Every node reads or writes a bitmap.
        let bitmap = 20 + slots / 64;
        bitmap
            + match node {
                Node::All | Node::Nothing => 0,
                Node::Found(_) => 0,
                Node::Slots(found) => found.len() as u64,
                Node::And(nodes) | Node::Or(nodes) => nodes.iter().map(|node| self.cost(node)).sum(),
                Node::Not(node) => self.cost(node),
                Node::Primitive(primitive) => {
                    match self.context.cache.knows_bitmap(&primitive.key, self.version.number) {
                        Known::Current => 0,
                        Known::Outdated => slots * UPDATED_BITMAP,
                        Known::No => self.cost_of_test(&primitive.test, slots),
                    }
                }
            }
    }

    fn cost_of_test(&self, test: &Test, slots: u64) -> u64 {
        match test {
            Test::Present(_) => slots,
            Test::Date(..) | Test::Draft => 5 * slots,
            Test::Column(_, PreparedPredicate::Equals { .. } | PreparedPredicate::Has(_)) => slots,
            Test::Column(_, PreparedPredicate::AnyId(ids)) => 2 * slots + 500 * ids.listed() as u64,
            Test::Column(_, PreparedPredicate::Number(_) | PreparedPredicate::Instant(_)) => 3 * slots,
            Test::Column(_, PreparedPredicate::Null) => 0,
            // The texts in memory are searched as a whole, at some gigabytes a second.
            Test::Column(_, PreparedPredicate::Text(_) | PreparedPredicate::Substring(_)) => {
                50 * slots + self.memory_bytes / 4
            }
        }
    }
}

fn memory_bytes(version: &Version, variant: VariantNumber) -> u64 {
    let runs = version.copy_set(variant).into_iter().flat_map(|copies| copies.runs.iter());
    runs.map(|run| match &run.run {
        Run::Memory(run) => run.bytes() as u64,
        Run::Disk(_) => 0,
    })
    .sum()
}
