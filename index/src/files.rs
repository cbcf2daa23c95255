//! Helpers for folders and the bytes of files. It does not know the contents of the files.

use std::fs::{self, File};
use std::path::Path;

use bindery_disk::{sync, unless_missing};

use crate::error::Error;

/// Makes the entries of a folder durable: the files created, renamed or unlinked in it.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| sync::all(&folder)).map_err(Error::io(folder))
}

/// Creates an empty folder, and removes what an interrupted attempt left there.
pub(crate) fn create_empty_folder(folder: &Path) -> Result<(), Error> {
    unless_missing(fs::remove_dir_all(folder)).map_err(Error::io(folder))?;
    fs::create_dir_all(folder).map_err(Error::io(folder))
}

/// Takes the next `N` bytes off the beginning. `None` if there are fewer.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*bytes)
}
