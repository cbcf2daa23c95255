//! What a committer and a follower need of a log, whether it is a folder of files or a service on another machine.
//!
//! Knows nothing of how records are kept.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::error::LogError;

/// Records in order: number and payload. Ends after the first error.
pub type Records = Box<dyn Iterator<Item = Result<(u64, Vec<u8>), LogError>> + Send>;

/// A log that records are appended to. Several processes may append to one log: each commit names the record that it
/// expects to be the last, and fails if another one is.
pub trait CommitLog: Send {
    /// Appends records with the numbers `expected_last + 1` and on, in order, and makes them durable. Returns the number
    /// of the last one.
    ///
    /// # Errors
    /// See [`AppendError`]: each says what became of the records.
    fn commit(&mut self, expected_last: u64, records: &[Vec<u8>]) -> Result<u64, AppendError>;

    /// The number of the newest record; one less than [`CommitLog::first`] if there is none.
    fn last(&self) -> u64;

    /// The number of the oldest record that is kept.
    fn first(&self) -> u64;

    /// About how many bytes the records after `number` take.
    fn bytes_since(&self, number: u64) -> u64;

    /// Removes records below `number`, as far as whole files can go. Returns how many bytes that freed.
    ///
    /// # Errors
    /// [`LogError::Io`].
    fn remove_before(&mut self, number: u64) -> Result<u64, LogError>;

    /// A reader for other threads.
    fn follow(&self) -> Arc<dyn FollowLog>;
}

/// A log that is read, also while others append to it.
pub trait FollowLog: Debug + Send + Sync {
    /// The number of the oldest record that is kept, or will be; nothing for a log without any file.
    ///
    /// # Errors
    /// [`LogError::Io`].
    fn first(&self) -> Result<Option<u64>, LogError>;

    /// The number of the newest durable record.
    fn last(&self) -> u64;

    /// The records `from..=through`, in order. All of them must have been appended: a missing one is an error.
    ///
    /// # Errors
    /// [`LogError::NotKept`] if `from` is older than what is kept.
    fn read(&self, from: u64, through: u64) -> Result<Records, LogError>;

    /// Blocks until there is a durable record after `number`, or the time is over. Returns the newest record's number.
    fn wait(&self, number: u64, timeout: Duration) -> u64;
}

/// Why records were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log moved on: another process appended. The records are not in the log because of this call. Read what came
    /// between, decide again.
    #[error("the last record of the log is {last}, not the expected one")]
    Conflict {
        /// The number of the newest record.
        last: u64,
    },
    /// The records may be in the log or not. Appending the same records again with the same expectation is safe: they
    /// are appended at most once.
    #[error("it is not known whether the records were appended: {0}")]
    Unknown(String),
    /// Nothing was appended, and a later append may succeed.
    #[error(transparent)]
    Refused(LogError),
    /// The log takes no more records. What became of these shows at the next start.
    #[error(transparent)]
    Stopped(LogError),
}
