//! The interface of a log for the committer and for followers. The log may be a folder of files or a service on another
//! machine.
//!
//! Must not know how records are stored.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::error::LogError;

/// Records in order: number and payload. Ends after the first error.
pub type Records = Box<dyn Iterator<Item = Result<(u64, Vec<u8>), LogError>> + Send>;

/// A log that accepts records. Several processes may append to one log: each commit names the record that it expects
/// to be the last one, and fails if that is not the case.
pub trait CommitLog: Send {
    /// Appends records with the numbers `expected_last + 1` and on, in order, and makes them durable. Returns the
    /// number of the last one.
    ///
    /// # Errors
    /// See [`AppendError`]: each variant states what happened to the records.
    fn commit(&mut self, expected_last: u64, records: &[Vec<u8>]) -> Result<u64, AppendError>;

    /// Returns the number of the newest record. One less than [`CommitLog::first`] if the log is empty.
    fn last(&self) -> u64;

    /// Returns the number of the oldest record in the log.
    fn first(&self) -> u64;

    /// Returns the approximate size of the records after `number`, in bytes.
    fn bytes_since(&self, number: u64) -> u64;

    /// Removes the files that hold only records below `number`. Returns the number of bytes that became free.
    ///
    /// # Errors
    /// [`LogError::Io`].
    fn remove_before(&mut self, number: u64) -> Result<u64, LogError>;

    /// Returns a reader for other threads.
    fn follow(&self) -> Arc<dyn FollowLog>;
}

/// A log that can be read, even while records are appended to it.
pub trait FollowLog: Debug + Send + Sync {
    /// Returns the number of the oldest record, or of the next one if the log is empty. `None` if the log has no files.
    ///
    /// # Errors
    /// [`LogError::Io`].
    fn first(&self) -> Result<Option<u64>, LogError>;

    /// Returns the number of the newest durable record.
    fn last(&self) -> u64;

    /// Reads the records `from..=through`, in order. All of them must have been appended; a missing one is an error.
    ///
    /// # Errors
    /// [`LogError::NotKept`] if `from` is older than the oldest record.
    fn read(&self, from: u64, through: u64) -> Result<Records, LogError>;

    /// Blocks until there is a durable record after `number` or the timeout expires. Returns the number of the newest
    /// durable record.
    fn wait(&self, number: u64, timeout: Duration) -> u64;
}

/// The reason why records were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another process appended first, and this call appended nothing. Read the new records, then decide again.
    #[error("the last record of the log is {last}, not the expected one")]
    Conflict {
        /// The number of the newest record.
        last: u64,
    },
    /// The records may or may not be in the log. It is safe to append the same records again with the same expectation:
    /// they are appended at most once.
    #[error("it is not known whether the records were appended: {0}")]
    Unknown(String),
    /// Nothing was appended, and a later append may succeed.
    #[error(transparent)]
    Refused(LogError),
    /// The log accepts no more records, and appended none of these.
    #[error(transparent)]
    Closed(LogError),
    /// The log accepts no more records. The next start shows whether these were appended.
    #[error(transparent)]
    Stopped(LogError),
}
