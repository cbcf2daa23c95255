//! Values that are objects with a fixed set of keys.

use serde_json::{Map, Value};

use crate::model::sent::{describe, quote, quote_all};

/// The object.
///
/// # Errors
///
/// If the value is not an object, an error that lists the keys.
pub(super) fn object(value: Value, keys: &[&str]) -> Result<Map<String, Value>, Vec<String>> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(vec![format!("must be an object with the keys {}, not {}", quote_all(keys), describe(&other))]),
    }
}

/// One error for each key that is left over once the known keys are read.
pub(super) fn unknown_keys(rest: &Map<String, Value>, known: &[&str]) -> impl Iterator<Item = String> {
    rest.keys().map(move |key| format!("must not have the key {}: its keys are {}", quote(key), quote_all(known)))
}
