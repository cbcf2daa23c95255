//! Sorts slots by merging the orders of runs, completely or only as far as a page needs. It knows no filters, only
//! which slots match.

use std::ops::Range;
use std::sync::Arc;

use super::matches::Matches;
use super::order::{KeySource, Sorter};
use super::ordered_matches::OrderedMatches;
use super::page::ListedSlots;
use super::query_cache::OrderResult;
use super::skip::{Counted, CountedOrder, Start, find_start, matching};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::{KeyKind, MergedOrder, NumberedRun, OrderInput, RankRange, Run, RunNumber, RunOrder};
use crate::schema::{Column, VariantNumber};
use crate::version::CopySet;

/// The first key of an order, if it is a column.
#[derive(Clone, Copy)]
struct FirstKey<'a> {
    copies: &'a CopySet,
    column: Column,
    kind: KeyKind,
    descending: bool,
}

/// A walk along the order of a column over the matching slots.
pub(super) struct Walk<'a> {
    first: FirstKey<'a>,
    /// The orders of each run.
    orders: Vec<(&'a NumberedRun, Vec<Arc<RunOrder>>)>,
    /// A range that contains the values of all matches.
    range: Option<RankRange>,
}

impl<'a> Sorter<'a> {
    /// Returns a walk along the order of the first key, if that is a column. If all matches are known to have a value
    /// in `range`, only that part is read.
    pub(super) fn walk(&self, range: Option<RankRange>) -> Result<Option<Walk<'a>>, Error> {
        let Some(key) = self.keys.first() else { return Ok(None) };
        let (copies, column, kind) = match key.source {
            KeySource::Rank(of) if of.is_plain() => (of.copies, of.column, KeyKind::Rank),
            KeySource::Text(of) if of.is_plain() => (of.copies, of.column, KeyKind::Text),
            // Runs have no orders by dates, or by two variants.
            _ => return Ok(None),
        };
        let first = FirstKey { copies, column, kind, descending: key.descending };
        let mut orders = Vec::new();
        for numbered in copies.runs.iter() {
            orders.push((numbered, self.run_orders(&first, numbered)?));
        }
        Ok(Some(Walk { first, orders, range }))
    }

    /// Returns all live slots in order. `None` if the first key is not a column.
    pub(super) fn merged_order(&self) -> Result<Option<Vec<u32>>, Error> {
        let Some(walk) = self.walk(None)? else { return Ok(None) };
        let all = self.listed(&walk, &walk.start(), &Matches::All, usize::MAX, usize::MAX)?;
        Ok(all.map(|all| all.slots))
    }

    /// Returns the matches in order, from the start of a walk up to the position `end`. Returns `None` if that takes
    /// more than about `max_steps` steps.
    pub(super) fn listed(
        &self,
        walk: &Walk<'_>,
        start: &Start,
        matches: &Matches,
        end: usize,
        max_steps: usize,
    ) -> Result<Option<ListedSlots>, Error> {
        let count = end - start.skipped;
        let first = &walk.first;
        let mut inputs = Vec::new();
        let mut groups = start.groups.iter().cloned();
        for (NumberedRun { run, live, .. }, orders) in &walk.orders {
            inputs.extend(orders.iter().zip(groups.by_ref()).map(|(order, groups)| OrderInput {
                order: Arc::clone(order),
                groups,
                number: match matches {
                    Matches::All => Box::new(move |doc| live.contains(doc).then(|| run.slot(doc))),
                    Matches::Some(matches) => Box::new(move |doc| {
                        let slot = run.slot(doc);
                        (matches.contains(slot) && live.contains(doc)).then_some(slot)
                    }),
                },
                value: Box::new(move |doc| run.value_without_folded(doc, first.column.id)),
            }));
        }
        let collation = &first.copies.collation;
        let mut merged = MergedOrder::new(inputs, collation, first.descending, max_steps, self.interrupt)?;
        let (mut found, mut group) = (Vec::new(), Vec::new());
        while found.len() < count && merged.next_group(&mut group)?.is_some() {
            self.sort_ties(&mut group)?;
            found.extend_from_slice(&group);
        }
        if merged.is_cut() {
            return Ok(None);
        }
        if found.len() < count && walk.range.is_none() {
            let nulls = walk.without_value(Arc::unwrap_or_clone(matches.to_bitmap(self.version)), self.interrupt)?;
            if nulls.count() > max_steps {
                return Ok(None);
            }
            let mut nulls: Vec<u32> = nulls.iter().collect();
            self.sort_ties(&mut nulls)?;
            found.extend(nulls);
        }
        Ok(Some(ListedSlots { from: start.skipped, slots: found }))
    }

    /// Returns the orders of a run. If the run lacks the order, because the collation of the variant changed, it is
    /// made and cached.
    fn run_orders(&self, first: &FirstKey<'_>, numbered: &NumberedRun) -> Result<Vec<Arc<RunOrder>>, Error> {
        let FirstKey { copies, column, kind, .. } = first;
        let run = &numbered.run;
        if let Some(orders) = run.orders(column.id, *kind, &copies.collation, self.interrupt)? {
            return Ok(orders);
        }
        let of = [&[*kind as u8], copies.collation.name().as_bytes()].concat();
        let sort = || Ok(Arc::new(run.sorted(column.id, *kind, &copies.collation, self.interrupt)?));
        Ok(vec![self.context.cache.kept_or_found(numbered, column.id, &of, sort)?])
    }
}

