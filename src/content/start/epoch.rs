//! The epoch of the content: which history the numbers of its versions belong to (see `data/version.rs`).
//!
//! It is a value of the store that a transaction of the log sets, like every other. So it is the same on each machine
//! that follows the log, and a backup holds that of the content it was made of.

use std::path::Path;

use crate::base::{BaseError, restoring};
use crate::content::data::version::encode_epoch;
use crate::content::start::error::StartError;
use crate::content::start::recovery::load_epoch;
use crate::failure;
use crate::log::{AppendError, CommitLog};
use crate::model::time::now_millis;
use crate::store::{Counter, Key, Store, StoreWrite, encode_transaction};

/// Begins an epoch if the content has none, or after a restore. The store must be at the end of the log, and is
/// afterwards.
///
/// # Errors
/// [`StartError`] if log or store fail. A full disk is no error in a folder that has no epoch yet: the next start tries
/// again.
pub(crate) fn begin_if_due(folder: &Path, log: &mut dyn CommitLog, store: &Store) -> Result<(), StartError> {
    let is_restoring = restoring::is_restoring(folder);
    let first_change = store.get(&Key::Counter(Counter::FirstChange)).map_err(StartError::content)?;
    if !is_restoring && load_epoch(store)?.is_some() && first_change.is_some() {
        return Ok(());
    }
    let fail = |error: &dyn std::fmt::Display| StartError::folder(folder, error);
    let random = || getrandom::u64().map_err(StartError::content);
    // A folder of an earlier version keeps its epoch; only its changes begin.
    let epoch = load_epoch(store)?.filter(|_| !is_restoring).map_or_else(random, Ok)?;
    // A new folder counts its changes from 1. After a restore, numbers must differ from those of the history that the
    // backup was taken from, whose readers may come here: nobody makes a million changes a second for long.
    let first_change = if log.last() == 0 { 1 } else { now_millis().cast_unsigned().saturating_mul(1_000) };
    let writes = [
        StoreWrite::put(Key::Counter(Counter::Epoch), encode_epoch(epoch)),
        StoreWrite::put(Key::Counter(Counter::FirstChange), first_change.to_le_bytes().to_vec()),
    ];
    failure::point("start::epoch").map_err(|error| fail(&error))?;
    match log.commit(log.last(), &encode_transaction(random()?, &writes)) {
        Ok(number) => store.apply(number, &writes).map_err(|error| fail(&error))?,
        Err(AppendError::Refused(error)) if !is_restoring => {
            tracing::warn!(%error, "the log has no room; entity tags are as in earlier versions until the next start");
        }
        Err(error) => return Err(fail(&error)),
    }
    failure::point("start::epoch_begun").map_err(|error| fail(&error))?;
    match is_restoring {
        true => restoring::end(folder).map_err(|error: BaseError| fail(&error)),
        false => Ok(()),
    }
}
