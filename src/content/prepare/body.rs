//! Reads the bodies of single writes, and the parts that all bodies of resources have in common.

use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::error::{Code, Error, FieldErrors, LISTED_FIELDS, Result};
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::time::{Millis, parse_system_date};
use bindery_model::value;
use bindery_query::{CopyKind, projection};
use bindery_sanitize::Sanitizer;
use serde_json::{Map, Value};

use crate::command::{CopyDraft, Extent, Item, Publication, SystemValues, Update, WrittenValue};
use crate::data::refusals::{needs_publish, needs_upload, no_second};
use crate::data::version::IfMatch;

/// Keys that the server returns in a resource and therefore ignores in a body (`API.md` 1.6). Imports read some of
/// them.
pub(crate) const ANSWERED_KEYS: [&str; 9] =
    ["id", "type", "key", "created_at", "updated_at", "relationships", "meta", "working_copy", "highlights"];

/// The context in which items are prepared.
#[derive(Clone, Copy)]
pub(crate) struct Preparation<'a> {
    /// The blueprint in force.
    pub(crate) blueprint: &'a Blueprint,
    /// Sanitizes HTML.
    pub(crate) sanitizer: &'a Sanitizer,
    /// The variant that is written.
    pub(crate) variant: u16,
}

/// Reads the body of a create: `attributes`, and optionally `published_at`.
pub(crate) fn create(preparation: Preparation<'_>, body: Value) -> Item {
    if preparation.blueprint.kind == BlueprintKind::Singular {
        return Item::Refused(no_second(preparation.blueprint));
    }
    if preparation.blueprint.kind == BlueprintKind::Media {
        return Item::Refused(needs_upload(preparation.blueprint));
    }
    create_any(preparation, body, |_| {})
}

/// Like [`create`], for a blueprint of any kind. `complete` may add values to the copy.
pub(crate) fn create_any(preparation: Preparation<'_>, body: Value, complete: impl FnOnce(&mut CopyDraft)) -> Item {
    let mut body = match into_object(body) {
        Ok(body) => body,
        Err(error) => return Item::Refused(error),
    };
    let mut errors = unknown_keys(&body, &["attributes", "published_at"], &ANSWERED_KEYS);
    let published = publication(&body, &mut errors);
    let has_attributes = body.contains_key("attributes");
    match copy(preparation, &mut body, Extent::Whole, value::Relations::Ids, &mut errors) {
        Some(mut copy) => {
            copy.errors.append(errors);
            complete(&mut copy);
            let published = match published {
                Publication::At(date) => Some(date),
                Publication::Keep | Publication::Draft | Publication::Now => None,
            };
            Item::Create { copy, published, key: None }
        }
        None => {
            if !has_attributes {
                errors.push(missing_attributes());
            }
            Item::Refused(Error::validation(errors))
        }
    }
}

/// The parts of an update that are not in its body.
#[derive(Clone)]
pub(crate) struct UpdateTerms {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The versions that the resource may have.
    pub(crate) if_match: IfMatch,
    /// True if the token may change between draft and published.
    pub(crate) may_publish: bool,
    /// The extent of the write: all attributes are replaced (`PUT`) or only some (`PATCH`).
    pub(crate) extent: Extent,
    /// The copy that is written.
    pub(crate) copy_kind: CopyKind,
}

/// Reads the body of a `PUT` (all attributes) or a `PATCH` (some or none).
pub(crate) fn update(preparation: Preparation<'_>, terms: UpdateTerms, body: Value) -> Item {
    let refusal = check_publication(&terms, &body).and_then(|()| object(&body).map(|_| ())).err();
    let mut body = into_object(body).unwrap_or_default();
    let mut errors = unknown_keys(&body, &["attributes", "published_at"], &ANSWERED_KEYS);
    let published = match terms.copy_kind {
        CopyKind::Live => publication(&body, &mut errors),
        CopyKind::Working => {
            if body.contains_key("published_at") {
                let text = "cannot be set with `copy=working`; publish the working copy instead";
                errors.push(("published_at".to_owned(), vec![text.to_owned()]));
            }
            Publication::Keep
        }
    };
    let has_attributes = body.contains_key("attributes");
    let copy = copy(preparation, &mut body, terms.extent, value::Relations::Ids, &mut errors);
    if copy.is_none() && terms.extent == Extent::Whole && !has_attributes {
        errors.push(missing_attributes());
    }
    let UpdateTerms { id, if_match, may_publish, copy_kind, .. } = terms;
    let working_variant = (copy_kind == CopyKind::Working).then_some(preparation.variant);
    let restores = false;
    let update = Update { id, copy, published, may_publish, if_match, restores, working_variant, refusal, errors };
    Item::Update(Box::new(update))
}

