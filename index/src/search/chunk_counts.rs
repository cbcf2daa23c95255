//! The number of matches of a filter in each chunk of an order of all slots. With them, a page at any depth is found
//! without testing the slots before it. They are made when the same matches are asked for in the same order again, and
//! outlive writes. It knows no sort keys.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::order::Sorter;
use super::query_cache::{CacheHit, OrderResult};
use super::results::Key;
use super::slot_order::{OrderView, SlotOrder};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Filter, Query};
use crate::schema::VariantNumber;

/// The matches of one filter in one order, counted by chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkCounts {
    /// For each chunk in order, its stamp and the number of matches in it. Empty as long as it only notes that the
    /// matches were asked for.
    counts: Vec<(u64, u32)>,
}

impl ChunkCounts {
    /// Returns the counts for an order of another version, in which only the `changed` slots may match or stand
    /// differently. What is not known is counted.
    fn updated(
        &self,
        order: &SlotOrder,
        matches: &Bitmap,
        changed: &[u32],
        interrupt: &Interrupt<'_>,
    ) -> Result<ChunkCounts, Error> {
        // A chunk that such a slot has left or entered has another stamp. One that it stays in does not.
        let mut known: HashMap<u64, u32> = self.counts.iter().copied().collect();
        for stamp in changed.iter().filter_map(|&slot| order.stamp_of(slot)) {
            known.remove(&stamp);
        }
        let mut counts = Vec::with_capacity(order.chunks().len());
        for (stamp, slots) in order.chunks() {
            let count = match known.get(&stamp) {
                Some(&count) => count,
                None => {
                    interrupt.check()?;
                    slots.iter().filter(|&&slot| matches.contains(slot)).count() as u32
                }
            };
            counts.push((stamp, count));
        }
        Ok(ChunkCounts { counts })
    }

    /// Returns whether it has the chunks of this order. An order that was made anew, for the same version, has others.
    fn is_of(&self, order: &SlotOrder) -> bool {
        self.counts.iter().map(|&(stamp, _)| stamp).eq(order.chunks().map(|(stamp, _)| stamp))
    }

    /// Returns the matches at these positions among all matches. There may be fewer if the index is damaged, which
    /// fails the search.
    pub(super) fn page(&self, view: &OrderView, matches: &Bitmap, page: Range<usize>) -> Vec<u32> {
        let (chunk, within) = view.order.chunk_at(view.valued);
        let split = view.order.chunks().nth(chunk).map_or(&[][..], |(_, slots)| &slots[..within]);
        let valued = self.before(chunk) + split.iter().filter(|&&slot| matches.contains(slot)).count();
        let len = self.before(self.counts.len());
        let mut slots = Vec::with_capacity(page.len());
        for part in view.stored(page.start.min(len)..page.end.min(len), valued, len) {
            let from = slots.len();
            slots.extend(self.stored(&view.order, matches, part));
            if view.is_reversed {
                slots[from..].reverse();
            }
        }
        slots
    }

    /// Returns the matches at these positions among all matches in the stored order.
    fn stored(&self, order: &SlotOrder, matches: &Bitmap, positions: Range<usize>) -> impl Iterator<Item = u32> {
        let (mut first, mut before) = (0, 0);
        for &(_, count) in &self.counts {
            if before + count as usize > positions.start {
                break;
            }
            first += 1;
            before += count as usize;
        }
        let with_counts = order.chunks().zip(&self.counts).skip(first);
        let slots = with_counts.filter(|(_, counted)| counted.1 > 0).flat_map(|((_, slots), _)| slots.iter().copied());
        slots.filter(|&slot| matches.contains(slot)).skip(positions.start - before).take(positions.len())
    }

    /// Returns the number of matches before the chunk with this index.
    fn before(&self, chunk: usize) -> usize {
        self.counts[..chunk].iter().map(|&(_, count)| count as usize).sum()
    }
}

impl OrderResult for ChunkCounts {
    const NAME: u8 = b'c';

    fn bytes(&self) -> usize {
        self.counts.len() * size_of::<(u64, u32)>()
    }
}

