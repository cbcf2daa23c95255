//! The epoch of the content: it identifies the history that the numbers of versions belong to (see `data/version.rs`).
//!
//! The epoch is a value of the store that a transaction of the log sets. So it is the same on each machine that follows
//! the log, and a backup contains the epoch of its original.

use std::path::Path;

use bindery_base::{BaseError, restoring};
use bindery_disk::failure;
use bindery_log::{AppendError, CommitLog};
use bindery_model::time::{Millis, now_millis};
use bindery_store::{Counter, Key, Prefix, Store, StoreWrite, encode_transaction};

use crate::data::changes::ChangeGroup;
use crate::data::version::encode_epoch;
use crate::data::webhook::{Webhook, progress_keys};
use crate::start::error::StartError;
use crate::start::recovery::{load_epoch, load_first_change};

/// The numbers of changes that an epoch skips for each millisecond since 1970 if it begins with a restore.
const NUMBERS_PER_MILLI: u64 = 1_000;

/// Begins an epoch if the content has none, or after a restore. The store must be at the end of the log, and is
/// afterwards. After a restore it also switches webhooks off unless they are kept, because a copy must not send to the
/// receivers of the original. Returns the number of webhooks that were switched off.
///
/// # Errors
/// [`StartError`] if log or store fail. A full disk is no error in a folder that has no epoch yet: the next start tries
/// again.
pub(crate) fn begin_if_due(folder: &Path, log: &mut dyn CommitLog, store: &Store) -> Result<usize, StartError> {
    let is_restoring = restoring::is_restoring(folder);
    if !is_restoring && load_epoch(store)?.is_some() {
        return Ok(0);
    }
    let fail = |error: &dyn std::fmt::Display| StartError::folder(folder, error);
    let random = || getrandom::u64().map_err(StartError::content);
    // A new folder counts its changes from 1. After a restore, the numbers must be greater than any of the original's
    // history, because its readers may now read here. No content makes a million changes a second for long, so
    // milliseconds times 1000 is greater.
    let first_change = if log.last() == 0 { 1 } else { now_millis().cast_unsigned().saturating_mul(NUMBERS_PER_MILLI) };
    let (mut writes, mut switched_off) = (Vec::new(), 0);
    if is_restoring && !restoring::keeps_webhooks(folder).map_err(|error| fail(&error))? {
        (writes, switched_off) = switch_off_webhooks(store, first_change)?;
    }
    writes.push(StoreWrite::put(Key::Counter(Counter::Epoch), encode_epoch(random()?)));
    writes.push(StoreWrite::put(Key::Counter(Counter::FirstChange), first_change.to_le_bytes().to_vec()));
    failure::point("start::epoch").map_err(|error| fail(&error))?;
    match log.append(log.last(), &encode_transaction(random()?, &writes)) {
        Ok(number) => store.apply(number, &writes).map_err(|error| fail(&error))?,
        Err(AppendError::Refused(error)) if !is_restoring => {
            tracing::warn!(%error, "the log has no room; entity tags have no random part until the next start");
        }
        Err(error) => return Err(fail(&error)),
    }
    failure::point("start::epoch_begun").map_err(|error| fail(&error))?;
    if is_restoring {
        restoring::end(folder).map_err(|error: BaseError| fail(&error))?;
    }
    Ok(switched_off)
}

/// Returns the time of the restore with which the epoch of the content began; `None` if it began in a new folder.
pub(crate) fn restored_at(store: &Store) -> Result<Option<Millis>, StartError> {
    let at = load_first_change(store)?.unwrap_or_default() / NUMBERS_PER_MILLI;
    Ok((at > 0).then_some(at.cast_signed()))
}

/// Switches off all webhooks. Once they are switched on again, they begin with the first change of the new history: the
/// original sends the changes before that. Also returns the number of webhooks that were on.
fn switch_off_webhooks(store: &Store, first_change: u64) -> Result<(Vec<StoreWrite>, usize), StartError> {
    let (mut writes, mut count) = (Vec::new(), 0);
    // The restored part of the feed keeps its numbers. The first new change names the last of them as its predecessor.
    let since = match store.last(Prefix::Changes).map_err(StartError::content)? {
        Some((_, bytes)) => ChangeGroup::decode(&bytes).map_err(StartError::content)?.last,
        None => first_change.saturating_sub(1),
    };
    for entry in store.scan(Prefix::Webhooks) {
        let (key, bytes) = entry.map_err(StartError::content)?;
        let webhook = Webhook::decode(&bytes).map_err(StartError::content)?;
        count += usize::from(webhook.active);
        let updated_at = now_millis().max(webhook.updated_at + 1);
        writes.extend(progress_keys(&webhook.id).map(StoreWrite::delete));
        let after = Webhook { active: false, since, updated_at, ..webhook };
        writes.push(StoreWrite::put(key, after.encode()));
    }
    Ok((writes, count))
}
