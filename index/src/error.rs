//! What can go wrong in an index: files that cannot be read or written, or do not hold what they should.

use std::path::{Path, PathBuf};

/// A fault of the files an index lies in. Queries on memory alone never fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {what}", path.display())]
    Corrupt {
        /// The file or folder.
        path: PathBuf,
        /// What was found, in one sentence.
        what: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Error {
        Error::Corrupt { path: path.to_owned(), what: what.into() }
    }
}
