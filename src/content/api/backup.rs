//! Backups: one file that holds everything, written while the server goes on.

use std::fs::{self, File};
use std::path::Path;

use crate::base::{self, Header};
use crate::content::handle::Content;
use crate::content::maintain::checkpoint::Pins;
use crate::model::error::{Error, Result};

/// Where backups are kept within the data folder while they are sent.
const FOLDER: &str = "backups";

impl Content {
    /// Writes a backup to a file, which appears when it is complete. Blocks; writes and reads go on meanwhile.
    ///
    /// # Errors
    /// `INTERNAL` if store, log or file fail.
    pub fn backup(&self, file: &Path) -> Result<Header> {
        let shared = &self.shared;
        let _pin = Pins::pin(&shared.pins, shared.store.applied());
        base::write(&shared.store, &*shared.log, file).map_err(Error::internal)
    }

    /// Writes a backup to a file without a name: it is gone when it is closed.
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

/// Removes backups that an earlier run did not finish sending.
pub(crate) fn clear_unfinished(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder.join(FOLDER)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
