//! Reads the bodies of views that members save (`API.md` 4.19).

use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::json;
use serde_json::{Map, Value};

use crate::data::saved_view::{NewView, ViewPatch};
use crate::prepare::access::required_text;
use crate::prepare::body::{into_object, unknown_keys};

/// The longest query of a view, in bytes. Every server accepts an address of that length.
const MAX_QUERY_BYTES: usize = 8_192;

/// Keys of a view that the server answers, and ignores in a body.
const ANSWERED: [&str; 5] = ["id", "type", "owner", "created_at", "updated_at"];

/// Reads the body of a new view.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn view(body: &[u8]) -> Result<NewView> {
    let object = &into_object(json::parse(body)?)?;
    let mut errors = unknown_keys(object, &["blueprint", "name", "query", "shared"], &ANSWERED);
    let blueprint = required_text(object, "blueprint", &mut errors);
    let ViewPatch { name, query, shared } = read(object, &["name", "query"], &mut errors);
    match (blueprint, name, query) {
        (Some(blueprint), Some(name), Some(query)) if errors.is_empty() => {
            Ok(NewView { blueprint, name, query, shared: shared.unwrap_or_default() })
        }
        _ => Err(Error::validation(errors)),
    }
}

/// Reads the body of a change of a view, which stays with its blueprint.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn view_patch(body: &[u8]) -> Result<ViewPatch> {
    let object = &into_object(json::parse(body)?)?;
    let ignored = [&ANSWERED[..], &["blueprint"]].concat();
    let mut errors = unknown_keys(object, &["name", "query", "shared"], &ignored);
    let patch = read(object, &[], &mut errors);
    if errors.is_empty() { Ok(patch) } else { Err(Error::validation(errors)) }
}

fn read(object: &Map<String, Value>, required: &[&str], errors: &mut FieldErrors) -> ViewPatch {
    let is_read = |key: &str| required.contains(&key) || object.contains_key(key);
    let name = if is_read("name") { required_text(object, "name", errors) } else { None };
    let query = object.get("query").and_then(Value::as_str).filter(|query| query.len() <= MAX_QUERY_BYTES);
    if is_read("query") && query.is_none() {
        let text = format!("is required: a string of at most {MAX_QUERY_BYTES} bytes");
        errors.push(("query".to_owned(), vec![text]));
    }
    let shared = object.get("shared");
    if shared.is_some_and(|shared| !shared.is_boolean()) {
        errors.push(("shared".to_owned(), vec!["must be `true` or `false`".to_owned()]));
    }
    ViewPatch { name, query: query.map(str::to_owned), shared: shared.and_then(Value::as_bool) }
}
