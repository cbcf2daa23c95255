//! Restores a cluster: to a backup, or to an earlier moment of its log. Works in a temporary folder; the nodes run
//! meanwhile and move over by themselves. Must not know how a log is shared.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bindery_base::{BaseError, RecoverOptions, restoring};
use bindery_log::Log;
use bindery_model::time::{Millis, format_millis};
use bindery_replica::{BaseInfo, NewestHistory, ReplicaError};
use bindery_store::{Assembler, Counter, Key, Store, Transaction, WriteOp};

use crate::ContentOptions;
use crate::data::version::decode_time;
use crate::start::error::StartError;
use crate::start::recovery::load_last_time;
use crate::start::scratch::Scratch;
use crate::start::{epoch, folder};

/// What a cluster is restored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestorePoint {
    /// The content of a backup.
    Backup(PathBuf),
    /// The state behind the last transaction whose records have this number at most.
    Number(u64),
    /// The state behind the last transaction that is known not to be later than this.
    Time(Millis),
}

/// What came of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredCluster {
    /// The number of the history that the cluster has now.
    pub history: u32,
    /// The number of the history that the state is from; `None` if it is from a backup.
    pub from_history: Option<u32>,
    /// The number of the last record of the state that was restored.
    pub number: u64,
    /// The time of the last change in that state; `None` if nothing in it has a time.
    pub last_time: Option<Millis>,
    /// The number of transactions behind that state that have no time and may be later than the one that was asked for.
    pub left_out: u64,
    /// The number of webhooks that were switched off.
    pub webhooks_switched_off: usize,
}

/// Restores the cluster at an address, in a folder that is made within `temporary` and removed again. What was written
/// later stays in the old history, which no node uses any more. Unless `keeps_webhooks`, all webhooks are switched off.
///
/// # Errors
/// [`StartError`]. Unless it says so, the cluster is as it was.
pub fn restore_cluster(
    options: &ContentOptions,
    address: &str,
    to: &RestorePoint,
    temporary: &Path,
    keeps_webhooks: bool,
) -> Result<RestoredCluster, StartError> {
    let history = NewestHistory::open(address)?;
    let from_history = (!matches!(to, RestorePoint::Backup(_))).then(|| history.number());
    let scratch = Scratch::create(temporary)?;
    let recover = options.recover_options();
    let (content, number, left_out, mut switched_off) = match to {
        RestorePoint::Backup(file) => {
            let content = scratch.path("content");
            let number = folder::verify_backup(file)?.number;
            let restored = folder::restore_backup(file, &content, &recover, keeps_webhooks)?;
            (content, number, 0, restored.switched_off)
        }
        _ => {
            let state = Replay { history: &history, to, scratch: &scratch, recover: &recover }.run()?;
            let EarlierState { content, number, left_out, .. } = state;
            restoring::begin(&content, keeps_webhooks).map_err(|error| StartError::folder(&content, &error))?;
            (content, number, left_out, 0)
        }
    };
    let fail = |error: BaseError| StartError::folder(&content, &error);
    let (mut log, store, _) = bindery_base::recover(&content, &recover).map_err(fail)?;
    let last_time = load_last_time(&store)?;
    // Entity tags, cursors and changes of before must not be mistaken for those that come now.
    switched_off += epoch::begin_if_due(&content, &mut log, &store)?;
    let base = scratch.path("restored.base");
    let header = bindery_base::write(&store, &log.reader(), &base).map_err(fail)?;
    let history = history.continue_from(&base, header.number)?;
    Ok(RestoredCluster { history, from_history, number, last_time, left_out, webhooks_switched_off: switched_off })
}

/// Makes an earlier state from a base and the records behind it.
struct Replay<'a> {
    history: &'a NewestHistory,
    to: &'a RestorePoint,
    scratch: &'a Scratch,
    recover: &'a RecoverOptions,
}

/// A state that was made from a base and the records behind it.
struct EarlierState {
    /// The data folder that has it.
    content: PathBuf,
    /// The number of its last record.
    number: u64,
    /// The time of the first transaction behind the base that has one, also of one that is later than the moment.
    first_time: Option<Millis>,
    /// The number of transactions behind it that have no time and may be later than the moment.
    left_out: u64,
}

