//! Values of `link`, `image` and `file` fields: absolute URLs and paths.

use serde_json::Value;
use url::Url;

use super::text::string;
use crate::sent::{quote, quote_all};

/// Checks a URL or a path. A URL may also be a mail address or a phone number.
pub(super) fn link(value: Value) -> Result<Value, String> {
    check(value, &["http", "https", "mailto", "tel"])
}

/// Checks the URL or path of an image or another file.
pub(super) fn file(value: Value) -> Result<Value, String> {
    check(value, &["http", "https"])
}

fn check(value: Value, schemes: &[&str]) -> Result<Value, String> {
    let url = string(value, "a string")?;
    let is_forbidden = |character: &char| character.is_whitespace() || character.is_control() || *character == '\\';
    if let Some(found) = url.chars().find(is_forbidden) {
        let (url, found) = (quote(&url), found.escape_debug());
        return Err(format!(
            "must not contain white space, control characters or backslashes; {url} contains `{found}`"
        ));
    }
    let is_path = url.starts_with('/') && !url.starts_with("//");
    if is_path || is_absolute(&url, schemes) {
        return Ok(Value::String(url));
    }
    Err(format!(
        "must be an absolute URL with one of the schemes {}, or a path that begins with a single `/`, not {}",
        quote_all(schemes),
        quote(&url)
    ))
}

fn is_absolute(url: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let Ok(parsed) = Url::parse(url) else { return false };
    if !scheme.eq_ignore_ascii_case(parsed.scheme()) || !schemes.contains(&parsed.scheme()) {
        return false;
    }
    match parsed.scheme() {
        // The parser adds missing slashes and drops extra ones. So check here that exactly two are before the host.
        "http" | "https" => rest.strip_prefix("//").is_some_and(|rest| !rest.starts_with(['/', '?', '#'])),
        _ => !rest.is_empty(),
    }
}
