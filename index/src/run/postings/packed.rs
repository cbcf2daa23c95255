//! Posting lists that Tantivy writes and reads. It knows no others.
//!
//! Tantivy writes a single list on its own. For reading, it needs the segment of an index with a term dictionary, which
//! this index does not use for look-ups. So a file with lists is presented to it as the postings of a segment whose
//! dictionary is empty, and each list is opened by its position. The other files of that segment are the same for all
//! runs, and only in memory.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{Directory, FileHandle, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr};
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::postings::serializer::PostingsSerializer;
use tantivy::postings::{BlockSegmentPostings, InvertedIndexSerializer, SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{HasLen, Index, IndexSettings, InvertedIndexReader, SegmentReader, TantivyError};

use super::list::{Posting, PostingList};
use crate::run::checked::CheckedFile;

/// Appends a list in Tantivy's format.
pub(super) fn pack(posting: Posting<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let has_counts = !posting.counts.is_empty();
    let count = posting.documents.len() as u32;
    // Cannot be reused, because it keeps the last document of the previous list.
    let mut serializer = PostingsSerializer::new(0.0, record(has_counts), None);
    serializer.new_term(count, has_counts);
    for (index, &document) in posting.documents.iter().enumerate() {
        serializer.write_doc(document, posting.counts.get(index).copied().unwrap_or(1));
    }
    serializer.close_term(count, out)
}

/// Reads the packed lists of a file.
pub(super) struct PackedReader {
    file: Arc<CheckedFile>,
    documents: u32,
    /// Created when the first list is read.
    reader: OnceLock<Arc<InvertedIndexReader>>,
}

impl PackedReader {
    /// Creates a reader of the lists in a file. `documents` is the run's document count.
    pub(super) fn new(file: &Arc<CheckedFile>, documents: u32) -> PackedReader {
        PackedReader { file: Arc::clone(file), documents, reader: OnceLock::new() }
    }

    /// Returns the blocks of a list, the first one loaded. `reused` must be used either for lists with counts or for
    /// lists without.
    pub(super) fn blocks<'a>(
        &self,
        list: PostingList,
        reused: &'a mut Option<BlockSegmentPostings>,
    ) -> io::Result<&'a mut BlockSegmentPostings> {
        let reader = self.reader()?;
        match reused {
            Some(blocks) => reader.reset_block_postings_from_terminfo(&info(list), blocks)?,
            None => *reused = Some(reader.read_block_postings_from_terminfo(&info(list), record(list.has_counts))?),
        }
        reused.as_mut().ok_or_else(|| io::Error::other("there is no posting list"))
    }

    /// Returns a list in which documents can be sought.
    pub(super) fn postings(&self, list: PostingList) -> io::Result<SegmentPostings> {
        self.reader()?.read_postings_from_terminfo(&info(list), record(list.has_counts))
    }

    fn reader(&self) -> io::Result<&InvertedIndexReader> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let open = || {
            let directory = SegmentDirectory { memory: RamDirectory::create(), postings: Arc::clone(&self.file) };
            let index = Index::create(directory, schema(), settings())?;
            let segment = index.segment(index.new_segment_meta(segment_id(), 0)).with_max_doc(self.documents);
            SegmentReader::open(&segment)?.inverted_index(field())
        };
        let reader = open().map_err(|error: TantivyError| io::Error::other(error.to_string()))?;
        Ok(self.reader.get_or_init(|| reader))
    }
}

fn info(list: PostingList) -> TermInfo {
    TermInfo { doc_freq: list.documents, postings_range: list.start..list.end, positions_range: 0..0 }
}

fn record(has_counts: bool) -> IndexRecordOption {
    match has_counts {
        true => IndexRecordOption::WithFreqs,
        false => IndexRecordOption::Basic,
    }
}

/// Returns a schema of one field. Tantivy recognizes lists without counts by their length.
fn schema() -> Schema {
    let mut schema = Schema::builder();
    let counted = TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(false);
    schema.add_text_field("lists", TextOptions::default().set_indexing_options(counted));
    schema.build()
}

fn field() -> Field {
    Field::from_field_id(0)
}

fn settings() -> IndexSettings {
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}

/// Returns the segment's id. Every directory has only one segment, so all can have the same id.
fn segment_id() -> SegmentId {
    SegmentId::from_uuid_string("00000000000000000000000000000000").expect("invariant: 32 hexadecimal digits")
}

