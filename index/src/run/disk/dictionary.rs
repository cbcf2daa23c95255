//! The word file of a disk run: the words and joints of each column as strings, to search in, and how long the texts of each
//! document are. It knows no terms: for each string it has the place of a posting list in the segment.
//!
//! A column has the sections that [`SectionKind`] names. The strings of a list are sorted and stand between bytes `FF`, which
//! never occur in UTF-8: `FF one FF two FF`. So a search for `FF on` finds beginnings, and one for `o FF` ends.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::words::DocumentLength;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::sections::{SectionFile, SectionName, SectionWriter, array};
use crate::run::segment::PostingPlace;
use crate::run::sums::FileSums;
use crate::schema::ColumnId;

/// The name of the file in the folder of its run.
pub(super) const FILE: &str = "words";
const MAGIC: [u8; 8] = *b"bndwrd01";

/// Stands before and after each string.
const FRAME: u8 = 0xFF;

/// Two lists of strings of a column. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum StringsOf {
    Words = 0,
    Joints = 1,
}

/// What a section holds of its column. Part of the file format.
#[derive(Clone, Copy)]
#[repr(u8)]
enum SectionKind {
    /// Where the posting list of each string begins, and where the last one ends (u64 each).
    Places = 0,
    /// The strings, between frames.
    Strings = 1,
    /// Where each string begins, and where one after the last would (u32 each).
    Offsets = 2,
    /// How long the texts of each document are (u8), in steps as Tantivy has them.
    Lengths = 3,
    /// How many documents have each string (u32 each).
    Counts = 4,
}

/// Where a needle must be in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    AtStart,
    AtEnd,
    Whole,
}

impl SectionKind {
    fn of(self, column: ColumnId, strings: StringsOf) -> SectionName {
        SectionName { column, part: strings as u8, kind: self as u8 }
    }
}

/// A word file that is being collected.
#[derive(Default)]
pub(super) struct WordFileWriter {
    lists: Vec<WrittenStrings>,
    lengths: Vec<(ColumnId, Vec<u8>)>,
}

struct WrittenStrings {
    column: ColumnId,
    of: StringsOf,
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    places: Vec<u64>,
    counts: Vec<u32>,
}

impl WordFileWriter {
    /// Adds the next string of a list. Its posting list must begin where that of the string before ends.
    pub(super) fn add(&mut self, column: ColumnId, of: StringsOf, string: &[u8], place: PostingPlace) {
        if self.lists.last().is_none_or(|list| (list.column, list.of) != (column, of)) {
            let (bytes, offsets, places, counts) = (vec![FRAME], vec![1], vec![place.start], Vec::new());
            self.lists.push(WrittenStrings { column, of, bytes, offsets, places, counts });
        }
        if let Some(list) = self.lists.last_mut() {
            list.bytes.extend_from_slice(string);
            list.bytes.push(FRAME);
            list.offsets.push(list.bytes.len());
            list.places.push(place.end);
            list.counts.push(place.documents);
        }
    }

    /// Adds how long the texts of a column are. `documents` is how many documents the run has.
    pub(super) fn add_lengths(&mut self, column: ColumnId, documents: usize, lengths: &[DocumentLength]) {
        let mut steps = vec![0; documents];
        lengths.iter().for_each(|of| steps[of.document as usize] = of.step());
        self.add_length_steps(column, steps);
    }

    /// The same with what [`WordFile::length_step`] returned for each document.
    pub(super) fn add_length_steps(&mut self, column: ColumnId, steps: Vec<u8>) {
        self.lengths.push((column, steps));
    }

    /// Writes the file into `folder`. It is synced on return; the folder is not. Returns its checksums.
    pub(super) fn write(self, folder: &Path, documents: u32) -> Result<FileSums, Error> {
        let write = || {
            let mut file = SectionWriter::create(folder, FILE, "run::words", MAGIC)?;
            for WrittenStrings { column, of, bytes, offsets, places, counts } in &self.lists {
                let offset =
                    |offset: usize| u32::try_from(offset).map_err(|_| io::Error::other("too many distinct words"));
                file.section(SectionKind::Places.of(*column, *of), |out| {
                    places.iter().try_for_each(|at| out.put(&at.to_le_bytes()))
                })?;
                file.section(SectionKind::Counts.of(*column, *of), |out| {
                    counts.iter().try_for_each(|count| out.put(&count.to_le_bytes()))
                })?;
                file.section(SectionKind::Strings.of(*column, *of), |out| out.put(bytes))?;
                file.section(SectionKind::Offsets.of(*column, *of), |out| {
                    offsets.iter().try_for_each(|&at| out.put(&offset(at)?.to_le_bytes()))
                })?;
            }
            for (column, steps) in &self.lengths {
                file.section(SectionKind::Lengths.of(*column, StringsOf::Words), |out| out.put(steps))?;
            }
            file.finish(documents)
        };
        write().map_err(Error::io(&folder.join(FILE)))
    }

