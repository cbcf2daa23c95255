//! All live slots of a version in an order. A change copies a few KiB, regardless of the number of slots. It does not
//! know the sort keys.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as MemoryOrdering};

use super::query_cache::OrderResult;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::slot_table::SlotTable;

/// Slots in a new chunk, at least.
const CHUNK: usize = 1_024;
/// The most chunks of a new order. It leaves enough chunk numbers for later ones.
const MAX_NEW_CHUNKS: usize = 1 << 14;

/// Slots in an order, cut into chunks.
#[derive(Debug, Clone)]
pub(super) struct SlotOrder {
    /// The chunks, none of them empty.
    chunks: Vec<Arc<Chunk>>,
    /// The position of the first slot of each chunk.
    starts: Vec<u32>,
    len: usize,
    /// A new chunk has this many slots, at least.
    least_chunk: usize,
    /// The number of slots above which a chunk is split.
    max_chunk: usize,
    /// For each slot, the number of the chunk that it is in; zero if it is in none.
    chunk_of: SlotTable<u16>,
    /// The index of each chunk, by its number.
    index_of: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Chunk {
    /// The chunk's number, from 1 on. Not used again after the chunk is gone.
    number: u16,
    /// Names these slots in this order: no other chunk ever has it, and a chunk that changes gets another one.
    stamp: u64,
    slots: Vec<u32>,
}

impl Chunk {
    fn new(number: u16, slots: Vec<u32>) -> Chunk {
        Chunk { number, stamp: new_stamp(), slots }
    }
}

fn new_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, MemoryOrdering::Relaxed)
}

impl SlotOrder {
    /// Creates an order of these slots.
    pub(super) fn of(slots: &[u32]) -> SlotOrder {
        SlotOrder::in_chunks(CHUNK, slots)
    }

