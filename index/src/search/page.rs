//! Sorts the matches of a query as far as a page needs, by the cheapest method. It knows no filters, except which of
//! them imply that all matches are in one part of an order.

use std::ops::Range;

use super::matches::Matches;
use super::order::{KeySource, Sorter};
use super::slot_order::OrderView;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::query::{Filter, Predicate, Query};
use crate::run::RankRange;
use crate::schema::Kind;
use crate::trace::StepKind;

/// The slots of all matching resources in order, or at least those up to the end of a page.
#[derive(Debug, Clone)]
pub(super) enum OrderedSlots {
    Listed(ListedSlots),
    /// The slots of the order that match. All matches are before the position `end`.
    Filtered {
        order: OrderView,
        matches: Matches,
        end: usize,
    },
}

/// A part of the matching slots in order.
#[derive(Debug, Clone)]
pub(super) struct ListedSlots {
    /// The position of the first one in the whole order.
    pub(super) from: usize,
    pub(super) slots: Vec<u32>,
}

/// The most steps per match along an order of all slots. Beyond that, sorting the matches is cheaper.
const MAX_STEPS_PER_MATCH: usize = 256;
/// The most steps per match along the orders of runs, each of which takes longer.
const MAX_WALKED_PER_MATCH: usize = 32;
/// The factor by which a walk may exceed the steps expected for evenly spread matches, before it is given up.
const MAX_UNEVENNESS: usize = 4;

/// A way to find a page without sorting all matches.
#[derive(Clone, Copy)]
enum PageMethod {
    /// Walks along the orders of runs to the end of the page. With a range, all matches have a value of the first key
    /// in it.
    Walk(Option<RankRange>),
    /// Walks from near the beginning of the page, which is found by counting matches along the orders of runs.
    Skip(Option<RankRange>),
    /// Counts the matches in a cached order of all slots, chunk by chunk.
    ChunkCounts,
    /// Filters a cached order of all slots.
    CachedOrder,
    /// Makes and filters an order of all slots.
    Order,
}

/// The search for a page, with the result that it is a page of.
pub(super) struct PageSearch<'a> {
    pub(super) sorter: &'a Sorter<'a>,
    pub(super) query: &'a Query,
    /// True if the matches are all that the filter holds for.
    pub(super) is_exact: bool,
    /// The query's filter holds for all of them.
    pub(super) matches: Matches,
    /// The number of matches.
    pub(super) total: usize,
    pub(super) page: &'a Range<usize>,
}

impl PageMethod {
    /// Returns its name in an explanation.
    fn name(self) -> &'static str {
        match self {
            PageMethod::Walk(Some(_)) => "slice of the index",
            PageMethod::Walk(None) => "index",
            PageMethod::Skip(_) => "part of the index",
            PageMethod::ChunkCounts => "counts of the cache",
            PageMethod::CachedOrder => "cache",
            PageMethod::Order => "order of all",
        }
    }
}

