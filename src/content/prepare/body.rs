//! The bodies of single writes, and what all bodies of resources have in common.

use serde_json::{Map, Value};

use crate::content::command::{CopyDraft, Extent, Item, Publication, Update, WrittenValue};
use crate::content::data::refusals::{needs_publish, no_second};
use crate::content::data::version::IfMatch;
use crate::model::blueprint::{Blueprint, BlueprintKind};
use crate::model::error::{Code, Error, FieldErrors, Result};
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::time::{Millis, parse_system_date};
use crate::model::value;
use crate::projection;
use crate::sanitize::Sanitizer;

/// Keys that the server answers in a resource, and therefore ignores in a body (`API.md` 1.6).
const ANSWERED_KEYS: [&str; 5] = ["id", "type", "created_at", "updated_at", "relationships"];

/// What items are prepared with.
#[derive(Clone, Copy)]
pub(crate) struct Preparation<'a> {
    /// The blueprint in force.
    pub(crate) blueprint: &'a Blueprint,
    /// Cleans HTML.
    pub(crate) sanitizer: &'a Sanitizer,
    /// The variant that is written.
    pub(crate) variant: u16,
}

/// The body of a create: `attributes`, and an optional `published_at`.
pub(crate) fn create(preparation: Preparation<'_>, body: &Value) -> Item {
    if preparation.blueprint.kind == BlueprintKind::Singular {
        return Item::Refused(no_second(preparation.blueprint));
    }
    let body = match object(body) {
        Ok(body) => body,
        Err(error) => return Item::Refused(error),
    };
    let mut errors = unknown_keys(body, &["attributes", "published_at"], &ANSWERED_KEYS);
    let published = publication(body, &mut errors);
    match copy(preparation, body, Extent::Whole, value::Relations::Ids, &mut errors) {
        Some(mut copy) => {
            copy.errors.extend(errors);
            let published = match published {
                Publication::At(date) => Some(date),
                Publication::Keep | Publication::Draft | Publication::Now => None,
            };
            Item::Create { copy, published }
        }
        None => {
            if !body.contains_key("attributes") {
                errors.push(missing_attributes());
            }
            Item::Refused(Error::validation(errors))
        }
    }
}

/// What an update says beside its body.
#[derive(Clone)]
pub(crate) struct UpdateTerms {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The versions that it may be at.
    pub(crate) if_match: IfMatch,
    /// Whether the token may change between draft and published.
    pub(crate) may_publish: bool,
    /// `PUT` or `PATCH`.
    pub(crate) extent: Extent,
}

/// The body of a `PUT` (all attributes) or a `PATCH` (some, or none).
pub(crate) fn update(preparation: Preparation<'_>, terms: UpdateTerms, body: &Value) -> Item {
    let refusal = check_publication(&terms, body).and_then(|()| object(body).map(|_| ())).err();
    let nothing = Map::new();
    let body = body.as_object().unwrap_or(&nothing);
    let mut errors = unknown_keys(body, &["attributes", "published_at"], &ANSWERED_KEYS);
    let published = publication(body, &mut errors);
    let copy = copy(preparation, body, terms.extent, value::Relations::Ids, &mut errors);
    if copy.is_none() && terms.extent == Extent::Whole && !body.contains_key("attributes") {
        errors.push(missing_attributes());
    }
    let UpdateTerms { id, if_match, may_publish, .. } = terms;
    Item::Update(Update { id, copy, published, may_publish, if_match, refusal, errors })
}

/// `FORBIDDEN` for a `published_at` in a `PATCH`, whatever its value, without `publish` (`API.md` 4.4.3).
pub(crate) fn check_publication(terms: &UpdateTerms, body: &Value) -> Result<()> {
    if terms.extent == Extent::Partial && !terms.may_publish && body.get("published_at").is_some() {
        return Err(needs_publish());
    }
    Ok(())
}

/// A body, or an entry of a list of bodies, as an object.
pub(crate) fn object(body: &Value) -> Result<&Map<String, Value>> {
    body.as_object().ok_or_else(|| no_object(body))
}

/// The same, by value.
pub(crate) fn into_object(body: Value) -> Result<Map<String, Value>> {
    match body {
        Value::Object(object) => Ok(object),
        other => Err(no_object(&other)),
    }
}

fn no_object(value: &Value) -> Error {
    Error::new(Code::ValidationFailed, format!("a JSON object is expected here; it is {}", kind_of(value)))
}

/// The `published_at` of a body: absent keeps, null is a draft.
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

/// A system date of a body.
pub(crate) fn date(value: &Value) -> std::result::Result<Millis, String> {
    value.as_str().and_then(parse_system_date).ok_or_else(|| {
        let sent = value.as_str().map_or_else(|| quote(&value.to_string()), quote);
        format!("must be an ISO 8601 date and time such as `2026-11-20T20:42:31+00:00`, or null; it is {sent}")
    })
}

/// The copy that the `attributes` of a body describe; none if they are missing, or with an error if they are no object.
pub(crate) fn copy(
    preparation: Preparation<'_>,
    body: &Map<String, Value>,
    extent: Extent,
    relations: value::Relations,
    errors: &mut FieldErrors,
) -> Option<CopyDraft> {
    match body.get("attributes")? {
        Value::Object(attributes) => Some(copy_of(preparation, attributes, extent, relations)),
        other => {
            let text = format!("must be an object of field slugs and values; it is {}", kind_of(other));
            errors.push(("attributes".to_owned(), vec![text]));
            None
        }
    }
}

/// The copy of an `attributes` object.
pub(crate) fn copy_of(
    preparation: Preparation<'_>,
    attributes: &Map<String, Value>,
    extent: Extent,
    relations: value::Relations,
) -> CopyDraft {
    let Preparation { blueprint, sanitizer, variant } = preparation;
    let checked = value::check_attributes(blueprint, attributes, value::Options { sanitizer, relations });
    let columns = projection::project(blueprint, checked.values.iter().map(|(position, value)| (*position, value)));
    let values = checked.values.into_iter().map(|(position, value)| WrittenValue { position, value }).collect();
    CopyDraft { variant, extent, values, columns, errors: checked.errors }
}

/// The errors of keys that a body may not have.
pub(crate) fn unknown_keys(body: &Map<String, Value>, known: &[&str], ignored: &[&str]) -> FieldErrors {
    let is_known = |key: &str| known.contains(&key) || ignored.contains(&key);
    let unknown = body.keys().filter(|key| !is_known(key));
    unknown.map(|key| (key.clone(), vec![format!("is not a known key; known keys are {}", quoted(known))])).collect()
}

/// Names in backticks, joined by commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// What a JSON value is, for messages.
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
