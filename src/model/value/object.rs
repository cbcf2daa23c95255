//! Values that are objects with a fixed set of keys.

use serde_json::{Map, Value};

use crate::sent::{describe, quote, quote_all};

/// The maximum number of unknown keys that are listed.
const LISTED_KEYS: usize = 20;

/// Returns the object.
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

/// Returns one error for each key that is left after the known keys were read. Of very many keys, only the first ones
/// get an error.
pub(super) fn unknown_keys(rest: &Map<String, Value>, known: &[&str]) -> impl Iterator<Item = String> {
    let listed = rest.keys().take(LISTED_KEYS);
    listed.map(move |key| format!("must not have the key {}: its keys are {}", quote(key), quote_all(known)))
}
