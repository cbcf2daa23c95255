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

/// A log that accepts records. Several processes may append to one log: each append names the record that it expects to
/// be the last one, and fails if that is not the case.
///
/// Records are appended in groups: a group is in the log as a whole or not at all.
///
/// A log of one process needs only the methods without a body. A shared log should also have its own `take_in`,
/// `is_shared` and `wake_with`.
pub trait CommitLog: Send {
    /// Appends a group of records with the numbers `expected_last + 1` and on, in order, and makes it durable. Returns
    /// the number of its last record. Of a shared log it may return before the outcome is known, see
    /// [`AppendError::Unknown`]. It never blocks for long.
    ///
    /// # Errors
    /// See [`AppendError`]: each variant states what happened to the group.
    fn append(&mut self, expected_last: u64, group: &[Vec<u8>]) -> Result<u64, AppendError>;

    /// Confirms that `expected_last` was the last record of the log at some moment after this call began. Without that,
    /// nothing may be answered that was decided against this record: another process may have appended long ago.
    ///
    /// # Errors
    /// [`AppendError::Conflict`] if it was not; [`AppendError::Unreachable`] if the log cannot be asked.
    fn confirm(&mut self, expected_last: u64) -> Result<(), AppendError>;

    /// Takes in what other processes appended, as far as it is known here. Returns the number of the newest record that
    /// [`CommitLog::follow`] can read. Does not wait for the log.
    ///
    /// # Errors
    /// [`LogError`] if the records cannot be kept here, or do not continue those before them.
    fn take_in(&mut self) -> Result<u64, LogError> {
        Ok(self.last())
    }

    /// Notes that the records up to this one are applied. A shared log tells the other servers how far this one is.
    fn note_applied(&mut self, _number: u64) {}

    /// Returns whether other processes may append.
    fn is_shared(&self) -> bool {
        false
    }

    /// Gives a shared log the function that it calls when [`CommitLog::take_in`] would find something.
    fn wake_with(&mut self, _wake: Box<dyn Fn() + Send + Sync>) {}

    /// Returns the number of the newest record. One less than [`CommitLog::first`] if the log is empty.
    fn last(&self) -> u64;

    /// Returns the number of the oldest record in the log.
    fn first(&self) -> u64;

    /// Returns the approximate size of the records after `number`, in bytes.
    fn bytes_since(&self, number: u64) -> u64;

    /// Returns whether a base is needed that is newer than the one which ends at record `base`.
    fn needs_base(&self, _base: u64) -> bool {
        false
    }

    /// Removes the files that hold only records below `number`. Returns the number of bytes that became free.
    ///
    /// # Errors
    /// [`LogError::Io`].
    fn trim(&mut self, number: u64) -> Result<u64, LogError>;

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

    /// Returns the number of the last record of the group that holds a record. A copy of the content that other servers
    /// may begin from must end there. Of a log that is not shared, each record is such an end.
    fn end_of_group(&self, number: u64) -> u64 {
        number
    }

    /// Blocks until there is a durable record after `number` or the timeout expires. Returns the number of the newest
    /// durable record.
    fn wait(&self, number: u64, timeout: Duration) -> u64;
}

/// The reason why a group was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another process appended first. The group is not in the log, and will not be. [`CommitLog::take_in`] finds what
    /// the other process appended, after which the group must be decided again.
    #[error("another process appended first")]
    Conflict,
    /// The group may or may not be in the log, or may come later. The same group must be appended again with the same
    /// expectation, until another outcome is known: it is appended at most once.
    #[error("it is not known whether the records were appended: {0}")]
    Unknown(String),
    /// The log cannot be reached. Nothing was appended, and nothing will be: neither by this call nor by earlier ones
    /// for the same group, whose outcome was [`AppendError::Unknown`].
    #[error("the log cannot be reached: {0}")]
    Unreachable(String),
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
