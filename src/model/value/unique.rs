//! The equality of values of a unique field.

use serde_json::Value;

/// Returns the text by which a unique value is claimed. Two values are equal if their texts are. Returns `None` for
/// `null` and `""`, which any number of resources may have.
pub fn unique_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}
