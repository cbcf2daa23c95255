//! The format of a column file, written and read. It knows neither postings nor predicates, nor which documents are
//! current.
//!
//! A file is a magic number, sections, a table of the sections and a trailer of fixed size. Integers are little-endian.
//! Its checksums are in the file `sums` of the run.
//! A section belongs to a column in one [`Encoding`] and holds what its [`SectionKind`] says. Strings take two
//! sections: their bytes, and offsets of 4 bytes each, or of 8 if 4 are too few. A section without bytes is left out.

use crate::run::checked::CheckedFile;
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// How the values of a column are stored. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Encoding {
    Text = 0,
    Markup = 1,
    Number = 2,
    Bool = 3,
    Instant = 4,
    List = 5,
}

/// What a section holds of its column. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SectionKind {
    /// A u32 per document; belongs to no column.
    Slots = 0,
    /// A bit per document, in words of 64.
    Presence = 1,
    /// Per document 8 bytes (numbers, microseconds), 16 bytes (hashes), or a bit in words of 64 (booleans).
    Fixed = 2,
    /// The first 256 code points of a text, the text of an instant, or the elements of a list.
    HeadOffsets = 3,
    Heads = 4,
    /// The whole of a text that is longer than its head; see [`Texts`](super::strings::Texts).
    FullOffsets = 5,
    Fulls = 6,
    /// The folded text or elements; see [`Texts`](super::strings::Texts).
    FoldedOffsets = 7,
    Folded = 8,
}

/// An entry of the table of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) column: ColumnId,
    /// An [`Encoding`].
    pub(super) encoding: u8,
    /// A [`SectionKind`].
    pub(super) kind: u8,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Stands for a column in the section of slots.
pub(super) const NO_COLUMN: ColumnId = u32::MAX;
pub(super) const MAGIC: [u8; 8] = *b"bndcol02";
pub(super) const SECTION_BYTES: usize = 22;
pub(super) const TRAILER_BYTES: usize = 24;
/// The name of the file in the folder of its run.
pub(crate) const FILE: &str = "columns";

/// Precedes a whole text that is stored as it is.
pub(super) const PLAIN: u8 = 0;
/// Precedes a whole text that is compressed with zstd.
pub(super) const PACKED: u8 = 1;

impl Encoding {
    /// `None` for null.
    pub(crate) fn of(value: &ValueRef<'_>) -> Option<Encoding> {
        Some(match value {
            ValueRef::Null => return None,
            ValueRef::Text(_) => Encoding::Text,
            ValueRef::Markup { .. } => Encoding::Markup,
            ValueRef::Number(_) => Encoding::Number,
            ValueRef::Bool(_) => Encoding::Bool,
            ValueRef::Instant { .. } => Encoding::Instant,
            ValueRef::List(_) => Encoding::List,
        })
    }
}

/// Reads the number of documents and the table of sections.
///
/// The trailer is: number of documents, number of sections (u32 each), offset of the table (u64), magic number.
pub(super) fn read_table(file: &CheckedFile) -> Result<(u32, Vec<Section>), String> {
    let damaged = || "the table of sections is damaged".to_owned();
    let trailer_at = file.len().checked_sub(TRAILER_BYTES).ok_or("the file is truncated")?;
    let trailer = file.read(trailer_at..file.len()).ok_or_else(damaged)?;
    if file.read(0..8).ok_or_else(damaged)? != MAGIC || trailer[16..] != MAGIC {
        return Err("not a column file of this version".to_owned());
    }
    let documents = u32::from_le_bytes(array(trailer));
    let sections = u32::from_le_bytes(array(&trailer[4..])) as usize;
    let start = usize::try_from(u64::from_le_bytes(array(&trailer[8..]))).unwrap_or(usize::MAX);
    if trailer_at.checked_sub(start) != sections.checked_mul(SECTION_BYTES) {
        return Err("the table of sections is not where the trailer says".to_owned());
    }
    let table = file.read(start..trailer_at).ok_or_else(damaged)?;
    Ok((documents, table.chunks_exact(SECTION_BYTES).map(Section::read).collect()))
}

impl Section {
    fn read(bytes: &[u8]) -> Section {
        Section {
            column: u32::from_le_bytes(array(bytes)),
            encoding: bytes[4],
            kind: bytes[5],
            offset: u64::from_le_bytes(array(&bytes[6..])),
            length: u64::from_le_bytes(array(&bytes[14..])),
        }
    }

    pub(super) fn write(&self) -> [u8; SECTION_BYTES] {
        let mut bytes = [0; SECTION_BYTES];
        bytes[..4].copy_from_slice(&self.column.to_le_bytes());
        bytes[4] = self.encoding;
        bytes[5] = self.kind;
        bytes[6..14].copy_from_slice(&self.offset.to_le_bytes());
        bytes[14..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }
}

/// The first bytes of `bytes`; zeros if it is too short.
pub(super) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
