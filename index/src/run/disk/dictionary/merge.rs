//! Merges the same list of several dictionaries.

use std::io;

use super::file::Dictionary;
use super::format::StringsOf;
use super::strings::Cursor;
use super::write::StringSink;
use crate::run::postings::{Posting, PostingList, ReusedBlocks};
use crate::schema::ColumnId;

/// A dictionary that goes into a merge.
pub(in crate::run::disk) struct DictionaryInput<'a> {
    pub(in crate::run::disk) dictionary: &'a Dictionary,
    /// The new number of each document; [`DROPPED`] drops it. They ascend within and across inputs.
    pub(in crate::run::disk) new_numbers: &'a [u32],
}

/// The number that stands for a document that is dropped.
pub(in crate::run::disk) const DROPPED: u32 = u32::MAX;

struct Input<'a> {
    cursor: Cursor<'a>,
    input: &'a DictionaryInput<'a>,
    /// The next string.
    next: Option<(&'a [u8], PostingList)>,
}

/// Passes the strings of a list of all inputs to the sink, with the documents that are kept.
pub(in crate::run::disk) fn merge(
    inputs: &[DictionaryInput<'_>],
    column: ColumnId,
    of: StringsOf,
    sink: &mut StringSink<'_>,
) -> io::Result<()> {
    let open = |input| Input::open(input, column, of);
    let mut inputs: Vec<Input<'_>> = inputs.iter().filter_map(open).collect();
    let mut reused = ReusedBlocks::default();
    let (mut documents, mut counts) = (Vec::new(), Vec::new());
    // There are only a few inputs, so looking at each is as fast as keeping them sorted.
    while let Some(string) = inputs.iter().filter_map(|input| input.next).map(|(string, _)| string).min() {
        documents.clear();
        counts.clear();
        for Input { cursor, input, next } in &mut inputs {
            let Some((_, list)) = next.filter(|(other, _)| *other == string) else { continue };
            input.dictionary.lists.each(list, &mut reused, |document, count| {
                let new = input.new_numbers.get(document as usize).copied().unwrap_or(DROPPED);
                if new != DROPPED {
                    documents.push(new);
                    if of.has_counts() {
                        counts.push(count);
                    }
                }
            })?;
            *next = cursor.next();
        }
        sink(string, Posting { documents: &documents, counts: &counts })?;
    }
    Ok(())
}

impl<'a> Input<'a> {
    fn open(input: &'a DictionaryInput<'a>, column: ColumnId, of: StringsOf) -> Option<Input<'a>> {
        let mut cursor = input.dictionary.strings(column, of)?.cursor(&input.dictionary.lists);
        let next = cursor.next();
        Some(Input { cursor, input, next })
    }
}
