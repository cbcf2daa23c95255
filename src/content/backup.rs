//! Backups: one file that holds everything, written while the server goes on; and an empty folder made from it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::base::{self, Header};
use crate::content::checkpoint::Pins;
use crate::content::{Content, ContentOptions, StartError, folder_error, lock_folder};
use crate::model::error::{Error, Result};

/// Where backups stand within the data folder while they are handed out.
const FOLDER: &str = "backups";

impl Content {
    /// Writes a backup to a file, which is there when it is whole. Blocks; writes and reads go on meanwhile.
    ///
    /// # Errors
    /// `INTERNAL` if store, log or file fail.
    pub fn backup(&self, file: &Path) -> Result<Header> {
        let shared = &self.shared;
        let _pin = Pins::pin(&shared.pins, shared.store.applied());
        base::write(&shared.store, &shared.log, file).map_err(Error::internal)
    }

    /// Writes a backup to a file that has no name any more: it is gone when it is closed.
    ///
    /// # Errors
    /// As [`Content::backup`].
    pub fn backup_to_send(&self) -> Result<(File, Header)> {
        let folder = self.shared.folder.join(FOLDER);
        fs::create_dir_all(&folder).map_err(Error::internal)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let path = folder.join(format!("{:016x}", u64::from_le_bytes(random)));
        let header = self.backup(&path)?;
        let opened = File::open(&path).map_err(Error::internal);
        fs::remove_file(&path).map_err(Error::internal)?;
        Ok((opened?, header))
    }
}

/// Removes what an earlier run did not finish handing out.
pub(crate) fn clear_unfinished(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder.join(FOLDER)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Checks a backup: every byte of it.
///
/// # Errors
/// [`StartError`] if it cannot be read or is not whole.
pub fn verify_backup(file: &Path) -> Result<Header, StartError> {
    base::verify(file).map_err(|error| folder_error(file, &error))
}

/// Makes an empty data folder hold what a backup holds. Nothing is changed if the folder holds anything, or the backup
/// is not whole.
///
/// # Errors
/// [`StartError`].
pub fn restore_backup(file: &Path, options: &ContentOptions) -> Result<Header, StartError> {
    let folder = &options.folder;
    let header = verify_backup(file)?;
    let _lock = lock_folder(folder)?;
    if let Some(found) = what_is_in(folder).map_err(|error| folder_error(folder, &error))? {
        let text = format!("it is not empty ({} is there); a backup is restored into a new folder", found.display());
        return Err(folder_error(folder, &text));
    }
    base::place(file, folder, header.number).map_err(|error| folder_error(folder, &error))?;
    let recovered = base::recover(folder, &options.recover_options());
    let (_, _, recovered) = recovered.map_err(|error| folder_error(folder, &error))?;
    if recovered.number != header.number {
        let text = format!("it stands at {} after the restore, not at {}", recovered.number, header.number);
        return Err(folder_error(folder, &text));
    }
    Ok(header)
}

/// Throws the index away and makes it again from the store. Returns when it is on disk.
///
/// # Errors
/// [`StartError`].
pub fn reindex(options: &ContentOptions) -> Result<Content, StartError> {
    let folder = &options.folder;
    if !folder.is_dir() {
        return Err(folder_error(folder, &"it is not there"));
    }
    let lock = lock_folder(folder)?;
    match fs::remove_dir_all(folder.join(super::INDEX)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(folder_error(folder, &error)),
        _ => drop(lock),
    }
    Content::open(options)
}

/// Something within a data folder, if there is anything but its lock.
fn what_is_in(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != super::LOCK {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}
