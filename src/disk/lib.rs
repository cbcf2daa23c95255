//! Tools for every crate that writes files: failure points for tests, syncs that remember an earlier failure, files
//! that are synced while they are written, hashes of the bytes that are written and read, removals, and the free space
//! of a disk, locks. Must not know the contents of the files.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub mod failure;
mod hashing_stream;
mod paced_file;
pub mod sync;

pub use hashing_stream::HashingStream;
pub use paced_file::PacedFile;

/// The number of bytes of its disk that a server leaves free: the store rewrites pages and makes new segments of 2 MiB,
/// and checkpoints write new files.
pub const KEPT_FREE_BYTES: u64 = 32 << 20;

/// The time to wait for a lock. A killed process holds its locks until the operating system has cleaned it up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the space that this process may still use on the disk of a folder, in bytes. Takes some microseconds.
///
/// # Errors
/// Those of the system, for example if the folder does not exist.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Checks that so many more bytes leave [`KEPT_FREE_BYTES`] of the disk of a folder free.
///
/// # Errors
/// `ENOSPC` if they do not; the errors of [`free_bytes`].
pub fn require_room(folder: &Path, bytes: u64) -> io::Result<()> {
    match free_bytes(folder)? < KEPT_FREE_BYTES.saturating_add(bytes) {
        true => Err(rustix::io::Errno::NOSPC.into()),
        false => Ok(()),
    }
}

/// Locks a file until it is closed.
///
/// # Errors
/// [`TryLockError::WouldBlock`] after a second in which another process holds the lock; those of the system.
pub fn lock(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            locked => return locked,
        }
    }
}

/// Returns the result of the removal of a file or folder. It is no error if that does not exist.
///
/// # Errors
/// Those of the system.
pub fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
