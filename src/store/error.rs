//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", file.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// sled returned an error.
    #[error("a store operation ({action}) failed: {source}")]
    Sled {
        /// The operation that failed.
        action: &'static str,
        /// sled's error.
        source: sled::Error,
    },
    /// sled panicked.
    #[error("a store operation ({action}) panicked: {what}")]
    Panicked {
        /// The operation that panicked.
        action: &'static str,
        /// The message of the panic.
        what: String,
    },
    /// sled cannot open its files, even after the leftovers of a crash were removed.
    #[error("the store in {} cannot be opened: {what}", folder.display())]
    DoesNotOpen {
        /// The store's folder.
        folder: PathBuf,
        /// sled's error, or the message of its panic.
        what: String,
    },
    /// The system did not let sled open its files, which may be intact.
    #[error("the store in {} cannot be opened, and was left as it is: {source}", folder.display())]
    Unavailable {
        /// The store's folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk has less free space than the store may need. Nothing was written.
    #[error("the disk of {} is nearly full: {needed} bytes must stay free for the store", folder.display())]
    NoRoom {
        /// The store's folder.
        folder: PathBuf,
        /// The number of bytes that must be free.
        needed: u64,
    },
    /// A file or a value is of another format.
    #[error("{what} has format {version}, which this version of the server cannot read")]
    Version {
        /// The file, or the key of the value.
        what: String,
        /// The format of the file or value.
        version: u8,
    },
    /// The store is already open, in this process or another one.
    #[error("the store in {} is in use", folder.display())]
    InUse {
        /// The store's folder.
        folder: PathBuf,
    },
    /// A stored value does not have the contents that were written.
    #[error("the stored value of {key} is damaged: {what}")]
    Damaged {
        /// The key of the value.
        key: String,
        /// The problem.
        what: &'static str,
    },
}

impl StoreError {
    /// Returns whether no later write of the store can reach the disk after this error of a checkpoint. That is the
    /// case if a sync failed, because a later successful sync proves nothing, or if sled failed, because it refuses
    /// everything after its first error.
    pub fn ends_writing(&self) -> bool {
        matches!(self, StoreError::Io { action: "sync", .. } | StoreError::Sled { .. } | StoreError::Panicked { .. })
    }
}

/// Adds the operation and the file to an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let file = file.to_owned();
    move |source| StoreError::Io { action, file, source }
}

/// Adds the operation to an error of sled.
pub(super) fn sled_at(action: &'static str) -> impl FnOnce(sled::Error) -> StoreError {
    move |source| StoreError::Sled { action, source }
}
