//! Values that are one string with its own rule.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use serde_json::Value;

use crate::sent::{describe, quote};
use crate::time;

const MAX_TEXT_CHARACTERS: usize = 65_536;
const MAX_SLUG_CHARACTERS: usize = 255;
const MAX_EMAIL_CHARACTERS: usize = 254;

/// Returns the string.
///
/// # Errors
///
/// If the value is not a string, an error that names what is `expected`.
pub(super) fn string(value: Value, expected: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("must be {expected}, not {}", describe(&other))),
    }
}

pub(super) fn text(value: Value) -> Result<Value, String> {
    let text = string(value, "a string")?;
    // A text never has more characters than bytes, so the characters of a short text need not be counted.
    let length = if text.len() <= MAX_TEXT_CHARACTERS { 0 } else { text.chars().count() };
    if length > MAX_TEXT_CHARACTERS {
        return Err(format!("must have at most {MAX_TEXT_CHARACTERS} characters, not {length}"));
    }
    Ok(Value::String(text))
}

pub(super) fn slug(value: Value) -> Result<Value, String> {
    let slug = string(value, "a string")?;
    let length = slug.chars().count();
    if !(1..=MAX_SLUG_CHARACTERS).contains(&length) {
        return Err(format!("must have 1 to {MAX_SLUG_CHARACTERS} characters, not {length}"));
    }
    match slug.chars().find(|character| !is_slug_character(*character)) {
        Some(found) => Err(format!(
            "must contain only letters, digits, `-`, `_`, `.`, `~` and `/`; {} contains `{}`",
            quote(&slug),
            found.escape_debug()
        )),
        None => Ok(Value::String(slug)),
    }
}

/// Returns whether a slug may contain the character: letters, marks and digits of any script, and some punctuation of
/// paths.
fn is_slug_character(character: char) -> bool {
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
        return Err(format!("must be one email address such as `name@example.com`, not {}", quote(&email)));
    }
    Ok(Value::String(email))
}

/// Returns whether the text matches the pattern of HTML's `<input type=email>`. Does not limit its length.
pub fn is_email(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(is_local) && domain.split('.').all(is_domain_label)
}

fn is_domain_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(inside) && !label.starts_with('-') && !label.ends_with('-')
}

pub(super) fn color(value: Value) -> Result<Value, String> {
    let color = string(value, "a string")?;
    let digits = color.strip_prefix('#').unwrap_or_default();
    if matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Value::String(color));
    }
    Err(format!("must be `#RGB`, `#RGBA`, `#RRGGBB` or `#RRGGBBAA`, not {}", quote(&color)))
}

pub(super) fn date(value: Value) -> Result<Value, String> {
    let date = string(value, "a string")?;
    match time::parse_date(&date) {
        Some(_) => Ok(Value::String(date)),
        None => Err(format!("must be an existing date in the form `YYYY-MM-DD`, not {}", quote(&date))),
    }
}

pub(super) fn datetime(value: Value) -> Result<Value, String> {
    let datetime = string(value, "a string")?;
    match time::parse_instant(&datetime) {
        Some(_) => Ok(Value::String(datetime)),
        None => Err(format!(
            "must be a date and time such as `2026-11-20T20:42:31.123+00:00`, with at most 6 fractional digits, not {}",
            quote(&datetime)
        )),
    }
}
