//! Appends transactions to the log, even if other processes append to it meanwhile.
//!
//! A transaction is decided against all transactions before it, so it is appended only directly behind those. If
//! another process appended first, nothing of the group is in the log: the other's records are read, and the whole
//! group is decided again. If the outcome of an append is unknown, the same group is appended again with the same
//! expectation, until the outcome is known. Nothing else is decided meanwhile.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_log::{AppendError, CommitLog, FollowLog, LogError};
use bindery_model::error::{Code, Error, Result};
use bindery_model::os_error::is_disk_full;
use bindery_store::{Assembler, StoreWrite, Transaction, encode_transaction};

use super::overlay::DecidedTransaction;
use crate::apply::{CommittedTransaction, PreparedResults, check_effects};
use crate::queue::{IMPORT_COMMAND_BYTES, ImportRoom, outcome_unknown, stopped_writing};

/// The pause before an append is tried again that was refused or could not be sent, although its outcome must become
/// known.
const PAUSE: Duration = Duration::from_millis(50);

/// The approximate limit of a group in bytes. It limits the memory of a group, the space that the log reserves for it,
/// and the time that a small write waits behind large ones.
const GROUP_BYTES: usize = 8 << 20;

/// The limit of imports in a group of the file log.
const UNSHARED_IMPORT_BYTES: usize = 512 << 10;

/// The pause of imports beside interactive writes, as a multiple of the time that a shared log took for the last group.
const PAUSE_FACTOR: u32 = 3;

/// A group has one command of imports beside interactive writes for each time as long as this that a shared log takes.
/// To decide and to apply a command takes about that long, so a write that waits for such a group takes about three
/// times as long as an append.
const TIME_FOR_IMPORT_COMMAND: Duration = Duration::from_millis(20);

/// The maximum number of commands of imports beside interactive writes.
const MAX_IMPORT_COMMANDS: usize = 4;

/// The approximate number of bytes of other processes' transactions that are applied at once.
const READ_BYTES: usize = 8 << 20;

/// The log, and the position up to which this process has read it.
pub(crate) struct Appender {
    log: Box<dyn CommitLog>,
    follow: Arc<dyn FollowLog>,
    /// The number of the last record that was read or appended.
    position: u64,
    assembler: Assembler,
    /// A random number that identifies this process's records: two processes may write the same bytes at the same time,
    /// but only one of them wrote the bytes that are in the log.
    writer: u64,
    /// The time that the log took for the last group.
    append_time: Duration,
}

/// Transactions that are appended together.
#[derive(Default)]
pub(crate) struct Group {
    records: Vec<Vec<u8>>,
    bytes: usize,
    transactions: Vec<PendingTransaction>,
}

impl Group {
    /// Returns whether the group has no transactions yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }
}

struct PendingTransaction {
    decided: DecidedTransaction,
    n_records: usize,
}

/// The outcome of an append.
pub(crate) enum Appended {
    /// The group is in the log: its transactions, in order.
    Group(Vec<CommittedTransaction>),
    /// Another process appended first. The group is not in the log, and must be decided again.
    Outrun,
}

/// The reason to go on waiting for an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The log cannot be reached. Nothing was appended so far, and nothing will be if the caller gives up.
    Unreachable,
    /// The group may be in the log, or come later.
    Unknown,
}

/// The function that decides, while an append waits, whether to go on.
pub(crate) type KeepWaiting<'a> = dyn FnMut(Waiting) -> ControlFlow<()> + 'a;

/// The reason why a group was not appended.
pub(crate) enum Failure {
    /// The group would not be readable. Nothing was appended.
    Inapplicable(Error),
    /// The log could not be reached, and the caller gave up. Nothing was appended, and later groups may succeed.
    Unreachable,
    /// The caller gave up before the outcome was known. Nothing else may be decided in this process.
    Unknown,
    /// The group was refused. Nothing was applied, and later groups may succeed. The second value is the reason for the
    /// log of the server.
    Refused(Error, Box<LogError>),
    /// The log accepts no more records. The error says whether the outcome of this group is known.
    Stopped(Error),
    /// The log accepts no more records because of a failed sync: the disk may have lost more than these records.
    Unsynced(Error),
}

impl Appender {
    /// Creates the appender of a log whose records up to `position` are applied.
    ///
    /// # Errors
    /// `INTERNAL` if the system's generator fails.
    pub(crate) fn new(mut log: Box<dyn CommitLog>, position: u64) -> Result<Appender> {
        let writer = getrandom::u64().map_err(Error::internal)?;
        let follow = log.follow();
        log.note_applied(position);
        Ok(Appender { log, follow, position, assembler: Assembler::default(), writer, append_time: Duration::ZERO })
    }

