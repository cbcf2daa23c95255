//! The inverted index of a run: a term dictionary and a posting list for each term. A Tantivy segment with one field
//! and nothing else. It knows nothing of columns or of what a term means.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::postings::{BlockSegmentPostings, FieldSerializer, InvertedIndexSerializer, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermMerger;
use tantivy::{DocSet, Index, InvertedIndexReader, SegmentReader, TERMINATED, TantivyError};

use crate::error::Error;
use directory::RunDirectory;
use layout::{FIELD, paths, schema, segment_id, settings};

mod directory;
mod layout;
#[cfg(test)]
mod tests;

/// An immutable inverted index, memory-mapped.
pub(crate) struct Segment {
    path: PathBuf,
    index: Index,
    terms: Arc<InvertedIndexReader>,
    bytes: u64,
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
    /// order. The files are synced on return; the folder is not.
    pub(crate) fn write(
        folder: &Path,
        documents: u32,
        fill: impl FnOnce(&mut TermWriter<'_>) -> Result<(), TantivyError>,
    ) -> Result<(), Error> {
        let write = || {
            let segment = empty_index(folder)?.1.with_max_doc(documents);
            let mut files = InvertedIndexSerializer::open(&segment)?;
            let mut writer = TermWriter { field: files.new_field(FIELD, 0, None)? };
            fill(&mut writer)?;
            writer.field.close()?;
            files.close()?;
            Ok(())
        };
        write().map_err(|error| convert_error(folder, error))
    }

    /// Opens the segment in `folder`. Does not check its checksums: see [`Segment::verify`].
    pub(crate) fn open(folder: &Path, documents: u32) -> Result<Segment, Error> {
        let open = || {
            let (index, segment) = empty_index(folder)?;
            let reader = SegmentReader::open(&segment.with_max_doc(documents))?;
            let terms = reader.inverted_index(FIELD)?;
            Ok((index, terms))
        };
        let (index, terms) = open().map_err(|error| convert_error(folder, error))?;
        let mut bytes = 0;
        for path in paths(&index) {
            let path = folder.join(path);
            bytes += path.metadata().map_err(Error::io(&path))?.len();
        }
        Ok(Segment { path: folder.to_owned(), index, terms, bytes })
    }

    /// Merges `inputs` into a segment of `documents` documents in `folder`, which must exist. The new numbers ascend
    /// through all inputs. Durability is that of [`Segment::write`].
    pub(crate) fn merge(folder: &Path, documents: u32, inputs: &[SegmentInput<'_>]) -> Result<(), Error> {
        Segment::write(folder, documents, |writer| {
            let streams = inputs.iter().map(|input| input.segment.terms.terms().stream()).collect::<Result<_, _>>()?;
            let mut merged = TermMerger::new(streams);
            let mut postings = BlockSegmentPostings::empty();
            let mut documents = Vec::new();
            while merged.advance() {
                documents.clear();
                for (input, info) in merged.current_segment_ords_and_term_infos() {
                    let SegmentInput { segment, new_numbers } = &inputs[input];
                    segment.terms.reset_block_postings_from_terminfo(&info, &mut postings)?;
                    while !postings.docs().is_empty() {
                        let kept = postings.docs().iter().filter_map(|&old| *new_numbers.get(old as usize)?);
                        documents.extend(kept);
                        postings.advance();
                    }
                }
                writer.term(merged.key(), &documents)?;
            }
            Ok(())
        })
    }

    /// Size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Looks up a term.
    pub(crate) fn term(&self, bytes: &[u8]) -> Result<Option<Term>, Error> {
        Ok(self.terms.terms().get(bytes).map_err(Error::io(&self.path))?.map(Term))
    }

    /// Emits the documents of the term's posting list, ascending.
    pub(crate) fn each_doc(&self, term: &Term, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let mut postings = self
            .terms
            .read_block_postings_from_terminfo(&term.0, IndexRecordOption::Basic)
            .map_err(Error::io(&self.path))?;
        while !postings.docs().is_empty() {
            for &document in postings.docs() {
                emit(document);
            }
            postings.advance();
        }
        Ok(())
    }

    /// Emits the documents that have all the terms, ascending. Fastest if the rarest term comes first.
    pub(crate) fn each_doc_with_all(&self, terms: &[Term], emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let [first, rest @ ..] = terms else { return Ok(()) };
        let mut others = Vec::new();
        for term in rest {
            let postings = self.terms.read_postings_from_terminfo(&term.0, IndexRecordOption::Basic);
            others.push(postings.map_err(Error::io(&self.path))?);
        }
        self.each_doc(first, &mut |document| {
            let has = others.iter_mut().all(|postings| {
                let at = if postings.doc() < document { postings.seek(document) } else { postings.doc() };
                at == document && at != TERMINATED
            });
            if has {
                emit(document);
            }
        })
    }

    /// Whether both have the same terms with the same posting lists.
    pub(crate) fn is_same(&self, other: &Segment) -> Result<bool, Error> {
        if self.terms.terms().num_terms() != other.terms.terms().num_terms() {
            return Ok(false);
        }
        let mut own = self.terms.terms().stream().map_err(Error::io(&self.path))?;
        let mut others = other.terms.terms().stream().map_err(Error::io(&other.path))?;
        let (mut own_documents, mut other_documents) = (Vec::new(), Vec::new());
        while own.advance() && others.advance() {
            own_documents.clear();
            other_documents.clear();
            self.each_doc(&Term(own.value().clone()), &mut |document| own_documents.push(document))?;
            other.each_doc(&Term(others.value().clone()), &mut |document| other_documents.push(document))?;
            if own.key() != others.key() || own_documents != other_documents {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks the checksum of every file.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        for path in paths(&self.index) {
            let sound = self.index.directory().validate_checksum(&path);
            if !sound.map_err(|error| convert_error(&self.path, error.into()))? {
                return Err(Error::corrupt(&self.path.join(path), "checksum does not match"));
            }
        }
        Ok(())
    }
}

/// Writes terms, which must come in ascending order.
pub(crate) struct TermWriter<'a> {
    field: FieldSerializer<'a>,
}

impl TermWriter<'_> {
    /// Writes a term and its posting list, which must ascend. Skips a term without documents.
    pub(crate) fn term(&mut self, bytes: &[u8], documents: &[u32]) -> Result<(), TantivyError> {
        if documents.is_empty() {
            return Ok(());
        }
        self.field.new_term(bytes, documents.len() as u32, false)?;
        for &document in documents {
            self.field.write_doc(document, 0, &[]);
        }
        self.field.close_term()?;
        Ok(())
    }
}

/// The index that Tantivy requires around a segment, and its one segment. Writes nothing to disk.
fn empty_index(folder: &Path) -> Result<(Index, tantivy::Segment), TantivyError> {
    let index = Index::create(RunDirectory::open(folder)?, schema(), settings())?;
    let segment = index.segment(index.new_segment_meta(segment_id(), 0));
    Ok((index, segment))
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
