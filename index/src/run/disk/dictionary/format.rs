//! The format of a dictionary.
//!
//! The strings of a list are separated by bytes `FF`, which never occur in UTF-8: `FF one FF two FF`. So a search for
//! `one FF` finds ends of strings. Many strings are a few characters with a posting list of one document. So positions
//! are stored only for each group of [`GROUP`] strings, and strings within a group are counted.
//!
//! [`SectionKind`] defines the sections of a list.

use crate::run::sections::SectionName;
use crate::schema::ColumnId;

/// The name of the file in the folder of its run.
pub(in crate::run::disk) const FILE: &str = "dictionary";
pub(super) const MAGIC: [u8; 8] = *b"bnddic03";

/// The byte before and after each string.
pub(super) const FRAME: u8 = 0xFF;
/// The number of strings in a group. Finding one means skipping those before it.
pub(super) const GROUP: usize = 16;

/// A list of strings of a column. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::run::disk) enum StringsOf {
    Words = 0,
    Joints = 1,
    Grams = 2,
    /// The exact terms of whole values and of elements of lists. Also has one term for all documents with a word that
    /// is too long for [`StringsOf::Words`]: a search for a part of a word must look at their texts.
    Exacts = 3,
    Tokens = 4,
}

impl StringsOf {
    /// All lists, in the order of their numbers.
    pub(in crate::run::disk) const ALL: [StringsOf; 5] =
        [StringsOf::Words, StringsOf::Joints, StringsOf::Grams, StringsOf::Exacts, StringsOf::Tokens];

    /// Tests whether its posting lists have counts, the number of times that each document has the string.
    pub(in crate::run::disk) fn has_counts(self) -> bool {
        self == StringsOf::Tokens
    }
}

/// The part of its column that a section holds. Part of the file format.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum SectionKind {
    /// The posting list of each string.
    Postings = 0,
    /// The strings, between frames.
    Strings = 1,
    /// For each group, the position of its first string in the section of strings (u32), and of that string's posting
    /// list in the file (u64).
    Groups = 2,
    /// The number of tokens in the text of each document (u8), rounded as Tantivy does. Belongs to no list.
    Lengths = 3,
}

/// The number of bytes of an entry of [`SectionKind::Groups`].
pub(super) const GROUP_BYTES: usize = 12;

impl SectionKind {
    /// Returns the name of this section for a list of a column.
    pub(super) fn of(self, column: ColumnId, strings: StringsOf) -> SectionName {
        SectionName { column, part: strings as u8, kind: self as u8 }
    }

    /// Returns the name of the section of lengths of a column.
    pub(super) fn lengths(column: ColumnId) -> SectionName {
        SectionName { column, part: 0, kind: SectionKind::Lengths as u8 }
    }
}
