//! Why a data folder cannot be used.

use std::path::Path;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used.
    #[error("the data folder {folder} cannot be used: {cause}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        cause: String,
    },
    /// Another server has the folder open.
    #[error("the data folder {0} is in use by another bindery process; talk to that one with `--url`")]
    InUse(String),
    /// What is stored cannot be read.
    #[error("the stored content cannot be read: {0}")]
    Content(String),
}

impl StartError {
    pub(crate) fn folder(folder: &Path, cause: &dyn std::fmt::Display) -> StartError {
        StartError::Folder { folder: folder.display().to_string(), cause: cause.to_string() }
    }

    pub(crate) fn content(cause: impl std::fmt::Display) -> StartError {
        StartError::Content(cause.to_string())
    }
}
