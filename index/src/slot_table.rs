//! A copy-on-write table with an entry for each slot: a new version copies only the chunks that were written to.

use std::sync::Arc;

/// Entries in a chunk.
pub(crate) const CHUNK: usize = 1_024;

/// Entries by slot. Cloning is cheap, and a clone does not see later changes. Entries never set have the default value.
#[derive(Debug, Clone)]
pub(crate) struct SlotTable<T> {
    chunks: Arc<Vec<Arc<[T]>>>,
}

impl<T: Copy + Default> Default for SlotTable<T> {
    fn default() -> SlotTable<T> {
        SlotTable::new()
    }
}

impl<T: Copy + Default> SlotTable<T> {
    pub(crate) fn new() -> SlotTable<T> {
        SlotTable { chunks: Arc::new(Vec::new()) }
    }

    /// A table of these entries, by slot.
    pub(crate) fn of(entries: &[T]) -> SlotTable<T> {
        let chunk = |entries: &[T]| {
            let mut chunk = entries.to_vec();
            chunk.resize(CHUNK, T::default());
            chunk.into()
        };
        SlotTable { chunks: Arc::new(entries.chunks(CHUNK).map(chunk).collect()) }
    }

    /// The number of entries, including those never set: a multiple of [`CHUNK`].
    pub(crate) fn len(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    pub(crate) fn get(&self, slot: u32) -> T {
        match self.chunks.get(slot as usize / CHUNK) {
            Some(chunk) => chunk[slot as usize % CHUNK],
            None => T::default(),
        }
    }

    pub(crate) fn set(&mut self, slot: u32, entry: T) {
        let index = slot as usize / CHUNK;
        let chunks = Arc::make_mut(&mut self.chunks);
        while chunks.len() <= index {
            chunks.push(vec![T::default(); CHUNK].into());
        }
        Arc::make_mut(&mut chunks[index])[slot as usize % CHUNK] = entry;
    }

    /// All entries, including those never set.
    pub(crate) fn entries(&self) -> impl Iterator<Item = T> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.iter().copied())
    }

    /// The chunks, to compare by pointer with those of another version.
    pub(crate) fn chunks(&self) -> &[Arc<[T]>] {
        &self.chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_entries_and_shares_unchanged_chunks() {
        let mut table = SlotTable::of(&[1u32; CHUNK + 1]);
        let before = table.clone();
        table.set(0, 5);
        table.set(3 * CHUNK as u32, 7);
        assert_eq!((before.get(0), table.get(0)), (1, 5));
        assert_eq!((before.get(3 * CHUNK as u32), table.get(3 * CHUNK as u32)), (0, 7));
        assert!(!Arc::ptr_eq(&before.chunks()[0], &table.chunks()[0]));
        assert!(Arc::ptr_eq(&before.chunks()[1], &table.chunks()[1]));
        assert_eq!(table.len(), 4 * CHUNK);
    }
}