impl Sorter<'_> {
    /// Returns the matches of a query's filter counted in an order of all slots, from the cache as far as possible.
    /// `None` if they were not asked for before, which is noted, and for filters that have words or name resources.
    pub(super) fn chunk_counts(
        &self,
        query: &Query,
        matches: &Bitmap,
        order: &SlotOrder,
    ) -> Result<Option<Arc<ChunkCounts>>, Error> {
        let Some(key) = self.key_of_counts(query.variant, &query.filter) else { return Ok(None) };
        let cache = &self.context.cache;
        let (known, changed) = match cache.order_result::<ChunkCounts>(&key, self.version.number) {
            None => {
                cache.put_order_result(&key, self.version.number, Arc::<ChunkCounts>::default());
                return Ok(None);
            }
            Some(CacheHit::Current(known)) if known.is_of(order) => return Ok(Some(known)),
            Some(CacheHit::Current(known)) => (known, Vec::new()),
            Some(CacheHit::Outdated { result, changed }) => (result, changed),
        };
        let counts = Arc::new(known.updated(order, matches, &changed, self.interrupt)?);
        cache.put_order_result(&key, self.version.number, Arc::clone(&counts));
        Ok(Some(counts))
    }

    /// Returns whether the matches of a filter are counted in this order, for any version; `None` if they were not even
    /// asked for.
    pub(super) fn are_counted(&self, variant: VariantNumber, filter: &Filter) -> Option<bool> {
        let counts = self.context.cache.peek_order_result::<ChunkCounts>(&self.key_of_counts(variant, filter)?)?;
        Some(!counts.counts.is_empty())
    }

    fn key_of_counts(&self, variant: VariantNumber, filter: &Filter) -> Option<Key> {
        self.key_with_filter(self.key_beside_order::<ChunkCounts>(), variant, filter)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Slots are ordered by a value each. A history changes values, whether a slot matches, or both, and removes
        /// slots. Now and then, the order is made anew.
        #[test]
        fn pages_are_those_of_all_matches_in_the_order(
            history in vec((vec((0u32..60, prop::option::of(0u32..9), any::<bool>()), 1..30), any::<bool>()), 1..12),
            page in (0usize..60, 0usize..60),
        ) {
            let (mut values, mut matches) = (vec![None; 60], Bitmap::default());
            let mut order = Arc::new(SlotOrder::in_chunks(3, &[]));
            let mut counts = ChunkCounts::default();
            for (step, is_made_anew) in history {
                let mut changed: Vec<u32> = step.iter().map(|(slot, ..)| *slot).collect();
                changed.sort_unstable();
                changed.dedup();
                for (slot, value, is_match) in step {
                    values[slot as usize] = value;
                    match is_match && value.is_some() {
                        true => matches.insert(slot),
                        false => matches.remove(slot),
                    }
                }
                let key = |slot: u32| (values[slot as usize], slot);
                let is_live = |slot: u32| values[slot as usize].is_some();
                let compare = |left, right| key(left).cmp(&key(right));
                order = Arc::new(order.updated(&changed, is_live, compare, &Interrupt::never()).unwrap());
                counts = counts.updated(&order, &matches, &changed, &Interrupt::never()).unwrap();
                prop_assert!(counts.is_of(&order));
                if is_made_anew {
                    let slots: Vec<u32> = order.slices(0..order.len()).flatten().copied().collect();
                    order = Arc::new(SlotOrder::in_chunks(4, &slots));
                    prop_assert!(slots.is_empty() || !counts.is_of(&order));
                    counts = counts.updated(&order, &matches, &[], &Interrupt::never()).unwrap();
                }

                let valued = order.partition_point(|slot| values[slot as usize] < Some(5));
                for is_reversed in [false, true] {
                    let view = OrderView { order: Arc::clone(&order), valued, is_reversed };
                    let mut expected = Vec::new();
                    view.each(0..view.len(), false, |slot| {
                        expected.extend(matches.contains(slot).then_some(slot));
                        true
                    });
                    let (one, other) = (page.0 % (expected.len() + 1), page.1 % (expected.len() + 1));
                    let page = one.min(other)..one.max(other);
                    prop_assert_eq!(counts.page(&view, &matches, page.clone()), &expected[page]);
                }
            }
        }
    }
}