    pub(super) fn in_chunks(least_chunk: usize, slots: &[u32]) -> SlotOrder {
        let size = least_chunk.max(slots.len().div_ceil(MAX_NEW_CHUNKS));
        let chunk = |(number, slots): (u16, &[u32])| Arc::new(Chunk::new(number, slots.to_vec()));
        let chunks: Vec<_> = (1..).zip(slots.chunks(size)).map(chunk).collect();
        let mut chunk_of = vec![0; slots.iter().max().map_or(0, |&last| last as usize + 1)];
        for chunk in &chunks {
            chunk.slots.iter().for_each(|&slot| chunk_of[slot as usize] = chunk.number);
        }
        let chunk_of = SlotTable::of(&chunk_of);
        let mut order = SlotOrder {
            chunks,
            starts: Vec::new(),
            len: 0,
            least_chunk,
            max_chunk: 2 * size,
            chunk_of,
            index_of: Vec::new(),
        };
        order.renumber();
        order
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the size in memory of an order of this many slots.
    pub(super) fn bytes_of(slots: usize) -> usize {
        slots * 6
    }

    /// Returns the slots at these positions, in slices. The range must be within the order.
    pub(super) fn slices(&self, positions: Range<usize>) -> impl DoubleEndedIterator<Item = &[u32]> {
        let first = self.starts.partition_point(|&start| start as usize <= positions.start).saturating_sub(1);
        let end = self.starts.partition_point(|&start| (start as usize) < positions.end).max(first);
        let chunks = self.chunks[first..end].iter().zip(&self.starts[first..end]);
        chunks.map(move |(chunk, &start)| {
            let within = |position: usize| position.saturating_sub(start as usize).min(chunk.slots.len());
            &chunk.slots[within(positions.start)..within(positions.end).max(within(positions.start))]
        })
    }

    /// Returns the chunks in order: the stamp and the slots of each.
    pub(super) fn chunks(&self) -> impl ExactSizeIterator<Item = (u64, &[u32])> {
        self.chunks.iter().map(|chunk| (chunk.stamp, &chunk.slots[..]))
    }

    /// Returns the stamp of the chunk that a slot is in.
    pub(super) fn stamp_of(&self, slot: u32) -> Option<u64> {
        match self.chunk_of.get(slot) {
            0 => None,
            number => Some(self.chunks[self.index_of[number as usize] as usize].stamp),
        }
    }

    /// Returns the index of the chunk with the slot at a position, and the position within it. At the end of the order,
    /// the index is the number of chunks.
    pub(super) fn chunk_at(&self, position: usize) -> (usize, usize) {
        if position >= self.len {
            return (self.chunks.len(), 0);
        }
        let index = self.starts.partition_point(|&start| start as usize <= position).saturating_sub(1);
        (index, position - self.starts.get(index).map_or(0, |&start| start as usize))
    }

    /// Returns the number of slots before the first that does not satisfy `is_before`.
    pub(super) fn partition_point(&self, is_before: impl Fn(u32) -> bool) -> usize {
        let (chunk, within) = self.place(&is_before);
        self.starts.get(chunk).map_or(self.len, |&start| start as usize + within)
    }

    /// Returns the position of the first slot in a range that does not satisfy `is_before`, or the end of the range.
    pub(super) fn partition_point_in(&self, positions: Range<usize>, is_before: impl Fn(u32) -> bool) -> usize {
        let (mut low, mut high) = (positions.start, positions.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let slot = self.slices(middle..middle + 1).flatten().next();
            match slot.is_some_and(|&slot| is_before(slot)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Returns the order after some slots changed. Slots for which `is_live` holds are placed by `compare`; the others
    /// are removed.
    pub(super) fn updated(
        &self,
        changed: &[u32],
        is_live: impl Fn(u32) -> bool,
        compare: impl Fn(u32, u32) -> Ordering,
        interrupt: &Interrupt<'_>,
    ) -> Result<SlotOrder, Error> {
        let mut order = self.clone();
        for &slot in changed {
            interrupt.step()?;
            order.remove(slot);
        }
        for &slot in changed.iter().filter(|&&slot| is_live(slot)) {
            interrupt.check()?;
            order.insert(slot, |other| compare(other, slot).is_lt());
        }
        order.renumber();
        Ok(order)
    }

    fn remove(&mut self, slot: u32) {
        let number = self.chunk_of.get(slot);
        if number == 0 {
            return;
        }
        self.chunk_of.set(slot, 0);
        let index = self.index_of[number as usize] as usize;
        let slots = &mut changing(&mut self.chunks[index]).slots;
        slots.retain(|&other| other != slot);
        if slots.is_empty() {
            self.chunks.remove(index);
            self.renumber();
        }
    }

    fn insert(&mut self, slot: u32, is_before: impl Fn(u32) -> bool) {
        let (index, within) = self.place(&is_before);
        let Some(chunk) = self.chunks.get_mut(index) else {
            *self = SlotOrder::in_chunks(self.least_chunk, &[slot]);
            return;
        };
        let chunk = changing(chunk);
        chunk.slots.insert(within, slot);
        self.chunk_of.set(slot, chunk.number);
        if chunk.slots.len() > self.max_chunk {
            self.split(index);
        }
    }

    fn split(&mut self, index: usize) {
        let Ok(number) = u16::try_from(self.index_of.len()) else {
            // The chunk numbers are used up, so all chunks get new ones.
            let slots: Vec<u32> = self.chunks.iter().flat_map(|chunk| chunk.slots.iter().copied()).collect();
            *self = SlotOrder::in_chunks(self.least_chunk, &slots);
            return;
        };
        let chunk = changing(&mut self.chunks[index]);
        let slots = chunk.slots.split_off(chunk.slots.len() / 2);
        slots.iter().for_each(|&slot| self.chunk_of.set(slot, number));
        self.chunks.insert(index + 1, Arc::new(Chunk::new(number, slots)));
        self.renumber();
    }

    /// Returns the chunk, and the place in it, of the first slot that does not satisfy `is_before`, or the end of the
    /// order. Does not use positions.
    fn place(&self, is_before: &impl Fn(u32) -> bool) -> (usize, usize) {
        let after = self.chunks.partition_point(|chunk| chunk.slots.first().is_some_and(|&first| is_before(first)));
        let index = after.saturating_sub(1);
        let within = self.chunks.get(index).map_or(0, |chunk| chunk.slots.partition_point(|&slot| is_before(slot)));
        (index, within)
    }

    /// Recomputes the positions and indexes of all chunks.
    fn renumber(&mut self) {
        let last = self.chunks.iter().map(|chunk| chunk.number).max().unwrap_or_default();
        self.index_of.resize(self.index_of.len().max(last as usize + 1), u32::MAX);
        self.starts.clear();
        self.len = 0;
        for (index, chunk) in (0..).zip(&self.chunks) {
            self.starts.push(self.len as u32);
            self.index_of[chunk.number as usize] = index;
            self.len += chunk.slots.len();
        }
    }
}

impl OrderResult for SlotOrder {
    const NAME: u8 = b'a';

    fn bytes(&self) -> usize {
        SlotOrder::bytes_of(self.len)
    }
}

/// Returns a chunk for changing it.
fn changing(chunk: &mut Arc<Chunk>) -> &mut Chunk {
    let chunk = Arc::make_mut(chunk);
    chunk.stamp = new_stamp();
    chunk
}

/// An order, read forwards or in reverse.
#[derive(Debug, Clone)]
pub(super) struct OrderView {
    pub(super) order: Arc<SlotOrder>,
    /// The number of slots before those that sort last in both directions.
    pub(super) valued: usize,
    /// True if each of these two parts is read from its end.
    pub(super) is_reversed: bool,
}

impl OrderView {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns where the items at these positions of the view are in the stored order: two ranges, each to be read from
    /// its end if the view is reversed. `len` is the number of all items, `valued` of those before the ones that sort
    /// last in both directions. The items are slots, or the matches among them.
    pub(super) fn stored(&self, positions: Range<usize>, valued: usize, len: usize) -> [Range<usize>; 2] {
        let first = positions.start.min(valued)..positions.end.min(valued);
        let second = positions.start.max(valued)..positions.end.max(valued);
        match self.is_reversed {
            false => [first, second],
            true => {
                [valued - first.end..valued - first.start, len - (second.end - valued)..len - (second.start - valued)]
            }
        }
    }

    /// Emits the slots at these positions, until `emit` returns false. `backwards` begins at the end of the range.
    pub(super) fn each(&self, positions: Range<usize>, backwards: bool, mut emit: impl FnMut(u32) -> bool) {
        let mut parts = self.stored(positions, self.valued, self.len());
        if backwards {
            parts.reverse();
        }
        for part in parts {
            let is_done = match self.is_reversed != backwards {
                false => self.order.slices(part).any(|slice| slice.iter().any(|&slot| !emit(slot))),
                true => self.order.slices(part).rev().any(|slice| slice.iter().rev().any(|&slot| !emit(slot))),
            };
            if is_done {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn slots(order: &SlotOrder) -> Vec<u32> {
        order.slices(0..order.len()).flatten().copied().collect()
    }

    proptest! {
        /// Slots are ordered by a value each; a history changes values and removes slots.
        #[test]
        fn an_updated_order_is_that_of_all_slots(
            history in prop::collection::vec(prop::collection::vec((0u32..40, prop::option::of(0u32..9)), 1..25), 1..12),
            positions in (0usize..40, 0usize..40),
        ) {
            let mut values = vec![None; 40];
            let mut order = SlotOrder::in_chunks(3, &[]);
            for step in history {
                let mut changed: Vec<u32> = step.iter().map(|(slot, _)| *slot).collect();
                changed.sort_unstable();
                changed.dedup();
                step.iter().for_each(|&(slot, value)| values[slot as usize] = value);
                let before = (order.clone(), slots(&order));
                let key = |slot: u32| (values[slot as usize], slot);
                let is_live = |slot: u32| values[slot as usize].is_some();
                let compare = |left, right| key(left).cmp(&key(right));
                order = order.updated(&changed, is_live, compare, &Interrupt::never()).unwrap();
                prop_assert_eq!(slots(&before.0), before.1);
                let mut expected: Vec<u32> = (0..40).filter(|&slot| is_live(slot)).collect();
                expected.sort_by_key(|&slot| key(slot));
                prop_assert_eq!(slots(&order), expected.clone());
                prop_assert_eq!(order.len(), expected.len());
                let point = expected.iter().filter(|&&slot| values[slot as usize] < Some(5)).count();
                prop_assert_eq!(order.partition_point(|slot| values[slot as usize] < Some(5)), point);

                let (one, other) = (positions.0 % (expected.len() + 1), positions.1 % (expected.len() + 1));
                let range = one.min(other)..one.max(other);
                for (is_reversed, backwards) in [(false, false), (false, true), (true, false), (true, true)] {
                    let view = OrderView { order: Arc::new(order.clone()), valued: point, is_reversed };
                    let mut all = expected.clone();
                    if is_reversed {
                        all[..point].reverse();
                        all[point..].reverse();
                    }
                    let mut wanted = all[range.clone()].to_vec();
                    if backwards {
                        wanted.reverse();
                    }
                    let mut found = Vec::new();
                    view.each(range.clone(), backwards, |slot| {
                        found.push(slot);
                        true
                    });
                    prop_assert_eq!(&found, &wanted);
                    found.clear();
                    view.each(range.clone(), backwards, |slot| {
                        found.push(slot);
                        found.len() < 2
                    });
                    prop_assert_eq!(&found[..], &wanted[..wanted.len().min(2)]);
                }
            }
        }
    }
}
