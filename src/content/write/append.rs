//! Getting transactions into the log, whatever else is appended to it meanwhile.
//!
//! A transaction is decided against everything before it, so it is appended only behind exactly that. If another process
//! got ahead, what it appended is read, and what was decided in vain comes back to be decided again. If it is not known
//! what became of an append, the same records are appended again with the same expectation: they end up in the log once
//! or not at all, and what stands there tells which.

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

/// About how many bytes a group may have: bounds the memory that it takes, the space that the log reserves for it, and how
/// long a small write waits behind large ones.
const GROUP_BYTES: usize = 4 << 20;

/// About how many bytes of other processes' transactions are applied at once.
const READ_BYTES: usize = 8 << 20;

/// The log, and how far this process has read it.
pub(crate) struct Appender {
    log: Box<dyn CommitLog>,
    follow: Arc<dyn FollowLog>,
    /// The number of the last record that was read or appended.
    position: u64,
    assembler: Assembler,
    /// A random number that tells this process's records from those of others: two processes may write the same bytes
    /// at the same time, but only one of them wrote what stands in the log.
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
    /// Tests whether no transaction is in it yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }
}

struct PendingTransaction {
    decided: DecidedTransaction,
    n_records: usize,
    /// The number of jobs of the group that were decided up to this transaction, its own included.
    jobs_decided: usize,
}

/// The part of a group that is in the log.
pub(crate) struct AppendResult {
    /// The transactions that are in the log, in order.
    pub(crate) transactions: Vec<CommittedTransaction>,
    /// If another process got ahead: how many jobs, from the first on, can be answered. The others are decided again.
    pub(crate) jobs_answerable: Option<usize>,
}

/// Why a group was not appended.
pub(crate) enum Failure {
    /// Nothing was applied, and later groups may succeed. With the reason for the log of the server.
    Refused(Error, Box<LogError>),
    /// The log takes no more records. The error says whether the outcome of this group is known.
    Stopped(Error),
    /// As `Stopped`, because of a failed sync: the disk may have lost more than these records.
    Unsynced(Error),
}

impl Appender {
    /// For a log whose records up to `position` are applied.
    ///
    /// # Errors
    /// `INTERNAL` if the system's generator fails.
    pub(crate) fn new(log: Box<dyn CommitLog>, position: u64) -> Result<Appender> {
        let writer = getrandom::u64().map_err(Error::internal)?;
        let follow = log.follow();
        Ok(Appender { log, follow, position, assembler: Assembler::default(), writer })
    }

    /// The log, for checkpoints.
    pub(crate) fn log(&mut self) -> &mut dyn CommitLog {
        &mut *self.log
    }

    /// The number that the next record gets, unless another process appends first.
    pub(crate) fn next_number(&self) -> u64 {
        self.position + 1
    }

    /// Tests whether a group is large enough to be appended before more jobs are decided.
    pub(crate) fn is_full(&self, group: &Group) -> bool {
        group.bytes > GROUP_BYTES
    }

    /// The number of bytes a group has.
    pub(crate) fn bytes_of(&self, group: &Group) -> u64 {
        group.bytes as u64
    }

    /// Adds a transaction to a group of which `jobs_decided` jobs are decided by now. Returns how many records it takes.
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
                // Whether an earlier try of this group succeeded shows at the next start.
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

    /// Reads the next transactions that other processes appended; none if there are none.
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
