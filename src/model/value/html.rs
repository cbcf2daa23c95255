//! Values that contain HTML: rich text, and pages with their style sheet and blocks.

use bindery_sanitize::{RemovalCounts, Sanitizer, style_sheet_noting};
use serde_json::{Map, Value};

use super::object::{object, unknown_keys};
use super::text::string;
use crate::sent::describe;

const MAX_HTML_BYTES: usize = 1 << 20;
const MAX_CSS_BYTES: usize = 256 << 10;
/// The maximum number of blocks of a page, and of values in all of them. The values are read again with each change.
const MAX_BLOCKS: usize = 10_000;
const MAX_BLOCK_VALUES: usize = 100_000;
const PAGE_KEYS: [&str; 3] = ["html", "css", "blocks"];

pub(super) fn rich_text(value: Value, sanitizer: &Sanitizer, removed: &mut RemovalCounts) -> Result<Value, String> {
    let html = string(value, "a string of HTML")?;
    if html.len() > MAX_HTML_BYTES {
        return Err(format!("must have at most {MAX_HTML_BYTES} bytes, not {}", html.len()));
    }
    let sanitized = sanitizer.rich_text_noting(&html, removed)?;
    check_sanitized_length(&sanitized, MAX_HTML_BYTES)?;
    Ok(Value::String(sanitized))
}

/// Checks a page and sanitizes its texts. Its blocks are stored as they were sent.
pub(super) fn page(value: Value, sanitizer: &Sanitizer, removed: &mut RemovalCounts) -> Result<Value, Vec<String>> {
    let mut object = object(value, &PAGE_KEYS)?;
    let mut source = |key: &str| object.swap_remove(key);
    let html = part(source("html"), "html", MAX_HTML_BYTES, |html| sanitizer.page_noting(html, removed));
    let css = part(source("css"), "css", MAX_CSS_BYTES, |css| Ok(style_sheet_noting(css, removed)));
    let blocks = blocks(source("blocks"));
    let mut errors = Vec::new();
    let mut page = Map::new();
    for (key, part) in PAGE_KEYS.into_iter().zip([html, css, blocks]) {
        match part {
            Ok(part) => {
                page.insert(key.to_owned(), part);
            }
            Err(error) => errors.push(error),
        }
    }
    errors.extend(unknown_keys(&object, &PAGE_KEYS));
    if errors.is_empty() { Ok(Value::Object(page)) } else { Err(errors) }
}

/// Sanitizes one text of a page. The text is empty if it is left out.
fn part(
    value: Option<Value>,
    key: &str,
    limit: usize,
    sanitize: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Value, String> {
    let source = match value {
        None => return Ok(Value::String(String::new())),
        Some(Value::String(text)) if text.len() > limit => {
            return Err(format!("`{key}` must have at most {limit} bytes, not {}", text.len()));
        }
        Some(Value::String(text)) => text,
        Some(other) => return Err(format!("`{key}` must be a string, not {}", describe(&other))),
    };
    let sanitized = sanitize(&source).and_then(|text| check_sanitized_length(&text, limit).map(|()| text));
    sanitized.map(Value::String).map_err(|error| format!("`{key}` {error}"))
}

/// Checks the length of a result of sanitizing. It has the limit of a sent text, so that every response can be sent
/// back.
fn check_sanitized_length(sanitized: &str, limit: usize) -> Result<(), String> {
    if sanitized.len() <= limit {
        return Ok(());
    }
    Err(format!(
        "must also have at most {limit} bytes once it is sanitized, not {}: sanitizing writes `&` as `&amp;` and completes \
         links and tables",
        sanitized.len()
    ))
}

fn blocks(value: Option<Value>) -> Result<Value, String> {
    let Some(value) = value else { return Ok(Value::Array(Vec::new())) };
    let Value::Array(blocks) = &value else {
        return Err(format!("`blocks` must be an array of objects, not {}", describe(&value)));
    };
    if blocks.len() > MAX_BLOCKS {
        return Err(format!("`blocks` must have at most {MAX_BLOCKS} elements, not {}", blocks.len()));
    }
    let values = count_values(&value);
    if values > MAX_BLOCK_VALUES {
        return Err(format!("`blocks` must hold at most {MAX_BLOCK_VALUES} values in all, not {values}"));
    }
    if has_number_beyond_doubles(&value) {
        return Err("`blocks` must contain only numbers within the range of a double, up to 1e308".to_owned());
    }
    match blocks.iter().position(|block| !block.is_object()) {
        Some(position) => {
            let found = describe(&blocks[position]);
            Err(format!("`blocks` must contain only objects; element {position} is {found}"))
        }
        None => Ok(value),
    }
}

/// Returns whether a value has a number that a body had beyond the range of a double: see [`crate::json::parse`].
fn has_number_beyond_doubles(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() >= 1e308),
        Value::Array(elements) => elements.iter().any(has_number_beyond_doubles),
        Value::Object(object) => object.values().any(has_number_beyond_doubles),
        _ => false,
    }
}

/// Counts the values in a value, itself included.
fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(count_values).sum::<usize>(),
        Value::Object(object) => object.values().map(count_values).sum(),
        _ => 0,
    }
}
