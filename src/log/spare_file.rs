//! Prepares the next segment on a thread, so that a commit rarely waits for zeros to be written.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use bindery_disk::failure;

use super::error::LogError;
use super::folder;

/// The prepared file of zeros: at most one, in preparation or ready.
#[derive(Debug)]
pub(super) struct SpareFile {
    preparing: Option<(u64, JoinHandle<io::Result<File>>)>,
}

impl SpareFile {
    pub(super) fn none() -> SpareFile {
        SpareFile { preparing: None }
    }

    /// Starts to prepare a file of `bytes` bytes, unless one was already started.
    pub(super) fn prepare(&mut self, folder: &Path, bytes: u64) {
        if self.preparing.is_none() {
            let folder = folder.to_owned();
            let thread = std::thread::Builder::new().name("log-next".to_owned());
            // If the thread cannot be started, the segment is created when it is needed.
            if let Ok(handle) = thread.spawn(move || {
                failure::point("log::spare")?;
                folder::write_zeros(&folder, bytes)
            }) {
                self.preparing = Some((bytes, handle));
            }
        }
    }

    /// Returns a file of exactly `bytes` zeros: the prepared one if it has that size, otherwise a new one.
    pub(super) fn take(&mut self, folder: &Path, bytes: u64) -> Result<File, LogError> {
        if let Some((prepared, handle)) = self.preparing.take()
            && let Ok(Ok(file)) = handle.join()
            && prepared == bytes
        {
            return Ok(file);
        }
        folder::make_zeros(folder, bytes)
    }
}

impl Drop for SpareFile {
    /// Waits for the thread, so that it no longer writes to the folder when the folder is opened again.
    fn drop(&mut self) {
        if let Some((_, handle)) = self.preparing.take() {
            let _ = handle.join();
        }
    }
}