    /// Returns the log, for checkpoints.
    pub(crate) fn log(&mut self) -> &mut dyn CommitLog {
        &mut *self.log
    }

    /// Returns the number that the next record gets, unless another process appends first.
    pub(crate) fn next_number(&self) -> u64 {
        self.position + 1
    }

    /// Returns whether a group is large enough to be appended before more jobs are decided.
    pub(crate) fn is_full(&self, group: &Group) -> bool {
        group.bytes > GROUP_BYTES
    }

    /// Returns the room for imports. A shared log takes tens of milliseconds for a group of any size, so it gets as
    /// many as fit while nobody else writes. A sync of the file log takes less time than deciding and applying a
    /// command of an import, so many of them would only make the next interactive write wait. Has none for now unless
    /// the room is open.
    pub(crate) fn import_room(&self, is_open: bool) -> ImportRoom {
        if !self.log.is_shared() {
            let bytes_beside_others = IMPORT_COMMAND_BYTES;
            return ImportRoom { is_open, bytes: UNSHARED_IMPORT_BYTES, bytes_beside_others, pause: Duration::ZERO };
        }
        let commands = self.append_time.div_duration_f64(TIME_FOR_IMPORT_COMMAND) as usize;
        let bytes_beside_others = commands.clamp(1, MAX_IMPORT_COMMANDS) * IMPORT_COMMAND_BYTES;
        ImportRoom { is_open, bytes: GROUP_BYTES, bytes_beside_others, pause: self.append_time * PAUSE_FACTOR }
    }

    /// Returns the number of bytes a group has.
    pub(crate) fn bytes_of(&self, group: &Group) -> u64 {
        group.bytes as u64
    }

    /// Adds a transaction to a group. Returns the number of its records.
    pub(crate) fn add(&self, group: &mut Group, decided: DecidedTransaction) -> u64 {
        let records = encode_transaction(self.writer, &decided.writes);
        let n_records = records.len();
        group.bytes += records.iter().map(Vec::len).sum::<usize>();
        group.records.extend(records);
        group.transactions.push(PendingTransaction { decided, n_records });
        n_records as u64
    }

    /// Appends a group and makes it durable. Calls `keep_waiting` again and again while that takes long.
    pub(crate) fn append(&mut self, group: Group, keep_waiting: &mut KeepWaiting<'_>) -> Result<Appended, Failure> {
        if group.records.is_empty() {
            return Ok(Appended::Group(Vec::new()));
        }
        self.check_applicable(&group)?;
        let mut waiting = Waiting::Unreachable;
        let began = Instant::now();
        loop {
            match self.log.append(self.position, &group.records) {
                Ok(_) => {
                    self.append_time = began.elapsed();
                    return Ok(Appended::Group(self.take_appended(group)));
                }
                Err(AppendError::Conflict) => return Ok(Appended::Outrun),
                Err(AppendError::Unknown(cause)) => {
                    tracing::debug!(%cause, "it is not known yet whether a group was appended");
                    waiting = Waiting::Unknown;
                }
                Err(AppendError::Unreachable(cause)) => {
                    tracing::debug!(%cause, "the log cannot be reached");
                    waiting = Waiting::Unreachable;
                    std::thread::sleep(PAUSE);
                }
                // Callers may only be told that nothing was applied if no earlier try can have succeeded.
                Err(AppendError::Refused(_)) if waiting == Waiting::Unknown => std::thread::sleep(PAUSE),
                Err(AppendError::Closed(cause)) if waiting == Waiting::Unknown => {
                    return Err(stopped_with_unknown(&cause));
                }
                Err(error) => return Err(failure_of(error)),
            }
            if keep_waiting(waiting).is_break() {
                return Err(match waiting {
                    Waiting::Unreachable => Failure::Unreachable,
                    Waiting::Unknown => Failure::Unknown,
                });
            }
        }
    }

