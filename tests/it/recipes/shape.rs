//! The comparison of an answer with its documented shape, in which `…` stands for omitted parts. Knows nothing of
//! requests.
//!
//! In JSON, `…` in a string stands for any text, `"…"` as a value for any value, as the last element of an array for
//! any further elements, and as a key for any further keys. In other text, `…` stands for any text within a line, and a
//! line of `…` for any further lines. Wordings of messages are not compared: they are for people and may change.

use serde_json::Value;

const LEFT_OUT: &str = "…";

/// An answer as it is documented.
pub(super) enum Answer {
    /// One JSON value, or one on each line.
    Json(Vec<Value>),
    /// CSV and other text.
    Text(String),
}

impl Answer {
    /// Reads one or more JSON values.
    pub(super) fn json(text: &str) -> Result<Answer, String> {
        values(text).map(Answer::Json)
    }

    /// Fails with the first difference.
    pub(super) fn compare(&self, actual: &str) -> Result<(), String> {
        match self {
            Answer::Json(expected) => {
                let expected = Value::Array(expected.clone());
                same_value("", &expected, &Value::Array(values(actual)?))
            }
            Answer::Text(expected) => same_lines(expected, actual),
        }
    }
}

fn values(text: &str) -> Result<Vec<Value>, String> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn same_value(path: &str, expected: &Value, actual: &Value) -> Result<(), String> {
    match (expected, actual) {
        (Value::String(text), _) if text == LEFT_OUT => Ok(()),
        (Value::String(_), Value::String(wording)) if is_wording(path) && !wording.is_empty() => Ok(()),
        (Value::String(pattern), Value::String(text)) if fits(pattern, text) => Ok(()),
        (Value::Array(expected), Value::Array(actual)) => same_elements(path, expected, actual),
        (Value::Object(expected), Value::Object(actual)) => {
            let has_more = expected.contains_key(LEFT_OUT);
            if let Some(key) = actual.keys().find(|key| !has_more && !expected.contains_key(*key)) {
                return Err(format!("`{path}/{key}` is not documented"));
            }
            for (key, expected) in expected.iter().filter(|(key, _)| *key != LEFT_OUT) {
                let actual = actual.get(key).ok_or_else(|| format!("`{path}/{key}` is missing"))?;
                same_value(&format!("{path}/{key}"), expected, actual)?;
            }
            Ok(())
        }
        _ if expected == actual => Ok(()),
        _ => Err(format!("`{path}` is {actual}, documented is {expected}")),
    }
}

fn same_elements(path: &str, expected: &[Value], actual: &[Value]) -> Result<(), String> {
    let shown = match expected {
        [shown @ .., Value::String(last)] if last == LEFT_OUT && shown.len() <= actual.len() => shown,
        _ if expected.len() == actual.len() => expected,
        _ => return Err(format!("`{path}` has {} elements, documented are {}", actual.len(), expected.len())),
    };
    let mut pairs = shown.iter().zip(actual).enumerate();
    pairs.try_for_each(|(index, (expected, actual))| same_value(&format!("{path}/{index}"), expected, actual))
}

/// Returns whether the path leads to wording: `…/message`, and the texts in the arrays of `errors.fields`.
fn is_wording(path: &str) -> bool {
    path.contains("/errors/") && (path.ends_with("/message") || path.contains("/fields/"))
}

fn same_lines(expected: &str, actual: &str) -> Result<(), String> {
    let mut lines = actual.lines();
    for pattern in expected.lines() {
        if pattern == LEFT_OUT {
            return Ok(());
        }
        match lines.next() {
            Some(line) if fits(pattern, line) => {}
            line => return Err(format!("the line `{}`, documented is `{pattern}`", line.unwrap_or("(none)"))),
        }
    }
    lines.next().map_or(Ok(()), |line| Err(format!("the line `{line}` is not documented")))
}

/// Returns whether a text matches the pattern, with any text in place of each `…`.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(LEFT_OUT) else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split(LEFT_OUT).collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(end)
}

#[test]
fn shortened_texts_fit_what_they_shorten() {
    for (pattern, text, expected) in [
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("a…", "abcd", true),
        ("…d", "abcd", true),
        ("a…d", "abcd", true),
        ("a…c…", "abcd", true),
        ("a…d…e", "abcd", false),
        ("ab…bc", "abc", false),
    ] {
        assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn differences_from_the_documented_shape_are_found() {
    let documented =
        Answer::json(r#"{"data": [{"id": "…", "n": 1, "…": "…"}, "…"], "errors": {"message": "a"}}"#).unwrap();
    for (actual, expected) in [
        (r#"{"data": [{"id": "x", "n": 1, "m": 2}, 3], "errors": {"message": "b"}}"#, Ok(())),
        (r#"{"data": [{"id": 7, "n": 1}], "errors": {"message": "b"}}"#, Ok(())),
        (r#"{"data": [{"id": "x", "n": 2}], "errors": {"message": "b"}}"#, Err("`/0/data/0/n` is 2, documented is 1")),
        (r#"{"data": [{"n": 1}], "errors": {"message": "b"}}"#, Err("`/0/data/0/id` is missing")),
        (
            r#"{"data": [{"id": "x", "n": 1}], "errors": {"message": "b"}, "meta": 1}"#,
            Err("`/0/meta` is not documented"),
        ),
        (r#"{"data": [], "errors": {"message": "b"}}"#, Err("`/0/data` has 0 elements, documented are 2")),
    ] {
        assert_eq!(documented.compare(actual), expected.map_err(str::to_owned), "{actual}");
    }
}
