//! Finds a position in an order: behind given sort values, or that of a resource. It knows no filters, only which slots
//! match.

use std::cmp::Ordering;

use super::key_column::{compare_texts, directed};
use super::matches::Matches;
use super::order::{KeySource, NULL_RANK, ResolvedKey, Sorter};
use super::page::OrderedSlots;
use super::slot_order::OrderView;
use super::snapshot::{Selected, Snapshot};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Hits, MatchSet, Neighbors, Position, PositionKey, Query};

impl Snapshot {
    /// Returns the position of a resource of this snapshot, after which the next page begins.
    pub fn position(&self, query: &Query, slot: u32) -> Position {
        let interrupt = Interrupt::never();
        let sorter = self.sorter(query, &interrupt);
        let keys = sorter.keys.iter().map(|key| match key.source {
            KeySource::Text(of) => {
                let text = of.value(slot).sort_text();
                text.map_or(PositionKey::Null, |text| PositionKey::Text(text.into_owned()))
            }
            KeySource::Date(_) | KeySource::Rank(_) => match sorter.rank(key, slot) {
                NULL_RANK => PositionKey::Null,
                rank => PositionKey::Rank(rank),
            },
        });
        Position { keys: keys.collect(), id: self.version.rows.get(slot).id }
    }

    /// Returns the page of at most `limit` of the found resources that begins after a position, and the number of all
    /// found resources. The position must be one of the query's order.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn page_behind(
        &self,
        found: &MatchSet,
        query: &Query,
        position: &Position,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Hits, Error> {
        let sorter = self.sorter(query, interrupt);
        let matches = self.matches_of(found);
        let total = matches.count(&self.version);
        let slots = self.slots_behind(&sorter, &matches, total, position, limit);
        let hits = slots.map(|slots| slots.into_iter().map(|slot| self.version.hit(slot)).collect());
        self.sound(hits.map(|hits| Hits { total: total as u64, hits, words: None }))
    }

    fn slots_behind(
        &self,
        sorter: &Sorter<'_>,
        matches: &Matches,
        total: usize,
        position: &Position,
        limit: usize,
    ) -> Result<Vec<u32>, Error> {
        let cached = if total <= self.context.options.always_sort_limit { None } else { sorter.cached_order()? };
        let order = match cached {
            None if total <= self.context.options.sort_limit => {
                let mut behind = Vec::new();
                for slot in matches.to_bitmap(&self.version).iter() {
                    sorter.interrupt.step()?;
                    if sorter.compare_with(slot, position).is_gt() {
                        behind.push(slot);
                    }
                }
                let mut slots = sorter.sort(behind)?;
                slots.truncate(limit);
                return Ok(slots);
            }
            None => sorter.order()?,
            Some(order) => order,
        };
        let mut start = order.partition_point(|slot| sorter.compare_with(slot, position).is_le());
        let filtered = OrderedSlots::Filtered { end: order.len(), order, matches: matches.clone() };
        Ok(filtered.next(&mut start, limit))
    }

    /// Returns the neighbors of the resource in a slot, among the found resources in the query's order. Returns `None`
    /// if the resource was not found.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn neighbors(
        &self,
        found: &MatchSet,
        query: &Query,
        slot: u32,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Neighbors>, Error> {
        if !found.0.contains(slot) {
            return Ok(None);
        }
        let sorter = self.sorter(query, interrupt);
        let matches = self.matches_of(found);
        let total = matches.count(&self.version);
        let hit = |slot| self.version.hit(slot);
        let find = || {
            // Orders by relevance are not cached.
            let is_sorted = total <= self.context.options.always_sort_limit || query.ranks_by().is_some();
            let ordered = match if is_sorted { None } else { sorter.cached_order()? } {
                // Sorting some thousands takes longer than counting bits along a cached order.
                Some(order) => OrderedSlots::Filtered { end: order.len(), order, matches: matches.clone() },
                None => {
                    let selected = Selected { matches: matches.clone(), search: None, is_exact: false };
                    self.ordered(query, selected, total, &(0..total), interrupt)?
                }
            };
            let place = match &ordered {
                OrderedSlots::Listed(listed) => place_in_list(&listed.slots, slot),
                OrderedSlots::Filtered { order, matches, .. } => {
                    place_in_order(order, matches, total, slot, |other| sorter.compare(other, slot), interrupt)?
                }
            };
            Ok(place)
        };
        // It is missing only if the index is damaged, which fails the search.
        Ok(self.sound(find())?.map(|(previous, before, next)| Neighbors {
            previous: previous.map(hit),
            next: next.map(hit),
            position: before as u64 + 1,
            total: total as u64,
        }))
    }
}

