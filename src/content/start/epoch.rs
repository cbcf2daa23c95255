//! The epoch of the content: which history the numbers of its versions belong to (see `data/version.rs`).
//!
//! It is a value of the store that a transaction of the log sets, like every other. So it is the same on each machine
//! that follows the log, and a backup holds that of the content it was made of.

use std::path::Path;

use bindery_base::{BaseError, restoring};
use bindery_disk::failure;
use bindery_log::{AppendError, CommitLog};
use bindery_model::time::now_millis;
use bindery_store::{Counter, Key, Prefix, Store, StoreWrite, encode_transaction};

use crate::data::changes::ChangeGroup;
use crate::data::version::encode_epoch;
use crate::data::webhook::{Webhook, progress_keys};
use crate::start::error::StartError;
use crate::start::recovery::load_epoch;

/// Begins an epoch if the content has none, or after a restore. The store must be at the end of the log, and is
/// afterwards. After a restore it also switches webhooks off, unless they are kept: a copy must not send to the receivers
/// of the original unasked. Returns how many that were.
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
    // A new folder counts its changes from 1. After a restore, numbers must differ from those of the history that the
    // backup was taken from, whose readers may come here: nobody makes a million changes a second for long.
    let first_change = if log.last() == 0 { 1 } else { now_millis().cast_unsigned().saturating_mul(1_000) };
    let (mut writes, mut switched_off) = (Vec::new(), 0);
    if is_restoring && !restoring::keeps_webhooks(folder).map_err(|error| fail(&error))? {
        (writes, switched_off) = switch_off_webhooks(store, first_change)?;
    }
    writes.push(StoreWrite::put(Key::Counter(Counter::Epoch), encode_epoch(random()?)));
    writes.push(StoreWrite::put(Key::Counter(Counter::FirstChange), first_change.to_le_bytes().to_vec()));
    failure::point("start::epoch").map_err(|error| fail(&error))?;
    match log.commit(log.last(), &encode_transaction(random()?, &writes)) {
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

/// Switches off all webhooks, and has them begin with the first change of the new history once they are switched on:
/// what the backup had left to send is for the original to send. Returns how many were on, too.
fn switch_off_webhooks(store: &Store, first_change: u64) -> Result<(Vec<StoreWrite>, usize), StartError> {
    let (mut writes, mut count) = (Vec::new(), 0);
    // What the backup has of the feed goes on under its own numbers: the first change that is made names the last of them.
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