impl PageSearch<'_> {
    /// Orders the matches for reading the page, by the first method that finds it. Sorts them if every method gives up.
    pub(super) fn run(&self) -> Result<OrderedSlots, Error> {
        let find = || {
            for method in self.methods() {
                if let Some(slots) = self.find(method)? {
                    return Ok((slots, method.name()));
                }
            }
            let slots = self.matches.to_bitmap(self.sorter.version).iter().collect();
            Ok((OrderedSlots::all(self.sorter.sort(slots)?), "sort"))
        };
        let step = |(_, from): &(OrderedSlots, &'static str)| Some((StepKind::Ordered, *from, self.total as u64));
        self.sorter.interrupt.traced(find, step).map(|(slots, _)| slots)
    }

    /// Returns the methods that may be cheaper than sorting, in the order in which they are tried.
    fn methods(&self) -> Vec<PageMethod> {
        if self.total <= self.sorter.context.options.always_sort_limit {
            return Vec::new();
        }
        // A sort by a date has no range here, and its walks give up at once: runs have no orders by dates. Its cached
        // order serves it.
        let mut methods = match range_of(self.sorter, &self.query.filter) {
            None => {
                let (walk, skip) = (PageMethod::Walk(None), PageMethod::Skip(None));
                vec![PageMethod::ChunkCounts, PageMethod::CachedOrder, walk, skip]
            }
            range => {
                let (walk, skip) = (PageMethod::Walk(range), PageMethod::Skip(range));
                vec![walk, PageMethod::ChunkCounts, PageMethod::CachedOrder, skip]
            }
        };
        if !self.is_sortable() {
            methods.push(PageMethod::Order);
        }
        methods
    }

    /// Returns whether sorting all matches is an alternative.
    fn is_sortable(&self) -> bool {
        self.total <= self.sorter.context.options.sort_limit
    }

    /// Finds the page by one method; `None` if that is not possible, or takes longer than another method.
    fn find(&self, method: PageMethod) -> Result<Option<OrderedSlots>, Error> {
        let is_cheap = |steps: usize| !self.is_sortable() || steps <= self.total * MAX_STEPS_PER_MATCH;
        Ok(match method {
            PageMethod::Walk(range) => self.walk(range)?.map(OrderedSlots::Listed),
            PageMethod::Skip(_) | PageMethod::ChunkCounts if !is_cheap(self.sorter.version.total) => None,
            PageMethod::Skip(range) => self.skip(range)?.map(OrderedSlots::Listed),
            PageMethod::ChunkCounts => self.counted()?.map(OrderedSlots::Listed),
            PageMethod::CachedOrder => self
                .sorter
                .cached_order()?
                .filter(|order| is_cheap(expected_steps(order.len(), self.total, self.page)))
                .map(|order| self.filtered(order)),
            PageMethod::Order => Some(self.filtered(self.sorter.order()?)),
        })
    }

    /// Finds the page; see [`PageMethod::ChunkCounts`].
    fn counted(&self) -> Result<Option<ListedSlots>, Error> {
        let Matches::Some(matches) = &self.matches else { return Ok(None) };
        let Range { start, end } = *self.page;
        let skipped = self.sorter.version.total / self.total * start.min(self.total - end);
        if !self.is_exact || skipped <= self.sorter.context.options.thresholds.walked_steps {
            return Ok(None);
        }
        let Some(order) = self.sorter.cached_order()? else { return Ok(None) };
        let counts = self.sorter.chunk_counts(self.query, matches, &order.order)?;
        Ok(counts.map(|counts| ListedSlots { from: start, slots: counts.page(&order, matches, start..end) }))
    }

    /// Filters an order of all slots. Matches without a value of the first key are last; there are none if the filter
    /// requires a value.
    fn filtered(&self, order: OrderView) -> OrderedSlots {
        let end = if needs_first_key(self.sorter, &self.query.filter) { order.valued } else { order.len() };
        OrderedSlots::Filtered { order, matches: self.matches.clone(), end }
    }

    /// Finds the matches up to the end of the page; see [`PageMethod::Walk`].
    fn walk(&self, range: Option<RankRange>) -> Result<Option<ListedSlots>, Error> {
        let most = if self.is_sortable() { self.total * MAX_WALKED_PER_MATCH } else { usize::MAX };
        let max_steps = most.min(self.sorter.max_walked());
        let steps = |walked: usize| expected_walk(walked, self.total, self.page.end);
        // Checked because memory runs make their orders on first use.
        if range.is_none() && steps(self.sorter.version.total) > max_steps {
            return Ok(None);
        }
        let Some(walk) = self.sorter.walk(range)? else { return Ok(None) };
        let steps = steps(walk.len());
        if steps > max_steps {
            return Ok(None);
        }
        let max_steps = (steps * MAX_UNEVENNESS).max(self.sorter.context.options.always_walk_limit);
        self.sorter.listed(&walk, &walk.start(), &self.matches, self.page.end, max_steps)
    }

    /// Finds the matches from near the beginning of the page; see [`PageMethod::Skip`]. Also returns `None` if many
    /// matches share the values on the page, so that all of those must be sorted.
    fn skip(&self, range: Option<RankRange>) -> Result<Option<ListedSlots>, Error> {
        let Range { start, end } = *self.page;
        let is_long = |walked, count| expected_walk(walked, self.total, count) > self.sorter.max_walked();
        if is_long(self.sorter.version.total, end - start) {
            return Ok(None);
        }
        let Some(walk) = self.sorter.walk(range)? else { return Ok(None) };
        let key = self.is_exact.then(|| self.sorter.key_if_asked_before(&walk, &self.query.filter)).flatten();
        let ordered = match key {
            Some(key) => self.sorter.ordered_matches(&key, &walk, &self.matches)?,
            None => None,
        };
        let counted = walk.counted(&self.matches, ordered.as_deref(), self.sorter.interrupt)?;
        let few_groups = self.sorter.context.options.thresholds.few_groups;
        let start = walk.start_behind(start, &counted, few_groups, self.sorter.interrupt)?;
        if is_long(walk.len(), end - start.skipped) {
            return Ok(None);
        }
        self.sorter.listed(&walk, &start, &self.matches, end, self.sorter.max_walked())
    }
}

