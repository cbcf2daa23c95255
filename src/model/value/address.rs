//! Addresses: four parts, each a string or null.

use serde_json::{Map, Value};

use super::object::{object, unknown_keys};
use crate::sent::describe;

/// The parts of an address, in the order in which responses list them and their text form joins them.
pub const ADDRESS_PARTS: [&str; 4] = ["street", "postal_code", "city", "country"];

pub(super) fn address(value: Value) -> Result<Value, Vec<String>> {
    let mut object = object(value, &ADDRESS_PARTS)?;
    let mut errors = Vec::new();
    let mut address = Map::new();
    for part in ADDRESS_PARTS {
        let value = object.swap_remove(part).unwrap_or(Value::Null);
        if !value.is_null() && !value.is_string() {
            errors.push(format!("`{part}` must be a string or null, not {}", describe(&value)));
        }
        address.insert(part.to_owned(), value);
    }
    errors.extend(unknown_keys(&object, &ADDRESS_PARTS));
    if errors.is_empty() { Ok(Value::Object(address)) } else { Err(errors) }
}
