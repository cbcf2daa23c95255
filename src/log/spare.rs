//! The next segment, written ahead by a thread, so that a commit seldom waits for zeros.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use super::error::LogError;
use super::folder;

/// At most one file that is being prepared or is ready.
#[derive(Debug)]
pub(super) struct Spare {
    preparing: Option<(u64, JoinHandle<io::Result<File>>)>,
}

impl Spare {
    pub(super) fn none() -> Spare {
        Spare { preparing: None }
    }

    /// Begins to prepare a file of `bytes` bytes, unless one is prepared already.
    pub(super) fn prepare(&mut self, folder: &Path, bytes: u64) {
        if self.preparing.is_none() {
            let folder = folder.to_owned();
            let thread = std::thread::Builder::new().name("log-next".to_owned());
            // Without the thread the segment is made when it is needed.
            if let Ok(handle) = thread.spawn(move || folder::write_zeros(&folder, bytes)) {
                self.preparing = Some((bytes, handle));
            }
        }
    }

    /// A file of exactly `bytes` bytes of zeros: the prepared one if it fits.
    pub(super) fn take(&mut self, folder: &Path, bytes: u64) -> Result<File, LogError> {
        if let Some((prepared, handle)) = self.preparing.take()
            && let Ok(Ok(file)) = handle.join()
            && prepared == bytes
        {
            return Ok(file);
        }
        folder::write_zeros(folder, bytes).map_err(|source| LogError::NoSpace {
            folder: folder.to_owned(),
            bytes,
            source,
        })
    }
}

impl Drop for Spare {
    /// Waits: whoever opens the folder next must not meet a thread that still writes to it.
    fn drop(&mut self) {
        if let Some((_, handle)) = self.preparing.take() {
            let _ = handle.join();
        }
    }
}
