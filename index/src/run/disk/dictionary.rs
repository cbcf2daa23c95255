//! The dictionary of a disk run: for each column lists of strings, sorted, each with a posting list; and how long the texts of
//! each document are. It knows not what the strings stand for.
//!
//! The strings of a list stand between bytes `FF`, which never occur in UTF-8: `FF one FF two FF`. So a search for `one FF`
//! finds ends of strings. Many strings are a few characters with a posting list of one document. So their places are only
//! noted for each group of [`GROUP`] strings; within a group they are counted.
//!
//! A list has the sections that [`SectionKind`] names.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::postings::{PostingList, PostingLists};
use crate::run::sections::{SectionFile, SectionName};
use crate::schema::ColumnId;
pub(super) use merge::{DROPPED, DictionaryInput, merge};
use strings::Strings;
pub(super) use write::{DictionaryWriter, StringSink};

mod merge;
mod strings;
mod write;

/// The name of the file in the folder of its run.
pub(super) const FILE: &str = "dictionary";
const MAGIC: [u8; 8] = *b"bnddic01";

/// Stands before and after each string.
const FRAME: u8 = 0xFF;
/// So many strings are in a group. Finding one of them means passing over those before it.
const GROUP: usize = 16;

/// A list of strings of a column. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum StringsOf {
    Words = 0,
    Joints = 1,
    Grams = 2,
    Exacts = 3,
}

impl StringsOf {
    /// All lists, in the order of their numbers.
    pub(super) const ALL: [StringsOf; 4] = [StringsOf::Words, StringsOf::Joints, StringsOf::Grams, StringsOf::Exacts];

    /// Whether its posting lists say how often each document has the string.
    pub(super) fn has_counts(self) -> bool {
        self == StringsOf::Words
    }
}

/// What a section holds of its column. Part of the file format.
#[derive(Clone, Copy)]
#[repr(u8)]
enum SectionKind {
    /// The posting list of each string.
    Postings = 0,
    /// The strings, between frames.
    Strings = 1,
    /// Where the first string of each group begins in the section of strings (u32), and its posting list in the file (u64).
    Groups = 2,
    /// How long the texts of each document are (u8), in steps as Tantivy has them. Belongs to no list.
    Lengths = 3,
}

/// An entry of [`SectionKind::Groups`] in bytes.
const GROUP_BYTES: usize = 12;

impl SectionKind {
    fn of(self, column: ColumnId, strings: StringsOf) -> SectionName {
        SectionName { column, part: strings as u8, kind: self as u8 }
    }

    /// The section of lengths of a column.
    fn lengths(column: ColumnId) -> SectionName {
        SectionName { column, part: 0, kind: SectionKind::Lengths as u8 }
    }
}

/// Where a needle must be in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    AtStart,
    AtEnd,
    Whole,
}

/// An open dictionary.
pub(super) struct Dictionary {
    lists: PostingLists,
    /// Ascending.
    columns: Vec<DictionaryColumn>,
}

struct DictionaryColumn {
    id: ColumnId,
    /// By [`StringsOf`].
    strings: [Option<Strings>; 4],
    lengths: Option<CheckedBytes>,
}

impl Dictionary {
    /// Reads the table of an open file. Errors say what is wrong with the file.
    pub(super) fn open(file: &Arc<CheckedFile>) -> Result<Dictionary, String> {
        let sections = SectionFile::open(file, MAGIC)?;
        let mut ids: Vec<ColumnId> = sections.names().map(|name| name.column).collect();
        ids.sort_unstable();
        ids.dedup();
        let column = |id| {
            let mut strings = [None, None, None, None];
            for (of, strings) in StringsOf::ALL.into_iter().zip(&mut strings) {
                *strings = Strings::open(&sections, id, of)?;
            }
            Ok(DictionaryColumn { id, strings, lengths: sections.section(SectionKind::lengths(id))? })
        };
        let columns = ids.into_iter().map(column).collect::<Result<_, String>>()?;
        Ok(Dictionary { lists: PostingLists::new(file, sections.documents), columns })
    }

    /// What reads its posting lists.
    pub(super) fn lists(&self) -> &PostingLists {
        &self.lists
    }

    /// The posting lists of the strings of a column that contain the needle at that place, in the order of the strings.
    pub(super) fn find(
        &self,
        column: ColumnId,
        of: StringsOf,
        needle: &[u8],
        place: Place,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<PostingList>, Error> {
        match self.strings(column, of) {
            Some(strings) => strings.find(&self.lists, needle, place, interrupt),
            None => Ok(Vec::new()),
        }
    }

    /// The posting list of a string.
    pub(super) fn get(&self, column: ColumnId, of: StringsOf, string: &[u8]) -> Option<PostingList> {
        self.strings(column, of)?.get(&self.lists, string)
    }

    /// How many strings of a column there are in a range.
    pub(super) fn count_between(&self, column: ColumnId, of: StringsOf, range: Range<&[u8]>) -> usize {
        self.strings(column, of).map_or(0, |strings| strings.count_between(range.start, range.end))
    }

    /// The strings of a column in a range, in order, with their posting lists.
    pub(super) fn between<'a>(
        &'a self,
        column: ColumnId,
        of: StringsOf,
        range: Range<&'a [u8]>,
    ) -> impl Iterator<Item = (&'a [u8], PostingList)> {
        let strings = self.strings(column, of).into_iter();
        strings.flat_map(move |strings| strings.between(&self.lists, range.start, range.end))
    }

    /// How many documents the posting lists have together.
    pub(super) fn postings(&self) -> u64 {
        let strings = self.columns.iter().flat_map(|column| column.strings.iter().flatten());
        let lists = strings.flat_map(|strings| strings.cursor(&self.lists));
        lists.map(|(_, list)| u64::from(list.doc_count())).sum()
    }

    /// How long the texts of a document are in a column, in Tantivy's steps.
    pub(super) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        let lengths = self.column(column).and_then(|column| column.lengths.as_ref());
        let document = document as usize;
        lengths.and_then(|lengths| lengths.get(document..document + 1)).map_or(0, |bytes| bytes[0])
    }

    /// Its columns, and whether they have texts, which have lengths.
    pub(super) fn columns(&self) -> impl Iterator<Item = (ColumnId, bool)> {
        self.columns.iter().map(|column| (column.id, column.lengths.is_some()))
    }

    fn strings(&self, column: ColumnId, of: StringsOf) -> Option<&Strings> {
        self.column(column)?.strings[of as usize].as_ref()
    }

    fn column(&self, id: ColumnId) -> Option<&DictionaryColumn> {
        let index = self.columns.binary_search_by_key(&id, |column| column.id).ok()?;
        Some(&self.columns[index])
    }
}

#[cfg(test)]
mod tests;
