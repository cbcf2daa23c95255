//! Decides commands on webhooks.

use base64::prelude::{BASE64_STANDARD, Engine};
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::time::time_of_change;
use bindery_store::Key;

use super::access::unknown_blueprints;
use crate::command::Outcome;
use crate::data::refusals::no_webhook;
use crate::data::state::State;
use crate::data::webhook::{Webhook, WebhookPatch, progress_key, progress_keys};
use crate::write::overlay::Overlay;

/// The greatest number of webhooks.
const MAX_WEBHOOKS: usize = 1_000;

/// The size of a secret, before it is encoded.
const SECRET_BYTES: usize = 32;

pub(super) fn create(state: &State, overlay: &mut Overlay<'_>, new: &WebhookPatch) -> Result<Outcome> {
    if state.webhooks.len() >= MAX_WEBHOOKS {
        let text = format!("there are {MAX_WEBHOOKS} webhooks, which is the most there may be; delete one first");
        return Err(Error::new(Code::Conflict, text));
    }
    check_blueprints(state, new)?;
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(Error::internal)?;
    let empty = Webhook {
        id: overlay.new_id()?.to_string(),
        name: String::new(),
        url: String::new(),
        events: Vec::new(),
        blueprints: None,
        active: true,
        created_at: overlay.now,
        updated_at: overlay.now,
        since: overlay.last_change(),
        secret: format!("whsec_{}", BASE64_STANDARD.encode(secret)),
    };
    Ok(put(overlay, empty.patched(new)))
}

pub(super) fn change(state: &State, overlay: &mut Overlay<'_>, id: &str, patch: &WebhookPatch) -> Result<Outcome> {
    let before = state.webhooks.get(id).ok_or_else(|| no_webhook(id))?;
    check_blueprints(state, patch)?;
    let mut after = before.patched(patch);
    if after == **before {
        return Ok(Outcome::Webhook(after));
    }
    after.updated_at = time_of_change(overlay.now, before.updated_at);
    Ok(put(overlay, after))
}

pub(super) fn delete(state: &State, overlay: &mut Overlay<'_>, id: &str) -> Result<Outcome> {
    state.webhooks.get(id).ok_or_else(|| no_webhook(id))?;
    overlay.remove(Key::Webhook(id.into()));
    progress_keys(id).for_each(|key| overlay.remove(key));
    Ok(Outcome::Done)
}

/// Stores the delivery progress of webhooks. Skips webhooks that were deleted meanwhile. A server that led before, such
/// as one that was paused, must not put its progress in the place of what the present leader has saved.
pub(super) fn save(
    state: &State,
    overlay: &mut Overlay<'_>,
    term: u64,
    parts: &[(String, usize, Vec<u8>)],
) -> Result<Outcome> {
    if state.term() != term {
        return Err(Error::new(Code::Conflict, "another server has led the cluster since this progress was read"));
    }
    for (id, part, bytes) in parts.iter().filter(|(id, ..)| state.webhooks.contains_key(id)) {
        match bytes.is_empty() {
            true => overlay.remove(progress_key(id, *part)),
            false => overlay.put(progress_key(id, *part), bytes.clone()),
        }
    }
    Ok(Outcome::Done)
}

fn put(overlay: &mut Overlay<'_>, webhook: Webhook) -> Outcome {
    overlay.put(Key::Webhook(webhook.id.as_str().into()), webhook.encode());
    Outcome::Webhook(webhook)
}

fn check_blueprints(state: &State, patch: &WebhookPatch) -> Result<()> {
    let unknown = unknown_blueprints(state, patch.blueprints.iter().flatten().flatten());
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(Error::validation(FieldErrors::from_iter([("blueprints".to_owned(), unknown)]))),
    }
}
