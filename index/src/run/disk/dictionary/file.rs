//! An open dictionary: looks up strings of its lists, and lengths of texts.

use std::ops::Range;
use std::sync::Arc;

use super::format::{MAGIC, SectionKind, StringsOf};
use super::strings::{PickResult, Place, StringTable};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::postings::{PostingList, PostingLists};
use crate::run::sections::SectionFile;
use crate::schema::ColumnId;

/// An open dictionary.
pub(in crate::run::disk) struct Dictionary {
    pub(super) lists: PostingLists,
    /// The columns, ascending.
    columns: Vec<DictionaryColumn>,
}

struct DictionaryColumn {
    id: ColumnId,
    /// The lists of strings, by [`StringsOf`].
    strings: [Option<StringTable>; StringsOf::ALL.len()],
    lengths: Option<CheckedBytes>,
}

impl Dictionary {
    /// Reads the table of an open file. The error is the problem with the file.
    pub(in crate::run::disk) fn open(file: &Arc<CheckedFile>) -> Result<Dictionary, String> {
        let sections = SectionFile::open(file, MAGIC)?;
        let mut ids: Vec<ColumnId> = sections.names().map(|name| name.column).collect();
        ids.sort_unstable();
        ids.dedup();
        let column = |id| {
            let mut strings = [const { None }; StringsOf::ALL.len()];
            for (of, strings) in StringsOf::ALL.into_iter().zip(&mut strings) {
                *strings = StringTable::open(&sections, id, of)?;
            }
            Ok(DictionaryColumn { id, strings, lengths: sections.section(SectionKind::lengths(id))? })
        };
        let columns = ids.into_iter().map(column).collect::<Result<_, String>>()?;
        Ok(Dictionary { lists: PostingLists::new(file, sections.documents), columns })
    }

    /// The reader of its posting lists.
    pub(in crate::run::disk) fn lists(&self) -> &PostingLists {
        &self.lists
    }

    /// Returns the posting lists of the strings of a column that contain the needle at this place, in the order of the
    /// strings.
    pub(in crate::run::disk) fn find(
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
    pub(in crate::run::disk) fn get(&self, column: ColumnId, of: StringsOf, string: &[u8]) -> Option<PostingList> {
        self.strings(column, of)?.get(&self.lists, string)
    }

    /// The number of strings of a column in a range.
    pub(in crate::run::disk) fn count_between(&self, column: ColumnId, of: StringsOf, range: Range<&[u8]>) -> usize {
        self.strings(column, of).map_or(0, |strings| strings.count_between(range.start, range.end))
    }

    /// The strings of a column in a range, in order, with their posting lists.
    pub(in crate::run::disk) fn between<'a>(
        &'a self,
        column: ColumnId,
        of: StringsOf,
        range: Range<&'a [u8]>,
    ) -> impl Iterator<Item = (&'a [u8], PostingList)> {
        let strings = self.strings(column, of).into_iter();
        strings.flat_map(move |strings| strings.between(&self.lists, range.start, range.end))
    }

    /// Returns the results of `pick` for the picked strings of a column in a range, with their posting lists, in order.
    pub(in crate::run::disk) fn pick<T>(
        &self,
        column: ColumnId,
        of: StringsOf,
        range: Range<&[u8]>,
        interrupt: &Interrupt<'_>,
        pick: impl FnMut(&[u8]) -> PickResult<T>,
    ) -> Result<Vec<(T, PostingList)>, Error> {
        match self.strings(column, of) {
            Some(strings) => strings.pick(&self.lists, range, interrupt, pick),
            None => Ok(Vec::new()),
        }
    }

    /// Like [`Dictionary::pick`], for the strings that begin with a text.
    pub(in crate::run::disk) fn pick_beginning<T>(
        &self,
        column: ColumnId,
        of: StringsOf,
        beginning: &[u8],
        interrupt: &Interrupt<'_>,
        pick: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<(T, PostingList)>, Error> {
        match self.strings(column, of) {
            Some(strings) => strings.pick_beginning(&self.lists, beginning, interrupt, pick),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the strings of a column that begin or end with a text, each at least once.
    pub(in crate::run::disk) fn strings_around(
        &self,
        column: ColumnId,
        of: StringsOf,
        text: &[u8],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<&[u8]>, Error> {
        match self.strings(column, of) {
            Some(strings) => strings.around(text, interrupt),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the total length of the posting lists.
    pub(in crate::run::disk) fn postings(&self) -> u64 {
        let strings = self.columns.iter().flat_map(|column| column.strings.iter().flatten());
        let lists = strings.flat_map(|strings| strings.cursor(&self.lists));
        lists.map(|(_, list)| u64::from(list.doc_count())).sum()
    }

    /// Tests whether a column has the lengths of its texts. If so, it has their tokens too.
    pub(in crate::run::disk) fn has_lengths(&self, column: ColumnId) -> bool {
        self.column(column).is_some_and(|column| column.lengths.is_some())
    }

    /// Returns the length of a document's text in a column, rounded as Tantivy does; 0 if it has none.
    pub(in crate::run::disk) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        let lengths = self.column(column).and_then(|column| column.lengths.as_ref());
        let document = document as usize;
        lengths.and_then(|lengths| lengths.get(document..document + 1)).map_or(0, |bytes| bytes[0])
    }

    /// Returns the lengths of all documents' texts in a column; empty if it has none. See [`Dictionary::length_step`].
    pub(in crate::run::disk) fn length_steps(&self, column: ColumnId) -> &[u8] {
        let lengths = self.column(column).and_then(|column| column.lengths.as_ref());
        lengths.map(CheckedBytes::all).unwrap_or_default()
    }

    /// Returns its columns, each with whether it has the lengths of its texts.
    pub(in crate::run::disk) fn columns(&self) -> impl Iterator<Item = (ColumnId, bool)> {
        self.columns.iter().map(|column| (column.id, column.lengths.is_some()))
    }

    /// Returns the strings of a list; `None` if the column has no such list.
    pub(super) fn strings(&self, column: ColumnId, of: StringsOf) -> Option<&StringTable> {
        self.column(column)?.strings[of as usize].as_ref()
    }

    fn column(&self, id: ColumnId) -> Option<&DictionaryColumn> {
        let index = self.columns.binary_search_by_key(&id, |column| column.id).ok()?;
        Some(&self.columns[index])
    }
}