impl Sorter<'_> {
    /// Returns the most steps that a walk may take.
    pub(super) fn max_walked(&self) -> usize {
        let options = &self.context.options;
        options.always_walk_limit.max(self.version.total / options.walk_share)
    }
}

/// Returns whether the filter implies that every match has a value of the first key.
fn needs_first_key(sorter: &Sorter<'_>, filter: &Filter) -> bool {
    match (filter, sorter.keys.first().map(|key| &key.source)) {
        (Filter::And(filters), _) => filters.iter().any(|filter| needs_first_key(sorter, filter)),
        (Filter::Date(date, _), Some(KeySource::Date(key))) => date == key,
        _ => own_range(sorter, filter).is_some(),
    }
}

/// Estimates the number of documents that a walk to the first `count` of the matches reads if they are spread evenly.
/// `total` is the number of matches.
fn expected_walk(walked: usize, total: usize, count: usize) -> usize {
    (walked as u64 * count as u64).div_ceil(total as u64) as usize
}

/// Returns the range of the first key's values that a filter stands for, if it is nothing else.
fn own_range(sorter: &Sorter<'_>, filter: &Filter) -> Option<RankRange> {
    let KeySource::Rank(of) = sorter.keys.first()?.source else { return None };
    let first = of.column;
    match filter {
        Filter::Column(id, Predicate::Number(range)) if *id == first.id && first.kind == Kind::Number => {
            Some(RankRange::of_numbers(range))
        }
        Filter::Column(id, Predicate::Instant(range)) if *id == first.id && first.kind == Kind::Instant => {
            Some(RankRange::of_integers(range))
        }
        _ => None,
    }
}

/// Returns the range of the first key's values that a filter demands.
pub(super) fn range_of(sorter: &Sorter<'_>, filter: &Filter) -> Option<RankRange> {
    match filter {
        Filter::And(filters) => filters.iter().filter_map(|filter| range_of(sorter, filter)).reduce(RankRange::and),
        filter => own_range(sorter, filter),
    }
}

/// Returns what a filter demands beside the range of the first key's values.
pub(super) fn without_range(sorter: &Sorter<'_>, filter: &Filter) -> Filter {
    match filter {
        Filter::And(filters) => {
            let rest = filters.iter().map(|filter| without_range(sorter, filter));
            Filter::And(rest.filter(|filter| *filter != Filter::All).collect())
        }
        filter if own_range(sorter, filter).is_some() => Filter::All,
        filter => filter.clone(),
    }
}

impl ListedSlots {
    pub(super) fn end(&self) -> usize {
        self.from + self.slots.len()
    }

    /// Returns the slots at these positions. There may be fewer if the index is damaged, which fails the search.
    pub(super) fn get(&self, positions: &Range<usize>) -> &[u32] {
        let within = |position: usize| position.checked_sub(self.from);
        let part = within(positions.start).zip(within(positions.end));
        part.and_then(|(start, end)| self.slots.get(start..end)).unwrap_or_default()
    }
}

impl OrderedSlots {
    /// Returns a list of all matches.
    pub(super) fn all(slots: Vec<u32>) -> OrderedSlots {
        OrderedSlots::Listed(ListedSlots { from: 0, slots })
    }

    /// The slots of a page, found from the nearer end. `total` is the number of matches, `walked_steps` that of
    /// [`Thresholds`](crate::Thresholds).
    pub(super) fn page(&self, total: usize, page: Range<usize>, walked_steps: usize) -> Vec<u32> {
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
                if expected_steps(*end, total, &page) > walked_steps
                    && let Some(start) = start_of_slice(order, matches, *end, total, walked_steps)
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

    /// Returns at most `count` slots from a position on, and moves the position behind them. Only for the slots of all
    /// matches.
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

/// Returns the position of the first match in the order, if the `total` matches are contiguous, for example for
/// published resources sorted by date. Checks near both ends of the part of the order that has matches.
fn start_of_slice(order: &OrderView, matches: &Bitmap, end: usize, total: usize, steps: usize) -> Option<usize> {
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
    let first = nearest(0..end.min(steps), false)?;
    let last = end - 1 - nearest(end.saturating_sub(steps)..end, true)?;
    (last + 1 == first + total).then_some(first)
}

/// Returns the number of ordered slots that must be read to find a page from the nearer end, if the `total` matches are
/// spread evenly.
fn expected_steps(slots: usize, total: usize, page: &Range<usize>) -> usize {
    slots / total * page.end.min(total - page.start)
}
