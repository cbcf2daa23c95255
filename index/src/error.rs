//! The one error of the crate. Users of a server never see it: it tells an operator what is wrong with which file.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong in an index: the file system, or files that are not what was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error("{path} is damaged: {what}", path = .path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// For `map_err` on operations on `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        |source| Error::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_owned(), what: what.into() }
    }
}
