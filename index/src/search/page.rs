//! Orders the matches of a query as far as a page of them needs, by whichever way is cheapest. It knows no filters, except which
//! of them says where in an order all matches are.

use std::ops::Range;

use super::matches::Matches;
use super::order::{KeySource, Sorter};
use super::slot_order::OrderView;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::query::{Filter, Predicate};
use crate::run::RankRange;
use crate::schema::Kind;
use crate::trace::Done;

/// The slots of all matching resources in order, or at least those up to the end of a page.
#[derive(Debug, Clone)]
pub(super) enum OrderedSlots {
    Listed(ListedSlots),
    /// Those slots of the order that match. None does from the position `end` on.
    Filtered {
        order: OrderView,
        matches: Matches,
        end: usize,
    },
}

/// A part of the matching slots in order.
#[derive(Debug, Clone)]
pub(super) struct ListedSlots {
    /// The position of the first.
    pub(super) from: usize,
    pub(super) slots: Vec<u32>,
}

/// In an order of all slots, a page may cost this many steps for each match. Beyond that, sorting the matches is
/// cheaper.
const MAX_STEPS_PER_MATCH: usize = 256;
/// The same for steps along the orders of runs, each of which takes longer.
const MAX_WALKED_PER_MATCH: usize = 32;
/// A walk is given up after so many times the steps that it should take if the matches were spread evenly.
const MAX_UNEVENNESS: usize = 4;

/// So many slots are looked at near each end of an order to find out whether the matches stand together in it. Few in tests, so
/// that these cover both ways.
const MAX_PROBES: usize = if cfg!(test) { 2 } else { 1_000 };

