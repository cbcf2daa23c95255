//! The tantivy directory of one run: the files that differ between runs are on disk, mapped and synced when they are
//! finished; the rest (tantivy's own bookkeeping, the files of features that runs do not use) is kept in memory.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, FileHandle, MmapDirectory, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::index::SegmentComponent;
use tantivy::{HasLen, Index, TantivyError};

/// File extensions of what differs between runs.
pub(super) const ON_DISK: [&str; 3] = ["term", "idx", "pos"];

/// Files that tantivy wants to see of every segment, and that are the same for all of ours.
const CONSTANT: [SegmentComponent; 3] =
    [SegmentComponent::FastFields, SegmentComponent::FieldNorms, SegmentComponent::Store];

#[derive(Debug, Clone)]
pub(super) struct Folder {
    disk: MmapDirectory,
    memory: RamDirectory,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, TantivyError> {
        Ok(Folder { disk: MmapDirectory::open(path)?, memory: RamDirectory::create() })
    }

    fn side(&self, path: &Path) -> &dyn Directory {
        if extension(path).is_some_and(|extension| ON_DISK.contains(&extension)) { &self.disk } else { &self.memory }
    }
}

impl Directory for Folder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if let Some(extension) = extension(path)
            && let Some((_, bytes)) = constants().iter().find(|(name, _)| name == extension)
        {
            return Ok(Arc::new(bytes.clone()));
        }
        self.side(path).get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.side(path).delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.side(path).exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.side(path).open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.side(path).atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.side(path).atomic_write(path, data)
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

/// The constant files by extension, made once by writing a segment without documents. Empty if tantivy cannot do that,
/// which then shows as files that are missing.
fn constants() -> &'static [(String, OwnedBytes)] {
    static FILES: OnceLock<Vec<(String, OwnedBytes)>> = OnceLock::new();
    FILES.get_or_init(|| make_constants().unwrap_or_default())
}

fn make_constants() -> Result<Vec<(String, OwnedBytes)>, TantivyError> {
    let memory = RamDirectory::create();
    let index = Index::create(memory.clone(), super::schema(), super::settings())?;
    let segment = index.new_segment();
    tantivy::indexer::SegmentWriter::for_segment(MEMORY_BYTES, segment.clone())?.finalize()?;
    let read = |component: SegmentComponent| {
        let path = segment.relative_path(component);
        let bytes = memory.get_file_handle(&path)?.read_bytes(0..memory.open_read(&path)?.len())?;
        Ok((extension(&path).unwrap_or_default().to_owned(), OwnedBytes::new(bytes.as_slice().to_vec())))
    };
    CONSTANT.into_iter().map(read).collect()
}

/// What the writer of an empty segment may use.
const MEMORY_BYTES: usize = 1 << 20;
