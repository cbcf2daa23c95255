//! The inverted index of a run: a term dictionary and a posting list for each term. A Tantivy segment with two fields
//! and nothing else. It knows nothing of columns or of what a term means.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::directory::error::OpenReadError;
use tantivy::postings::{BlockSegmentPostings, FieldSerializer, InvertedIndexSerializer, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermMerger;
use tantivy::{DocSet, Index, InvertedIndexReader, SegmentReader, TERMINATED, TantivyError};

use super::checked::CheckedFile;
use super::sums::FileSums;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use directory::RunDirectory;
pub(crate) use layout::TermList;
use layout::{schema, segment_id, settings};

mod directory;
mod layout;
#[cfg(test)]
mod tests;

/// An immutable inverted index, memory-mapped. Its dictionary is read when it is first used.
pub(crate) struct Segment {
    folder: PathBuf,
    documents: u32,
    directory: RunDirectory,
    readers: OnceLock<[Arc<InvertedIndexReader>; 2]>,
}

/// So many terms of a range are held until their documents are added.
const UNITED_AT_ONCE: usize = 1_024;

/// An entry of the term dictionary.
#[derive(Clone)]
pub(crate) struct Term {
    list: TermList,
    info: TermInfo,
}

/// A segment that goes into a merge.
pub(crate) struct SegmentInput<'a> {
    pub(crate) segment: &'a Segment,
    /// The new number of each document; `None` drops it.
    pub(crate) new_numbers: Vec<Option<u32>>,
}

/// The documents that have a term, ascending, and how often each of them has it, which only a list with counts keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) counts: &'a [u32],
}

/// Takes the terms of one list in ascending order, each with its posting list. A term without documents does not count.
pub(crate) type TermSink<'a> = dyn FnMut(&[u8], Posting<'_>) -> Result<(), TantivyError> + 'a;

/// Writes the terms of one list to a sink.
pub(crate) type Fill<'a> = dyn FnMut(TermList, &mut TermSink<'_>) -> Result<(), TantivyError> + 'a;

/// Where the posting list of a term is, in bytes, and how many documents it has. Finds the list without its term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PostingPlace {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) documents: u32,
}

/// Told of each term of a list, in order.
pub(crate) type OnTerm<'a> = dyn FnMut(&[u8], PostingPlace) + 'a;

impl Term {
    /// The term of a list whose posting list is at that place.
    pub(crate) fn at(list: TermList, place: PostingPlace) -> Term {
        let PostingPlace { start, end, documents } = place;
        let info =
            TermInfo { doc_freq: documents, postings_range: start as usize..end as usize, positions_range: 0..0 };
        Term { list, info }
    }

    /// The length of its posting list; at least one.
    pub(crate) fn doc_count(&self) -> u32 {
        self.info.doc_freq
    }
}

impl Segment {
    /// Writes a segment of `documents` documents into `folder`, which must exist. `fill` is called once for each list. The
    /// files are synced on return; the folder is not. Returns their checksums.
    pub(crate) fn write(folder: &Path, documents: u32, fill: &mut Fill<'_>) -> Result<Vec<FileSums>, Error> {
        let directory = RunDirectory::write(folder);
        let mut write = || {
            let segment = empty_segment(directory.clone())?.with_max_doc(documents);
            let mut files = InvertedIndexSerializer::open(&segment)?;
            for list in TermList::ALL {
                let mut field = files.new_field(list.field(), 0, None)?;
                fill(list, &mut |term, posting| match posting.documents.is_empty() {
                    true => Ok(()),
                    false => write_term(&mut field, list, term, posting),
                })?;
                field.close()?;
            }
            files.close()?;
            Ok(())
        };
        write().map_err(|error| convert_error(folder, error))?;
        Ok(directory.sums())
    }

    /// The segment in these files of the run in `folder`. Reads nothing yet.
    pub(crate) fn new(folder: &Path, documents: u32, files: &[Arc<CheckedFile>]) -> Segment {
        let directory = RunDirectory::read(files);
        Segment { folder: folder.to_owned(), documents, directory, readers: OnceLock::new() }
    }