    /// Confirms that nobody appended to the log behind the records that this process has read, at some moment after the
    /// call began. Returns whether that is so.
    pub(crate) fn confirm(&mut self, keep_waiting: &mut KeepWaiting<'_>) -> Result<bool, Failure> {
        loop {
            match self.log.confirm(self.position) {
                Ok(()) => return Ok(true),
                Err(AppendError::Conflict) => return Ok(false),
                Err(AppendError::Unreachable(cause) | AppendError::Unknown(cause)) => {
                    tracing::debug!(%cause, "the log cannot be reached");
                    if keep_waiting(Waiting::Unreachable).is_break() {
                        return Err(Failure::Unreachable);
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(failure_of(error)),
            }
        }
    }

    /// Checks that every process can apply a group that goes to a shared log: what no node can apply would stop all of
    /// them.
    fn check_applicable(&self, group: &Group) -> Result<(), Failure> {
        if !self.log.is_shared() {
            return Ok(());
        }
        let mut assembler = Assembler::default();
        let mut decided = group.transactions.iter();
        for (number, record) in (self.position + 1..).zip(&group.records) {
            let read = assembler.push(number, record).map_err(|error| error.to_string());
            let checked = read.and_then(|transaction| match transaction {
                Some(read) if decided.next().is_none_or(|own| own.decided.writes != read.writes) => {
                    Err("a transaction is not read as it was written".to_owned())
                }
                Some(read) => check_effects(&read).map_err(|error| error.message),
                None => Ok(()),
            });
            checked.map_err(|error| Failure::Inapplicable(Error::internal(error)))?;
        }
        Ok(())
    }

    /// Returns the transactions of a group that is in the log.
    fn take_appended(&mut self, group: Group) -> Vec<CommittedTransaction> {
        let take = |pending: PendingTransaction| {
            let first = self.position + 1;
            self.position += pending.n_records as u64;
            let DecidedTransaction { writes, prepared } = pending.decided;
            let transaction = Transaction { first, last: self.position, writer: self.writer, writes };
            CommittedTransaction { transaction, prepared }
        };
        group.transactions.into_iter().map(take).collect()
    }

    /// Notes that everything that was read or appended is applied.
    pub(crate) fn note_applied(&mut self) {
        self.log.note_applied(self.position);
    }

    /// Returns the next transactions that other processes appended; `None` if there are none. The caller applies them
    /// before the next call, which takes in more only then: an error behind them must not keep them from being applied.
    ///
    /// # Errors
    /// `INTERNAL` if the log cannot be read.
    pub(crate) fn read_others(&mut self) -> Result<Option<Vec<CommittedTransaction>>> {
        let last = match self.log.last() {
            last if last > self.position => last,
            _ => self.log.take_in().map_err(Error::internal)?,
        };
        if last <= self.position {
            return Ok(None);
        }
        let (mut transactions, mut bytes) = (Vec::new(), 0);
        for record in self.follow.read(self.position + 1, last).map_err(Error::internal)? {
            let (number, record) = record.map_err(Error::internal)?;
            self.position = number;
            bytes += record.len();
            let transaction = self.assembler.push(number, &record).map_err(Error::internal)?;
            transactions.extend(transaction.map(CommittedTransaction::unprepared));
            if bytes > READ_BYTES {
                break;
            }
        }
        Ok(Some(transactions))
    }
}

impl From<Vec<StoreWrite>> for DecidedTransaction {
    fn from(writes: Vec<StoreWrite>) -> DecidedTransaction {
        DecidedTransaction { writes, prepared: PreparedResults::default() }
    }
}

/// Returns the failure of a shared log that ended before it was known whether it has the last group.
fn stopped_with_unknown(cause: &LogError) -> Failure {
    tracing::error!(%cause, "the log accepts no more records; it is not known whether it has the last ones");
    Failure::Stopped(outcome_unknown())
}

fn failure_of(error: AppendError) -> Failure {
    match error {
        AppendError::Conflict | AppendError::Unknown(_) | AppendError::Unreachable(_) => {
            Failure::Stopped(Error::internal(error))
        }
        AppendError::Refused(LogError::TooLarge { bytes }) => {
            let text = format!(
                "this needs {bytes} bytes in the log, more than one write may; nothing was applied; send it in smaller parts"
            );
            Failure::Inapplicable(Error::new(Code::PayloadTooLarge, text))
        }
        AppendError::Refused(cause) => {
            let is_full = matches!(&cause, LogError::NoSpace { source, .. } if is_disk_full(source));
            let text = match is_full {
                true => "the disk is full; nothing was applied; try again when there is room",
                false => "the log cannot grow at the moment; nothing was applied; try again",
            };
            Failure::Refused(Error::new(Code::Overloaded, text), Box::new(cause))
        }
        AppendError::Closed(cause) => {
            tracing::error!(%cause, "the log accepts no more records; nothing was applied");
            Failure::Stopped(stopped_writing())
        }
        AppendError::Stopped(cause @ LogError::Io { action: "sync", .. }) => Failure::Unsynced(Error::internal(cause)),
        AppendError::Stopped(cause @ LogError::Shared(_)) => stopped_with_unknown(&cause),
        AppendError::Stopped(cause) => Failure::Stopped(Error::internal(cause)),
    }
}
