//! The Tantivy directory of one run. Files that differ between runs are on disk: memory-mapped, and synced once
//! written. The others (Tantivy's metadata and the files of features that runs do not use) stay in memory.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, FileHandle, MmapDirectory, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::index::SegmentComponent;
use tantivy::{HasLen, Index, TantivyError};

use super::layout::{schema, settings};

/// Extensions of the files that differ between runs.
pub(super) const ON_DISK: [&str; 3] = ["term", "idx", "pos"];

/// Files that Tantivy requires of every segment and that are the same in all of ours.
const CONSTANT: [SegmentComponent; 3] =
    [SegmentComponent::FastFields, SegmentComponent::FieldNorms, SegmentComponent::Store];

#[derive(Debug, Clone)]
pub(super) struct RunDirectory {
    disk: MmapDirectory,
    memory: RamDirectory,
}

impl RunDirectory {
    pub(super) fn open(path: &Path) -> Result<RunDirectory, TantivyError> {
        Ok(RunDirectory { disk: MmapDirectory::open(path)?, memory: RamDirectory::create() })
    }

    fn directory_of(&self, path: &Path) -> &dyn Directory {
        if extension(path).is_some_and(|extension| ON_DISK.contains(&extension)) { &self.disk } else { &self.memory }
    }
}

impl Directory for RunDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if let Some(extension) = extension(path)
            && let Some((_, bytes)) = constants().iter().find(|(name, _)| name == extension)
        {
            return Ok(Arc::new(bytes.clone()));
        }
        self.directory_of(path).get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.directory_of(path).delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.directory_of(path).exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.directory_of(path).open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.directory_of(path).atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.directory_of(path).atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> Result<WatchHandle, TantivyError> {
        Ok(WatchHandle::empty())
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// The constant files by extension, made once by writing a segment without documents. Empty if Tantivy fails to write
/// it: opening a segment then reports missing files.
fn constants() -> &'static [(String, OwnedBytes)] {
    static FILES: OnceLock<Vec<(String, OwnedBytes)>> = OnceLock::new();
    FILES.get_or_init(|| make_constants().unwrap_or_default())
}

fn make_constants() -> Result<Vec<(String, OwnedBytes)>, TantivyError> {
    let memory = RamDirectory::create();
    let index = Index::create(memory.clone(), schema(), settings())?;
    let segment = index.new_segment();
    tantivy::indexer::SegmentWriter::for_segment(MEMORY_BYTES, segment.clone())?.finalize()?;
    let read = |component: SegmentComponent| {
        let path = segment.relative_path(component);
        let bytes = memory.get_file_handle(&path)?.read_bytes(0..memory.open_read(&path)?.len())?;
        Ok((extension(&path).unwrap_or_default().to_owned(), OwnedBytes::new(bytes.as_slice().to_vec())))
    };
    CONSTANT.into_iter().map(read).collect()
}

/// Memory budget for writing the empty segment.
const MEMORY_BYTES: usize = 1 << 20;
