//! Recovers log and store at a start, whether or not the last process was shut down properly.
//!
//! The store is used if it opens, is not condemned, is at its last checkpoint or later, and the log continues from that
//! checkpoint. Every record after the checkpoint is then replayed in order, since after a kill sled may hold any part
//! of these records. Otherwise the store is moved aside and rebuilt from the newest intact base and the log.
//!
//! A store that is ahead of the log proves that the log is damaged, and ends the start. An error of the environment (a
//! full disk, a limit, missing rights, a failing disk) is not damage: it ends the start, and nothing is moved.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bindery_disk::{failure, sync, unless_missing};
use bindery_log::{Log, LogOptions};
use bindery_store::{Assembler, Store, StoreOptions, checkpointed, condemned};

use super::aside::{move_aside, remove_older};
use super::error::{BaseError, at};
use super::files::{list, replay, restore, verify};
use super::format::Header;
use super::restoring;

/// The log's folder, within the data folder.
pub const LOG: &str = "log";
/// The store's folder, within the data folder.
pub const STORE: &str = "store";
/// A file that exists in a store's folder until the store is completely built.
const BUILDING: &str = "BUILDING";

/// The options that log and store are opened with.
#[derive(Debug, Clone, Default)]
pub struct RecoverOptions {
    /// The options of the log. `synced_through` is the number that others than the store know to be synced, for example
    /// the index. It counts only for a folder whose store has a checkpoint.
    pub log: LogOptions,
    /// The store's options.
    pub store: StoreOptions,
}

/// The result of a recovery, for the server's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// The number of the last record that is applied to the store. A kill may have left the beginning of a transaction
    /// behind it.
    pub number: u64,
    /// The number of log records that were replayed.
    pub replayed: u64,
    /// The reason why the store was rebuilt. `None` if it was not, or did not exist.
    pub rebuilt: Option<String>,
    /// The folder to which an unusable store was moved.
    pub moved_to: Option<PathBuf>,
    /// The number of the base that was restored.
    pub base: Option<u64>,
}

/// Opens the log and the store of a data folder. Creates the folder if it is missing. Afterwards the store is at the
/// end of the last complete transaction of the log, and that number is checkpointed.
///
/// If the folder contains only a base, log and store are created from it. This is how a backup is restored.
pub fn recover(data_folder: &Path, options: &RecoverOptions) -> Result<(Log, Store, RecoveryReport), BaseError> {
    recover_reporting(data_folder, options, &|_, _| ())
}

/// Recovers like [`recover`]. Also reports the number of replayed records and the number of all records to replay.
pub fn recover_reporting(
    data_folder: &Path,
    options: &RecoverOptions,
    report: &dyn Fn(u64, u64),
) -> Result<(Log, Store, RecoveryReport), BaseError> {
    fs::create_dir_all(data_folder).map_err(at("create", data_folder))?;
    restoring::check(data_folder)?;
    let store_folder = data_folder.join(STORE);
    let checkpoint = checkpointed(&store_folder)?;
    let synced_through = checkpoint.map_or(0, |checkpoint| checkpoint.max(options.log.synced_through));
    let log_options = LogOptions { synced_through, ..options.log.clone() };
    step("recover::log", data_folder)?;
    let mut log = Log::examine(&data_folder.join(LOG), log_options)?;
    let mut recovered = RecoveryReport::default();
    let usable = match checkpoint {
        None => Err(condemned(&store_folder)?.unwrap_or_else(no_checkpoint)),
        Some(checkpoint) => open_usable(&store_folder, checkpoint, &log, options)?.map(|store| (store, checkpoint)),
    };
    log.settle()?;
    let (store, through) = match usable {
        Ok(usable) => usable,
        Err(why) => {
            let base = newest_intact(data_folder, &log, &why)?;
            step("recover::move_store", data_folder)?;
            recovered.moved_to = clear_away(data_folder, &store_folder)?;
            recovered.rebuilt = recovered.moved_to.is_some().then_some(why);
            recovered.base = base.as_ref().map(|(_, header)| header.number);
            step("recover::build", data_folder)?;
            build(&store_folder, base, &mut log, options)?
        }
    };
    let mut assembler = Assembler::default();
    for record in log.read_from(through + 1)? {
        let (number, record) = record?;
        step("recover::replay", data_folder)?;
        replay(&store, &mut assembler, number, &record)?;
        recovered.replayed += 1;
        report(recovered.replayed, log.last().saturating_sub(through));
    }
    recovered.number = store.applied();
    step("recover::checkpoint", data_folder)?;
    if recovered.replayed > 0 || checkpoint != Some(recovered.number) {
        store.checkpoint()?;
    }
    step("recover::built", data_folder)?;
    let building = store_folder.join(BUILDING);
    unless_missing(fs::remove_file(&building)).map_err(at("remove", &building))?;
    remove_older(data_folder, STORE)?;
    File::open(data_folder).and_then(|folder| sync::all(&folder)).map_err(at("sync", data_folder))?;
    Ok((log, store, recovered))
}