/// Returns `FORBIDDEN` if a `PATCH` contains `published_at`, with any value, and the token lacks `publish` (`API.md`
/// 4.4.3).
pub(crate) fn check_publication(terms: &UpdateTerms, body: &Value) -> Result<()> {
    if terms.copy_kind == CopyKind::Live
        && terms.extent == Extent::Partial
        && !terms.may_publish
        && body.get("published_at").is_some()
    {
        return Err(needs_publish());
    }
    Ok(())
}

/// Returns a body, or an entry of a bulk body, as an object. `VALIDATION_FAILED` if it is not one.
pub(crate) fn object(body: &Value) -> Result<&Map<String, Value>> {
    body.as_object().ok_or_else(|| no_object(body))
}

/// Like [`object`], but consumes the body.
pub(crate) fn into_object(body: Value) -> Result<Map<String, Value>> {
    match body {
        Value::Object(object) => Ok(object),
        other => Err(no_object(&other)),
    }
}

fn no_object(value: &Value) -> Error {
    Error::new(Code::ValidationFailed, format!("a JSON object is expected here; it is {}", kind_of(value)))
}

/// Reads the `published_at` of a body. If absent, the date is kept; null means draft.
pub(crate) fn publication(body: &Map<String, Value>, errors: &mut FieldErrors) -> Publication {
    match body.get("published_at") {
        None => Publication::Keep,
        Some(Value::Null) => Publication::Draft,
        Some(value) => match date(value) {
            Ok(date) => Publication::At(date),
            Err(error) => {
                errors.push(("published_at".to_owned(), vec![error]));
                Publication::Keep
            }
        },
    }
}

/// Reads a system date that may also be null, which the caller has looked for. The error is the text for the client.
pub(crate) fn date(value: &Value) -> std::result::Result<Millis, String> {
    date_or(value, ", or null")
}

/// Like [`date`], for a date that must not be null.
pub(crate) fn date_not_null(value: &Value) -> std::result::Result<Millis, String> {
    date_or(value, "")
}

fn date_or(value: &Value, others: &str) -> std::result::Result<Millis, String> {
    value.as_str().and_then(parse_system_date).ok_or_else(|| {
        let sent = value.as_str().map_or_else(|| quote(&value.to_string()), quote);
        format!("must be an ISO 8601 date and time such as `2026-11-20T20:42:31+00:00`{others}; it is {sent}")
    })
}

/// Takes the copy that the `attributes` of a body describe. `None` if they are missing, and also if they are not an
/// object, which adds an error.
pub(crate) fn copy(
    preparation: Preparation<'_>,
    body: &mut Map<String, Value>,
    extent: Extent,
    relations: value::Relations,
    errors: &mut FieldErrors,
) -> Option<CopyDraft> {
    match body.swap_remove("attributes")? {
        Value::Object(attributes) => Some(copy_of(preparation, attributes, extent, relations)),
        other => {
            let text = format!("must be an object of field slugs and values; it is {}", kind_of(&other));
            errors.push(("attributes".to_owned(), vec![text]));
            None
        }
    }
}

/// Checks and projects an `attributes` object.
pub(crate) fn copy_of(
    preparation: Preparation<'_>,
    attributes: Map<String, Value>,
    extent: Extent,
    relations: value::Relations,
) -> CopyDraft {
    let Preparation { blueprint, sanitizer, variant } = preparation;
    let checked = value::check_attributes(blueprint, attributes, value::Options { sanitizer, relations });
    let columns = projection::project(blueprint, checked.values.iter().map(|(position, value)| (*position, value)));
    let values = checked.values.into_iter().map(|(position, value)| WrittenValue { position, value }).collect();
    CopyDraft {
        variant,
        extent,
        values,
        columns,
        errors: checked.errors,
        sanitized: checked.sanitized,
        system: SystemValues::Sent,
    }
}

/// Returns the errors for keys of a body that are neither known nor ignored.
pub(crate) fn unknown_keys(body: &Map<String, Value>, known: &[&str], ignored: &[&str]) -> FieldErrors {
    let is_known = |key: &str| known.contains(&key) || ignored.contains(&key);
    let mut unknown = body.keys().filter(|key| !is_known(key));
    let text = format!("is not a known key; known keys are {}", quoted(known));
    let listed = unknown.by_ref().take(LISTED_FIELDS);
    let mut errors: FieldErrors = listed.map(|key| (key.clone(), vec![text.clone()])).collect();
    errors.leave_out(unknown.count());
    errors
}

/// Checks the keys of the body of a create that has `further` ones.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub fn check_keys_of_create(body: &Map<String, Value>, further: &[&str]) -> Result<()> {
    let errors = unknown_keys(body, &[further, &["attributes", "published_at"]].concat(), &ANSWERED_KEYS);
    if errors.is_empty() { Ok(()) } else { Err(Error::validation(errors)) }
}

/// Names in backticks, joined by commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns the kind of a JSON value, for messages.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn missing_attributes() -> (String, Vec<String>) {
    ("attributes".to_owned(), vec!["is required: an object of field slugs and values".to_owned()])
}
