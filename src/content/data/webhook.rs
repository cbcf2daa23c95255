//! Webhooks and their stored form (`API.md` 6.2). Must not know their delivery.

use bindery_model::time::Millis;
use bindery_store::Key;
use serde::{Deserialize, Serialize};

use crate::data::changes::ChangeOp;

/// The number of parts into which the progress of a webhook is split, so that an unchanged part is not written again.
/// It is fixed, so that deleting a webhook deletes its parts without a search.
pub const PROGRESS_PARTS: usize = 17;

/// The parts of a webhook's progress, each in its stored form; an empty one is not stored.
pub type ProgressParts = [Vec<u8>; PROGRESS_PARTS];

/// Returns the keys of the parts of a webhook's progress.
pub(crate) fn progress_keys(id: &str) -> impl Iterator<Item = Key> {
    (0..PROGRESS_PARTS).map(move |part| progress_key(id, part))
}

/// Returns the key of one part.
pub(crate) fn progress_key(id: &str, part: usize) -> Key {
    Key::WebhookProgress(match part {
        0 => id.into(),
        part => format!("{id}.{part}").as_str().into(),
    })
}

/// A webhook as it is stored. Its secret is needed for signing, so it is stored in plain form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// The id of the webhook.
    pub id: String,
    /// The label.
    pub name: String,
    /// The URL to which changes are sent.
    pub url: String,
    /// The names of the operations that are sent, in the documented order.
    pub events: Vec<String>,
    /// The slugs of the blueprints whose changes are sent; `None` for all.
    pub blueprints: Option<Vec<String>>,
    /// True if changes are sent.
    pub active: bool,
    /// The time of its creation.
    pub created_at: Millis,
    /// The time of its last change.
    pub updated_at: Millis,
    /// The number of the last change before it was created.
    pub since: u64,
    /// The secret that signs its deliveries.
    pub secret: String,
}

/// A change of a webhook. `None` keeps a value. For a new webhook, only the blueprints and `active` may be `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)] // As in `Webhook`.
pub(crate) struct WebhookPatch {
    pub name: Option<String>,
    pub url: Option<String>,
    pub events: Option<Vec<ChangeOp>>,
    pub blueprints: Option<Option<Vec<String>>>,
    pub active: Option<bool>,
}

impl Webhook {
    /// Returns whether a change is sent.
    pub fn wants(&self, op: &str, blueprint: &str) -> bool {
        self.events.iter().any(|event| event == op)
            && self.blueprints.as_ref().is_none_or(|slugs| slugs.iter().any(|slug| slug == blueprint))
    }

    /// Returns the webhook after a change.
    pub(crate) fn patched(&self, patch: &WebhookPatch) -> Webhook {
        let WebhookPatch { name, url, events, blueprints, active } = patch.clone();
        let names = |events: Vec<ChangeOp>| events.into_iter().map(|op| op.as_str().to_owned()).collect();
        Webhook {
            name: name.unwrap_or_else(|| self.name.clone()),
            url: url.unwrap_or_else(|| self.url.clone()),
            events: events.map_or_else(|| self.events.clone(), names),
            blueprints: blueprints.unwrap_or_else(|| self.blueprints.clone()),
            active: active.unwrap_or(self.active),
            ..self.clone()
        }
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Webhook, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("stored webhook: {error}"))
    }
}
