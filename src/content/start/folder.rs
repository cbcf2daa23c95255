//! Opening, restoring and reindexing data folders.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::base::{self, Header};
use crate::content::start::error::StartError;

/// Names within the data folder.
const INDEX: &str = "index";
const LOCK: &str = "LOCK";

/// Where the index is within a data folder.
pub(crate) fn index_of(folder: &Path) -> PathBuf {
    folder.join(INDEX)
}

/// Makes the folder and keeps other servers out of it while the file is held.
///
/// # Errors
/// [`StartError`] if another server has the folder open, or it cannot be made.
pub(crate) fn lock(folder: &Path) -> Result<File, StartError> {
    fs::create_dir_all(folder).map_err(|error| StartError::folder(folder, &error))?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(LOCK))
        .map_err(|error| StartError::folder(folder, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(StartError::InUse(folder.display().to_string())),
        Err(fs::TryLockError::Error(error)) => Err(StartError::folder(folder, &error)),
    }
}

/// Checks every byte of a backup.
///
/// # Errors
/// [`StartError`] if it cannot be read or is incomplete.
pub fn verify_backup(file: &Path) -> Result<Header, StartError> {
    base::verify(file).map_err(|error| StartError::folder(file, &error))
}

/// What a backup begins with that holds content of this many bytes, and more behind it.
pub fn backup_envelope(content_bytes: u64) -> Vec<u8> {
    base::envelope(content_bytes)
}

/// Where the part of a backup begins that is not content; `None` if it holds only content.
///
/// # Errors
/// [`StartError`] if it cannot be read.
pub fn rest_of_backup(file: &Path) -> Result<Option<u64>, StartError> {
    base::rest_of(file).map_err(|error| StartError::folder(file, &error))
}

/// Fills an empty data folder with what a backup holds. Changes nothing if the folder holds anything, or the backup is
/// incomplete.
///
/// # Errors
/// [`StartError`].
pub(crate) fn restore_backup(file: &Path, folder: &Path, options: &base::RecoverOptions) -> Result<Header, StartError> {
    let header = verify_backup(file)?;
    let _lock = lock(folder)?;
    if let Some(found) = first_entry(folder).map_err(|error| StartError::folder(folder, &error))? {
        let text = format!("it is not empty (it holds {}); a backup is restored into a new folder", found.display());
        return Err(StartError::folder(folder, &text));
    }
    base::place(file, folder, header.number).map_err(|error| StartError::folder(folder, &error))?;
    let recovered = base::recover(folder, options);
    let (_, _, recovered) = recovered.map_err(|error| StartError::folder(folder, &error))?;
    if recovered.number != header.number {
        let text = format!("it is at number {} after the restore, not at {}", recovered.number, header.number);
        return Err(StartError::folder(folder, &text));
    }
    Ok(header)
}

/// Removes the index of a data folder, so that the next start rebuilds it from the store.
///
/// # Errors
/// [`StartError`].
pub(crate) fn remove_index(folder: &Path) -> Result<(), StartError> {
    if !folder.is_dir() {
        return Err(StartError::folder(folder, &"it does not exist"));
    }
    let _lock = lock(folder)?;
    match fs::remove_dir_all(index_of(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StartError::folder(folder, &error)),
        _ => Ok(()),
    }
}

/// Something within a data folder, apart from its lock.
fn first_entry(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != LOCK {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}