    /// Whether an open file has exactly these strings.
    pub(super) fn has_same_strings(&self, file: &WordFile) -> bool {
        let count = file.columns.iter().map(|column| column.strings.iter().flatten().count()).sum::<usize>();
        let is_same = |list: &WrittenStrings| {
            let offsets = list.offsets.iter().flat_map(|&at| (at as u32).to_le_bytes());
            let places = list.places.iter().flat_map(|at| at.to_le_bytes());
            let counts = list.counts.iter().flat_map(|count| count.to_le_bytes());
            file.strings(list.column, list.of).is_some_and(|found| {
                found.bytes.all() == list.bytes
                    && offsets.eq(found.offsets.all().iter().copied())
                    && places.eq(found.places.all().iter().copied())
                    && counts.eq(found.counts.all().iter().copied())
            })
        };
        count == self.lists.len() && self.lists.iter().all(is_same)
    }
}

/// An open word file.
pub(super) struct WordFile {
    /// Ascending.
    columns: Vec<WordColumn>,
}

struct WordColumn {
    id: ColumnId,
    /// By [`StringsOf`].
    strings: [Option<Strings>; 2],
    lengths: Option<CheckedBytes>,
}

/// The strings of one list.
pub(super) struct Strings {
    bytes: CheckedBytes,
    offsets: CheckedBytes,
    places: CheckedBytes,
    counts: CheckedBytes,
}

impl WordFile {
    /// Reads the table of an open file. Errors say what is wrong with the file.
    pub(super) fn open(file: &Arc<CheckedFile>) -> Result<WordFile, String> {
        let sections = SectionFile::open(file, MAGIC)?;
        let mut ids: Vec<ColumnId> = sections.names().map(|name| name.column).collect();
        ids.sort_unstable();
        ids.dedup();
        let column = |id| {
            let strings =
                [Strings::open(&sections, id, StringsOf::Words)?, Strings::open(&sections, id, StringsOf::Joints)?];
            Ok(WordColumn { id, strings, lengths: sections.section(SectionKind::Lengths.of(id, StringsOf::Words))? })
        };
        Ok(WordFile { columns: ids.into_iter().map(column).collect::<Result<_, String>>()? })
    }

    /// The strings of a column; `None` if it has none.
    pub(super) fn strings(&self, column: ColumnId, of: StringsOf) -> Option<&Strings> {
        self.column(column)?.strings[of as usize].as_ref()
    }

    /// How long the texts of a document are in a column, in Tantivy's steps.
    pub(super) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        let lengths = self.column(column).and_then(|column| column.lengths.as_ref());
        let document = document as usize;
        lengths.and_then(|lengths| lengths.get(document..document + 1)).map_or(0, |bytes| bytes[0])
    }

    /// The columns that have texts.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnId> {
        self.columns.iter().filter(|column| column.lengths.is_some()).map(|column| column.id)
    }

    fn column(&self, id: ColumnId) -> Option<&WordColumn> {
        let index = self.columns.binary_search_by_key(&id, |column| column.id).ok()?;
        Some(&self.columns[index])
    }
}

impl Strings {
    fn open(sections: &SectionFile, column: ColumnId, of: StringsOf) -> Result<Option<Strings>, String> {
        let Some(bytes) = sections.section(SectionKind::Strings.of(column, of))? else { return Ok(None) };
        let section = |kind: SectionKind| {
            let section = sections.section(kind.of(column, of))?;
            section.ok_or_else(|| format!("strings of column {column} are incomplete"))
        };
        let [offsets, places, counts] =
            [section(SectionKind::Offsets)?, section(SectionKind::Places)?, section(SectionKind::Counts)?];
        Ok(Some(Strings { bytes, offsets, places, counts }))
    }

