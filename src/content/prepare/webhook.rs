//! Reads the bodies of webhooks (`API.md` 6.2).

use bindery_model::error::{Error, Result};
use bindery_model::json;
use serde_json::Value;
use url::Url;

use crate::data::changes::ChangeOp;
use crate::data::webhook::WebhookPatch;
use crate::prepare::access::{read_blueprints, required_text};
use crate::prepare::body::{into_object, quoted, unknown_keys};

const MAX_URL_BYTES: usize = 2_048;

/// Keys of a webhook that the server answers, and ignores in a body.
const ANSWERED: [&str; 6] = ["id", "type", "created_at", "updated_at", "secret", "error"];

/// Reads the body of a new webhook.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn webhook(body: &[u8]) -> Result<WebhookPatch> {
    read(body, &["name", "url", "events"])
}

/// Reads the body of a change of a webhook.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn webhook_patch(body: &[u8]) -> Result<WebhookPatch> {
    read(body, &[])
}

fn read(body: &[u8], required: &[&str]) -> Result<WebhookPatch> {
    let object = &into_object(json::parse(body)?)?;
    let mut errors = unknown_keys(object, &["name", "url", "events", "blueprints", "active"], &ANSWERED);
    let is_read = |key: &str| required.contains(&key) || object.contains_key(key);
    let mut patch = WebhookPatch::default();
    if is_read("name") {
        patch.name = required_text(object, "name", &mut errors);
    }
    if is_read("url") {
        patch.url = object.get("url").and_then(Value::as_str).filter(|url| is_address(url)).map(str::to_owned);
        if patch.url.is_none() {
            let text = format!(
                "is required: an absolute URL with `http` or `https`, without user name and fragment, of at most {MAX_URL_BYTES} bytes"
            );
            errors.push(("url".to_owned(), vec![text]));
        }
    }
    if is_read("events") {
        patch.events = object.get("events").and_then(events);
        if patch.events.is_none() {
            let names = ChangeOp::ALL.map(ChangeOp::as_str);
            let text = format!("is required: an array of one or more of {}, without repeats", quoted(&names));
            errors.push(("events".to_owned(), vec![text]));
        }
    }
    if object.contains_key("blueprints") {
        patch.blueprints = Some(read_blueprints(object.get("blueprints"), &mut errors));
    }
    match object.get("active") {
        None => {}
        Some(Value::Bool(active)) => patch.active = Some(*active),
        Some(_) => errors.push(("active".to_owned(), vec!["must be `true` or `false`".to_owned()])),
    }
    if errors.is_empty() { Ok(patch) } else { Err(Error::validation(errors)) }
}

fn is_address(sent: &str) -> bool {
    let url = Url::parse(sent).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let is_plain = |url: Url| url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    sent.len() <= MAX_URL_BYTES && url.is_some_and(is_plain)
}

/// Returns the operations in the documented order.
fn events(value: &Value) -> Option<Vec<ChangeOp>> {
    let sent = value.as_array().filter(|items| (1..=ChangeOp::ALL.len()).contains(&items.len()))?;
    let all = ChangeOp::ALL.into_iter().filter(|op| sent.iter().any(|item| item.as_str() == Some(op.as_str())));
    let found: Vec<ChangeOp> = all.collect();
    (found.len() == sent.len()).then_some(found)
}
