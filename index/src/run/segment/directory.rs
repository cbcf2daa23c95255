//! The Tantivy directories of one run: one to write it and one to read it. Files that differ between runs are on disk,
//! with checksums. The others (Tantivy's metadata and the files of features that runs do not use) stay in memory.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, FileHandle, OwnedBytes, RamDirectory, TerminatingWrite, WatchCallback, WatchHandle,
    WritePtr,
};
use tantivy::index::SegmentComponent;
use tantivy::{HasLen, Index, TantivyError};

use super::layout::{schema, settings};
use crate::run::checked::CheckedFile;
use crate::run::sums::{FileSums, SummedFile};

/// Extensions of the files that differ between runs.
const ON_DISK: [&str; 3] = ["term", "idx", "pos"];

/// Files that Tantivy requires of every segment and that are the same in all of ours.
const CONSTANT: [SegmentComponent; 3] =
    [SegmentComponent::FastFields, SegmentComponent::FieldNorms, SegmentComponent::Store];

#[derive(Debug, Clone)]
pub(super) struct RunDirectory {
    memory: RamDirectory,
    disk: Disk,
}

#[derive(Debug, Clone)]
enum Disk {
    /// The folder, and the checksums of the files that are complete.
    Write(PathBuf, Arc<Mutex<Vec<FileSums>>>),
    Read(Arc<[Arc<CheckedFile>]>),
}

/// A file that Tantivy writes.
struct WrittenFile {
    file: SummedFile,
    written: Arc<Mutex<Vec<FileSums>>>,
}

impl RunDirectory {
    /// To write a segment into `folder`.
    pub(super) fn write(folder: &Path) -> RunDirectory {
        RunDirectory { memory: RamDirectory::create(), disk: Disk::Write(folder.to_owned(), Arc::default()) }
    }

    /// To read the segment in these files of a run.
    pub(super) fn read(files: &[Arc<CheckedFile>]) -> RunDirectory {
        RunDirectory { memory: RamDirectory::create(), disk: Disk::Read(files.into()) }
    }

    /// The checksums of the files that were written.
    pub(super) fn sums(&self) -> Vec<FileSums> {
        match &self.disk {
            Disk::Write(_, written) => written.lock().clone(),
            Disk::Read(_) => Vec::new(),
        }
    }
}

impl Directory for RunDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if let Some(extension) = extension(path)
            && let Some((_, bytes)) = constants().iter().find(|(name, _)| name == extension)
        {
            return Ok(Arc::new(bytes.clone()));
        }
        match &self.disk {
            Disk::Read(files) if is_on_disk(path) => {
                let file = files.iter().find(|file| Path::new(file.name()) == path);
                let file = file.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))?;
                Ok(Arc::clone(file) as Arc<dyn FileHandle>)
            }
            _ => self.memory.get_file_handle(path),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.memory.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        match &self.disk {
            Disk::Read(files) if is_on_disk(path) => Ok(files.iter().any(|file| Path::new(file.name()) == path)),
            Disk::Write(folder, _) if is_on_disk(path) => Ok(folder.join(path).exists()),
            _ => self.memory.exists(path),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let Disk::Write(folder, written) = &self.disk else { return self.memory.open_write(path) };
        if !is_on_disk(path) {
            return self.memory.open_write(path);
        }
        let name = path.to_string_lossy();
        let file = SummedFile::create(folder, &name, "run::terms")
            .map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        Ok(BufWriter::new(Box::new(WrittenFile { file, written: Arc::clone(written) })))
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

impl Write for WrittenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for WrittenFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        let sums = self.file.finish()?;
        self.written.lock().push(sums);
        Ok(())
    }
}

fn is_on_disk(path: &Path) -> bool {
    extension(path).is_some_and(|extension| ON_DISK.contains(&extension))
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
