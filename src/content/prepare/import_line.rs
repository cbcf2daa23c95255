//! Reads a line of an import into an item.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::json;
use bindery_model::sent::quote;
use bindery_model::value::Relations;
use bindery_sanitize::Sanitizer;
use serde_json::{Map, Value};

use crate::command::{CopyDraft, Extent, ImportItem, Item};
use crate::prepare::body::{self, ANSWERED_KEYS, Preparation, into_object, kind_of, unknown_keys};

/// Checks lines of an import without a server.
pub struct ImportCheck {
    blueprint: Blueprint,
    sanitizer: Sanitizer,
}

impl ImportCheck {
    /// Creates a check of items of this blueprint.
    pub fn new(blueprint: Blueprint, video_hosts: Vec<String>) -> ImportCheck {
        ImportCheck { blueprint, sanitizer: Sanitizer::new(video_hosts) }
    }

    /// Checks that a line is valid. Relations and unique values are not checked, because they depend on other
    /// resources.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub fn line(&self, line: &[u8]) -> Result<()> {
        let ImportCheck { blueprint, sanitizer } = self;
        match prepare_line(Preparation { blueprint, sanitizer, variant: blueprint.default_variant() }, line) {
            Item::Refused(error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Parses a line. Its `variants` hold attributes one level deeper than the body of a create does, and an export writes
/// everything that such a body may hold in this form.
///
/// # Errors
/// `MALFORMED_JSON`, `PAYLOAD_TOO_LARGE`.
pub fn parse_import_line(line: &[u8]) -> Result<Value> {
    json::parse_with_deep_key(line, "variants")
}

/// Reads a line into an item. An invalid line becomes [`Item::Refused`].
pub(crate) fn prepare_line(preparation: Preparation<'_>, line: &[u8]) -> Item {
    let read = parse_import_line(line).and_then(into_object).and_then(|object| read_item(preparation, object));
    match read {
        Ok(item) => Item::Import(item),
        Err(error) => Item::Refused(error),
    }
}

fn read_item(preparation: Preparation<'_>, mut object: Map<String, Value>) -> Result<ImportItem> {
    let known = ["key", "id", "published_at", "created_at", "updated_at", "attributes", "variants"];
    // `bindery import` adds `errors` to failed items, so that key is ignored.
    let mut errors = unknown_keys(&object, &known, &[&ANSWERED_KEYS[..], &["errors"]].concat());
    let key = read_key(object.get("key"), &mut errors);
    let id = read_id(object.get("id"), &mut errors);
    let published = body::publication(&object, &mut errors);
    let created = read_date(&object, "created_at", &mut errors);
    let updated = read_date(&object, "updated_at", &mut errors);
    let mut copies = read_copies(preparation, &mut object, &mut errors);
    copies.iter_mut().for_each(|copy| errors.append(std::mem::take(&mut copy.errors)));
    if !errors.is_empty() {
        return Err(Error::validation(errors));
    }
    Ok(ImportItem { key, id, copies, published, created, updated })
}

fn read_key(value: Option<&Value>, errors: &mut FieldErrors) -> Option<String> {
    import_key(value).unwrap_or_else(|text| {
        errors.push(("key".to_owned(), vec![text.to_owned()]));
        None
    })
}

/// Reads the key under which imports know a resource, if there is one.
///
/// # Errors
/// The text for the client.
pub fn import_key(value: Option<&Value>) -> std::result::Result<Option<String>, &'static str> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) if (1..=1024).contains(&key.chars().count()) => Ok(Some(key.clone())),
        Some(_) => Err("must be a string of 1 to 1,024 characters"),
    }
}

fn read_id(value: Option<&Value>, errors: &mut FieldErrors) -> Option<ResourceId> {
    let value = value.filter(|value| !value.is_null())?;
    let id = value.as_str().and_then(ResourceId::parse);
    if id.is_none() {
        let text = "must be a resource id as the server returns it: a lowercase UUID with hyphens";
        errors.push(("id".to_owned(), vec![text.to_owned()]));
    }
    id
}

fn read_date(object: &Map<String, Value>, key: &str, errors: &mut FieldErrors) -> Option<i64> {
    let value = object.get(key).filter(|value| !value.is_null())?;
    body::date(value).map_err(|error| errors.push((key.to_owned(), vec![error]))).ok()
}

/// Reads the copies of `variants`, or the one copy of `attributes`, which belongs to the requested variant. Each copy
/// replaces all attributes.
fn read_copies(
    preparation: Preparation<'_>,
    object: &mut Map<String, Value>,
    errors: &mut FieldErrors,
) -> Vec<CopyDraft> {
    match object.swap_remove("variants") {
        Some(_) if object.contains_key("attributes") => {
            let text = "cannot be combined with `attributes`: an item has one or the other";
            errors.push(("variants".to_owned(), vec![text.to_owned()]));
            Vec::new()
        }
        Some(Value::Object(variants)) => {
            variants.into_iter().filter_map(|(slug, value)| read_variant(preparation, &slug, value, errors)).collect()
        }
        Some(other) => {
            let text = format!("must be an object of variant slugs and attributes; it is {}", kind_of(&other));
            errors.push(("variants".to_owned(), vec![text]));
            Vec::new()
        }
        None => body::copy(preparation, object, Extent::Whole, Relations::IdsOrKeys, errors).into_iter().collect(),
    }
}

fn read_variant(preparation: Preparation<'_>, slug: &str, value: Value, errors: &mut FieldErrors) -> Option<CopyDraft> {
    let Some(variant) = preparation.blueprint.variant(slug) else {
        let slugs: Vec<&str> = preparation.blueprint.variants.iter().map(|variant| variant.slug.as_str()).collect();
        let text =
            format!("{} is not a variant of this blueprint; its variants are {}", quote(slug), body::quoted(&slugs));
        errors.push(("variants".to_owned(), vec![text]));
        return None;
    };
    match value {
        Value::Object(attributes) => {
            let preparation = Preparation { variant: variant.number, ..preparation };
            Some(body::copy_of(preparation, attributes, Extent::Whole, Relations::IdsOrKeys))
        }
        other => {
            let text = format!("`{slug}` must hold an object of attributes; it is {}", kind_of(&other));
            errors.push(("variants".to_owned(), vec![text]));
            None
        }
    }
}
