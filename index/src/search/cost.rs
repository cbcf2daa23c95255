//! Estimates the cost of computing the bitmap of a filter, in nanoseconds, from the lengths of posting lists and
//! slices. The estimates decide which condition is evaluated first, and where a search runs. Computes nothing and
//! caches nothing.

use super::evaluate::{Evaluator, Node, Primitive, Test};
use super::order::Sorter;
use super::query_cache::CacheStatus;
use crate::interrupt::Interrupt;
use crate::query::DateColumn;

/// The cost of each slot of a bitmap that is updated.
const UPDATED_BITMAP: u64 = 1;
/// The cost of each slot whose date is tested.
const DATE: u64 = 5;
/// The cost of each test of an id.
const ID: u64 = 20;
/// The cost of a search for words: a fixed part, and a part for each resource.
const WORDS: u64 = 1_000_000;
const WORDS_OF_RESOURCE: u64 = 10;
/// The number of nodes of one kind that are estimated. Further ones are assumed to be similar.
const LOOKED_AT: usize = 16;

impl Evaluator<'_> {
    /// Returns the cost of computing the bitmap of a node. `known` returns whether that of a primitive is cached.
    pub(super) fn cost<W>(&self, node: &Node<W>, known: &dyn Fn(&Primitive) -> CacheStatus) -> u64 {
        match node {
            Node::All | Node::Nothing | Node::Found(_) => 0,
            Node::Words(_) => WORDS + self.version.total as u64 * WORDS_OF_RESOURCE,
            Node::Slots(found) => found.len() as u64 * ID,
            Node::And(nodes) | Node::Or(nodes) => {
                let looked_at = nodes.iter().take(LOOKED_AT).map(|node| self.cost(node, known)).sum::<u64>();
                looked_at * nodes.len().div_ceil(LOOKED_AT) as u64
            }
            Node::Not(node) => self.cost(node, known),
            Node::Primitive(primitive) => match known(primitive) {
                CacheStatus::Current => 0,
                CacheStatus::Outdated => u64::from(self.version.slot_count) * UPDATED_BITMAP,
                CacheStatus::No => self.cost_of_test(&primitive.test),
            },
        }
    }

    fn cost_of_test(&self, test: &Test) -> u64 {
        let slots = u64::from(self.version.slot_count);
        let runs = || self.copies.into_iter().flat_map(|copies| copies.runs.iter());
        // A new bitmap has to be created in any case.
        let bitmap = 20 + slots / 64;
        bitmap
            + match test {
                Test::Date(date, _) => self.cost_of_date(*date),
                Test::Draft => self.cost_of_date(DateColumn::Published),
                Test::Present(_) => bitmap,
                Test::Column(column, predicate) => runs().map(|run| run.run.cost(*column, predicate)).sum(),
            }
    }

    fn cost_of_date(&self, date: DateColumn) -> u64 {
        let slots = u64::from(self.version.slot_count);
        let interrupt = Interrupt::never();
        match Sorter::by_date(self.context, self.version, date, &interrupt).knows_order() {
            // The length of the slice is unknown.
            CacheStatus::Current | CacheStatus::Outdated => slots / 4,
            CacheStatus::No => slots * DATE,
        }
    }
}
