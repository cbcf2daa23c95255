//! Tools for every crate that writes files: failure points for tests, syncs that remember an earlier failure, files
//! that are synced while they are written, hashes of the bytes that are written and read, and the free space of a disk. Must not know
//! the contents of the files.

use std::io;
use std::path::Path;

pub mod failure;
mod hashing_stream;
mod paced_file;
pub mod sync;

pub use hashing_stream::HashingStream;
pub use paced_file::PacedFile;

/// Returns the space that this process may still use on the disk of a folder, in bytes. Takes some microseconds.
///
/// # Errors
/// Those of the system, for example if the folder does not exist.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