    fn reader(&self, list: TermList) -> Result<&InvertedIndexReader, Error> {
        if let Some(readers) = self.readers.get() {
            return Ok(&readers[list as usize]);
        }
        let open = || {
            let segment = empty_segment(self.directory.clone())?.with_max_doc(self.documents);
            let reader = SegmentReader::open(&segment)?;
            let [plain, counted] = TermList::ALL.map(|list| reader.inverted_index(list.field()));
            Ok([plain?, counted?])
        };
        let readers = open().map_err(|error| convert_error(&self.folder, error))?;
        Ok(&self.readers.get_or_init(|| readers)[list as usize])
    }

    /// Merges `inputs` into a segment of `documents` documents in `folder`, which must exist. The new numbers ascend
    /// through all inputs. Durability is that of [`Segment::write`].
    pub(crate) fn merge(folder: &Path, documents: u32, inputs: &[SegmentInput<'_>]) -> Result<Vec<FileSums>, Error> {
        for input in inputs {
            input.segment.reader(TermList::Plain)?;
        }
        Segment::write(folder, documents, &mut |list, sink| merge_list(list, inputs, sink))
    }

    /// Looks up a term.
    pub(crate) fn term(&self, list: TermList, bytes: &[u8]) -> Result<Option<Term>, Error> {
        let info = self.reader(list)?.terms().get(bytes).map_err(Error::io(&self.folder))?;
        Ok(info.map(|info| Term { list, info }))
    }

    /// Emits the terms of a list in order.
    pub(crate) fn each_term(&self, list: TermList, on_term: &mut OnTerm<'_>) -> Result<(), Error> {
        let mut terms = self.reader(list)?.terms().stream().map_err(Error::io(&self.folder))?;
        while terms.advance() {
            let TermInfo { doc_freq, postings_range, .. } = terms.value();
            let (start, end) = (postings_range.start as u64, postings_range.end as u64);
            on_term(terms.key(), PostingPlace { start, end, documents: *doc_freq });
        }
        Ok(())
    }

    /// How many terms of the plain list are in a range.
    pub(crate) fn count_terms(&self, range: &Range<Vec<u8>>) -> Result<u64, Error> {
        let terms = self.reader(TermList::Plain)?.terms();
        // The number of terms before a bound is that of the first one from there on.
        let before = |bound: &[u8]| {
            let mut stream = terms.range().ge(bound).into_stream()?;
            Ok::<u64, io::Error>(if stream.advance() { stream.term_ord() } else { terms.num_terms() as u64 })
        };
        let count = || Ok(before(&range.end)?.saturating_sub(before(&range.start)?));
        count().map_err(Error::io(&self.folder))
    }

    /// Adds the documents of the plain list's terms in a range that `accept` returns true for. It is asked in ascending order.
    pub(crate) fn union_range(
        &self,
        range: &Range<Vec<u8>>,
        mut accept: impl FnMut(&[u8]) -> bool,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        let terms = self.reader(TermList::Plain)?.terms();
        let stream = terms.range().ge(&range.start).lt(&range.end).into_stream();
        let mut stream = stream.map_err(Error::io(&self.folder))?;
        let mut accepted = Vec::with_capacity(UNITED_AT_ONCE);
        while stream.advance() {
            interrupt.step()?;
            if accept(stream.key()) {
                accepted.push(Term { list: TermList::Plain, info: stream.value().clone() });
            }
            if accepted.len() == UNITED_AT_ONCE {
                self.union(&accepted, interrupt, documents)?;
                accepted.clear();
            }
        }
        self.union(&accepted, interrupt, documents)
    }

    /// Adds the documents of the terms' posting lists.
    pub(crate) fn union(&self, terms: &[Term], interrupt: &Interrupt<'_>, documents: &mut Bitmap) -> Result<(), Error> {
        let mut reused = [None, None];
        for term in terms {
            let (reader, reused) = (self.reader(term.list)?, &mut reused[term.list as usize]);
            let postings = open_postings(reader, &term.info, IndexRecordOption::Basic, reused);
            let postings = postings.map_err(Error::io(&self.folder))?;
            while !postings.docs().is_empty() {
                interrupt.step()?;
                postings.docs().iter().for_each(|&document| documents.insert(document));
                postings.advance();
            }
        }
        Ok(())
    }

    /// Removes the candidates that the term's posting list lacks. Fast if there are few candidates.
    pub(crate) fn retain(&self, term: &Term, interrupt: &Interrupt<'_>, candidates: &mut Bitmap) -> Result<(), Error> {
        let reader = self.reader(term.list)?;
        let postings = reader.read_postings_from_terminfo(&term.info, term.list.record());
        let mut postings = postings.map_err(Error::io(&self.folder))?;
        let mut kept = Bitmap::default();
        for document in candidates.iter() {
            interrupt.step()?;
            let at = if postings.doc() < document { postings.seek(document) } else { postings.doc() };
            match at {
                TERMINATED => break,
                at if at == document => kept.insert(document),
                _ => {}
            }
        }
        *candidates = kept;
        Ok(())
    }

    /// Whether the term's posting list has all these documents, ascending, with these counts.
    pub(crate) fn has_all(&self, term: &Term, posting: Posting<'_>) -> Result<bool, Error> {
        let reader = self.reader(term.list)?;
        let postings = reader.read_postings_from_terminfo(&term.info, term.list.record());
        let mut postings = postings.map_err(Error::io(&self.folder))?;
        for (&document, &count) in posting.documents.iter().zip(posting.counts) {
            let at = if postings.doc() < document { postings.seek(document) } else { postings.doc() };
            if at != document
                || (term.list == TermList::Counted && tantivy::postings::Postings::term_freq(&postings) != count)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// An error of the code that terms are passed to.
    pub(crate) fn error(&self, error: TantivyError) -> Error {
        convert_error(&self.folder, error)
    }
}

/// Emits the merged terms of one list.
fn merge_list(list: TermList, inputs: &[SegmentInput<'_>], sink: &mut TermSink<'_>) -> Result<(), TantivyError> {
    let readers: Vec<&InvertedIndexReader> =
        inputs.iter().filter_map(|input| input.segment.readers.get()).map(|readers| &*readers[list as usize]).collect();
    let streams = readers.iter().map(|reader| reader.terms().stream()).collect::<Result<_, _>>()?;
    let mut merged = TermMerger::new(streams);
    let mut reused = None;
    let (mut documents, mut counts) = (Vec::new(), Vec::new());
    while merged.advance() {
        documents.clear();
        counts.clear();
        for (input, info) in merged.current_segment_ords_and_term_infos() {
            let new_numbers = &inputs[input].new_numbers;
            let postings = open_postings(readers[input], &info, list.record(), &mut reused)?;
            while !postings.docs().is_empty() {
                for (index, &old) in postings.docs().iter().enumerate() {
                    if let Some(&Some(new)) = new_numbers.get(old as usize) {
                        documents.push(new);
                        counts.push(if list == TermList::Counted { postings.freq(index) } else { 1 });
                    }
                }
                postings.advance();
            }
        }
        sink(merged.key(), Posting { documents: &documents, counts: &counts })?;
    }
    Ok(())
}

/// The posting list of a term. `reused` holds what its reading needs for all terms of a list.
fn open_postings<'a>(
    reader: &InvertedIndexReader,
    info: &TermInfo,
    record: IndexRecordOption,
    reused: &'a mut Option<BlockSegmentPostings>,
) -> io::Result<&'a mut BlockSegmentPostings> {
    match reused {
        Some(postings) => reader.reset_block_postings_from_terminfo(info, postings)?,
        None => *reused = Some(reader.read_block_postings_from_terminfo(info, record)?),
    }
    reused.as_mut().ok_or_else(|| io::Error::other("there is no posting list"))
}

fn write_term(
    field: &mut FieldSerializer<'_>,
    list: TermList,
    bytes: &[u8],
    posting: Posting<'_>,
) -> Result<(), TantivyError> {
    field.new_term(bytes, posting.documents.len() as u32, list == TermList::Counted)?;
    for (&document, &count) in posting.documents.iter().zip(posting.counts) {
        field.write_doc(document, count, &[]);
    }
    field.close_term()?;
    Ok(())
}

/// The one segment of the index that Tantivy requires around it. Writes nothing to disk.
fn empty_segment(directory: RunDirectory) -> Result<tantivy::Segment, TantivyError> {
    let index = Index::create(directory, schema(), settings())?;
    Ok(index.segment(index.new_segment_meta(segment_id(), 0)))
}

fn convert_error(folder: &Path, error: TantivyError) -> Error {
    let io = |source: &std::io::Error| Error::Io {
        path: folder.to_owned(),
        source: std::io::Error::new(source.kind(), source.to_string()),
    };
    match error {
        TantivyError::IoError(source) => io(&source),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => io(&io_error),
        other => Error::corrupt(folder, other.to_string()),
    }
}
