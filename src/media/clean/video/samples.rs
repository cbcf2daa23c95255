//! Finds the samples of a track in the tables of its chunks, and overwrites them.

use std::io::{self, Read, Seek, Write};

use super::{Cleaner, Part, number};

/// The length of a table. Sensors write some 200 samples a second at most; longer tables are those of sound.
const MAX_TABLE_BYTES: u64 = 16 * 1024 * 1024;

impl<F: Read + Write + Seek> Cleaner<'_, F> {
    /// Overwrites the samples of a track. `media` is its box `mdia`.
    pub(super) fn clear_samples(&mut self, media: Part) -> io::Result<()> {
        let mut tables = Some(media);
        for kind in [b"minf", b"stbl"] {
            tables = tables.map(|outer| self.find(outer, kind)).transpose()?.flatten();
        }
        let Some(tables) = tables else { return Ok(()) };
        let sizes = self.table(tables, b"stsz")?;
        let runs = self.table(tables, b"stsc")?;
        let (offsets, width) = match self.table(tables, b"stco")? {
            offsets if offsets.is_empty() => (self.table(tables, b"co64")?, 8),
            offsets => (offsets, 4),
        };
        let mut sizes = Sizes { table: &sizes, next: 0 };
        let mut runs = Runs { entries: runs.get(8..).unwrap_or_default(), samples: 0 };
        for (chunk, offset) in offsets.get(8..).unwrap_or_default().chunks_exact(width).enumerate() {
            let start = number(offset);
            let length = sizes.sum_of_next(runs.samples_of(chunk as u64 + 1));
            let end = start.saturating_add(length).min(self.bytes);
            // Samples do not overlap in valid files. In others, clearing the same bytes many times would take long.
            self.cleared += end.saturating_sub(start);
            if self.cleared > self.bytes {
                return Ok(());
            }
            self.clear(start, end)?;
        }
        Ok(())
    }

    /// Reads a table; an empty one if it is missing or too long.
    fn table(&mut self, tables: Part, kind: &[u8; 4]) -> io::Result<Vec<u8>> {
        let found = self.find(tables, kind)?.filter(|part| part.end - part.contents <= MAX_TABLE_BYTES);
        found.map_or(Ok(Vec::new()), |part| self.read(part.contents, (part.end - part.contents) as usize))
    }
}

/// The table `stsc`: each entry has the first chunk that it is about, and the number of samples in each.
struct Runs<'a> {
    entries: &'a [u8],
    samples: u64,
}

impl Runs<'_> {
    /// Returns the number of samples in a chunk. Chunks are asked for in ascending order.
    fn samples_of(&mut self, chunk: u64) -> u64 {
        while let Some(entry) = self.entries.get(..12).filter(|entry| number(&entry[..4]) <= chunk) {
            self.samples = number(&entry[4..8]);
            self.entries = &self.entries[12..];
        }
        self.samples
    }
}

/// The table `stsz`: all samples have the same size, or each has its own.
struct Sizes<'a> {
    table: &'a [u8],
    next: usize,
}

impl Sizes<'_> {
    fn sum_of_next(&mut self, count: u64) -> u64 {
        match self.table.get(4..8).map_or(0, number) {
            0 => {
                let rest = self.table.get(12..).and_then(|sizes| sizes.get(4 * self.next..)).unwrap_or_default();
                let count = usize::try_from(count).unwrap_or(usize::MAX).min(rest.len() / 4);
                self.next += count;
                rest[..4 * count].chunks_exact(4).map(number).sum()
            }
            size => size.saturating_mul(count),
        }
    }
}
