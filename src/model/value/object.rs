//! Values that are objects with a fixed set of keys.

use serde_json::{Map, Value};

use crate::sent::{describe, quote, quote_all};

/// The number of keys that are listed that an object must not have.
const LISTED_KEYS: usize = 20;

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

/// One error for each key that is left over once the known keys are read; of very many, for the first.
pub(super) fn unknown_keys(rest: &Map<String, Value>, known: &[&str]) -> impl Iterator<Item = String> {
    let listed = rest.keys().take(LISTED_KEYS);
    listed.map(move |key| format!("must not have the key {}: its keys are {}", quote(key), quote_all(known)))
}
