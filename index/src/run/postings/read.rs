//! Reads the posting lists of a file.

use std::io;
use std::sync::Arc;

use tantivy::postings::{BlockSegmentPostings, Postings as _, SegmentPostings};
use tantivy::{DocSet as _, TERMINATED};

use super::list::{PACKED_FROM, Posting, PostingList};
use super::packed::PackedReader;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::run::checked::CheckedFile;
use crate::varint::take_varint;

/// The greatest number of bytes before the documents of a list, or of a list of one document: three numbers.
const HEAD_BYTES: usize = 15;

/// Reads the lists of a file.
pub(crate) struct PostingLists {
    file: Arc<CheckedFile>,
    packed: PackedReader,
}

/// The number of documents whose reading takes as long as seeking one.
const SKIP_FROM: usize = 64;

/// Reusable buffers for packed lists, without and with counts.
#[derive(Default)]
pub(crate) struct ReusedBlocks([Option<BlockSegmentPostings>; 2]);

impl PostingLists {
    /// Creates a reader of the lists in a file. `documents` is the run's document count. Reads nothing yet.
    pub(crate) fn new(file: &Arc<CheckedFile>, documents: u32) -> PostingLists {
        PostingLists { file: Arc::clone(file), packed: PackedReader::new(file, documents) }
    }

    /// Returns the list at this position, and the position after it. Returns `None` if there is no valid list, which is
    /// reported.
    #[inline]
    pub(crate) fn list_at(&self, at: usize, has_counts: bool) -> Option<(PostingList, usize)> {
        let found = self.parse(at, has_counts);
        if found.is_none() {
            self.file.report("a posting list cannot be read");
        }
        found
    }

    fn parse(&self, at: usize, has_counts: bool) -> Option<(PostingList, usize)> {
        let head = self.file.read(at..self.file.len().min(at.checked_add(HEAD_BYTES)?))?;
        let mut rest = head;
        let documents = u32::try_from(take_varint(&mut rest)?).ok()?;
        let read = |rest: &[u8]| head.len() - rest.len();
        if documents == 1 {
            let start = at + read(rest);
            if take_varint(&mut rest)? & 1 == 1 && has_counts {
                take_varint(&mut rest)?;
            }
            let end = at + read(rest);
            return Some((PostingList { start, end, documents, has_counts }, end));
        }
        let length = usize::try_from(take_varint(&mut rest)?).ok()?;
        let start = at + read(rest);
        let end = start.checked_add(length).filter(|&end| end <= self.file.len() && documents > 0)?;
        Some((PostingList { start, end, documents, has_counts }, end))
    }

    /// Emits the documents of a list with their counts. The counts are 1 in a list without counts.
    #[inline]
    pub(crate) fn each(
        &self,
        list: PostingList,
        reused: &mut ReusedBlocks,
        mut emit: impl FnMut(u32, u32),
    ) -> io::Result<()> {
        if list.documents < PACKED_FROM {
            let bytes = self.file.read(list.start..list.end).ok_or_else(|| io::Error::other("the file is damaged"))?;
            if each_difference(bytes, list, emit).is_none() {
                self.file.report("a posting list cannot be read");
            }
            return Ok(());
        }
        let blocks = self.packed.blocks(list, &mut reused.0[usize::from(list.has_counts)])?;
        while !blocks.docs().is_empty() {
            for (index, &document) in blocks.docs().iter().enumerate() {
                emit(document, if list.has_counts { blocks.freq(index) } else { 1 });
            }
            blocks.advance();
        }
        Ok(())
    }

