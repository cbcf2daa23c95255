//! What can go wrong with the log.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
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
    /// There is no room for the next segment. Nothing was written.
    #[error("no room for {bytes} more bytes of log in {}: {source}", folder.display())]
    NoSpace {
        /// The log's folder.
        folder: PathBuf,
        /// The size of the segment that was to be made.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something else than what was written to it.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Corrupt {
        /// The segment.
        file: PathBuf,
        /// Where in it the bad record begins.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The folder has no segment, but there must have been one.
    #[error("there is no log in {}, but number {synced} had been synced", folder.display())]
    Missing {
        /// The log's folder.
        folder: PathBuf,
        /// The number that is known to have been durable.
        synced: u64,
    },
    /// A record was asked for that is no longer kept.
    #[error("record {number} is not kept any more: the log begins at {first}")]
    NotKept {
        /// The record.
        number: u64,
        /// The oldest one that is kept.
        first: u64,
    },
    /// An earlier write or sync failed.
    #[error("the log takes no more records since a write to disk failed; restart the server")]
    Stopped,
    /// A payload of 4 GiB or more.
    #[error("a log record of {bytes} bytes is too large")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Another process holds the folder.
    #[error("{} is in use by another process", folder.display())]
    InUse {
        /// The log's folder.
        folder: PathBuf,
    },
}

/// Names the action and the file in an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> LogError {
    let file = file.to_owned();
    move |source| LogError::Io { action, file, source }
}
