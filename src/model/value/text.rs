//! Values that are one string.

use serde_json::Value;
use url::Url;

use super::super::html::Sanitizer;
use super::super::id::ResourceId;
use super::super::time;
use super::{Relations, string};
use crate::model::sent::shorten;

pub(super) const MAX_TEXT_CHARACTERS: usize = 65_536;
pub(super) const MAX_HTML_BYTES: usize = 1 << 20;
const MAX_SLUG_CHARACTERS: usize = 255;
const MAX_EMAIL_CHARACTERS: usize = 254;
pub(in crate::model) const MAX_CHOICE_CHARACTERS: usize = 255;

pub(super) fn text(value: Value) -> Result<Value, String> {
    let text = string(value, "a string")?;
    // No text has more characters than bytes.
    let length = if text.len() <= MAX_TEXT_CHARACTERS { 0 } else { text.chars().count() };
    if length > MAX_TEXT_CHARACTERS {
        return Err(format!("must have at most {MAX_TEXT_CHARACTERS} characters, not {length}"));
    }
    Ok(Value::String(text))
}

pub(super) fn rich_text(value: Value, sanitizer: &Sanitizer) -> Result<Value, String> {
    let html = string(value, "a string of HTML")?;
    if html.len() > MAX_HTML_BYTES {
        return Err(format!("must have at most {MAX_HTML_BYTES} bytes, not {}", html.len()));
    }
    sanitizer.rich_text(&html).and_then(|html| sanitized(html, MAX_HTML_BYTES)).map(Value::String)
}

/// What is answered can be sent back, so the limit holds for it too.
pub(super) fn sanitized(text: String, limit: usize) -> Result<String, String> {
    match text.len() <= limit {
        true => Ok(text),
        false => Err(format!(
            "must have at most {limit} bytes when it is sanitized as well, not {}: `&` becomes `&amp;`, and links and \
             tables are made complete",
            text.len()
        )),
    }
}

pub(super) fn slug(value: Value) -> Result<Value, String> {
    let slug = string(value, "a string")?;
    let length = slug.chars().count();
    if !(1..=MAX_SLUG_CHARACTERS).contains(&length) {
        return Err(format!("must have 1 to {MAX_SLUG_CHARACTERS} characters, not {length}"));
    }
    match slug.chars().find(|character| !is_slug_character(*character)) {
        Some(wrong) => Err(format!(
            "must hold letters, digits and `-`, `_`, `.`, `~`, `/` alone; `{}` holds `{}`",
            shorten(&slug),
            wrong.escape_debug()
        )),
        None => Ok(Value::String(slug)),
    }
}

/// Letters, marks and digits of any script, and what a path takes besides.
fn is_slug_character(character: char) -> bool {
    use icu_properties::CodePointMapData;
    use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || "-_.~/".contains(character);
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    category == GeneralCategory::DecimalNumber
        || GeneralCategoryGroup::Letter.contains(category)
        || GeneralCategoryGroup::Mark.contains(category)
}

pub(super) fn email(value: Value) -> Result<Value, String> {
    let email = string(value, "a string")?;
    let length = email.chars().count();
    if length > MAX_EMAIL_CHARACTERS {
        return Err(format!("must have at most {MAX_EMAIL_CHARACTERS} characters, not {length}"));
    }
    if !is_email(&email) {
        return Err(format!("must be one email address such as `name@example.com`, not `{}`", shorten(&email)));
    }
    Ok(Value::String(email))
}

/// The pattern of HTML's `input type=email`.
pub(crate) fn is_email(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(is_local) && domain.split('.').all(is_domain_label)
}

fn is_domain_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(inside) && !label.starts_with('-') && !label.ends_with('-')
}

