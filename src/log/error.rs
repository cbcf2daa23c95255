//! Errors of the log.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
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
    /// The next segment cannot be made: no room, no file descriptor. No record was written.
    #[error("no room for {bytes} more bytes of log in {}: {source}", folder.display())]
    NoSpace {
        /// The log's folder.
        folder: PathBuf,
        /// The size of the segment.
        bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A file does not have the contents that were written to it.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Corrupt {
        /// The segment.
        file: PathBuf,
        /// The position of the bad record in it.
        offset: u64,
        /// The problem.
        what: String,
    },
    /// A segment of another format.
    #[error("{} has format {version} of the log, which this version of the server cannot read", file.display())]
    Version {
        /// The segment.
        file: PathBuf,
        /// The format of the segment.
        version: u8,
    },
    /// The folder has no segment, although records were synced.
    #[error("the log in {} is missing, but its record {synced} was synced", folder.display())]
    Missing {
        /// The log's folder.
        folder: PathBuf,
        /// The number of a record that is known to be durable.
        synced: u64,
    },
    /// The requested record was removed.
    #[error("record {number} is no longer in the log, which begins at record {first}")]
    NotKept {
        /// The number of the record.
        number: u64,
        /// The number of the oldest record in the log.
        first: u64,
    },
    /// An earlier write or sync failed.
    #[error("the log accepts no more records because a write to disk failed; restart the server")]
    Stopped,
    /// The log that several servers share cannot be continued by this one.
    #[error("{0}")]
    Shared(String),
    /// A payload of 4 GiB or more, or a group that is too large for a shared log.
    #[error("{bytes} bytes are too large for the log")]
    TooLarge {
        /// The payload's length.
        bytes: usize,
    },
    /// Another process has opened the log.
    #[error("{} is in use by another process", folder.display())]
    InUse {
        /// The log's folder.
        folder: PathBuf,
    },
}

/// Adds the operation and the file to an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> LogError {
    let file = file.to_owned();
    move |source| LogError::Io { action, file, source }
}