    /// The posting lists of the strings that contain the needle at that place, in the order of the strings.
    pub(super) fn find(
        &self,
        needle: &str,
        place: Place,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<PostingPlace>, Error> {
        let all = SortedStrings { bytes: self.bytes.all(), offsets: self.offsets.all() };
        interrupt.check()?;
        let found: Vec<usize> = match place {
            Place::AtStart => all.starting_with(needle.as_bytes()).collect(),
            Place::Whole => {
                let first = all.starting_with(needle.as_bytes()).start;
                Vec::from_iter((first < all.len() && all.get(first) == needle.as_bytes()).then_some(first))
            }
            Place::Anywhere => all.containing(needle.as_bytes(), interrupt)?,
            Place::AtEnd => all.containing(&[needle.as_bytes(), &[FRAME]].concat(), interrupt)?,
        };
        Ok(found.into_iter().filter_map(|index| self.place(index)).collect())
    }

    fn place(&self, index: usize) -> Option<PostingPlace> {
        let places = self.places.get(index * 8..index * 8 + 16)?;
        let documents = self.counts.get(index * 4..index * 4 + 4)?;
        Some(PostingPlace {
            start: u64::from_le_bytes(array(places)),
            end: u64::from_le_bytes(array(&places[8..])),
            documents: u32::from_le_bytes(array(documents)),
        })
    }
}

/// The strings of one list, all of them checked.
struct SortedStrings<'a> {
    bytes: &'a [u8],
    offsets: &'a [u8],
}

/// How many bytes are searched between two looks at the interrupt. Fewer in tests, which cover what lies across pieces.
const PIECE: usize = if cfg!(test) { 4 } else { 1 << 20 };

impl<'a> SortedStrings<'a> {
    fn len(&self) -> usize {
        (self.offsets.len() / 4).saturating_sub(1)
    }

    fn offset(&self, index: usize) -> usize {
        self.offsets.get(index * 4..).map_or(0, |bytes| u32::from_le_bytes(array(bytes)) as usize)
    }

    fn get(&self, index: usize) -> &'a [u8] {
        self.bytes.get(self.offset(index)..self.offset(index + 1).saturating_sub(1)).unwrap_or_default()
    }

    fn starting_with(&self, prefix: &[u8]) -> Range<usize> {
        let start = self.partition_point(0, |string| string < prefix);
        start..self.partition_point(start, |string| string.starts_with(prefix))
    }

    /// The first index from `low` on for which `is_before` does not hold.
    fn partition_point(&self, mut low: usize, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let mut high = self.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The strings that contain the pattern, with or without the frame behind them.
    fn containing(&self, pattern: &[u8], interrupt: &Interrupt<'_>) -> Result<Vec<usize>, Error> {
        let finder = Finder::new(pattern);
        let mut found = Vec::new();
        let (mut from, mut index) = (0, 0);
        while from < self.bytes.len() {
            interrupt.check()?;
            // Pieces overlap, so that no occurrence lies across the end of one.
            let end = (from + PIECE + pattern.len()).min(self.bytes.len());
            while let Some(at) = finder.find(self.bytes.get(from..end).unwrap_or_default()) {
                index = self.index_at(index, from + at);
                found.push(index);
                from = self.offset(index + 1).max(from + at + 1);
                interrupt.step()?;
            }
            from = from.max((end + 1).saturating_sub(pattern.len()));
            if end == self.bytes.len() {
                break;
            }
        }
        Ok(found)
    }

    /// The string that an offset lies in. It is not before the string `from`, and probably near it.
    fn index_at(&self, from: usize, offset: usize) -> usize {
        let mut step = 1;
        let (mut low, mut high) = (from, from + 1);
        while high < self.len() && self.offset(high) <= offset {
            low = high;
            high += step;
            step *= 2;
        }
        high = high.min(self.len());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.offset(middle) <= offset { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_are_found_as_by_a_test_of_each(
            strings in prop::collection::btree_set("[abc]{0,5}", 0..30),
            needle in "[abc]{0,3}",
        ) {
            let place = |number: u64| PostingPlace { start: number, end: number + 1, documents: number as u32 };
            let mut writer = WordFileWriter::default();
            for (number, string) in (7..).zip(&strings) {
                writer.add(1, StringsOf::Joints, string.as_bytes(), place(number));
            }
            let folder = tempfile::tempdir().unwrap();
            let sums = writer.write(folder.path(), 0).unwrap();
            let file = WordFile::open(&CheckedFile::open(folder.path(), sums, &Arc::default()).unwrap()).unwrap();
            let found = |place| match file.strings(1, StringsOf::Joints) {
                Some(strings) => strings.find(&needle, place, &Interrupt::never()).unwrap(),
                None => Vec::new(),
            };
            let expected = |test: &dyn Fn(&str) -> bool| {
                let matching = (7..).zip(&strings).filter(|(_, string)| test(string));
                matching.map(|(number, _)| place(number)).collect::<Vec<_>>()
            };
            prop_assert_eq!(found(Place::AtStart), expected(&|string| string.starts_with(&needle)));
            prop_assert_eq!(found(Place::AtEnd), expected(&|string| string.ends_with(&needle)));
            prop_assert_eq!(found(Place::Whole), expected(&|string| string == needle));
            if !needle.is_empty() {
                prop_assert_eq!(found(Place::Anywhere), expected(&|string| string.contains(&needle)));
            }
        }
    }
}