impl Replay<'_> {
    /// Makes the state.
    fn run(&self) -> Result<EarlierState, StartError> {
        let bases = self.history.bases()?;
        let mut earliest = None;
        for base in &bases {
            if self.number().is_some_and(|number| base.position.number > number) {
                continue;
            }
            let content = self.scratch.path(&format!("content-{}", base.position.number));
            let (log, store) = self.place(base, &content)?;
            earliest = earliest_time(&store)?;
            if earliest.is_some_and(|earliest| self.is_before(earliest)) {
                continue;
            }
            drop(store);
            let state = self.replay(base, log, content)?;
            earliest = earliest.or(state.first_time);
            if self.number().is_some() || earliest.is_some_and(|earliest| !self.is_before(earliest)) {
                return Ok(state);
            }
        }
        Err(self.too_old(&bases, earliest))
    }

    /// Returns the error for a moment before the oldest base. `earliest` is the first time to which the cluster can be
    /// restored, if it is known.
    fn too_old(&self, bases: &[BaseInfo], earliest: Option<Millis>) -> StartError {
        let oldest = bases.last().map_or(0, |base| base.position.number);
        let earliest =
            earliest.map(|time| format!(", the earliest time is {}", format_millis(time))).unwrap_or_default();
        let begun = match self.history.number() {
            1 => String::new(),
            number => format!("; history {number} began with a restore, perhaps an earlier run of this command"),
        };
        StartError::Cluster(format!(
            "nothing that old is kept in its log; the oldest state that it can be restored to is that of number \
             {oldest}{earliest}, and a backup may be older{begun}"
        ))
    }

    fn number(&self) -> Option<u64> {
        match self.to {
            RestorePoint::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Makes a data folder of a base.
    fn place(&self, base: &BaseInfo, content: &Path) -> Result<(Log, Store), StartError> {
        let downloaded = self.scratch.path("downloaded.base");
        self.history.download(base, &downloaded)?;
        let fail = |error: &dyn std::fmt::Display| StartError::folder(content, error);
        fs::create_dir(content).map_err(|error| fail(&error))?;
        bindery_base::place(&downloaded, content, base.position.number).map_err(|error| fail(&error))?;
        fs::remove_file(&downloaded).map_err(|error| StartError::folder(&downloaded, &error))?;
        let (log, store, _) = bindery_base::recover(content, self.recover).map_err(|error| fail(&error))?;
        Ok((log, store))
    }

    /// Returns whether the moment is a time before this one.
    fn is_before(&self, time: Millis) -> bool {
        matches!(self.to, RestorePoint::Time(moment) if *moment < time)
    }

    /// Appends the records behind a base to the log of a folder, as far as the moment.
    fn replay(&self, base: &BaseInfo, mut log: Log, content: PathBuf) -> Result<EarlierState, StartError> {
        let (mut assembler, mut waiting, mut seen) = (Assembler::default(), Vec::new(), base.position.number);
        let (mut first_time, mut left_out) = (None, 0);
        self.history.read::<StartError>(base.position, |number, record| {
            seen = number;
            if self.number().is_some_and(|last| number > last) {
                return Ok(ControlFlow::Break(()));
            }
            waiting.push(record.to_vec());
            // A transaction counts once it is complete.
            let Some(transaction) = assembler.push(number, record).map_err(StartError::content)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let time = time_of(&transaction)?;
            first_time = first_time.or(time);
            match time {
                Some(time) if self.is_before(time) => return Ok(ControlFlow::Break(())),
                // It may be later than the moment, unless a transaction behind it says that it is not.
                None if self.number().is_none() => {
                    left_out += 1;
                    return Ok(ControlFlow::Continue(()));
                }
                _ => left_out = 0,
            }
            for record in waiting.drain(..) {
                log.append(&record).map_err(|error| StartError::folder(&content, &error))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(number) = self.number().filter(|&number| number > seen) {
            let text = format!("its log ends with number {seen}, so it cannot be restored to {number}");
            return Err(StartError::Cluster(text));
        }
        log.sync().map_err(|error| StartError::folder(&content, &error))?;
        Ok(EarlierState { content, number: log.last(), first_time, left_out })
    }
}

/// Returns the earliest time to which a state belongs: that of its last transaction, or that of the restore with which
/// its history began. `None` if the cluster was empty, so that only the next transaction has a time.
fn earliest_time(store: &Store) -> Result<Option<Millis>, StartError> {
    Ok(load_last_time(store)?.max(epoch::restored_at(store)?))
}

/// Returns the time by which a transaction was decided, which is never before that of an earlier one. `None` for
/// removals of obsolete data, a new epoch and a newer format, which are no commands.
fn time_of(transaction: &Transaction) -> Result<Option<Millis>, StartError> {
    let time = transaction.writes.iter().find_map(|write| match (&write.key, &write.op) {
        (Key::Counter(Counter::Time), WriteOp::Put(bytes)) => Some(decode_time(bytes)),
        _ => None,
    });
    time.transpose().map_err(StartError::content)
}

impl From<ReplicaError> for StartError {
    fn from(error: ReplicaError) -> StartError {
        StartError::Cluster(error.to_string())
    }
}