/// The previous slot, the number of slots before this one, and the next slot.
type SlotPlace = (Option<u32>, usize, Option<u32>);

fn place_in_list(slots: &[u32], slot: u32) -> Option<SlotPlace> {
    let at = slots.iter().position(|&other| other == slot)?;
    Some((at.checked_sub(1).map(|before| slots[before]), at, slots.get(at + 1).copied()))
}

/// Finds the place in an order of all slots, counted from the nearer end.
fn place_in_order(
    order: &OrderView,
    matches: &Matches,
    total: usize,
    slot: u32,
    compare: impl Fn(u32) -> Ordering,
    interrupt: &Interrupt<'_>,
) -> Result<Option<SlotPlace>, Error> {
    let at = order.partition_point(|other| compare(other).is_lt());
    let is_match = |slot| match matches {
        Matches::All => true,
        Matches::Some(matches) => matches.contains(slot),
    };
    let nearest = |positions: std::ops::Range<usize>, backwards: bool| {
        let mut nearest = None;
        order.each(positions, backwards, |other| {
            nearest = (is_match(other) && other != slot).then_some(other);
            nearest.is_none()
        });
        nearest
    };
    let count = |positions: std::ops::Range<usize>| {
        interrupt.check()?;
        let mut count = 0;
        order.each(positions, false, |other| {
            count += usize::from(is_match(other));
            true
        });
        Ok::<usize, Error>(count)
    };
    let before = match matches {
        Matches::All => at,
        Matches::Some(_) if at <= order.len() / 2 => count(0..at)?,
        Matches::Some(_) => total - count(at..order.len())?.min(total),
    };
    Ok(Some((nearest(0..at, true), before, nearest(at..order.len(), false))))
}

impl OrderView {
    /// Returns the number of slots before the first that does not satisfy `is_before`, in reading direction.
    pub(super) fn partition_point(&self, is_before: impl Fn(u32) -> bool) -> usize {
        let (len, valued) = (self.len(), self.valued);
        if !self.is_reversed {
            return self.order.partition_point(is_before);
        }
        // Both parts are read from their ends.
        let of_valued = valued - self.order.partition_point_in(0..valued, |slot| !is_before(slot));
        match of_valued == valued {
            true => valued + len - self.order.partition_point_in(valued..len, |slot| !is_before(slot)),
            false => of_valued,
        }
    }
}

impl Sorter<'_> {
    /// Compares the position of a slot with another position: `Less` if the slot comes before it.
    fn compare_with(&self, slot: u32, position: &Position) -> Ordering {
        for (key, at) in self.keys.iter().zip(&position.keys) {
            let order = self.compare_key(key, slot, at);
            if order.is_ne() {
                return order;
            }
        }
        directed(self.descending, self.version.rows.get(slot).id.cmp(&position.id))
    }

    fn compare_key(&self, key: &ResolvedKey<'_>, slot: u32, at: &PositionKey) -> Ordering {
        match key.source {
            KeySource::Text(of) => {
                let text = of.value(slot).sort_text();
                let at = match at {
                    PositionKey::Text(at) => Some(at.as_str()),
                    PositionKey::Null | PositionKey::Rank(_) => None,
                };
                compare_texts(&of.copies.collation, key.descending, text.as_deref(), at)
            }
            KeySource::Date(_) | KeySource::Rank(_) => {
                let at = match at {
                    PositionKey::Rank(rank) => *rank,
                    PositionKey::Null | PositionKey::Text(_) => NULL_RANK,
                };
                self.rank(key, slot).cmp(&at)
            }
        }
    }
}
