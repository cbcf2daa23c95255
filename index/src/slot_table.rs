//! A copy-on-write table with an entry for each slot. A write copies a few KiB, regardless of the number of slots.

use std::sync::Arc;

/// Entries in a chunk.
const CHUNK: usize = 128;
/// Chunks in a node.
const CHUNKS: usize = 128;
/// Entries in a node.
const NODE: usize = CHUNK * CHUNKS;

/// Entries by slot. Cloning is cheap, and a clone does not see later changes. Entries never set have the default value.
///
/// A tree of three levels: a spine of nodes of chunks. A write copies one chunk, the pointers of one node, and the
/// pointers of the spine, of which there are 62 for a million entries.
#[derive(Debug, Clone)]
pub(crate) struct SlotTable<T> {
    nodes: Arc<Vec<Arc<Node<T>>>>,
}

/// Up to [`CHUNKS`] chunks of [`CHUNK`] entries. Only the last node may have fewer.
type Node<T> = Vec<Arc<[T]>>;

impl<T: Copy + Default> Default for SlotTable<T> {
    fn default() -> SlotTable<T> {
        SlotTable::new()
    }
}

impl<T: Copy + Default> SlotTable<T> {
    pub(crate) fn new() -> SlotTable<T> {
        SlotTable { nodes: Arc::default() }
    }

    /// Returns a table of these entries, by slot.
    pub(crate) fn of(entries: &[T]) -> SlotTable<T> {
        let chunk = |entries: &[T]| {
            let mut chunk = entries.to_vec();
            chunk.resize(CHUNK, T::default());
            chunk.into()
        };
        let node = |entries: &[T]| Arc::new(entries.chunks(CHUNK).map(chunk).collect());
        SlotTable { nodes: Arc::new(entries.chunks(NODE).map(node).collect()) }
    }

    /// Returns the number of entries, including those never set: a multiple of [`CHUNK`].
    pub(crate) fn len(&self) -> usize {
        self.nodes.last().map_or(0, |last| (self.nodes.len() - 1) * NODE + last.len() * CHUNK)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> T {
        let slot = slot as usize;
        match self.nodes.get(slot / NODE).and_then(|node| node.get(slot % NODE / CHUNK)) {
            Some(chunk) => chunk[slot % CHUNK],
            None => T::default(),
        }
    }

    pub(crate) fn set(&mut self, slot: u32, entry: T) {
        let slot = slot as usize;
        let nodes = Arc::make_mut(&mut self.nodes);
        while nodes.len() <= slot / NODE {
            // Nodes before the last one are full.
            if let Some(last) = nodes.last_mut() {
                grow(Arc::make_mut(last), CHUNKS);
            }
            nodes.push(Arc::default());
        }
        let node = Arc::make_mut(&mut nodes[slot / NODE]);
        let index = slot % NODE / CHUNK;
        grow(node, index + 1);
        Arc::make_mut(&mut node[index])[slot % CHUNK] = entry;
    }

    /// Returns all entries, including those never set.
    pub(crate) fn entries(&self) -> impl Iterator<Item = T> + '_ {
        self.slices().flat_map(|chunk| chunk.iter().copied())
    }