    /// Emits the documents of a list that are in `among`, with their counts. If `among` is small, skips the documents
    /// between them.
    pub(crate) fn each_among(
        &self,
        list: PostingList,
        among: &RankBitmap,
        reused: &mut ReusedBlocks,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        if list.documents < PACKED_FROM || among.count() > list.documents as usize / SKIP_FROM {
            let each = self.each(list, reused, |document, count| {
                if among.contains(document) {
                    emit(document, count);
                }
            });
            return each.map_err(Error::io(self.file.path()));
        }
        let mut postings = self.packed.postings(list).map_err(Error::io(self.file.path()))?;
        for document in among.iter() {
            interrupt.step()?;
            match seek(&mut postings, document) {
                TERMINATED => break,
                at if at == document => emit(at, if list.has_counts { postings.term_freq() } else { 1 }),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether a document of the list satisfies `is_wanted`. Ends with the first block that has one.
    pub(crate) fn has_any(&self, list: PostingList, is_wanted: impl Fn(u32) -> bool) -> Result<bool, Error> {
        let mut reused = ReusedBlocks::default();
        if list.documents < PACKED_FROM {
            let mut is_found = false;
            let each = self.each(list, &mut reused, |document, _| is_found |= is_wanted(document));
            return each.map(|()| is_found).map_err(Error::io(self.file.path()));
        }
        let blocks = self.packed.blocks(list, &mut reused.0[usize::from(list.has_counts)]);
        let blocks = blocks.map_err(Error::io(self.file.path()))?;
        while !blocks.docs().is_empty() {
            if blocks.docs().iter().any(|&document| is_wanted(document)) {
                return Ok(true);
            }
            blocks.advance();
        }
        Ok(false)
    }

    /// Adds the documents of the lists.
    pub(crate) fn union(
        &self,
        lists: &[PostingList],
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        self.each_document(lists, interrupt, |document| documents.insert(document))
    }

    /// Emits the documents of the lists, one after the other.
    pub(crate) fn each_document(
        &self,
        lists: &[PostingList],
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32),
    ) -> Result<(), Error> {
        let mut reused = ReusedBlocks::default();
        for &list in lists {
            interrupt.step()?;
            if list.documents < PACKED_FROM {
                let read = self.each(list, &mut reused, |document, _| emit(document));
                read.map_err(Error::io(self.file.path()))?;
                continue;
            }
            let blocks = self.packed.blocks(list, &mut reused.0[usize::from(list.has_counts)]);
            let blocks = blocks.map_err(Error::io(self.file.path()))?;
            while !blocks.docs().is_empty() {
                interrupt.step()?;
                blocks.docs().iter().for_each(|&document| emit(document));
                blocks.advance();
            }
        }
        Ok(())
    }

    /// Removes the candidates that the list lacks. Fast if there are few candidates.
    pub(crate) fn retain(
        &self,
        list: PostingList,
        interrupt: &Interrupt<'_>,
        candidates: &mut Bitmap,
    ) -> Result<(), Error> {
        if list.documents < PACKED_FROM {
            let mut documents = Bitmap::default();
            self.union(&[list], interrupt, &mut documents)?;
            candidates.intersect(&documents);
            return Ok(());
        }
        let mut postings = self.packed.postings(list).map_err(Error::io(self.file.path()))?;
        let mut kept = Bitmap::default();
        for document in candidates.iter() {
            interrupt.step()?;
            match seek(&mut postings, document) {
                TERMINATED => break,
                at if at == document => kept.insert(document),
                _ => {}
            }
        }
        *candidates = kept;
        Ok(())
    }

    /// Tests whether the list has all these documents with these counts.
    pub(crate) fn has_all(&self, list: PostingList, posting: Posting<'_>) -> Result<bool, Error> {
        if list.has_counts == posting.counts.is_empty() {
            return Ok(false);
        }
        let count = |index: usize| posting.counts.get(index).copied().unwrap_or(1);
        let mut found = 0;
        if list.documents < PACKED_FROM {
            let mut find = |document, in_list| {
                if posting.documents.get(found) == Some(&document) && count(found) == in_list {
                    found += 1;
                }
            };
            self.each(list, &mut ReusedBlocks::default(), &mut find).map_err(Error::io(self.file.path()))?;
            return Ok(found == posting.documents.len());
        }
        let mut postings = self.packed.postings(list).map_err(Error::io(self.file.path()))?;
        for (index, &document) in posting.documents.iter().enumerate() {
            let at = seek(&mut postings, document);
            if at != document || (list.has_counts && postings.term_freq() != count(index)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Moves to a document, or to the next one if the list lacks it, and returns that. Tantivy cannot seek backwards, so a
/// list that has passed the document stays where it is.
fn seek(postings: &mut SegmentPostings, document: u32) -> u32 {
    if postings.doc() < document { postings.seek(document) } else { postings.doc() }
}

/// Emits the documents of a list of differences with their counts. Returns `None` if the bytes are invalid, perhaps
/// after emitting some.
#[inline]
fn each_difference(bytes: &[u8], list: PostingList, mut emit: impl FnMut(u32, u32)) -> Option<()> {
    let mut rest = bytes;
    let mut document = 0;
    for _ in 0..list.documents {
        let value = take_varint(&mut rest)?;
        let (difference, count) = match (list.has_counts, value & 1 == 1) {
            (false, _) => (value, 1),
            (true, false) => (value >> 1, 1),
            (true, true) => (value >> 1, u32::try_from(take_varint(&mut rest)?).ok()?),
        };
        document = u32::try_from(difference).ok().and_then(|difference| u32::checked_add(document, difference))?;
        emit(document, count);
    }
    Some(())
}
