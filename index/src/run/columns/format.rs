//! The format of a column file. It does not know postings or predicates, or which documents are current.
//!
//! A section belongs to a column in one [`Encoding`] (its part), and its [`SectionKind`] defines its contents. Strings
//! take two sections: their bytes, and offsets of 4 bytes each, or of 8 if 4 are too few. A *columnar* section is an
//! array in Tantivy's columnar format. A section without bytes is left out.

use crate::run::sections::SectionName;
use crate::schema::ColumnId;
use crate::value::{FRAME, ValueRef};

/// The encoding of the values of a column. Part of the file format.
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

/// The part of its column that a section holds. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SectionKind {
    /// A u32 per document; belongs to no column.
    Slots = 0,
    /// A bit per document, in words of 64.
    Presence = 1,
    /// Per document 16 bytes (hashes) or a bit in words of 64 (booleans); or the numbers or microseconds, columnar.
    Fixed = 2,
    /// The text, see [`Texts`](super::strings::Texts); the text of an instant, or the elements of a list.
    RawOffsets = 3,
    Raw = 4,
    /// The folded text, see [`Texts`](super::strings::Texts), or the folded elements.
    FoldedOffsets = 5,
    Folded = 6,
    /// The ordinals of texts or lists, columnar, if there are few different ones; see
    /// [`Ordinals`](crate::run::Ordinals).
    OrdinalStarts = 7,
    OrdinalCodes = 8,
    OrdinalPlaces = 9,
    /// Shared parts of the compressed folded texts; see
    /// [`CompressionDictionary`](crate::packing::CompressionDictionary).
    Dictionary = 10,
}

impl SectionKind {
    /// Returns the name of this section for a column in an encoding.
    pub(super) fn of(self, column: ColumnId, encoding: u8) -> SectionName {
        SectionName { column, part: encoding, kind: self as u8 }
    }
}

/// The number that stands for a column in the section of slots.
pub(super) const NO_COLUMN: ColumnId = u32::MAX;
pub(super) const MAGIC: [u8; 8] = *b"bndcol05";
/// The name of the file in the folder of its run.
pub(crate) const FILE: &str = "columns";

/// The byte before a folded text that is compressed, and before a raw text that is stored as what differs from it. No
/// text has this byte.
pub(super) const PACKED: u8 = FRAME;

impl Encoding {
    /// Returns the encoding of a value; `None` for null.
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
