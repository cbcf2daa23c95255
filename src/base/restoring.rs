//! The mark of a data folder that is being restored: the file `RESTORING`, from before the base is placed until the
//! content begins its own epoch. Without it, a server started on a half restored folder would be an empty one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::error::{BaseError, at};
use super::files::{list, sync_folder_of};

/// The file.
pub const RESTORING: &str = "RESTORING";

/// Marks a folder.
pub fn begin(data_folder: &Path) -> Result<(), BaseError> {
    let mark = data_folder.join(RESTORING);
    File::create(&mark).and_then(|file| file.sync_all()).map_err(at("create", &mark))?;
    sync_folder_of(&mark)
}

/// Whether the folder is marked: it has its base, and all else can be made from that.
pub fn is_restoring(data_folder: &Path) -> bool {
    data_folder.join(RESTORING).exists()
}

/// Removes the mark.
pub fn end(data_folder: &Path) -> Result<(), BaseError> {
    let mark = data_folder.join(RESTORING);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at("remove", &mark)(error)),
        _ => {}
    }
    sync_folder_of(&mark)
}

/// # Errors
/// [`BaseError::NotRestored`] if a restore ended before its base was in place.
pub(super) fn check(data_folder: &Path) -> Result<(), BaseError> {
    match is_restoring(data_folder) && list(data_folder)?.is_empty() {
        true => Err(BaseError::NotRestored),
        false => Ok(()),
    }
}
