//! The errors of the files of the analytics.

use std::io;

use bindery_log::LogError;

use super::codec::DecodeError;

/// An error of the log, of another file, or of the contents of a record.
#[derive(Debug, thiserror::Error)]
pub(super) enum StorageError {
    #[error("{0}")]
    Log(#[from] LogError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the disk is full: pageviews wait to be logged")]
    NoRoom,
    #[error("a record of the analytics log cannot be read: {0}")]
    Record(#[from] DecodeError),
}