pub(super) fn url(value: Value, schemes: &[&str]) -> Result<Value, String> {
    let url = string(value, "a string")?;
    let wrong = |character: &char| character.is_whitespace() || character.is_control() || *character == '\\';
    if let Some(wrong) = url.chars().find(wrong) {
        return Err(format!(
            "must be an address without white space, control characters and backslashes; `{}` holds `{}`",
            shorten(&url),
            wrong.escape_debug()
        ));
    }
    let is_path = url.starts_with('/') && !url.starts_with("//");
    if is_path || is_absolute_url(&url, schemes) {
        return Ok(Value::String(url));
    }
    let allowed: Vec<String> = schemes.iter().map(|scheme| format!("`{scheme}`")).collect();
    Err(format!(
        "must be an absolute address with one of the schemes {}, or a path that begins with one `/`; `{}` is neither",
        allowed.join(", "),
        shorten(&url)
    ))
}

fn is_absolute_url(url: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let Ok(parsed) = Url::parse(url) else { return false };
    if !scheme.eq_ignore_ascii_case(parsed.scheme()) || !schemes.contains(&parsed.scheme()) {
        return false;
    }
    match parsed.scheme() {
        // The parser makes up for missing and surplus slashes; a host must stand where it belongs.
        "http" | "https" => rest.strip_prefix("//").is_some_and(|rest| !rest.starts_with(['/', '?', '#'])),
        _ => !rest.is_empty(),
    }
}

pub(super) fn choice(value: Value, values: Option<&[String]>) -> Result<Value, String> {
    let choice = string(value, "a string")?;
    check_choice(&choice, values)?;
    Ok(Value::String(choice))
}

pub(super) fn check_choice(choice: &str, values: Option<&[String]>) -> Result<(), String> {
    let Some(values) = values else {
        let length = choice.chars().count();
        return match length {
            1..=MAX_CHOICE_CHARACTERS => Ok(()),
            _ => Err(format!("must have 1 to {MAX_CHOICE_CHARACTERS} characters, not {length}")),
        };
    };
    if values.iter().any(|allowed| allowed == choice) {
        return Ok(());
    }
    const SHOWN: usize = 50;
    let mut allowed: Vec<String> = values.iter().take(SHOWN).map(|allowed| format!("`{allowed}`")).collect();
    if values.len() > SHOWN {
        allowed.push("…".to_owned());
    }
    Err(format!("must be one of {}, not `{}`", allowed.join(", "), shorten(choice)))
}

pub(super) fn color(value: Value) -> Result<Value, String> {
    let color = string(value, "a string")?;
    let digits = color.strip_prefix('#').unwrap_or_default();
    if matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Value::String(color));
    }
    Err(format!("must be `#RGB`, `#RGBA`, `#RRGGBB` or `#RRGGBBAA`, not `{}`", shorten(&color)))
}

pub(super) fn date(value: Value) -> Result<Value, String> {
    let date = string(value, "a string")?;
    match time::parse_date(&date) {
        Some(_) => Ok(Value::String(date)),
        None => Err(format!("must be a date of the calendar as `YYYY-MM-DD`, not `{}`", shorten(&date))),
    }
}

pub(super) fn datetime(value: Value) -> Result<Value, String> {
    let datetime = string(value, "a string")?;
    match time::parse_instant(&datetime) {
        Some(_) => Ok(Value::String(datetime)),
        None => Err(format!(
            "must be a date and time such as `2026-11-20T20:42:31.123+00:00` (at most 6 fractional digits), not `{}`",
            shorten(&datetime)
        )),
    }
}

pub(super) fn relation(value: Value, relations: Relations) -> Result<Value, String> {
    let target = string(value, "the id of a resource")?;
    check_relation(&target, relations)?;
    Ok(Value::String(target))
}

pub(super) fn check_relation(target: &str, relations: Relations) -> Result<(), String> {
    match relations {
        Relations::IdsOrKeys if target.is_empty() => Err("must be an id or a key, not an empty string".to_owned()),
        Relations::Ids if ResourceId::parse(target).is_none() => {
            Err(format!("must be the id of a resource as it is answered; `{}` is none", shorten(target)))
        }
        _ => Ok(()),
    }
}
