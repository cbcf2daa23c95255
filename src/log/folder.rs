//! The log's folder: how segments are named and created, and the lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bindery_disk::{failure, sync, unless_missing};

use super::error::{LogError, at};
use super::segment::{self, HEADER_BYTES, SegmentFile};

const SUFFIX: &str = ".log";
/// The temporary name of a file that will become a segment.
const UNFINISHED: &str = "next.zeros";
/// The prefix of the names of the files for torn tails, which opening cut from the log.
const TORN: &str = "torn-";

/// Creates the folder if it is missing and locks it, by its file `LOCK`. The lock is held until the returned file is
/// closed.
///
/// # Errors
/// [`LogError::InUse`] after a second in which another process holds it, [`LogError::Io`].
pub fn lock_folder(folder: &Path) -> Result<File, LogError> {
    fs::create_dir_all(folder).map_err(at("create", folder))?;
    let path = folder.join("LOCK");
    let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(at("open", &path))?;
    match bindery_disk::lock(&lock) {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(at("lock", &path)(source)),
    }
}

/// Removes a segment that a crash left unfinished.
pub(super) fn remove_unfinished(folder: &Path) -> Result<(), LogError> {
    let path = folder.join(UNFINISHED);
    unless_missing(fs::remove_file(&path)).map_err(at("remove", &path))
}

/// Returns the segments, oldest first.
pub(super) fn list(folder: &Path) -> Result<Vec<SegmentFile>, LogError> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder).map_err(at("read", folder))? {
        let entry = entry.map_err(at("read", folder))?;
        let name = entry.file_name();
        let first = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).and_then(|first| first.parse().ok());
        if let Some(first) = first {
            let path = entry.path();
            let bytes = entry.metadata().map_err(at("read", &path))?.len();
            segments.push(SegmentFile { first, path, bytes });
        }
    }
    segments.sort_by_key(|segment| segment.first);
    Ok(segments)
}

/// Returns the path of the file for a torn tail that begins with this record.
pub(super) fn torn_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{TORN}{number:020}"))
}

/// Removes the files of all but the newest torn tails.
pub(super) fn remove_oldest_torn(folder: &Path, keep: usize) -> Result<(), LogError> {
    let mut torn = Vec::new();
    for entry in fs::read_dir(folder).map_err(at("read", folder))? {
        let path = entry.map_err(at("read", folder))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(TORN)) {
            torn.push(path);
        }
    }
    torn.sort();
    for path in &torn[..torn.len().saturating_sub(keep)] {
        fs::remove_file(path).map_err(at("remove", path))?;
    }
    Ok(())
}

/// Creates an empty segment of `bytes` bytes for the records from `first` on. Also returns its file and its epoch.
pub(super) fn create(
    folder: &Path,
    entries: &File,
    first: u64,
    bytes: u64,
) -> Result<(SegmentFile, File, u64), LogError> {
    let (epoch, file) = (new_epoch()?, make_zeros(folder, bytes)?);
    finish(folder, &file, first, epoch)?;
    Ok((name(folder, entries, first, bytes)?, file, epoch))
}

/// Writes and syncs the header of an unfinished file that will become the segment of the records from `first` on. After
/// an error, only that file has changed.
pub(super) fn finish(folder: &Path, zeros: &File, first: u64, epoch: u64) -> Result<(), LogError> {
    let header = segment::encode_header(epoch, first);
    let written = failure::write("log::segment_header", &header, |bytes| zeros.write_all_at(bytes, 0));
    let finished = written.and_then(|()| sync::all(zeros));
    finished.map_err(no_segment(folder, HEADER_BYTES))
}

/// Turns the finished file into a segment: renames it, and syncs the folder. After [`LogError::NoSpace`], nothing has
/// changed. After any other error, the segment may be there at the next start.
pub(super) fn name(folder: &Path, entries: &File, first: u64, bytes: u64) -> Result<SegmentFile, LogError> {
    let unfinished = folder.join(UNFINISHED);
    let path = folder.join(format!("{first:020}{SUFFIX}"));
    let renamed = failure::point("log::segment_name").and_then(|()| fs::rename(&unfinished, &path));
    renamed.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_segment(folder, bytes)(error),
        _ => at("rename", &unfinished)(error),
    })?;
    sync(entries, folder)?;
    Ok(SegmentFile { first, path, bytes })
}

/// Makes a file of zeros, see [`write_zeros`].
pub(super) fn make_zeros(folder: &Path, bytes: u64) -> Result<File, LogError> {
    write_zeros(folder, bytes).map_err(no_segment(folder, bytes))
}

fn no_segment(folder: &Path, bytes: u64) -> impl FnOnce(io::Error) -> LogError {
    let folder = folder.to_owned();
    move |source| LogError::NoSpace { folder, bytes, source }
}

/// Writes and syncs a file of zeros that will become the next segment.
pub(super) fn write_zeros(folder: &Path, bytes: u64) -> io::Result<File> {
    let path: PathBuf = folder.join(UNFINISHED);
    let written = failure::point("log::segment").and_then(|()| write_zeros_to(&path, bytes));
    if written.is_err() {
        // On a full disk, the incomplete file would hold the last free space.
        let _ = fs::remove_file(&path);
    }
    written
}

fn write_zeros_to(path: &Path, bytes: u64) -> io::Result<File> {
    let mut file = File::options().create(true).truncate(true).read(true).write(true).open(path)?;
    let block = vec![0u8; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(block.len() as u64) as usize;
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    sync::all(&file)?;
    Ok(file)
}

/// Makes created, renamed and removed files durable. `entries` is the folder, which is kept open because there may be
/// no free file descriptor later.
pub(super) fn sync(entries: &File, folder: &Path) -> Result<(), LogError> {
    failure::point("log::folder").and_then(|()| sync::all(entries)).map_err(at("sync", folder))
}

/// Returns a random number that no other file of the log has had. It is part of every checksum, so that old bytes of
/// another file are never read as records of this one.
pub(super) fn new_epoch() -> Result<u64, LogError> {
    getrandom::u64().map_err(|error| LogError::Io {
        action: "read",
        file: PathBuf::from("the system's random number generator"),
        source: io::Error::other(error.to_string()),
    })
}
