//! The common layout of the files of a run: sections, a table of them, and a trailer of fixed size. It does not know
//! the contents of sections.
//!
//! A file is a magic number, its sections, the table and the trailer: the number of documents and of sections (u32
//! each), the offset of the table (u64) and the magic number again. Integers are little-endian. Checksums are in the
//! file `sums` of the run.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::checked::{CheckedBytes, CheckedFile};
use super::sums::{FileSums, RunFolder, SummedFile};
use crate::schema::ColumnId;

/// The column or file part that a section belongs to. Each file defines its own values of `part` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionName {
    pub(super) column: ColumnId,
    pub(super) part: u8,
    pub(super) kind: u8,
}

/// An entry of the table.
#[derive(Debug, Clone, Copy)]
struct Section {
    name: SectionName,
    offset: u64,
    length: u64,
}

const SECTION_BYTES: usize = 22;
const TRAILER_BYTES: usize = 24;

/// An open file with its table.
pub(super) struct SectionFile {
    pub(super) file: Arc<CheckedFile>,
    /// The number of documents the run has.
    pub(super) documents: u32,
    sections: Vec<Section>,
}

impl SectionFile {
    /// Reads the table of an open file. The error is the problem with the file.
    pub(super) fn open(file: &Arc<CheckedFile>, magic: [u8; 8]) -> Result<SectionFile, String> {
        let damaged = || "the table of sections is damaged".to_owned();
        let trailer_at = file.len().checked_sub(TRAILER_BYTES).ok_or("the file is truncated")?;
        let trailer = file.read(trailer_at..file.len()).ok_or_else(damaged)?;
        if file.read(0..8).ok_or_else(damaged)? != magic || trailer[16..] != magic {
            return Err("not a file of this version".to_owned());
        }
        let documents = u32::from_le_bytes(array(trailer));
        let sections = u32::from_le_bytes(array(&trailer[4..])) as usize;
        let start = usize::try_from(u64::from_le_bytes(array(&trailer[8..]))).unwrap_or(usize::MAX);
        if trailer_at.checked_sub(start) != sections.checked_mul(SECTION_BYTES) {
            return Err("the table of sections is not where the trailer says".to_owned());
        }
        let table = file.read(start..trailer_at).ok_or_else(damaged)?;
        let sections = table.chunks_exact(SECTION_BYTES).map(Section::read).collect();
        Ok(SectionFile { file: Arc::clone(file), documents, sections })
    }

    /// Returns the names of all sections, in the order in which they were written.
    pub(super) fn names(&self) -> impl Iterator<Item = SectionName> {
        self.sections.iter().map(|section| section.name)
    }

    /// Returns the bytes of a section; `None` if the file lacks it.
    pub(super) fn section(&self, name: SectionName) -> Result<Option<CheckedBytes>, String> {
        let Some(section) = self.sections.iter().find(|section| section.name == name) else { return Ok(None) };
        let range = usize::try_from(section.offset).ok().and_then(|start| {
            let length = usize::try_from(section.length).ok()?;
            Some(start..start.checked_add(length)?)
        });
        let part = range.and_then(|range| self.file.part(range));
        part.map(Some).ok_or_else(|| format!("section {name:?} extends past the end of the file"))
    }
}

impl Section {
    fn read(bytes: &[u8]) -> Section {
        Section {
            name: SectionName { column: u32::from_le_bytes(array(bytes)), part: bytes[4], kind: bytes[5] },
            offset: u64::from_le_bytes(array(&bytes[6..])),
            length: u64::from_le_bytes(array(&bytes[14..])),
        }
    }

    fn write(&self) -> [u8; SECTION_BYTES] {
        let mut bytes = [0; SECTION_BYTES];
        bytes[..4].copy_from_slice(&self.name.column.to_le_bytes());
        bytes[4] = self.name.part;
        bytes[5] = self.name.kind;
        bytes[6..14].copy_from_slice(&self.offset.to_le_bytes());
        bytes[14..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }
}

/// A file being written.
pub(super) struct SectionWriter {
    out: BufWriter<SummedFile>,
    magic: [u8; 8],
    position: u64,
    table: Vec<Section>,
}

impl SectionWriter {
    /// Creates the file, which must not exist. `point` names the failure point of its writes, for tests.
    pub(super) fn create(
        folder: RunFolder<'_>,
        name: &str,
        point: &'static str,
        magic: [u8; 8],
    ) -> io::Result<SectionWriter> {
        let file = SummedFile::create(folder, name, point)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        let mut writer = SectionWriter { out, magic, position: 0, table: Vec::new() };
        writer.put(&magic)?;
        Ok(writer)
    }

    /// Returns the number of bytes that were written.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Writes bytes of the current section.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes a section with the bytes that `fill` puts. A section without bytes is left out.
    pub(super) fn section(
        &mut self,
        name: SectionName,
        fill: impl FnOnce(&mut SectionWriter) -> io::Result<()>,
    ) -> io::Result<()> {
        let offset = self.position;
        fill(self)?;
        self.end_section(name, offset);
        Ok(())
    }

    /// Makes a section of the bytes that were put since `offset`, unless there are none.
    pub(super) fn end_section(&mut self, name: SectionName, offset: u64) {
        let length = self.position - offset;
        if length > 0 {
            self.table.push(Section { name, offset, length });
        }
    }

    /// Writes table and trailer, and syncs the file. Returns its checksums.
    pub(super) fn finish(mut self, documents: u32) -> io::Result<FileSums> {
        let start = self.position;
        let table = std::mem::take(&mut self.table);
        table.iter().try_for_each(|section| self.put(&section.write()))?;
        self.put(&documents.to_le_bytes())?;
        self.put(&(table.len() as u32).to_le_bytes())?;
        self.put(&start.to_le_bytes())?;
        self.put(&self.magic.clone())?;
        self.out.into_inner().map_err(|error| error.into_error())?.finish()
    }
}

/// Returns the first bytes of `bytes`; zeros if it is too short.
pub(super) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
