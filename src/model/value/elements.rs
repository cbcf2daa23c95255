//! Values that are arrays of distinct strings.

use std::collections::HashMap;

use serde_json::Value;

use crate::sent::{describe, quote};

/// The maximum number of errors of elements that are listed.
const LISTED_ELEMENTS: usize = 20;

/// Returns the array's elements.
///
/// # Errors
///
/// If the value is not an array, an error that names the `expected` elements.
pub(super) fn array(value: Value, expected: &str) -> Result<Vec<Value>, Vec<String>> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(vec![format!("must be an array of {expected}, not {}", describe(&other))]),
    }
}

/// Checks that all elements are distinct strings that pass `check`.
///
/// # Errors
///
/// The first errors, each with the position of its element, counted from 0.
pub(super) fn check_distinct(
    elements: &[Value],
    expected: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<(), Vec<String>> {
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(elements.len());
    let mut errors = Vec::new();
    for (position, element) in elements.iter().enumerate() {
        let error = match element {
            Value::String(text) => match positions.get(text.as_str()) {
                Some(first) => Some(format!("must not repeat element {first}: {}", quote(text))),
                None => {
                    positions.insert(text, position);
                    check(text).err()
                }
            },
            other => Some(format!("must be {expected}, not {}", describe(other))),
        };
        errors.extend(error.map(|error| format!("element {position} {error}")));
        if errors.len() == LISTED_ELEMENTS {
            break;
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