impl OrderResult for RunOrder {
    const NAME: u8 = b'r';

    fn bytes(&self) -> usize {
        RunOrder::bytes(self)
    }
}

impl Walk<'_> {
    /// Returns the number of documents that it may read.
    pub(super) fn len(&self) -> usize {
        self.each_order().map(|(_, order)| order.of_groups(self.groups(order)).len()).sum()
    }

    /// Returns the start at the beginning.
    pub(super) fn start(&self) -> Start {
        Start { groups: self.each_order().map(|(_, order)| self.groups(order)).collect(), skipped: 0 }
    }

    /// Returns the last start that is cheap to find and has at most `skip` of the matches before it.
    pub(super) fn start_behind(
        &self,
        skip: usize,
        counted: &[CountedOrder],
        few_groups: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Start, Error> {
        find_start(counted, skip, self.first.descending, few_groups, interrupt)
    }

    /// Returns the orders with the matches to be counted in them: `ordered`, where that has them.
    pub(super) fn counted(
        &self,
        matches: &Matches,
        ordered: Option<&OrderedMatches>,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<CountedOrder>, Error> {
        let mut counted = Vec::new();
        for (numbered, orders) in &self.orders {
            interrupt.check()?;
            let matching: Vec<Counted> = match ordered.and_then(|ordered| ordered.of_run(numbered)) {
                Some(indexes) => indexes.iter().cloned().map(Counted::Indexes).collect(),
                None => vec![matching(numbered, matches); orders.len()],
            };
            let of_order = |(order, matching)| CountedOrder::new(order, self.groups(order), matching);
            counted.extend(orders.iter().zip(matching).map(of_order));
        }
        Ok(counted)
    }

    /// Returns the variant whose copies it reads.
    pub(super) fn variant(&self) -> VariantNumber {
        self.first.copies.variant.number
    }

    /// Appends bytes that identify the column and its order.
    pub(super) fn write_key(&self, key: &mut Vec<u8>) {
        let FirstKey { copies, column, kind, .. } = self.first;
        key.push(kind as u8);
        key.extend_from_slice(&copies.variant.number.to_be_bytes());
        key.extend_from_slice(&column.id.to_be_bytes());
        let collation = copies.collation.name();
        key.extend_from_slice(&(collation.len() as u32).to_be_bytes());
        key.extend_from_slice(collation.as_bytes());
    }

    /// Returns the runs on disk with their orders.
    pub(super) fn on_disk(&self) -> impl Iterator<Item = (&NumberedRun, &[Arc<RunOrder>])> {
        let on_disk = self.orders.iter().filter(|(numbered, _)| matches!(numbered.run, Run::Disk(_)));
        on_disk.map(|(numbered, orders)| (*numbered, &orders[..]))
    }

    /// Returns the documents of a run that are the current copies in these slots.
    pub(super) fn documents_of(&self, number: RunNumber, slots: &[u32]) -> Vec<u32> {
        let locations = slots.iter().map(|&slot| self.first.copies.locations.get(slot));
        locations.filter(|location| location.run == number).map(|location| location.doc).collect()
    }

    /// Returns the key of a document in the orders of a run; `None` if it has no value.
    pub(super) fn key_of(&self, run: &Run, document: u32) -> Option<u128> {
        let FirstKey { copies, column, kind, .. } = self.first;
        kind.key(run.value_without_folded(document, column.id), &copies.collation)
    }

    fn groups(&self, order: &RunOrder) -> Range<usize> {
        self.range.as_ref().map_or(0..order.groups(), |range| order.groups_in(range))
    }

    /// Removes the slots that have a value.
    fn without_value(&self, mut slots: Bitmap, interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
        for (NumberedRun { run, live, .. }, order) in self.each_order() {
            for document in order.documents() {
                interrupt.step()?;
                if live.contains(document) {
                    slots.remove(run.slot(document));
                }
            }
        }
        Ok(slots)
    }

    fn each_order(&self) -> impl Iterator<Item = (&NumberedRun, &Arc<RunOrder>)> {
        self.orders.iter().flat_map(|(numbered, orders)| orders.iter().map(|order| (*numbered, order)))
    }
}
