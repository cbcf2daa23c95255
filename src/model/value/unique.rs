//! When two values of a unique field are the same.

use serde_json::Value;

/// The text that a unique value is claimed by: two values are the same if their texts are. `None` for `null` and `""`,
/// which any number of resources may have.
pub fn unique_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}
