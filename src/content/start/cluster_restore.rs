//! Restores a cluster: to a backup, or to an earlier moment of its log. Works in a temporary folder; the nodes run
//! meanwhile and move over by themselves. Must not know how a log is shared.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bindery_base::{BaseError, RecoverOptions, restoring};
use bindery_log::Log;
use bindery_model::time::Millis;
use bindery_replica::{BaseInfo, NewestHistory, ReplicaError};
use bindery_store::{Assembler, Key, Prefix, Store, Transaction, WriteOp};

use crate::ContentOptions;
use crate::data::changes::ChangeGroup;
use crate::start::error::StartError;
use crate::start::scratch::Scratch;
use crate::start::{epoch, folder};

/// What a cluster is restored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestorePoint {
    /// The content of a backup.
    Backup(PathBuf),
    /// The state behind the last transaction whose records have this number at most.
    Number(u64),
    /// The state behind the last change of content that is not later than this.
    Time(Millis),
}

/// What came of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredCluster {
    /// The number of the history that the cluster has now.
    pub history: u32,
    /// The number of the last record of the state that was restored.
    pub number: u64,
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
    let scratch = Scratch::create(temporary)?;
    let recover = options.recover_options();
    let (content, number, mut switched_off) = match to {
        RestorePoint::Backup(file) => {
            let content = scratch.path("content");
            let number = folder::verify_backup(file)?.number;
            let restored = folder::restore_backup(file, &content, &recover, keeps_webhooks)?;
            (content, number, restored.switched_off)
        }
        _ => {
            let (content, number) = Replay { history: &history, to, scratch: &scratch, recover: &recover }.run()?;
            restoring::begin(&content, keeps_webhooks).map_err(|error| StartError::folder(&content, &error))?;
            (content, number, 0)
        }
    };
    let fail = |error: BaseError| StartError::folder(&content, &error);
    let (mut log, store, _) = bindery_base::recover(&content, &recover).map_err(fail)?;
    // Entity tags, cursors and changes of before must not be mistaken for those that come now.
    switched_off += epoch::begin_if_due(&content, &mut log, &store)?;
    let base = scratch.path("restored.base");
    let header = bindery_base::write(&store, &log.reader(), &base).map_err(fail)?;
    let history = history.continue_from(&base, header.number)?;
    Ok(RestoredCluster { history, number, webhooks_switched_off: switched_off })
}

/// Makes an earlier state from a base and the records behind it.
struct Replay<'a> {
    history: &'a NewestHistory,
    to: &'a RestorePoint,
    scratch: &'a Scratch,
    recover: &'a RecoverOptions,
}

impl Replay<'_> {
    /// Returns a data folder with the state, and the number of its last record.
    fn run(&self) -> Result<(PathBuf, u64), StartError> {
        let bases = self.history.bases()?;
        for base in &bases {
            if self.number().is_some_and(|number| base.position.number > number) {
                continue;
            }
            let content = self.scratch.path(&format!("content-{}", base.position.number));
            let (log, store) = self.place(base, &content)?;
            if self.is_too_new(&store)? {
                continue;
            }
            drop(store);
            let last = self.replay(base, log, &content)?;
            return Ok((content, last));
        }
        let oldest = bases.last().map_or(0, |base| base.position.number);
        let begun = match self.history.number() {
            1 => String::new(),
            number => format!("; history {number} began with a restore, perhaps an earlier run of this command"),
        };
        Err(StartError::Cluster(format!(
            "nothing that old is kept in its log; the oldest state that it can be restored to is that of number {oldest}, and a \
             backup may be older{begun}"
        )))
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

    /// Returns whether a store has changes that are later than the moment.
    fn is_too_new(&self, store: &Store) -> Result<bool, StartError> {
        let RestorePoint::Time(time) = self.to else { return Ok(false) };
        let newest = store.last(Prefix::Changes).map_err(StartError::content)?;
        let newest = newest.map(|(_, bytes)| ChangeGroup::decode(&bytes)).transpose().map_err(StartError::content)?;
        Ok(newest.is_some_and(|group| group.at > *time))
    }

    /// Appends the records behind a base to the log of a folder, as far as the moment. Returns the number of the last
    /// one.
    fn replay(&self, base: &BaseInfo, mut log: Log, content: &Path) -> Result<u64, StartError> {
        let (mut assembler, mut waiting, mut seen) = (Assembler::default(), Vec::new(), base.position.number);
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
            if self.is_later(&transaction)? {
                return Ok(ControlFlow::Break(()));
            }
            for record in waiting.drain(..) {
                log.append(&record).map_err(|error| StartError::folder(content, &error))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(number) = self.number().filter(|&number| number > seen) {
            let text = format!("its log ends with number {seen}, so it cannot be restored to {number}");
            return Err(StartError::Cluster(text));
        }
        log.sync().map_err(|error| StartError::folder(content, &error))?;
        Ok(log.last())
    }

    /// Returns whether a transaction changed content after the moment.
    fn is_later(&self, transaction: &Transaction) -> Result<bool, StartError> {
        let RestorePoint::Time(time) = self.to else { return Ok(false) };
        for write in &transaction.writes {
            if let (Key::Changes(_), WriteOp::Put(bytes)) = (&write.key, &write.op) {
                return Ok(ChangeGroup::decode(bytes).map_err(StartError::content)?.at > *time);
            }
        }
        Ok(false)
    }
}

impl From<ReplicaError> for StartError {
    fn from(error: ReplicaError) -> StartError {
        StartError::Cluster(error.to_string())
    }
}
