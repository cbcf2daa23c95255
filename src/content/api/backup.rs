//! Backups: one file that holds everything, written while the server goes on.

use std::fs::{self, File};
use std::path::Path;

use bindery_base::{BaseError, Header};
use bindery_disk::{KEPT_FREE_BYTES, require_room, unless_missing};
use bindery_model::error::{Code, Error, Result};

use crate::handle::Content;
use crate::maintain::checkpoint::Pins;

/// The folder, within the data folder, of backups that are being sent.
const FOLDER: &str = "backups";

impl Content {
    /// Writes a backup to a file, which appears when it is complete. Blocks; writes and reads go on meanwhile.
    ///
    /// # Errors
    /// `OVERLOADED` if the disk of the file is full, `INTERNAL` if store, log or file fail.
    pub fn backup(&self, file: &Path) -> Result<Header> {
        self.backup_while(file, &|| true)
    }

    fn backup_while(&self, file: &Path, is_wanted: &dyn Fn() -> bool) -> Result<Header> {
        let shared = &self.shared;
        let _pin = Pins::pin(&shared.pins, shared.store.applied());
        bindery_base::write_while(&shared.store, &*shared.log, file, is_wanted).map_err(|error| match error {
            BaseError::NotWanted => Error::new(Code::Overloaded, "the client left before its backup was ready"),
            error => Error::writing(file, &error),
        })
    }

    /// Writes a backup to a file without a name: it is gone when it is closed. `is_wanted` is asked often; once it is
    /// false, the backup is given up.
    ///
    /// # Errors
    /// The errors of [`Content::backup`]; `OVERLOADED` if the backup is given up.
    pub fn backup_to_send(&self, is_wanted: &dyn Fn() -> bool) -> Result<(File, Header)> {
        let mut head = None;
        let file = self.unnamed_file(|path| {
            head = Some(self.backup_while(path, is_wanted)?);
            Ok(())
        })?;
        Ok((file, head.ok_or_else(|| Error::internal("the backup was not written"))?))
    }

    /// Makes a file in the data folder without a name. `write` writes it at a temporary path.
    ///
    /// # Errors
    /// The errors of `write`; `OVERLOADED` if the disk is full, `INTERNAL` if the file cannot be opened.
    pub fn unnamed_file(&self, write: impl FnOnce(&Path) -> Result<()>) -> Result<File> {
        let folder = self.shared.folder.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|error| Error::writing(&folder, &error))?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let path = folder.join(format!("{:016x}", u64::from_le_bytes(random)));
        // A file of many gigabytes would take what writes need.
        require_room(&folder, KEPT_FREE_BYTES).map_err(|error| Error::writing(&folder, &error))?;
        let opened = write(&path).and_then(|()| File::open(&path).map_err(Error::internal));
        // This also removes what a write to a full disk left unfinished, which would keep the disk full.
        unless_missing(fs::remove_file(&path)).map_err(Error::internal)?;
        opened
    }
}

/// Removes backups that an earlier run did not finish sending.
pub(crate) fn clear_unfinished(folder: &Path) -> std::io::Result<()> {
    unless_missing(fs::remove_dir_all(folder.join(FOLDER)))
}
