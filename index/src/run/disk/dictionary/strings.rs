//! The strings of one list: searches them, and walks through them in order.

use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;

use super::format::{FRAME, GROUP, GROUP_BYTES, SectionKind, StringsOf};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::checked::CheckedBytes;
use crate::run::postings::{PostingList, PostingLists};
use crate::run::sections::{SectionFile, array};
use crate::schema::ColumnId;

/// The place in a string where a needle must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run::disk) enum Place {
    Anywhere,
    AtStart,
    AtEnd,
    Whole,
}

/// The decision about a string in [`StringTable::pick`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run::disk) enum PickResult<T> {
    Yes(T),
    No,
    /// No, and the same for every string before the place that begins with so many bytes of this one and then has this
    /// character. Without a character, for every string with these first bytes.
    NoneBefore {
        shared: usize,
        next: Option<char>,
    },
}

/// The strings of one list.
pub(super) struct StringTable {
    bytes: CheckedBytes,
    groups: CheckedBytes,
    has_counts: bool,
}

/// The number of a string in the list.
type Index = usize;

/// A byte greater than every byte of a string.
pub(in crate::run::disk) const AFTER_ALL: u8 = 0xFF;
/// The number of bytes that are searched between two looks at the interrupt.
const PIECE: usize = 1 << 20;

impl StringTable {
    /// Opens a list; `None` if the column has none. The error is the problem with the file.
    pub(super) fn open(sections: &SectionFile, column: ColumnId, of: StringsOf) -> Result<Option<StringTable>, String> {
        let Some(bytes) = sections.section(SectionKind::Strings.of(column, of))? else { return Ok(None) };
        let groups = sections.section(SectionKind::Groups.of(column, of))?;
        let groups = groups.filter(|groups| groups.len().is_multiple_of(GROUP_BYTES));
        let groups = groups.ok_or_else(|| format!("strings of column {column} are incomplete"))?;
        Ok(Some(StringTable { bytes, groups, has_counts: of.has_counts() }))
    }

