//! Values of `enum` and `multi-enum` fields.

use serde_json::Value;

use super::elements::{array, check_distinct};
use super::text::string;
use crate::blueprint::{Choices, MAX_CHOICE_CHARACTERS};
use crate::sent::{quote, quote_all};

/// The most elements of a `multi-enum` value.
const MAX_CHOICES: usize = 2_000;

/// The number of allowed values that a message lists, and their maximum length together.
const LISTED_VALUES: usize = 50;
const LISTED_BYTES: usize = 2_000;

pub(super) fn one(value: Value, allowed: Option<&Choices>) -> Result<Value, String> {
    let choice = string(value, "a string")?;
    check(&choice, allowed)?;
    Ok(Value::String(choice))
}

pub(super) fn many(value: Value, allowed: Option<&Choices>) -> Result<Value, Vec<String>> {
    let elements = array(value, "strings")?;
    if elements.len() > MAX_CHOICES {
        return Err(vec![format!("must have at most {MAX_CHOICES} elements, not {}", elements.len())]);
    }
    check_distinct(&elements, "a string", |choice| check(choice, allowed))?;
    Ok(Value::Array(elements))
}

/// Checks one value. Without `allowed` values it may be any string of limited length.
fn check(choice: &str, allowed: Option<&Choices>) -> Result<(), String> {
    let Some(allowed) = allowed else {
        return match choice.chars().count() {
            1..=MAX_CHOICE_CHARACTERS => Ok(()),
            length => Err(format!("must have 1 to {MAX_CHOICE_CHARACTERS} characters, not {length}")),
        };
    };
    if allowed.contains(choice) {
        return Ok(());
    }
    let allowed = allowed.values();
    let mut listed = 0;
    let fits = |value: &&String| {
        listed += value.len();
        listed <= LISTED_BYTES
    };
    let listed: Vec<&String> = allowed.iter().take(LISTED_VALUES).take_while(fits).collect();
    let and_more = if allowed.len() > listed.len() { ", …" } else { "" };
    Err(format!("must be one of {}{and_more}, not {}", quote_all(listed), quote(choice)))
}
