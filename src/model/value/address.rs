//! Addresses: four parts, each a string or null.

use serde_json::{Map, Value};

use super::describe;
use crate::model::sent::shorten;

/// The parts in the order in which they are answered and joined.
pub const PARTS: [&str; 4] = ["street", "postal_code", "city", "country"];

pub(super) fn address(value: Value) -> Result<Value, Vec<String>> {
    let Value::Object(mut object) = value else {
        return Err(vec![format!("must be an object with the keys {}, not {}", keys(), describe(&value))]);
    };
    let mut faults = Vec::new();
    let mut address = Map::new();
    for part in PARTS {
        let value = object.swap_remove(part).unwrap_or(Value::Null);
        if !value.is_null() && !value.is_string() {
            faults.push(format!("`{part}` must be a string or null, not {}", describe(&value)));
        }
        address.insert(part.to_owned(), value);
    }
    for key in object.keys() {
        faults.push(format!("must have the keys {} alone, not `{}`", keys(), shorten(key)));
    }
    if faults.is_empty() { Ok(Value::Object(address)) } else { Err(faults) }
}

fn keys() -> String {
    PARTS.map(|part| format!("`{part}`")).join(", ")
}
