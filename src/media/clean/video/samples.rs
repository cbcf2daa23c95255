//! Finds the samples of a track in the tables of its chunks, and overwrites them.

use std::io::{self, Read, Seek, Write};

use super::{Cleaner, Part, number};

/// The length of a table, each entry of which may cost a read. Sensors write some 200 samples a second at most; longer
/// tables are those of sound.
const MAX_TABLE_BYTES: u64 = 16 * 1024 * 1024;
/// The bytes of a table that are in memory: many films may be uploaded at once.
const WINDOW_BYTES: u64 = 64 * 1024;

impl<F: Read + Write + Seek> Cleaner<'_, F> {
    /// Overwrites the samples of a track. `media` is its box `mdia`.
    pub(super) fn clear_samples(&mut self, media: Part) -> io::Result<()> {
        let mut tables = Some(media);
        for kind in [b"minf", b"stbl"] {
            tables = tables.map(|outer| self.find(outer, kind)).transpose()?.flatten();
        }
        let Some(tables) = tables else { return Ok(()) };
        let mut sizes = Sizes { table: self.table(tables, b"stsz")?, same: 0 };
        let mut runs = Runs { table: self.table(tables, b"stsc")?, next: None, samples: 0 };
        let (mut offsets, width) = match self.table(tables, b"stco")? {
            offsets if offsets.is_empty() => (self.table(tables, b"co64")?, 8),
            offsets => (offsets, 4),
        };
        sizes.begin(self)?;
        runs.begin(self)?;
        offsets.skip(8);
        let mut chunk = 0;
        while let Some(start) = offsets.read(self, width)? {
            chunk += 1;
            let samples = runs.samples_of(self, chunk)?;
            let length = sizes.sum_of_next(self, samples)?;
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

    /// Returns a table; an empty one if it is missing or too long.
    fn table(&mut self, tables: Part, kind: &[u8; 4]) -> io::Result<Table> {
        let found = self.find(tables, kind)?.filter(|part| part.end - part.contents <= MAX_TABLE_BYTES);
        Ok(found.map_or_else(Table::default, |part| Table { at: part.contents, end: part.end, ..Table::default() }))
    }
}

/// A table whose numbers are read one after the other.
#[derive(Default)]
struct Table {
    /// The position of the next number in the file.
    at: u64,
    end: u64,
    window: Vec<u8>,
    /// The position of the window in the file.
    start: u64,
}

impl Table {
    fn is_empty(&self) -> bool {
        self.at == self.end
    }

    fn skip(&mut self, length: u64) {
        self.at += length;
    }

    /// Reads a number of that many bytes; `None` at the end.
    fn read<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>, width: u64) -> io::Result<Option<u64>> {
        if self.end.saturating_sub(self.at) < width {
            return Ok(None);
        }
        if self.at + width > self.start + self.window.len() as u64 {
            self.window = cleaner.read(self.at, WINDOW_BYTES.min(self.end - self.at) as usize)?;
            self.start = self.at;
        }
        let offset = (self.at - self.start) as usize;
        self.at += width;
        Ok(self.window.get(offset..offset + width as usize).map(number))
    }
}

/// The table `stsc`: each entry has the first chunk that it is about, and the number of samples in each.
struct Runs {
    table: Table,
    next: Option<(u64, u64)>,
    samples: u64,
}

impl Runs {
    fn begin<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>) -> io::Result<()> {
        self.table.skip(8);
        self.read_next(cleaner)
    }

    fn read_next<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>) -> io::Result<()> {
        let (first, samples) = (self.table.read(cleaner, 4)?, self.table.read(cleaner, 4)?);
        self.table.skip(4);
        self.next = first.zip(samples);
        Ok(())
    }

    /// Returns the number of samples in a chunk. Chunks are asked for in ascending order.
    fn samples_of<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>, chunk: u64) -> io::Result<u64> {
        while let Some((_, samples)) = self.next.filter(|(first, _)| *first <= chunk) {
            self.samples = samples;
            self.read_next(cleaner)?;
        }
        Ok(self.samples)
    }
}

/// The table `stsz`: all samples have the same size, or each has its own.
struct Sizes {
    table: Table,
    /// The size of all samples; 0 if each has its own.
    same: u64,
}

impl Sizes {
    fn begin<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>) -> io::Result<()> {
        self.table.skip(4);
        self.same = self.table.read(cleaner, 4)?.unwrap_or_default();
        self.table.skip(4);
        Ok(())
    }

    fn sum_of_next<F: Read + Write + Seek>(&mut self, cleaner: &mut Cleaner<'_, F>, count: u64) -> io::Result<u64> {
        if self.same > 0 {
            return Ok(self.same.saturating_mul(count));
        }
        let mut sum = 0;
        for _ in 0..count {
            let Some(size) = self.table.read(cleaner, 4)? else { break };
            sum += size;
        }
        Ok(sum)
    }
}