/// The directory of a segment whose postings are a file with lists.
#[derive(Debug, Clone)]
struct SegmentDirectory {
    /// The files that Tantivy writes: its metadata.
    memory: RamDirectory,
    postings: Arc<CheckedFile>,
}

impl Directory for SegmentDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match constants().iter().find(|file| Some(&*file.extension) == extension(path)) {
            Some(ConstantFile { bytes, is_postings: false, .. }) => Ok(Arc::new(bytes.clone())),
            Some(ConstantFile { bytes, is_postings: true, .. }) => {
                let (head, tail) = bytes.clone().split(POSTINGS_HEAD);
                Ok(Arc::new(PostingsFile { head, lists: Arc::clone(&self.postings), tail }))
            }
            None => self.memory.get_file_handle(path),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.memory.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.memory.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.memory.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.memory.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.memory.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> Result<WatchHandle, TantivyError> {
        Ok(WatchHandle::empty())
    }
}

/// The postings file of a segment: Tantivy's header and footer, with the file of lists in between.
#[derive(Debug)]
struct PostingsFile {
    head: OwnedBytes,
    lists: Arc<CheckedFile>,
    tail: OwnedBytes,
}

/// The number of bytes that Tantivy writes before the lists of a field: a number of tokens, which is not used here.
const POSTINGS_HEAD: usize = 8;

impl HasLen for PostingsFile {
    fn len(&self) -> usize {
        self.head.len() + HasLen::len(&*self.lists) + self.tail.len()
    }
}

impl FileHandle for PostingsFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let lists = self.head.len();
        let tail = lists + HasLen::len(&*self.lists);
        match range {
            Range { end, .. } if end <= lists => Ok(self.head.slice(range)),
            Range { start, end } if start >= lists && end <= tail => self.lists.read_bytes(start - lists..end - lists),
            Range { start, end } if start >= tail && end <= self.len() => Ok(self.tail.slice(start - tail..end - tail)),
            _ => Err(io::Error::other("a posting list is not within its file")),
        }
    }
}

/// A file that is the same in all segments.
struct ConstantFile {
    extension: String,
    bytes: OwnedBytes,
    is_postings: bool,
}

/// Returns the files of a segment without documents, made once. Returns none if Tantivy fails to write them: opening a
/// segment then reports missing files.
fn constants() -> &'static [ConstantFile] {
    static FILES: OnceLock<Vec<ConstantFile>> = OnceLock::new();
    FILES.get_or_init(|| make_constants().unwrap_or_default())
}

fn make_constants() -> Result<Vec<ConstantFile>, TantivyError> {
    let inverted = [SegmentComponent::Terms, SegmentComponent::Postings, SegmentComponent::Positions];
    let mut files = written(&inverted, |segment| {
        let mut files = InvertedIndexSerializer::open(segment)?;
        files.new_field(field(), 0, None)?.close()?;
        Ok(files.close()?)
    })?;
    let others = [SegmentComponent::FastFields, SegmentComponent::FieldNorms, SegmentComponent::Store];
    files.extend(written(&others, |segment| {
        tantivy::indexer::SegmentWriter::for_segment(MEMORY_BYTES, segment.clone())?.finalize()?;
        Ok(())
    })?);
    Ok(files)
}

/// Writes a new segment and returns some of its files.
fn written(
    components: &[SegmentComponent],
    write: impl FnOnce(&tantivy::Segment) -> Result<(), TantivyError>,
) -> Result<Vec<ConstantFile>, TantivyError> {
    let memory = RamDirectory::create();
    let segment = Index::create(memory.clone(), schema(), settings())?.new_segment();
    write(&segment)?;
    let read = |component: &SegmentComponent| {
        let path = segment.relative_path(component.clone());
        let file = memory.get_file_handle(&path)?;
        Ok(ConstantFile {
            extension: extension(&path).unwrap_or_default().to_owned(),
            bytes: OwnedBytes::new(file.read_bytes(0..file.len())?.as_slice().to_vec()),
            is_postings: matches!(component, SegmentComponent::Postings),
        })
    };
    components.iter().map(read).collect()
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// Memory budget for writing the empty segment.
const MEMORY_BYTES: usize = 1 << 20;
