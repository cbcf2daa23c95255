//! Finds the start of a page along the orders of runs, by counting matches instead of merging everything before it. It
//! knows keys of orders, but no values. So a page that begins among equal keys is found only roughly.

use std::ops::Range;
use std::sync::Arc;

use super::matches::Matches;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::run::{NumberedRun, RunOrder};

/// An order of a run, and the matches among its documents.
pub(super) struct CountedOrder {
    order: Arc<RunOrder>,
    /// The groups that contain all matches.
    groups: Range<usize>,
    matches: Counted,
}

/// The documents of a run that match.
#[derive(Clone)]
pub(super) enum Counted {
    All,
    Documents(Arc<Bitmap>),
    /// Their indexes in the order.
    Indexes(Arc<RankBitmap>),
}

/// The start of a walk: for each order, the groups to walk along, and the number of matches before them.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) groups: Vec<Range<usize>>,
    pub(super) skipped: usize,
}

/// A cut through all orders: everything before it sorts before everything behind it.
#[derive(Clone)]
struct Cut {
    /// For each order, the first group behind it.
    groups: Vec<usize>,
    /// The number of matches before it.
    before: usize,
}

/// Finds the current documents of a run that match.
pub(super) fn matching(numbered: &NumberedRun, matches: &Matches) -> Counted {
    let NumberedRun { run, live, .. } = numbered;
    let documents = match matches {
        Matches::All => live.to_bitmap(),
        Matches::Some(slots) => numbered.current_in(slots),
    };
    match documents.count() < run.len() as usize {
        true => Counted::Documents(Arc::new(documents)),
        false => Counted::All,
    }
}

impl CountedOrder {
    pub(super) fn new(order: &Arc<RunOrder>, groups: Range<usize>, matches: Counted) -> CountedOrder {
        CountedOrder { order: Arc::clone(order), groups, matches }
    }

    /// Returns the number of matches.
    pub(super) fn total(&self, interrupt: &Interrupt<'_>) -> Result<usize, Error> {
        self.count(self.groups.clone(), interrupt)
    }

    fn count(&self, groups: Range<usize>, interrupt: &Interrupt<'_>) -> Result<usize, Error> {
        let indexes = self.order.of_groups(groups);
        match &self.matches {
            Counted::All => Ok(indexes.len()),
            Counted::Documents(matches) => {
                self.order.count_among(indexes, matches, interrupt).map(|count| count as usize)
            }
            Counted::Indexes(matches) => Ok(matches.count_in(indexes)),
        }
    }

    /// Returns the first group, from `low` on and before `high`, whose key is not less than `key` or, if `or_equal`,
    /// greater than it.
    fn cut(&self, low: usize, high: usize, key: u128, or_equal: bool) -> usize {
        self.order.groups_before(|other| other < key || (or_equal && other == key)).clamp(low, high)
    }
}

/// Returns the start of a walk that skips as many matches as possible, but at most `skip`. In a descending walk,
/// matches are counted from the end of the orders.
pub(super) fn find_start(
    orders: &[CountedOrder],
    skip: usize,
    descending: bool,
    few_groups: usize,
    interrupt: &Interrupt<'_>,
) -> Result<Start, Error> {
    let mut total = 0;
    for counted in orders {
        total += counted.total(interrupt)?;
    }
    let whole = || orders.iter().map(|counted| counted.groups.clone());
    let low = Cut { groups: whole().map(|groups| groups.start).collect(), before: 0 };
    let high = Cut { groups: whole().map(|groups| groups.end).collect(), before: total };
    let skip = skip.min(total);
    let at = if descending { total - skip } else { skip };
    let (low, high) = narrowed(orders, low, high, at, few_groups, interrupt)?;
    Ok(match descending {
        false => {
            Start { groups: whole().zip(low.groups).map(|(all, from)| from..all.end).collect(), skipped: low.before }
        }
        true => Start {
            groups: whole().zip(high.groups).map(|(all, to)| all.start..to).collect(),
            skipped: total - high.before,
        },
    })
}

/// Moves two cuts towards each other, keeping at most `at` matches before the first and at least `at` before the
/// second. Each step reads at most half of the documents between them.
fn narrowed(
    orders: &[CountedOrder],
    mut low: Cut,
    mut high: Cut,
    at: usize,
    few_groups: usize,
    interrupt: &Interrupt<'_>,
) -> Result<(Cut, Cut), Error> {
    while let Some(groups) = split(orders, &low.groups, &high.groups, few_groups) {
        let mut before = low.before;
        for ((counted, &from), &to) in orders.iter().zip(&low.groups).zip(&groups) {
            before += counted.count(from..to, interrupt)?;
        }
        let cut = Cut { groups, before };
        match cut.before <= at {
            true => low = cut,
            false => high = cut,
        }
    }
    Ok((low, high))
}

