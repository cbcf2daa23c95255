//! One inverted file: sorted terms of bytes, each with the documents that have it. A tantivy segment with one field
//! and nothing else. Knows nothing of columns or of what the terms mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::postings::{BlockSegmentPostings, FieldSerializer, InvertedIndexSerializer, TermInfo};
use tantivy::schema::{BytesOptions, Field, IndexRecordOption, Schema};
use tantivy::termdict::TermMerger;
use tantivy::{DocSet, Index, IndexSettings, InvertedIndexReader, SegmentReader, TERMINATED, TantivyError};

use crate::error::Error;
use folder::Folder;

mod folder;
#[cfg(test)]
mod tests;

/// An immutable inverted file, mapped.
pub(crate) struct Segment {
    path: PathBuf,
    index: Index,
    terms: Arc<InvertedIndexReader>,
    bytes: u64,
}

/// A term that the segment has.
#[derive(Clone)]
pub(crate) struct Term(TermInfo);

impl Term {
    /// How many documents have it; at least one.
    pub(crate) fn documents(&self) -> u32 {
        self.0.doc_freq
    }
}

impl Segment {
    /// Writes a segment of `documents` documents into `folder`, which exists; durable on return but for the folder's
    /// own entry. `fill` gives the terms in ascending order.
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
        write().map_err(|error| fault(folder, error))
    }

    /// Opens the segment in `folder`. Its checksums are left to [`Segment::verify`].
    pub(crate) fn open(folder: &Path, documents: u32) -> Result<Segment, Error> {
        let open = || {
            let (index, segment) = empty_index(folder)?;
            let reader = SegmentReader::open(&segment.with_max_doc(documents))?;
            let terms = reader.inverted_index(FIELD)?;
            Ok((index, terms))
        };
        let (index, terms) = open().map_err(|error| fault(folder, error))?;
        let mut bytes = 0;
        for path in paths(&index) {
            let path = folder.join(path);
            bytes += path.metadata().map_err(Error::io(&path))?.len();
        }
        Ok(Segment { path: folder.to_owned(), index, terms, bytes })
    }

    /// Writes the merger of `inputs` into `folder`, which exists: each input with the new number of each of its
    /// documents, or `None` where it is dropped. The new numbers ascend through all inputs.
    pub(crate) fn merge(folder: &Path, documents: u32, inputs: &[(&Segment, Vec<Option<u32>>)]) -> Result<(), Error> {
        Segment::write(folder, documents, |writer| {
            let streams = inputs.iter().map(|(segment, _)| segment.terms.terms().stream()).collect::<Result<_, _>>()?;
            let mut merged = TermMerger::new(streams);
            let mut postings = BlockSegmentPostings::empty();
            let mut documents = Vec::new();
            while merged.advance() {
                documents.clear();
                for (input, info) in merged.current_segment_ords_and_term_infos() {
                    let (segment, numbers) = &inputs[input];
                    segment.terms.reset_block_postings_from_terminfo(&info, &mut postings)?;
                    while !postings.docs().is_empty() {
                        let kept = postings.docs().iter().filter_map(|&old| *numbers.get(old as usize)?);
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

    /// Looks a term up.
    pub(crate) fn term(&self, bytes: &[u8]) -> Result<Option<Term>, Error> {
        Ok(self.terms.terms().get(bytes).map_err(Error::io(&self.path))?.map(Term))
    }

    /// Gives every document that has the term, ascending.
    pub(crate) fn each(&self, term: &Term, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
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

    /// Gives every document that has all of the terms, ascending. Quick if the rarest comes first.
    pub(crate) fn each_of_all(&self, terms: &[Term], emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let [first, rest @ ..] = terms else { return Ok(()) };
        let mut others = Vec::new();
        for term in rest {
            let postings = self.terms.read_postings_from_terminfo(&term.0, IndexRecordOption::Basic);
            others.push(postings.map_err(Error::io(&self.path))?);
        }
        self.each(first, &mut |document| {
            let has = others.iter_mut().all(|postings| {
                let at = if postings.doc() < document { postings.seek(document) } else { postings.doc() };
                at == document && at != TERMINATED
            });
            if has {
                emit(document);
            }
        })
    }

    /// Whether both have the same terms, and each the same documents in both.
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
            self.each(&Term(own.value().clone()), &mut |document| own_documents.push(document))?;
            other.each(&Term(others.value().clone()), &mut |document| other_documents.push(document))?;
            if own.key() != others.key() || own_documents != other_documents {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks every checksum.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        for path in paths(&self.index) {
            let sound = self.index.directory().validate_checksum(&path);
            if !sound.map_err(|error| fault(&self.path, error.into()))? {
                return Err(Error::corrupt(&self.path.join(path), "its checksum is another"));
            }
        }
        Ok(())
    }
}

/// Takes terms in ascending order.
pub(crate) struct TermWriter<'a> {
    field: FieldSerializer<'a>,
}

impl TermWriter<'_> {
    /// Writes a term and its documents, which ascend. A term without documents is left out.
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

/// The one field.
const FIELD: Field = Field::from_field_id(0);

/// The index that tantivy wants to see around a segment, and the one segment of it. Nothing of it is on disk.
fn empty_index(folder: &Path) -> Result<(Index, tantivy::Segment), TantivyError> {
    let index = Index::create(Folder::open(folder)?, schema(), settings())?;
    let segment = index.segment(index.new_segment_meta(segment_id(), 0));
    Ok((index, segment))
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_bytes_field("term", BytesOptions::default().set_indexed());
    schema.build()
}

fn settings() -> IndexSettings {
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}

/// Every run has its own folder, so that all segments can have one name.
fn segment_id() -> SegmentId {
    SegmentId::from_uuid_string("00000000000000000000000000000000").expect("invariant: 32 hexadecimal digits")
}

fn paths(index: &Index) -> [PathBuf; 3] {
    let segment = index.segment(index.new_segment_meta(segment_id(), 0));
    [SegmentComponent::Terms, SegmentComponent::Postings, SegmentComponent::Positions]
        .map(|component| segment.relative_path(component))
}

fn fault(folder: &Path, error: TantivyError) -> Error {
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
