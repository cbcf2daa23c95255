//! Errors of bases and of recovery.

use std::io;
use std::path::{Path, PathBuf};

use bindery_log::LogError;
use bindery_store::{StoreError, WritesError};

/// An error while writing or reading a base, or during recovery.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
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
    /// A file is not a base, or its contents are not those that were written.
    #[error("the base {} is damaged: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The problem.
        what: String,
    },
    /// A base has a format that this version cannot read.
    #[error("{} is a base of format {version}, which this version of the server cannot read", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// The format of the base.
        version: u32,
    },
    /// A base was given up before it was complete.
    #[error("the base is not wanted any more")]
    NotWanted,
    /// A log record does not hold valid writes.
    #[error("log record {number} cannot be applied: {source}")]
    Record {
        /// The number of the record.
        number: u64,
        /// The problem with the record.
        source: WritesError,
    },
    /// The store must be rebuilt, but the necessary records are in neither the log nor an intact base.
    #[error(
        "the store must be rebuilt ({why}), but the log begins at record {first} and no intact base reaches that far"
    )]
    NothingToBuildFrom {
        /// The reason why the store cannot be used.
        why: String,
        /// The number of the oldest record in the log.
        first: u64,
    },
    /// A restore into the folder ended before it was complete.
    #[error("a restore into this folder was interrupted; remove the folder and restore the backup again")]
    NotRestored,
    /// An error of the log.
    #[error("{}{}", .0, what_to_do(.0))]
    Log(#[from] LogError),
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the end of the message about a damaged log, which says what to do.
fn what_to_do(error: &LogError) -> &'static str {
    match error {
        LogError::Corrupt { .. } | LogError::Missing { .. } => {
            "; nothing was changed. Restore a backup, or save what is whole with `bindery salvage` (see docs/operations.md)"
        }
        _ => "",
    }
}

/// Adds the operation and the file to an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> BaseError {
    let file = file.to_owned();
    move |source| BaseError::Io { action, file, source }
}
