//! Pages: sanitised HTML, a sanitised style sheet, and blocks that are kept as they are.

use serde_json::{Map, Value};

use super::super::html::{Sanitizer, css};
use super::describe;
use super::text::{MAX_HTML_BYTES, sanitized};
use crate::model::sent::shorten;

const MAX_CSS_BYTES: usize = 256 << 10;

pub(super) fn page(value: Value, sanitizer: &Sanitizer) -> Result<Value, Vec<String>> {
    let Value::Object(mut object) = value else {
        return Err(vec![format!("must be an object with the keys `html`, `css`, `blocks`, not {}", describe(&value))]);
    };
    let mut faults = Vec::new();
    let mut page = Map::new();
    let html = source(object.swap_remove("html"), "html", MAX_HTML_BYTES)
        .and_then(|html| sanitizer.page(&html).map_err(|fault| format!("`html` {fault}")))
        .and_then(|html| sanitized(html, MAX_HTML_BYTES).map_err(|fault| format!("`html` {fault}")));
    let css = source(object.swap_remove("css"), "css", MAX_CSS_BYTES)
        .and_then(|css| sanitized(css::sanitize(&css), MAX_CSS_BYTES).map_err(|fault| format!("`css` {fault}")));
    let blocks = blocks(object.swap_remove("blocks"));
    let parts = [("html", html.map(Value::String)), ("css", css.map(Value::String)), ("blocks", blocks)];
    for (key, part) in parts {
        match part {
            Ok(part) => {
                page.insert(key.to_owned(), part);
            }
            Err(fault) => faults.push(fault),
        }
    }
    for key in object.keys() {
        faults.push(format!("must have the keys `html`, `css`, `blocks` alone, not `{}`", shorten(key)));
    }
    if faults.is_empty() { Ok(Value::Object(page)) } else { Err(faults) }
}

fn source(value: Option<Value>, key: &str, limit: usize) -> Result<String, String> {
    match value {
        None => Ok(String::new()),
        Some(Value::String(text)) if text.len() > limit => {
            Err(format!("`{key}` must have at most {limit} bytes, not {}", text.len()))
        }
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{key}` must be a string, not {}", describe(&other))),
    }
}

fn blocks(value: Option<Value>) -> Result<Value, String> {
    let Some(value) = value else { return Ok(Value::Array(Vec::new())) };
    let Value::Array(blocks) = &value else {
        return Err(format!("`blocks` must be an array of objects, not {}", describe(&value)));
    };
    match blocks.iter().position(|block| !block.is_object()) {
        Some(place) => Err(format!("`blocks` must hold objects; element {place} is {}", describe(&blocks[place]))),
        None => Ok(value),
    }
}