/// Returns a cut between two others that halves the order with the most groups there. Returns `None` if there are few
/// groups, or all have one key.
fn split(orders: &[CountedOrder], low: &[usize], high: &[usize], few_groups: usize) -> Option<Vec<usize>> {
    let between = |index: &usize| high[*index] - low[*index];
    let widest = (0..orders.len()).max_by_key(between)?;
    if between(&widest) <= few_groups {
        return None;
    }
    let key = orders[widest].order.key(low[widest] + between(&widest) / 2);
    let cut = |or_equal: bool| -> Vec<usize> {
        let places = orders.iter().zip(low.iter().zip(high));
        places.map(|(counted, (&low, &high))| counted.cut(low, high, key, or_equal)).collect()
    };
    let before_key = cut(false);
    if before_key[widest] > low[widest] {
        return Some(before_key);
    }
    let behind_key = cut(true);
    (behind_key[widest] < high[widest]).then_some(behind_key)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::collate::Collation;
    use crate::run::KeyKind;
    use crate::value::ValueRef;

    /// For each document of a run, its value, and whether it matches.
    type Values = Vec<(Option<u8>, bool)>;

    fn counted(values: &Values, all_match: bool, by_index: bool) -> CountedOrder {
        let value = |document: u32| match values[document as usize].0 {
            Some(value) => ValueRef::Number(f64::from(value)),
            None => ValueRef::Null,
        };
        let documents = 0..values.len() as u32;
        let collation = Collation::of(None);
        let order = RunOrder::sorted(KeyKind::Rank, documents.clone(), value, &collation, &Interrupt::never()).unwrap();
        let matching: Bitmap = documents.filter(|&document| values[document as usize].1).collect();
        let matches = match (all_match, by_index) {
            (true, _) => Counted::All,
            (false, false) => Counted::Documents(Arc::new(matching)),
            (false, true) => {
                let indexes = (0..order.len()).filter(|&index| matching.contains(order.document(index)));
                Counted::Indexes(Arc::new(RankBitmap::of(indexes.map(|index| index as u32).collect())))
            }
        };
        CountedOrder { groups: 0..order.groups(), order: Arc::new(order), matches }
    }

    /// Returns the keys of the matches in some groups.
    fn keys(counted: &CountedOrder, groups: Range<usize>) -> Vec<u128> {
        let of_group = |group: usize| {
            let matches = counted.count(group..group + 1, &Interrupt::never()).unwrap();
            std::iter::repeat_n(counted.order.key(group), matches)
        };
        groups.flat_map(of_group).collect()
    }

    proptest! {
        #[test]
        fn a_start_is_as_far_as_whole_groups_can_be_skipped(
            runs in prop::collection::vec(prop::collection::vec((prop::option::weighted(0.9, 0u8..9), any::<bool>()), 0..20), 0..5),
            all_match in any::<bool>(),
            by_index in any::<bool>(),
            skip in 0usize..60,
            descending in any::<bool>(),
        ) {
            let orders: Vec<CountedOrder> = runs.iter().map(|values| counted(values, all_match, by_index)).collect();
            let found = find_start(&orders, skip, descending, 1, &Interrupt::never()).unwrap();
            let (mut skipped, mut left, mut next) = (Vec::new(), Vec::new(), 0);
            for (order, groups) in orders.iter().zip(&found.groups) {
                let (before, behind) = match descending {
                    false => (order.groups.start..groups.start, groups.start..groups.end.min(groups.start + 1)),
                    true => (groups.end..order.groups.end, groups.start.max(groups.end.saturating_sub(1))..groups.end),
                };
                skipped.extend(keys(order, before));
                left.extend(keys(order, groups.clone()));
                next += keys(order, behind).len();
            }
            prop_assert_eq!(found.skipped, skipped.len());
            prop_assert!(found.skipped <= skip);
            // The skipped part ends among the next value, or everything is skipped.
            prop_assert!(found.skipped + next >= skip.min(skipped.len() + left.len()));
            let (first, second) = if descending { (&left, &skipped) } else { (&skipped, &left) };
            prop_assert!(first.iter().max().is_none_or(|last| second.iter().all(|key| last < key)));
        }
    }
}
