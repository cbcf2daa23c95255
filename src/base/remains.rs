//! Collects what can still be read of a damaged data folder, for the command `salvage`. The source is the store if it
//! is intact, or else the newest intact base. All later valid records of the log are applied to it. Where log records
//! are lost, values of a damaged store are used. The old folder is only read: a copy of its store is opened.
//!
//! Records hold results, never commands. So a record after lost records can still be applied: the values that it wrote
//! are right, and values that it did not write may be too old. The caller repairs values that no longer match.

use std::collections::HashMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use bindery_log::{Inspection, inspect};
use bindery_store::{Assembler, Entry, Store, StoreError, StoreOptions, StoreWrite, WriteOp, checkpointed, condemned};

use super::error::{BaseError, at};
use super::files::{list, restore, verify};
use super::recover::{LOG, STORE};

/// The contents that could be collected from a damaged data folder.
#[derive(Debug)]
pub struct FolderRemains {
    /// The store with these contents.
    pub store: Store,
    /// The highest record number found in any source. As far as is known, no higher number was used.
    pub number: u64,
    /// The numbers of the lost log records. Their contents are known only as far as a damaged store still holds them.
    pub lost: Vec<RangeInclusive<u64>>,
    /// The sources that were used and the sources that were damaged, as texts for the user.
    pub notes: Vec<String>,
}

/// Collects the contents. `copy_of_store` is a copy of the old store, if there is one; it may be changed. `new_store`
/// is the folder for a new store, which is made if the old store is damaged.
///
/// # Errors
/// [`BaseError`] if the disk fails.
pub fn collect_remains(
    old: &Path,
    copy_of_store: Option<&Path>,
    new_store: &Path,
    options: &StoreOptions,
) -> Result<FolderRemains, BaseError> {
    let mut notes = Vec::new();
    let checkpoint = checkpointed(&old.join(STORE))?;
    let damaged = match copy_of_store.map(|copy| open_copy(copy, old, checkpoint, options)).transpose()? {
        Some(OldStore::Intact(store, through)) => {
            notes.push(format!("the store is intact, and holds everything up to record {}", store.applied()));
            return finish(old, store, through, None, notes);
        }
        Some(OldStore::Damaged(store, why)) => {
            notes.push(format!("the store is damaged: {why}"));
            store
        }
        None => {
            notes.push("the store is missing".to_owned());
            None
        }
    };
    fs::create_dir_all(new_store).map_err(at("create", new_store))?;
    let mut through = 0;
    let store = Store::open(new_store, options)?;
    for (_, path) in list(old)?.into_iter().rev() {
        match verify(&path) {
            Ok(_) => {
                through = restore(&path, &store)?.number;
                notes.push(format!(
                    "the base {} is intact, and holds everything up to record {through}",
                    path.display()
                ));
                break;
            }
            Err(error) => notes.push(error.to_string()),
        }
    }
    if through == 0 {
        notes.push("there is no intact base".to_owned());
    }
    finish(old, store, through, damaged.as_ref(), notes)
}

enum OldStore {
    /// An intact store, and the record number from which on the log is replayed.
    Intact(Store, u64),
    /// A damaged store and the reason. The store is `None` if it does not even open.
    Damaged(Option<Store>, String),
}