    /// Returns all entries, including those never set, a chunk at a time.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[T]> {
        self.nodes.iter().flat_map(|node| node.iter().map(|chunk| &**chunk))
    }

    /// Returns whether both tables share all memory, which implies equal entries.
    pub(crate) fn shares_all(&self, other: &SlotTable<T>) -> bool {
        Arc::ptr_eq(&self.nodes, &other.nodes)
    }

    /// Emits the slots whose entries differ from those before, each with the entry before and the entry now. Skips
    /// memory that both tables share.
    pub(crate) fn each_difference(&self, before: &SlotTable<T>, mut emit: impl FnMut(u32, T, T))
    where
        T: PartialEq,
    {
        let chunks = |node: Option<&'_ Arc<Node<T>>>| node.map(Arc::clone).unwrap_or_default();
        let entry = |chunk: Option<&Arc<[T]>>, index: usize| chunk.map_or_else(T::default, |chunk| chunk[index]);
        for (node, before, now) in differing(&before.nodes, &self.nodes) {
            for (chunk, before, now) in differing(&chunks(before), &chunks(now)) {
                let first = node * NODE + chunk * CHUNK;
                for index in 0..CHUNK {
                    let (before, now) = (entry(before, index), entry(now, index));
                    if before != now {
                        emit((first + index) as u32, before, now);
                    }
                }
            }
        }
    }

    /// Returns whether both tables share the memory of these slots, which implies equal entries. A change of any of the
    /// slots ends that. `slots` must begin and end where a node does, or end with the table.
    pub(crate) fn shares(&self, other: &SlotTable<T>, slots: std::ops::Range<usize>) -> bool {
        (slots.start / NODE..slots.end.div_ceil(NODE)).all(|node| match (self.nodes.get(node), other.nodes.get(node)) {
            (Some(one), Some(other)) => {
                let same_chunks = || one.iter().zip(other.iter()).all(|(one, other)| Arc::ptr_eq(one, other));
                Arc::ptr_eq(one, other) || (one.len() == other.len() && same_chunks())
            }
            (None, None) => true,
            _ => false,
        })
    }
}

/// Pairs the elements of two lists by position, and leaves out pairs that share their memory.
fn differing<'a, T: ?Sized>(
    before: &'a [Arc<T>],
    now: &'a [Arc<T>],
) -> impl Iterator<Item = (usize, Option<&'a Arc<T>>, Option<&'a Arc<T>>)> {
    let pairs = (0..before.len().max(now.len())).map(|index| (index, before.get(index), now.get(index)));
    pairs.filter(|(_, before, now)| !before.zip(*now).is_some_and(|(before, now)| Arc::ptr_eq(before, now)))
}

/// Adds chunks of default entries.
fn grow<T: Copy + Default>(node: &mut Node<T>, chunks: usize) {
    while node.len() < chunks {
        node.push(vec![T::default(); CHUNK].into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_entries_and_shares_unchanged_nodes() {
        let mut table = SlotTable::of(&vec![1u32; 2 * NODE]);
        let before = table.clone();
        table.set(0, 5);
        assert_eq!((before.get(0), table.get(0)), (1, 5));
        assert!(!before.shares(&table, 0..NODE) && before.shares(&table, NODE..2 * NODE));
        table.set(3 * NODE as u32 + 300, 7);
        assert_eq!((before.get(3 * NODE as u32 + 300), table.get(3 * NODE as u32 + 300)), (0, 7));
        assert_eq!((table.get(2 * NODE as u32), table.get(u32::MAX)), (0, 0));
        assert!(!before.shares(&table, 2 * NODE..3 * NODE));
        assert_eq!((before.len(), table.len()), (2 * NODE, 3 * NODE + 3 * CHUNK));
        assert_eq!(table.entries().count(), table.len());
    }

    #[test]
    fn differences_are_emitted_in_both_directions() {
        let mut table = SlotTable::of(&vec![1u32; NODE + 1]);
        let before = table.clone();
        table.set(3, 2);
        table.set(NODE as u32, 1);
        table.set(2 * NODE as u32 + 5, 7);
        let differences = |before: &SlotTable<u32>, now: &SlotTable<u32>| {
            let mut found = Vec::new();
            now.each_difference(before, |slot, before, now| found.push((slot, before, now)));
            found
        };
        let last = 2 * NODE as u32 + 5;
        assert_eq!(differences(&before, &table), [(3, 1, 2), (last, 0, 7)]);
        assert_eq!(differences(&table, &before), [(3, 2, 1), (last, 7, 0)]);
        assert_eq!(differences(&table, &table), []);
    }

    #[test]
    fn a_node_written_to_shares_its_unchanged_chunks() {
        let mut table = SlotTable::of(&vec![1u32; NODE + 1]);
        let before = table.clone();
        table.set(NODE as u32, 1);
        let same = before.slices().zip(table.slices()).filter(|(before, now)| before.as_ptr() == now.as_ptr());
        assert_eq!(same.count(), CHUNKS);
        assert!(before.shares(&table, 0..NODE) && !before.shares(&table, 0..NODE + 1));
    }
}