/// Orders the matches for reading the page: sorts only them, filters an order of all slots, or walks along the orders of runs
/// until the page is found, whichever is cheapest.
pub(super) fn ordered(
    sorter: &Sorter<'_>,
    filter: &Filter,
    matches: Matches,
    page: &Range<usize>,
) -> Result<OrderedSlots, Error> {
    let total = matches.count(sorter.version) as u64;
    let step = |(_, from): &(OrderedSlots, &'static str)| Some((Done::Ordered, *from, total));
    sorter.interrupt.traced(|| ordered_by(sorter, filter, matches, page), step).map(|(slots, _)| slots)
}

/// The same, with how it was done.
fn ordered_by(
    sorter: &Sorter<'_>,
    filter: &Filter,
    matches: Matches,
    page: &Range<usize>,
) -> Result<(OrderedSlots, &'static str), Error> {
    let options = &sorter.context.options;
    let total = matches.count(sorter.version);
    let sort_matches = |matches: &Matches| {
        let slots = sorter.sort(matches.to_bitmap(sorter.version).iter().collect())?;
        Ok((OrderedSlots::all(slots), "sort"))
    };
    if total <= options.always_sort_limit {
        return sort_matches(&matches);
    }
    let is_sortable = total <= options.sort_limit;
    let max_steps = if is_sortable { total * MAX_WALKED_PER_MATCH } else { usize::MAX };
    let walked = |range| walked(sorter, range, &matches, total, page, max_steps);
    let range = range_of_first_key(sorter, filter);
    if range.is_some()
        && let Some(found) = walked(range)?
    {
        return Ok((OrderedSlots::Listed(found), "slice of the index"));
    }
    if let Some(order) = sorter.cached_order()?
        && (!is_sortable || expected_steps(order.len(), total, page) <= total * MAX_STEPS_PER_MATCH)
    {
        return Ok((filtered(sorter, filter, order, matches), "cache"));
    }
    if range.is_none()
        && let Some(found) = walked(None)?
    {
        return Ok((OrderedSlots::Listed(found), "index"));
    }
    if (!is_sortable || sorter.version.total <= total * MAX_STEPS_PER_MATCH)
        && let Some(found) = skipped_to(sorter, range, &matches, total, page)?
    {
        return Ok((OrderedSlots::Listed(found), "part of the index"));
    }
    match is_sortable {
        true => sort_matches(&matches),
        false => Ok((filtered(sorter, filter, sorter.order()?, matches), "order of all")),
    }
}

/// The matches in an order of all slots. Those without a value of the first key stand last; there is none if the filter asks for
/// a value.
fn filtered(sorter: &Sorter<'_>, filter: &Filter, order: OrderView, matches: Matches) -> OrderedSlots {
    let end = if needs_first_key(sorter, filter) { order.valued } else { order.len() };
    OrderedSlots::Filtered { order, matches, end }
}

/// Tests whether every match has a value of the first key: the filter says so.
fn needs_first_key(sorter: &Sorter<'_>, filter: &Filter) -> bool {
    match (filter, sorter.keys.first().map(|key| &key.source)) {
        (Filter::And(filters), _) => filters.iter().any(|filter| needs_first_key(sorter, filter)),
        (Filter::Date(date, _), Some(KeySource::Date(key))) => date == key,
        _ => range_of_first_key(sorter, filter).is_some(),
    }
}

/// The matches up to the end of the page. `None` if a walk along the orders of runs is not possible, or takes too long. All
/// matches have their value of the first key in the `range`.
fn walked(
    sorter: &Sorter<'_>,
    range: Option<RankRange>,
    matches: &Matches,
    total: usize,
    page: &Range<usize>,
    max_steps: usize,
) -> Result<Option<ListedSlots>, Error> {
    let all = sorter.version.total;
    let max_steps = max_steps.min(max_walked(sorter));
    let steps = |walked: usize| expected_walk(walked, total, page.end);
    // Runs in memory make their orders when they are asked for.
    if range.is_none() && steps(all) > max_steps {
        return Ok(None);
    }
    let Some(walk) = sorter.walk(range)? else { return Ok(None) };
    let steps = steps(walk.len());
    if steps > max_steps {
        return Ok(None);
    }
    let max_steps = (steps * MAX_UNEVENNESS).max(sorter.context.options.always_walk_limit);
    sorter.listed(&walk, &walk.start(), matches, page.end, max_steps)
}

/// The same from about the beginning of the page, which is found by counting matches along the orders of runs. `None` also if
/// many have the values of those on the page, so that they must all be sorted.
fn skipped_to(
    sorter: &Sorter<'_>,
    range: Option<RankRange>,
    matches: &Matches,
    total: usize,
    page: &Range<usize>,
) -> Result<Option<ListedSlots>, Error> {
    let max_steps = max_walked(sorter);
    if expected_walk(sorter.version.total, total, page.len()) > max_steps {
        return Ok(None);
    }
    let Some(walk) = sorter.walk(range)? else { return Ok(None) };
    let start = walk.start_behind(page.start, matches, sorter.interrupt)?;
    if expected_walk(walk.len(), total, page.end - start.skipped) > max_steps {
        return Ok(None);
    }
    sorter.listed(&walk, &start, matches, page.end, max_steps)
}

/// The number of steps a walk may take at most.
fn max_walked(sorter: &Sorter<'_>) -> usize {
    let options = &sorter.context.options;
    options.always_walk_limit.max(sorter.version.total / options.walk_share)
}

/// Estimates how many documents a walk to the first `count` of the matches looks at if they are spread evenly. `total` is the
/// number of matches.
fn expected_walk(walked: usize, total: usize, count: usize) -> usize {
    (walked as u64 * count as u64).div_ceil(total as u64) as usize
}

/// A range in which every match has its value of the first key: the filter says so.
fn range_of_first_key(sorter: &Sorter<'_>, filter: &Filter) -> Option<RankRange> {
    let KeySource::Rank(of) = sorter.keys.first()?.source else { return None };
    let first = of.column;
    match filter {
        Filter::And(filters) => filters.iter().find_map(|filter| range_of_first_key(sorter, filter)),
        Filter::Column(id, Predicate::Number(range)) if *id == first.id && first.kind == Kind::Number => {
            Some(RankRange::of_numbers(range))
        }
        Filter::Column(id, Predicate::Instant(range)) if *id == first.id && first.kind == Kind::Instant => {
            Some(RankRange::of_integers(range))
        }
        _ => None,
    }
}

impl ListedSlots {
    pub(super) fn end(&self) -> usize {
        self.from + self.slots.len()
    }

    /// The slots at these positions. There may be fewer if the index is damaged, which fails the search.
    fn get(&self, positions: &Range<usize>) -> &[u32] {
        let within = |position: usize| position.checked_sub(self.from);
        let part = within(positions.start).zip(within(positions.end));
        part.and_then(|(start, end)| self.slots.get(start..end)).unwrap_or_default()
    }
}

impl OrderedSlots {
    /// All of them.
    pub(super) fn all(slots: Vec<u32>) -> OrderedSlots {
        OrderedSlots::Listed(ListedSlots { from: 0, slots })
    }

    /// The slots of a page, found from the nearer end. `total` is the number of matches.
    pub(super) fn page(&self, total: usize, page: Range<usize>) -> Vec<u32> {
        match self {
            OrderedSlots::Listed(listed) => listed.get(&page).to_vec(),
            OrderedSlots::Filtered { order, matches: Matches::All, .. } => {
                let mut slots = Vec::with_capacity(page.len());
                order.each(page, false, |slot| {
                    slots.push(slot);
                    true
                });
                slots
            }
            OrderedSlots::Filtered { order, matches: Matches::Some(matches), end } => {
                if expected_steps(*end, total, &page) > MAX_PROBES
                    && let Some(start) = start_of_slice(order, matches, *end, total)
                {
                    let mut slots = Vec::with_capacity(page.len());
                    order.each(start + page.start..start + page.end, false, |slot| {
                        slots.push(slot);
                        true
                    });
                    return slots;
                }
                let backwards = page.start > total - page.end;
                let mut skip = if backwards { total - page.end } else { page.start };
                let mut slots = Vec::with_capacity(page.len());
                order.each(0..*end, backwards, |slot| {
                    if matches.contains(slot) {
                        match skip {
                            0 => slots.push(slot),
                            _ => skip -= 1,
                        }
                    }
                    slots.len() < page.len()
                });
                if backwards {
                    slots.reverse();
                }
                slots
            }
        }
    }

    /// The next slots, at most `count`, from a position on, which is moved behind them. For the slots of all matches.
    pub(super) fn next(&self, position: &mut usize, count: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        match self {
            OrderedSlots::Listed(listed) => {
                let end = position.saturating_add(count).min(listed.end());
                slots.extend_from_slice(listed.get(&(*position..end)));
                *position = end;
            }
            OrderedSlots::Filtered { order, matches, end } => order.each(*position..*end, false, |slot| {
                if slots.len() == count {
                    return false;
                }
                *position += 1;
                let is_match = match matches {
                    Matches::All => true,
                    Matches::Some(matches) => matches.contains(slot),
                };
                if is_match {
                    slots.push(slot);
                }
                true
            }),
        }
        slots
    }
}

/// Where the `total` matches begin in the order, if they stand together in it, as those do that have the first sort key in a
/// range: what is published, newest first. Looks near both ends of the part of the order that has matches.
fn start_of_slice(order: &OrderView, matches: &Bitmap, end: usize, total: usize) -> Option<usize> {
    let nearest = |positions: Range<usize>, backwards: bool| {
        let mut passed = 0;
        let mut is_found = false;
        order.each(positions, backwards, |slot| {
            is_found = matches.contains(slot);
            passed += usize::from(!is_found);
            !is_found
        });
        is_found.then_some(passed)
    };
    let first = nearest(0..end.min(MAX_PROBES), false)?;
    let last = end - 1 - nearest(end.saturating_sub(MAX_PROBES)..end, true)?;
    (last + 1 == first + total).then_some(first)
}

/// The number of ordered slots that must be looked at to find a page from the nearer end, if the `total` matches are
/// spread evenly.
fn expected_steps(slots: usize, total: usize, page: &Range<usize>) -> usize {
    slots / total * page.end.min(total - page.start)
}
