//! The inverted index of a run: a term dictionary and a posting list for each term. A Tantivy segment with one field
//! and nothing else. It knows nothing of columns or of what a term means.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::directory::error::OpenReadError;
use tantivy::postings::{BlockSegmentPostings, FieldSerializer, InvertedIndexSerializer, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermMerger;
use tantivy::{DocSet, Index, InvertedIndexReader, SegmentReader, TERMINATED, TantivyError};

use super::checked::CheckedFile;
use super::sums::FileSums;
use crate::error::Error;
use crate::interrupt::Interrupt;
use directory::RunDirectory;
use layout::{FIELD, schema, segment_id, settings};

mod directory;
mod layout;
#[cfg(test)]
mod tests;

/// An immutable inverted index, memory-mapped. Its dictionary is read when it is first used.
pub(crate) struct Segment {
    folder: PathBuf,
    documents: u32,
    directory: RunDirectory,
    terms: OnceLock<Arc<InvertedIndexReader>>,
}

/// An entry of the term dictionary.
#[derive(Clone)]
pub(crate) struct Term(TermInfo);

/// A segment that goes into a merge.
pub(crate) struct SegmentInput<'a> {
    pub(crate) segment: &'a Segment,
    /// The new number of each document; `None` drops it.
    pub(crate) new_numbers: Vec<Option<u32>>,
}

impl Term {
    /// The length of its posting list; at least one.
    pub(crate) fn doc_count(&self) -> u32 {
        self.0.doc_freq
    }
}