/// Opens the copy of the old store and reads all of it.
fn open_copy(copy: &Path, old: &Path, checkpoint: Option<u64>, options: &StoreOptions) -> Result<OldStore, BaseError> {
    let store = match Store::open(copy, options) {
        Ok(store) => store,
        Err(error) if error.is_damage() => {
            return Ok(OldStore::Damaged(Store::open_damaged(copy, options).ok(), error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let mut first_error: Option<StoreError> = None;
    store.read_all(|entry| {
        first_error = first_error.take().or(entry.err());
        Ok::<(), BaseError>(())
    })?;
    let Some(checkpoint) = checkpoint else {
        return Ok(OldStore::Damaged(Some(store), "it has no valid checkpoint".to_owned()));
    };
    if let Some(error) = first_error {
        return Ok(OldStore::Damaged(Some(store), error.to_string()));
    }
    if let Some(reason) = condemned(&old.join(STORE))? {
        return Ok(OldStore::Damaged(Some(store), reason));
    }
    if store.applied() < checkpoint {
        return Ok(OldStore::Damaged(Some(store), format!("it ends before its checkpoint at record {checkpoint}")));
    }
    Ok(OldStore::Intact(store, checkpoint))
}

/// Applies the valid log records after `through`. Then applies the values of lost records that a damaged store still
/// has.
fn finish(
    old: &Path,
    store: Store,
    through: u64,
    damaged: Option<&Store>,
    mut notes: Vec<String>,
) -> Result<FolderRemains, BaseError> {
    let known = store.applied().max(through);
    let mut assembler = Assembler::default();
    // The keys that a record after lost records deleted. The damaged store may hold their older values, which must not
    // come back.
    let mut deleted: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut replay = |number: u64, record: Vec<u8>| -> Result<(), BaseError> {
        if number <= through {
            return Ok(());
        }
        let transaction = match assembler.push(number, &record) {
            Ok(transaction) => transaction,
            Err(source) => {
                notes.push(BaseError::Record { number, source }.to_string());
                None
            }
        };
        if let Some(transaction) = transaction {
            store.replay(transaction.last, &transaction.writes)?;
            if damaged.is_some() {
                for StoreWrite { key, .. } in transaction.writes.iter().filter(|write| write.op == WriteOp::Delete) {
                    deleted.insert(key.encode(), transaction.last);
                }
            }
        }
        Ok(())
    };
    let mut result = Ok(());
    let log = inspect(&old.join(LOG), 0, |number, record| {
        if result.is_ok() {
            result = replay(number, record);
        }
    })?;
    result?;
    match (log.valid.first(), log.valid.last()) {
        (Some(first), Some(last)) => {
            notes.push(format!("the log holds valid records from {} to {}", first.start(), last.end()))
        }
        _ => notes.push("the log holds no valid records".to_owned()),
    }
    notes.extend(log.damage.iter().map(ToString::to_string));
    let checkpoint = checkpointed(&old.join(STORE)).ok().flatten().unwrap_or(0);
    let of_damaged = damaged.map_or(0, Store::applied);
    let number = log.last.max(known).max(checkpoint).max(of_damaged);
    let lost = lost(&log, known, number);
    if let Some(damaged) = damaged {
        overlay(damaged, &store, &lost, &deleted)?;
    }
    Ok(FolderRemains { store, number, lost, notes })
}

/// Returns the numbers after `known` and up to `number` that the log does not hold.
fn lost(log: &Inspection, known: u64, number: u64) -> Vec<RangeInclusive<u64>> {
    let mut lost = Vec::new();
    let mut next = known + 1;
    for records in &log.valid {
        if *records.end() < next {
            continue;
        }
        if *records.start() > next {
            lost.push(next..=records.start() - 1);
        }
        next = records.end() + 1;
    }
    if next <= number {
        lost.push(next..=number);
    }
    lost
}

/// Copies the values that lost records wrote, unless a later record replaced or deleted them.
fn overlay(
    damaged: &Store,
    store: &Store,
    lost: &[RangeInclusive<u64>],
    deleted: &HashMap<Vec<u8>, u64>,
) -> Result<(), BaseError> {
    damaged.read_all(|entry| {
        let Ok(Entry { key, number, value }) = entry else { return Ok(()) };
        let is_lost = lost.iter().any(|records| records.contains(&number));
        let is_deleted = deleted.get(&key).is_some_and(|deleted| *deleted > number);
        let is_replaced = || store.written_at(&key).map(|written| written.is_some_and(|written| written > number));
        if is_lost && !is_deleted && !is_replaced()? {
            store.restore_entry(&Entry { key, number, value })?;
        }
        Ok::<(), BaseError>(())
    })?;
    Ok(())
}
