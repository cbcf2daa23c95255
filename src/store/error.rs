//! What can go wrong with the store.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {action} {}: {source}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// sled refused.
    #[error("the store cannot {action} a value: {source}")]
    Sled {
        /// What was tried.
        action: &'static str,
        /// What sled said.
        source: sled::Error,
    },
    /// sled panicked.
    #[error("the store broke down when asked to {action} a value: {what}")]
    Panicked {
        /// What was tried.
        action: &'static str,
        /// The message of the panic.
        what: String,
    },
    /// sled's files do not open, after what a crash can leave was cleared away.
    #[error("the store in {} does not open: {what}", folder.display())]
    DoesNotOpen {
        /// The store's folder.
        folder: PathBuf,
        /// What sled said.
        what: String,
    },
    /// The store is open already, here or in another process.
    #[error("the store in {} is in use", folder.display())]
    InUse {
        /// The store's folder.
        folder: PathBuf,
    },
    /// A value is not what was written.
    #[error("the stored value of {key} is damaged: {what}")]
    Damaged {
        /// Its key.
        key: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// Names the action and the file in an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let file = file.to_owned();
    move |source| StoreError::Io { action, file, source }
}

/// Names the action in an error of sled.
pub(super) fn sled_at(action: &'static str) -> impl FnOnce(sled::Error) -> StoreError {
    move |source| StoreError::Sled { action, source }
}
