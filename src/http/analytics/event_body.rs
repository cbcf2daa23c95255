//! The body of an event: `{"name": "pageview", "url", "referrer", "screen_width"}` (`API.md` 4.8.1).

use serde_json::Value;

use crate::analytics::{Event, PageUrl};
use crate::model::error::{Code, Error, FieldErrors, Result};
use crate::model::json;
use crate::model::sent::quote;

const FIELDS: [&str; 4] = ["name", "url", "referrer", "screen_width"];

/// Reads the body of an event.
///
/// # Errors
/// `MALFORMED_JSON`; `VALIDATION_FAILED` with the errors of all fields.
pub fn parse_event(body: &[u8]) -> Result<Event> {
    let Value::Object(object) = json::parse(body)? else {
        let message = "the body is not an object; send `{\"name\": \"pageview\", \"url\": …}`";
        return Err(Error::new(Code::ValidationFailed, message));
    };
    let mut errors = FieldErrors::new();
    let mut report = |field: &str, message: String| errors.push((field.to_owned(), vec![message]));
    if object.get("name").and_then(Value::as_str) != Some("pageview") {
        report("name", format!("it is {}; expected `pageview`", shown(object.get("name"))));
    }
    let url = object.get("url").and_then(Value::as_str).and_then(PageUrl::parse);
    if url.is_none() {
        let shown = shown(object.get("url"));
        report("url", format!("it is {shown}; expected the URL of a page, such as `https://www.example.com/about`"));
    }
    let referrer = match object.get("referrer") {
        None | Some(Value::Null) => None,
        Some(Value::String(referrer)) => Some(referrer.clone()),
        other => {
            report("referrer", format!("it is {}; expected a string or null", shown(other)));
            None
        }
    };
    let width = object.get("screen_width").filter(|width| !width.is_null());
    let screen_width = width.and_then(Value::as_f64).filter(|width| *width >= 0.0).map(|width| width as u64);
    if width.is_some() && screen_width.is_none() {
        report("screen_width", format!("it is {}; expected a number of pixels", shown(width)));
    }
    for key in object.keys().filter(|key| !FIELDS.contains(&key.as_str())) {
        report(key, "it is unknown; an event has `name`, `url`, `referrer` and `screen_width`".to_owned());
    }
    match url {
        Some(url) if errors.is_empty() => Ok(Event { url, referrer, screen_width }),
        _ => Err(Error::validation(errors)),
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "missing".to_owned(),
        Some(Value::String(text)) => quote(text),
        Some(value) => quote(&value.to_string()),
    }
}
