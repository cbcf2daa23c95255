//! What can go wrong with bases, and with bringing the server's state up.

use std::io;
use std::path::{Path, PathBuf};

use crate::log::LogError;
use crate::store::{StoreError, WritesError};

/// A failure to write or read a base, or to recover.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
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
    /// Not a base, or not what was written.
    #[error("{} is not a whole base: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Written by a newer server.
    #[error("{} is a base of format {version}, which this version of the server does not know", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Its format.
        version: u32,
    },
    /// A record of the log does not hold writes.
    #[error("record {number} of the log cannot be applied: {source}")]
    Record {
        /// The record.
        number: u64,
        /// What is wrong with it.
        source: WritesError,
    },
    /// The store is to be made again, and what it is to be made of is not there.
    #[error(
        "the store must be built again ({why}), but the log begins at {first} and there is no whole base that reaches it"
    )]
    NothingToBuildFrom {
        /// Why the store cannot be used.
        why: String,
        /// The oldest record of the log.
        first: u64,
    },
    /// The store cannot be trusted by itself.
    #[error("there is nothing to go on from without the log: the store is incomplete or damaged {why}")]
    NothingToSalvage {
        /// Why the store was condemned, if it was.
        why: String,
    },
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Names the action and the file in an error of the system.
pub(super) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> BaseError {
    let file = file.to_owned();
    move |source| BaseError::Io { action, file, source }
}
