//! The body of an event: `{"name": "pageview", "url", "referrer", "screen_width"}`, or one with a name of its own and
//! `properties` (`API.md` 4.8.1, 4.8.10).

use std::cell::LazyCell;
use std::collections::HashMap;

use bindery_analytics::{Event, NamedEvent, PageUrl};
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::json;
use bindery_model::sent::quote;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const FIELDS: [&str; 5] = ["name", "url", "referrer", "screen_width", "properties"];
/// The most bytes of the name of an event or of a property.
const MAX_NAME_BYTES: usize = 64;
const MAX_PROPERTIES: usize = 10;
/// The most bytes of a value.
const MAX_VALUE_BYTES: usize = 512;
/// The most bytes of all properties of an event together, so that an event that waits to be counted is small.
const MAX_PROPERTIES_BYTES: usize = 2_048;

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
    let custom = match parse_custom(&object, body) {
        Ok(custom) => custom,
        Err((field, message)) => {
            report(field, message);
            None
        }
    };
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
        report(
            key,
            "it is unknown; an event has `name`, `url`, `referrer`, `screen_width` and `properties`".to_owned(),
        );
    }
    match url {
        Some(url) if errors.is_empty() => Ok(Event { url, referrer, screen_width, custom }),
        _ => Err(Error::validation(errors)),
    }
}

/// Parses an event that is not a pageview; `None` for a pageview. The error is the invalid field and the reason. Only
/// an event with `properties` may have its own name, so a misspelled `pageview` is noticed.
fn parse_custom(object: &Map<String, Value>, body: &[u8]) -> Result<Option<NamedEvent>, (&'static str, String)> {
    let name = object.get("name");
    match (name.and_then(Value::as_str), object.get("properties").filter(|properties| !properties.is_null())) {
        (Some("pageview"), None) => Ok(None),
        (Some("pageview"), Some(_)) => {
            Err(("properties", "a pageview has none; send an event with another name".to_owned()))
        }
        (Some(text), Some(properties)) => {
            if text.is_empty() || text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) {
                let problem = format!("it is {}; expected 1 to {MAX_NAME_BYTES} bytes", quote(text));
                return Err(("name", format!("{problem} without control characters")));
            }
            let properties = parse_properties(properties, body).map_err(|message| ("properties", message))?;
            Ok(Some(NamedEvent { name: text.to_owned(), properties }))
        }
        _ => {
            let shown = shown(name);
            Err((
                "name",
                format!("it is {shown}; expected `pageview`, or another name and `properties` (such as `{{}}`)"),
            ))
        }
    }
}

/// The properties of an event as they are written in its body.
type Written<'a> = HashMap<String, &'a RawValue>;

fn written_properties(body: &[u8]) -> Written<'_> {
    let fields: Written<'_> = serde_json::from_slice(body).unwrap_or_default();
    let properties = fields.get("properties").and_then(|properties| serde_json::from_str(properties.get()).ok());
    properties.unwrap_or_default()
}

/// A number may be an identifier, such as an order number, so it counts as it is written. Only then is the body parsed
/// a second time.
fn parse_properties(value: &Value, body: &[u8]) -> Result<Vec<(String, String)>, String> {
    let Value::Object(object) = value else {
        return Err(format!("it is {}; expected an object such as `{{\"plan\": \"large\"}}`", shown(Some(value))));
    };
    if object.len() > MAX_PROPERTIES {
        return Err(format!("it has {} properties; an event has at most {MAX_PROPERTIES}", object.len()));
    }
    let written = LazyCell::new(|| written_properties(body));
    let mut properties = Vec::new();
    for (name, value) in object {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
            let problem = format!("a property is named {}; expected 1 to {MAX_NAME_BYTES} bytes", quote(name));
            return Err(format!("{problem} without control characters"));
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) => value.to_string(),
            Value::Number(_) => written.get(name).map_or_else(|| value.to_string(), |written| written.get().to_owned()),
            _ => {
                let shown = shown(Some(value));
                return Err(format!(
                    "the value of {} is {shown}; expected a string, a number or a boolean",
                    quote(name)
                ));
            }
        };
        if text.len() > MAX_VALUE_BYTES {
            let (name, bytes) = (quote(name), text.len());
            return Err(format!("the value of {name} has {bytes} bytes; a value has at most {MAX_VALUE_BYTES}"));
        }
        properties.push((name.clone(), text));
    }
    let bytes: usize = properties.iter().map(|(name, value)| name.len() + value.len()).sum();
    match bytes <= MAX_PROPERTIES_BYTES {
        true => Ok(properties),
        false => Err(format!("names and values have {bytes} bytes; together they have at most {MAX_PROPERTIES_BYTES}")),
    }
}

pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None => "missing".to_owned(),
        Some(Value::String(text)) => quote(text),
        Some(value) => quote(&value.to_string()),
    }
}