impl Segment {
    /// Writes a segment of `documents` documents into `folder`, which must exist. `fill` writes the terms in ascending
    /// order. The files are synced on return; the folder is not. Returns their checksums.
    pub(crate) fn write(
        folder: &Path,
        documents: u32,
        fill: impl FnOnce(&mut TermSink<'_>) -> Result<(), TantivyError>,
    ) -> Result<Vec<FileSums>, Error> {
        let directory = RunDirectory::write(folder);
        let write = || {
            let segment = empty_segment(directory.clone())?.with_max_doc(documents);
            let mut files = InvertedIndexSerializer::open(&segment)?;
            let mut field = files.new_field(FIELD, 0, None)?;
            fill(&mut |term, documents| write_term(&mut field, term, documents))?;
            field.close()?;
            files.close()?;
            Ok(())
        };
        write().map_err(|error| convert_error(folder, error))?;
        Ok(directory.sums())
    }

    /// The segment in these files of the run in `folder`. Reads nothing yet.
    pub(crate) fn new(folder: &Path, documents: u32, files: &[Arc<CheckedFile>]) -> Segment {
        let directory = RunDirectory::read(files);
        Segment { folder: folder.to_owned(), documents, directory, terms: OnceLock::new() }
    }

    fn reader(&self) -> Result<&InvertedIndexReader, Error> {
        if let Some(reader) = self.terms.get() {
            return Ok(reader);
        }
        let open = || {
            let segment = empty_segment(self.directory.clone())?.with_max_doc(self.documents);
            SegmentReader::open(&segment)?.inverted_index(FIELD)
        };
        let reader = open().map_err(|error| convert_error(&self.folder, error))?;
        Ok(self.terms.get_or_init(|| reader))
    }

    /// Merges `inputs` into a segment of `documents` documents in `folder`, which must exist. The new numbers ascend
    /// through all inputs. Durability is that of [`Segment::write`].
    pub(crate) fn merge(folder: &Path, documents: u32, inputs: &[SegmentInput<'_>]) -> Result<Vec<FileSums>, Error> {
        let readers = inputs.iter().map(|input| input.segment.reader()).collect::<Result<Vec<_>, _>>()?;
        Segment::write(folder, documents, |sink| {
            let streams = readers.iter().map(|reader| reader.terms().stream()).collect::<Result<_, _>>()?;
            let mut merged = TermMerger::new(streams);
            let mut postings = BlockSegmentPostings::empty();
            let mut documents = Vec::new();
            while merged.advance() {
                documents.clear();
                for (input, info) in merged.current_segment_ords_and_term_infos() {
                    let new_numbers = &inputs[input].new_numbers;
                    readers[input].reset_block_postings_from_terminfo(&info, &mut postings)?;
                    while !postings.docs().is_empty() {
                        let kept = postings.docs().iter().filter_map(|&old| *new_numbers.get(old as usize)?);
                        documents.extend(kept);
                        postings.advance();
                    }
                }
                sink(merged.key(), &documents)?;
            }
            Ok(())
        })
    }

    /// Looks up a term.
    pub(crate) fn term(&self, bytes: &[u8]) -> Result<Option<Term>, Error> {
        Ok(self.reader()?.terms().get(bytes).map_err(Error::io(&self.folder))?.map(Term))
    }

    /// Emits the documents of the term's posting list, ascending.
    pub(crate) fn each_doc(
        &self,
        term: &Term,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut postings = self
            .reader()?
            .read_block_postings_from_terminfo(&term.0, IndexRecordOption::Basic)
            .map_err(Error::io(&self.folder))?;
        while !postings.docs().is_empty() {
            interrupt.step()?;
            postings.docs().iter().try_for_each(|&document| emit(document))?;
            postings.advance();
        }
        Ok(())
    }

    /// Emits the documents that have all the terms, ascending. Fastest if the rarest term comes first.
    pub(crate) fn each_doc_with_all(
        &self,
        terms: &[Term],
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let [first, rest @ ..] = terms else { return Ok(()) };
        let mut others = Vec::new();
        for term in rest {
            let postings = self.reader()?.read_postings_from_terminfo(&term.0, IndexRecordOption::Basic);
            others.push(postings.map_err(Error::io(&self.folder))?);
        }
        self.each_doc(first, interrupt, |document| {
            let has = others.iter_mut().all(|postings| {
                let at = if postings.doc() < document { postings.seek(document) } else { postings.doc() };
                at == document && at != TERMINATED
            });
            if has { emit(document) } else { Ok(()) }
        })
    }

    /// Whether it has exactly the terms that `fill` emits in ascending order, with these posting lists.
    pub(crate) fn holds_exactly(
        &self,
        fill: impl FnOnce(&mut TermSink<'_>) -> Result<(), TantivyError>,
    ) -> Result<bool, Error> {
        let reader = self.reader()?;
        let mut own = reader.terms().stream().map_err(Error::io(&self.folder))?;
        let mut is_same = true;
        let mut postings = BlockSegmentPostings::empty();
        let compare = |term: &[u8], mut documents: &[u32]| {
            if documents.is_empty() || !is_same {
                return Ok(());
            }
            is_same = own.advance() && own.key() == term && own.value().doc_freq as usize == documents.len();
            if is_same {
                reader.reset_block_postings_from_terminfo(own.value(), &mut postings)?;
            }
            while is_same && !postings.docs().is_empty() {
                let count = postings.docs().len();
                is_same = documents.get(..count) == Some(postings.docs());
                documents = documents.get(count..).unwrap_or_default();
                postings.advance();
            }
            Ok(())
        };
        let mut compare = compare;
        fill(&mut compare).map_err(|error| convert_error(&self.folder, error))?;
        Ok(is_same && !own.advance())
    }
}

/// Takes terms in ascending order, each with its posting list, ascending. A term without documents does not count.
pub(crate) type TermSink<'a> = dyn FnMut(&[u8], &[u32]) -> Result<(), TantivyError> + 'a;

fn write_term(field: &mut FieldSerializer<'_>, bytes: &[u8], documents: &[u32]) -> Result<(), TantivyError> {
    if documents.is_empty() {
        return Ok(());
    }
    field.new_term(bytes, documents.len() as u32, false)?;
    for &document in documents {
        field.write_doc(document, 0, &[]);
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