    /// Returns the posting lists of the strings that contain the needle at this place, in the order of the strings.
    pub(super) fn find(
        &self,
        lists: &PostingLists,
        needle: &[u8],
        place: Place,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<PostingList>, Error> {
        interrupt.check()?;
        let indexes: Vec<Index> = match place {
            Place::Whole => return Ok(self.get(lists, needle).into_iter().collect()),
            Place::AtStart => {
                let start = self.partition_point(|string| string < needle);
                let end = self.partition_point(|string| string < needle || string.starts_with(needle));
                (start..end).collect()
            }
            Place::Anywhere => self.containing(needle, interrupt)?,
            Place::AtEnd => self.containing(&[needle, &[FRAME]].concat(), interrupt)?,
        };
        let mut walk = ListWalk { strings: self, lists, next: None };
        let mut found = Vec::new();
        for index in indexes {
            interrupt.step()?;
            found.extend(walk.get(index));
        }
        Ok(found)
    }

    /// Returns the posting list of a string.
    pub(super) fn get(&self, lists: &PostingLists, string: &[u8]) -> Option<PostingList> {
        let index = self.partition_point(|other| other < string);
        if self.group(index / GROUP).nth(index % GROUP)? != string {
            return None;
        }
        let mut walk = ListWalk { strings: self, lists, next: None };
        walk.get(index)
    }

    /// Returns the strings that begin or end with a text, each at least once.
    pub(super) fn around(&self, text: &[u8], interrupt: &Interrupt<'_>) -> Result<Vec<&[u8]>, Error> {
        let start = self.partition_point(|string| string < text);
        let end = self.partition_point(|string| string < text || string.starts_with(text));
        let ending = self.containing(&[text, &[FRAME]].concat(), interrupt)?;
        let string = |index: Index| self.group(index / GROUP).nth(index % GROUP);
        Ok((start..end).chain(ending).filter_map(string).collect())
    }

    /// Returns all strings with their posting lists.
    pub(super) fn cursor<'a>(&'a self, lists: &'a PostingLists) -> Cursor<'a> {
        let rest = self.bytes.all().get(1..).unwrap_or_default();
        Cursor { rest, lists, at: self.postings_at(0), has_counts: self.has_counts }
    }

    /// Returns the number of strings from `from` on and before `to`.
    pub(super) fn count_between(&self, from: &[u8], to: &[u8]) -> usize {
        let before = |bound: &[u8]| self.partition_point(|string| string < bound);
        before(to).saturating_sub(before(from))
    }

    /// Returns the strings from `from` on and before `to`, with their posting lists.
    pub(super) fn between<'a>(
        &'a self,
        lists: &'a PostingLists,
        from: &'a [u8],
        to: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], PostingList)> {
        let first = self.partition_point(|string| string < from);
        let group = first / GROUP;
        let rest = self.bytes.all().get(self.string_at(group)..).unwrap_or_default();
        let cursor = Cursor { rest, lists, at: self.postings_at(group), has_counts: self.has_counts };
        cursor.skip(first % GROUP).take_while(move |(string, _)| *string < to)
    }

    /// Returns the results of `pick` for the picked strings in a range, with their posting lists, in order. The lists
    /// of other strings are not read.
    pub(super) fn pick<T>(
        &self,
        lists: &PostingLists,
        range: Range<&[u8]>,
        interrupt: &Interrupt<'_>,
        mut pick: impl FnMut(&[u8]) -> PickResult<T>,
    ) -> Result<Vec<(T, PostingList)>, Error> {
        let bytes = self.bytes.all();
        let first = self.partition_point(|string| string < range.start);
        let end = self.partition_point(|string| string < range.end);
        let mut walk = ListWalk { strings: self, lists, next: None };
        let mut found = Vec::new();
        let mut group = first / GROUP;
        // No string before it is picked.
        let mut next = range.start.to_vec();
        while group * GROUP < end {
            interrupt.check()?;
            let mut rest = bytes.get(self.string_at(group)..).unwrap_or_default();
            let mut next_group = group + 1;
            for index in (group * GROUP..end).take(GROUP) {
                let Some(length) = memchr(FRAME, rest) else { break };
                let string = &rest[..length];
                rest = &rest[length + 1..];
                if string < &next[..] {
                    continue;
                }
                match pick(string) {
                    PickResult::Yes(made) => found.extend(walk.get(index).map(|list| (made, list))),
                    PickResult::No => {}
                    PickResult::NoneBefore { shared, next: character } => {
                        next.clear();
                        next.extend_from_slice(string.get(..shared).unwrap_or(string));
                        match character {
                            Some(character) => next.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                            None => next.push(AFTER_ALL),
                        }
                        let last = self.last_group_before(group, &next);
                        if last > group {
                            next_group = last;
                            break;
                        }
                    }
                }
            }
            group = next_group;
        }
        Ok(found)
    }

    /// Like [`StringTable::pick`], for the strings that begin with a text. Finds them by one search.
    pub(super) fn pick_beginning<T>(
        &self,
        lists: &PostingLists,
        beginning: &[u8],
        interrupt: &Interrupt<'_>,
        mut pick: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<(T, PostingList)>, Error> {
        let first = self.partition_point(|string| string < beginning);
        let group = first / GROUP;
        let mut rest = self.bytes.all().get(self.string_at(group)..).unwrap_or_default();
        let mut walk = ListWalk { strings: self, lists, next: None };
        let mut found = Vec::new();
        for index in group * GROUP.. {
            interrupt.step()?;
            let Some(length) = memchr(FRAME, rest) else { break };
            let string = &rest[..length];
            rest = &rest[length + 1..];
            if index < first {
                continue;
            }
            if !string.starts_with(beginning) {
                break;
            }
            if let Some(picked) = pick(string) {
                found.extend(walk.get(index).map(|list| (picked, list)));
            }
        }
        Ok(found)
    }

    /// Returns the last group, from `group` on, whose first string is not behind a text; `group` if there is none.
    fn last_group_before(&self, group: usize, text: &[u8]) -> usize {
        let is_before =
            |group: usize| group < self.group_count() && self.first(group).is_some_and(|first| first <= text);
        let (mut last, mut step) = (group, 1);
        while is_before(last + step) {
            last += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if is_before(last + step) {
                last += step;
            }
        }
        last
    }

    fn group_count(&self) -> usize {
        self.groups.len() / GROUP_BYTES
    }

    /// Returns the position of the first string of a group; the end of the last string if there is no such group.
    fn string_at(&self, group: usize) -> usize {
        let start = group * GROUP_BYTES;
        let bytes = self.groups.get(start..start + 4);
        bytes.map_or(self.bytes.len(), |bytes| u32::from_le_bytes(array(bytes)) as usize)
    }

    /// Returns the position in the file of the posting list of a group's first string.
    fn postings_at(&self, group: usize) -> Option<usize> {
        let start = group * GROUP_BYTES + 4;
        usize::try_from(u64::from_le_bytes(array(self.groups.get(start..start + 8)?))).ok()
    }

    /// Returns the first string of a group.
    fn first(&self, group: usize) -> Option<&[u8]> {
        let bytes = self.bytes.get(self.string_at(group)..self.string_at(group + 1))?;
        bytes.get(..memchr(FRAME, bytes)?)
    }

    /// Returns the strings of a group; none if there is no such group.
    fn group(&self, group: usize) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes.get(self.string_at(group)..self.string_at(group + 1)).unwrap_or_default();
        bytes.split_inclusive(|&byte| byte == FRAME).map(|framed| framed.strip_suffix(&[FRAME]).unwrap_or_default())
    }

    /// Returns the first string for which `is_before` does not hold.
    fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> Index {
        let (mut low, mut high) = (0, self.group_count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first(middle).is_some_and(&is_before) { low = middle + 1 } else { high = middle }
        }
        match low.checked_sub(1) {
            Some(group) => group * GROUP + self.group(group).take_while(|string| is_before(string)).count(),
            None => 0,
        }
    }

    /// Returns the strings that contain the pattern, with or without the frame behind them.
    fn containing(&self, pattern: &[u8], interrupt: &Interrupt<'_>) -> Result<Vec<Index>, Error> {
        self.containing_in_pieces(PIECE, pattern, interrupt)
    }

    pub(super) fn containing_in_pieces(
        &self,
        piece: usize,
        pattern: &[u8],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Index>, Error> {
        let bytes = self.bytes.all();
        let finder = Finder::new(pattern);
        let mut found = Vec::new();
        let (mut from, mut place) = (0, StringPlace { group: 0, index: 0, offset: 1 });
        while from < bytes.len() {
            interrupt.check()?;
            // Pieces overlap, so that a match across the end of a piece is found.
            let end = (from + piece + pattern.len()).min(bytes.len());
            while let Some(at) = finder.find(bytes.get(from..end).unwrap_or_default()) {
                place = self.place_of(bytes, place, from + at);
                found.push(place.group * GROUP + place.index);
                let rest = bytes.get(from + at..).unwrap_or_default();
                from += at + 1 + memchr(FRAME, rest).unwrap_or(rest.len());
                interrupt.step()?;
            }
            from = from.max((end + 1).saturating_sub(pattern.len()));
            if end == bytes.len() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the place of the string that contains an offset. It is not before `from`, and probably near it.
    fn place_of(&self, bytes: &[u8], from: StringPlace, offset: usize) -> StringPlace {
        let mut step = 1;
        let (mut low, mut high) = (from.group, from.group + 1);
        while high < self.group_count() && self.string_at(high) <= offset {
            low = high;
            high += step;
            step *= 2;
        }
        high = high.min(self.group_count());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.string_at(middle) <= offset { low = middle } else { high = middle }
        }
        let near = match low == from.group {
            true => from,
            false => StringPlace { group: low, index: 0, offset: self.string_at(low) },
        };
        let between = bytes.get(near.offset..offset).unwrap_or_default();
        let passed = between.iter().filter(|&&byte| byte == FRAME).count();
        StringPlace { group: low, index: near.index + passed, offset }
    }
}

/// A place in the section of strings.
#[derive(Clone, Copy)]
struct StringPlace {
    group: usize,
    /// The number of the string within the group.
    index: usize,
    offset: usize,
}

/// Looks up the posting lists of strings with ascending numbers.
struct ListWalk<'a> {
    strings: &'a StringTable,
    lists: &'a PostingLists,
    /// The string after the last one, and the position of its posting list.
    next: Option<(Index, usize)>,
}

impl ListWalk<'_> {
    /// Returns `None` if there is no such string, or the file is damaged.
    fn get(&mut self, index: Index) -> Option<PostingList> {
        let group = index / GROUP;
        let (mut number, mut at) = match self.next {
            Some((next, at)) if next / GROUP == group && next <= index => (next, at),
            _ => (group * GROUP, self.strings.postings_at(group)?),
        };
        loop {
            let (list, next) = self.lists.list_at(at, self.strings.has_counts)?;
            if number == index {
                self.next = Some((number + 1, next));
                return Some(list);
            }
            (number, at) = (number + 1, next);
        }
    }
}

/// The strings of a list in order, with their posting lists. Ends early if the file is damaged, which is reported.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    lists: &'a PostingLists,
    at: Option<usize>,
    has_counts: bool,
}

impl<'a> Iterator for Cursor<'a> {
    type Item = (&'a [u8], PostingList);

    fn next(&mut self) -> Option<(&'a [u8], PostingList)> {
        let end = memchr(FRAME, self.rest)?;
        let string = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        let (list, next) = self.lists.list_at(self.at?, self.has_counts)?;
        self.at = Some(next);
        Some((string, list))
    }
}
