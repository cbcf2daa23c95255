//! A copy-on-write table by slot: publishing a version costs only the chunks that were touched.

use std::sync::Arc;

/// Entries of one chunk.
pub(crate) const CHUNK: usize = 1_024;

/// Entries by slot. Cloning is cheap; a clone does not see later changes. What was never set is the default.
#[derive(Debug, Clone)]
pub(crate) struct Table<T> {
    chunks: Arc<Vec<Arc<[T]>>>,
}

impl<T: Copy + Default> Default for Table<T> {
    fn default() -> Table<T> {
        Table::new()
    }
}

impl<T: Copy + Default> Table<T> {
    pub(crate) fn new() -> Table<T> {
        Table { chunks: Arc::new(Vec::new()) }
    }

    /// Of entries by slot.
    pub(crate) fn of(entries: &[T]) -> Table<T> {
        let chunk = |entries: &[T]| {
            let mut chunk = entries.to_vec();
            chunk.resize(CHUNK, T::default());
            chunk.into()
        };
        Table { chunks: Arc::new(entries.chunks(CHUNK).map(chunk).collect()) }
    }

    /// So many entries are there, set or not.
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
        let place = slot as usize / CHUNK;
        let chunks = Arc::make_mut(&mut self.chunks);
        while chunks.len() <= place {
            chunks.push(vec![T::default(); CHUNK].into());
        }
        Arc::make_mut(&mut chunks[place])[slot as usize % CHUNK] = entry;
    }

    /// The chunks, to be compared by pointer with those of an earlier version.
    pub(crate) fn chunks(&self) -> &[Arc<[T]>] {
        &self.chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_entries_and_shares_untouched_chunks() {
        let mut table = Table::of(&[1u32; CHUNK + 1]);
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
