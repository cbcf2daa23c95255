//! The free space on the disk for the next writes. If sled has no space for a write, it cannot undo the write, and
//! fails for good. So a write is refused before it is in the log if there is less space than the store needs.

use std::path::Path;

pub use bindery_disk::KEPT_FREE_BYTES;

use super::error::{StoreError, at};
use super::tree::Store;

/// The number of bytes that sled may write for each byte of a group.
const WRITTEN_PER_BYTE: u64 = 4;

/// Checks that the disk of a folder has space for the store's copy of so many bytes of the log. Takes some
/// microseconds.
///
/// # Errors
/// [`StoreError::NoRoom`]. Nothing was written; the same group may succeed later.
pub fn check_room(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    let needed = KEPT_FREE_BYTES + bytes.saturating_mul(WRITTEN_PER_BYTE);
    match free_bytes(folder)? {
        free if free < needed => Err(StoreError::NoRoom { folder: folder.to_owned(), needed }),
        _ => Ok(()),
    }
}

fn free_bytes(folder: &Path) -> Result<u64, StoreError> {
    bindery_disk::free_bytes(folder).map_err(at("measure the free space of", folder))
}

impl Store {
    /// Checks that the disk has space for a group of this many bytes.
    ///
    /// # Errors
    /// See [`check_room`].
    pub fn check_room(&self, bytes: u64) -> Result<(), StoreError> {
        check_room(self.folder(), bytes)
    }

    /// Returns the free space of the store's disk that this process may use, in bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn free_bytes(&self) -> Result<u64, StoreError> {
        free_bytes(self.folder())
    }
}
