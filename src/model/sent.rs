//! The form of sent values and of names in messages: in backticks. Sent values are cut to 100 characters.

use serde_json::Value;

/// The number of characters of a sent value that a message shows.
const SHOWN: usize = 100;

/// Puts a sent text in backticks. A longer text is cut, with an ellipsis at its end.
pub fn quote(sent: &str) -> String {
    match sent.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &sent[..end]),
        None => format!("`{sent}`"),
    }
}

/// Lists names that the server knows, in backticks and separated by commas. They are not cut.
pub fn quote_all<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Describes a JSON value: `` the string `x` ``, `` `1` ``, `an object`.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) => format!("the string {}", quote(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
