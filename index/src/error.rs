//! The errors of an index: its files cannot be read or written, or are corrupt.

use std::path::{Path, PathBuf};

/// An error in the files of an index. An index that is only in memory never fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file or folder is corrupt.
    #[error("{}: {what}", path.display())]
    Corrupt {
        /// The file or folder.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },
    /// Long texts are counted that take too much memory.
    #[error("the different long texts have more than {limit} bytes")]
    TooMuchText {
        /// The most bytes.
        limit: usize,
    },
    /// An [`Interrupt`](crate::Interrupt) ended the search.
    #[error("the search was stopped before its end")]
    Interrupted,
}

impl Error {
    /// Makes the error of a failed operation on a file, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Error {
        Error::Corrupt { path: path.to_owned(), what: what.into() }
    }
}
