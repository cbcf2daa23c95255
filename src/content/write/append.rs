//! Appends transactions to the log, even if other processes append to it meanwhile.
//!
//! A transaction is decided against all transactions before it, so it is appended only directly behind those. If
//! another process appended first, its records are read, and the decisions that they outdated are made again. If the
//! outcome of an append is unknown, the same records are appended again with the same expected position. So they are in
//! the log once or not at all, and reading that position tells which.

use std::sync::Arc;
use std::time::Duration;

use bindery_log::{AppendError, CommitLog, FollowLog, LogError};
use bindery_model::error::{Code, Error, Result};
use bindery_model::os_error::is_disk_full;
use bindery_store::{Assembler, StoreWrite, Transaction, encode_transaction};

use super::overlay::DecidedTransaction;
use crate::apply::{CommittedTransaction, PreparedResults};
use crate::queue::stopped_writing;

/// The pause before an append with an unknown outcome is tried again.
const UNKNOWN_PAUSE: Duration = Duration::from_millis(50);

/// The approximate limit of a group in bytes. It limits the memory of a group, the space that the log reserves for it,
/// and the time that a small write waits behind large ones.
const GROUP_BYTES: usize = 4 << 20;

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
    /// The number of jobs of the group that were decided up to this transaction, including its own job.
    jobs_decided: usize,
}

/// The part of a group that is in the log.
pub(crate) struct AppendResult {
    /// The transactions that are in the log, in order.
    pub(crate) transactions: Vec<CommittedTransaction>,
    /// The number of jobs, from the first on, that can be answered, if another process appended first. The others are
    /// decided again.
    pub(crate) jobs_answerable: Option<usize>,
}

/// The reason why a group was not appended.
pub(crate) enum Failure {
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
    pub(crate) fn new(log: Box<dyn CommitLog>, position: u64) -> Result<Appender> {
        let writer = getrandom::u64().map_err(Error::internal)?;
        let follow = log.follow();
        Ok(Appender { log, follow, position, assembler: Assembler::default(), writer })
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

    /// Returns the number of bytes a group has.
    pub(crate) fn bytes_of(&self, group: &Group) -> u64 {
        group.bytes as u64
    }

    /// Adds a transaction to a group of which `jobs_decided` jobs are decided by now. Returns the number of records of
    /// the transaction.
    pub(crate) fn add(&self, group: &mut Group, decided: DecidedTransaction, jobs_decided: usize) -> u64 {
        let records = encode_transaction(self.writer, &decided.writes);
        let n_records = records.len();
        group.bytes += records.iter().map(Vec::len).sum::<usize>();
        group.records.extend(records);
        group.transactions.push(PendingTransaction { decided, n_records, jobs_decided });
        n_records as u64
    }

    /// Appends a group and makes it durable.
    pub(crate) fn commit(&mut self, group: Group) -> Result<AppendResult, Failure> {
        if group.records.is_empty() {
            return Ok(AppendResult { transactions: Vec::new(), jobs_answerable: None });
        }
        let mut may_be_appended = false;
        loop {
            match self.log.commit(self.position, &group.records) {
                Ok(_) => return Ok(self.take_appended(group, usize::MAX)),
                Err(AppendError::Conflict { last }) => {
                    let n_records = self.count_appended(last, &group.records).map_err(Failure::Stopped)?;
                    return Ok(self.take_appended(group, n_records));
                }
                Err(AppendError::Unknown(cause)) => {
                    tracing::warn!(%cause, "it is not known whether a group was appended; it is appended again");
                    may_be_appended = true;
                    std::thread::sleep(UNKNOWN_PAUSE);
                }
                // Callers may only be told that nothing was applied if no earlier try can have succeeded.
                Err(AppendError::Refused(cause)) if may_be_appended => {
                    tracing::warn!(%cause, "the log has no room for a group that may be appended already");
                    std::thread::sleep(UNKNOWN_PAUSE);
                }
                Err(AppendError::Refused(cause)) => {
                    let is_full = matches!(&cause, LogError::NoSpace { source, .. } if is_disk_full(source));
                    let text = match is_full {
                        true => "the disk is full; nothing was applied; try again when there is room",
                        false => "the log cannot grow at the moment; nothing was applied; try again",
                    };
                    return Err(Failure::Refused(Error::new(Code::Overloaded, text), Box::new(cause)));
                }
                // It is not known before the next start whether an earlier try of this group succeeded.
                Err(AppendError::Closed(cause)) if may_be_appended => {
                    return Err(Failure::Stopped(Error::internal(cause)));
                }
                Err(AppendError::Closed(cause)) => {
                    tracing::error!(%cause, "the log accepts no more records; nothing was applied");
                    return Err(Failure::Stopped(stopped_writing()));
                }
                Err(AppendError::Stopped(cause @ LogError::Io { action: "sync", .. })) => {
                    return Err(Failure::Unsynced(Error::internal(cause)));
                }
                Err(AppendError::Stopped(cause)) => return Err(Failure::Stopped(Error::internal(cause))),
            }
        }
    }

    /// Counts the records of a group that are in the log: an earlier try of the same append may have succeeded, up to the
    /// point where another process appended.
    fn count_appended(&self, last: u64, records: &[Vec<u8>]) -> Result<usize> {
        let through = last.min(self.position + records.len() as u64);
        let mut count = 0;
        for (stored, own) in self.follow.read(self.position + 1, through).map_err(Error::internal)?.zip(records) {
            if stored.map_err(Error::internal)?.1 != *own {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    /// Splits a group into the transactions of which all records are in the log, and the others.
    fn take_appended(&mut self, group: Group, mut n_records: usize) -> AppendResult {
        let mut appended = AppendResult { transactions: Vec::new(), jobs_answerable: None };
        for pending in group.transactions {
            if pending.n_records > n_records {
                appended.jobs_answerable = Some(pending.jobs_decided.saturating_sub(1));
                break;
            }
            n_records -= pending.n_records;
            let first = self.position + 1;
            self.position += pending.n_records as u64;
            let DecidedTransaction { writes, prepared } = pending.decided;
            let transaction = Transaction { first, last: self.position, writer: self.writer, writes };
            appended.transactions.push(CommittedTransaction { transaction, prepared });
        }
        appended
    }

    /// Returns the next transactions that other processes appended; `None` if there are none.
    ///
    /// # Errors
    /// `INTERNAL` if the log cannot be read.
    pub(crate) fn read_others(&mut self) -> Result<Option<Vec<CommittedTransaction>>> {
        let last = self.log.last();
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