/// Marks a step of a recovery, at which tests end the process or make it fail.
fn step(name: &'static str, data_folder: &Path) -> Result<(), BaseError> {
    failure::point(name).map_err(at("recover", data_folder))
}

/// Returns the reason why a store without a checkpoint is unusable. The first checkpoint is written when the store is
/// completely built, so the store is new, incomplete or damaged.
fn no_checkpoint() -> String {
    "it has no checkpoint".to_owned()
}

/// Opens a store from which the log continues, or returns the reason why it must be rebuilt. Fails if the store may be
/// intact but cannot be opened now.
fn open_usable(
    store_folder: &Path,
    checkpoint: u64,
    log: &Log,
    options: &RecoverOptions,
) -> Result<Result<Store, String>, BaseError> {
    if let Some(reason) = condemned(store_folder)? {
        return Ok(Err(reason));
    }
    if checkpoint + 1 < log.first() {
        return Ok(Err(format!(
            "its checkpoint is at record {checkpoint}, but the log begins at record {}",
            log.first()
        )));
    }
    let store = match Store::open(store_folder, &options.store) {
        Ok(store) => store,
        Err(error) if error.is_damage() => return Ok(Err(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let applied = store.applied();
    if applied < checkpoint {
        return Ok(Err(format!("it is at record {applied}, before its checkpoint at record {checkpoint}")));
    }
    if applied > log.last() {
        // A record is synced before it is applied. So the log is damaged, and the store may be all that is left.
        return Err(log.ends_before(applied).into());
    }
    Ok(Ok(store))
}

/// Returns the newest intact base that the log continues. `None` if there is none and the log reaches back to the first
/// record. A base whose name tells another number is an error: somebody has confused it with another one.
fn newest_intact(data_folder: &Path, log: &Log, why: &str) -> Result<Option<(PathBuf, Header)>, BaseError> {
    let log_is_empty = log.last() < log.first();
    for (number, path) in list(data_folder)?.into_iter().rev() {
        match verify(&path) {
            // The log would go on behind the number in the name, and what is between both would be missing.
            Ok(header) if header.number != number => {
                let what = format!("it ends at record {}, and its name says record {number}", header.number);
                return Err(BaseError::Damaged { file: path, what });
            }
            // An empty log can be reset so that it continues from any base.
            Ok(header) if header.number + 1 >= log.first() && (header.number <= log.last() || log_is_empty) => {
                return Ok(Some((path, header)));
            }
            Ok(_) | Err(BaseError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if log.first() > 1 {
        return Err(BaseError::NothingToBuildFrom { why: why.to_owned(), first: log.first() });
    }
    Ok(None)
}

/// Moves an unusable store aside and returns its new path. Removes it instead if it was never completely built.
fn clear_away(data_folder: &Path, store_folder: &Path) -> Result<Option<PathBuf>, BaseError> {
    if !store_folder.exists() {
        return Ok(None);
    }
    if checkpointed(store_folder)?.is_none() && store_folder.join(BUILDING).exists() {
        fs::remove_dir_all(store_folder).map_err(at("remove", store_folder))?;
        return Ok(None);
    }
    move_aside(data_folder, STORE).map(Some)
}

/// Creates a store, from the base if there is one. Returns the store and the number that it is at.
fn build(
    store_folder: &Path,
    base: Option<(PathBuf, Header)>,
    log: &mut Log,
    options: &RecoverOptions,
) -> Result<(Store, u64), BaseError> {
    fs::create_dir_all(store_folder).map_err(at("create", store_folder))?;
    let note = store_folder.join(BUILDING);
    File::create(&note).and_then(|file| sync::all(&file)).map_err(at("create", &note))?;
    let store = Store::open(store_folder, &options.store)?;
    let Some((path, _)) = base else { return Ok((store, 0)) };
    let number = restore(&path, &store)?.number;
    step("recover::restored", store_folder)?;
    if log.last() < number {
        log.reset_to(number + 1)?;
    }
    Ok((store, number))
}
