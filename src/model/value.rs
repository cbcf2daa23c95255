//! Values of attributes: what each field type takes, and the one form in which a value is kept (`API.md` 2.4.3).
//!
//! Owns the table from field type to rule. Whether a relation's target or a member exists, and whether a unique value is
//! taken, is decided against the state, elsewhere.

pub mod address;
mod array;
mod number;
mod page;
mod text;

use std::collections::HashMap;

use serde_json::{Map, Value};

pub(in crate::model) use number::{canonical as canonical_number, double as read_number};
pub(in crate::model) use text::MAX_CHOICE_CHARACTERS;
pub(crate) use text::is_email;

use super::blueprint::{Blueprint, Field, FieldType};
use super::html::Sanitizer;
use super::sent::shorten;

/// The faults of a body: a field's slug and what is wrong there.
pub type Faults = Vec<(String, Vec<String>)>;

/// What a check needs beside the field.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Sanitises rich text and pages.
    pub sanitizer: &'a Sanitizer,
    /// What a relation may hold.
    pub relations: Relations,
}

/// What a relation may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relations {
    /// Ids as they are answered.
    Ids,
    /// Any strings: an import may name a resource by its key.
    IdsOrKeys,
}

/// Checks one attribute's value and gives it in the form in which it is kept; a kept value comes out unchanged. `null`
/// is a value of every field.
///
/// # Errors
///
/// Everything that is wrong with the value; each a clause that begins with `must`.
pub fn check(field: &Field, value: Value, options: Options<'_>) -> Result<Value, Vec<String>> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let checked = match &field.kind {
        FieldType::Text => text::text(value),
        FieldType::RichText => text::rich_text(value, options.sanitizer),
        FieldType::HtmlPage { .. } => return page::page(value, options.sanitizer),
        FieldType::Slug => text::slug(value),
        FieldType::Email => text::email(value),
        FieldType::Link => text::url(value, &["http", "https", "mailto", "tel"]),
        FieldType::Image | FieldType::File => text::url(value, &["http", "https"]),
        FieldType::Enum { values } => text::choice(value, values.as_deref()),
        FieldType::MultiEnum { values } => return array::choices(value, values.as_deref()),
        FieldType::Boolean if value.is_boolean() => Ok(value),
        FieldType::Boolean => Err(format!("must be true or false, not {}", describe(&value))),
        FieldType::Color => text::color(value),
        FieldType::Number => number::number(&value),
        FieldType::Money { currencies, .. } => return number::money(value, currencies),
        FieldType::Date => text::date(value),
        FieldType::DateTime => text::datetime(value),
        FieldType::Duration { min, max, .. } => number::duration(&value, *min, *max),
        FieldType::Reference { .. } => text::relation(value, options.relations),
        FieldType::References { .. } => return array::relations(value, options.relations),
        FieldType::User { .. } => number::member(&value),
        FieldType::Address => return address::address(value),
    };
    checked.map_err(|fault| vec![fault])
}

/// Whether a required field counts as not filled: `null`, `""` and `[]` do. An object is a value, whatever its parts.
fn is_empty_for_required(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// The attributes of a body, as far as they are valid, and what is wrong with the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// The valid values, each with its field's place in the blueprint, in that order.
    pub values: Vec<(usize, Value)>,
    /// The faults, in the order in which they were given; slugs that the blueprint does not have are faults.
    pub faults: Faults,
}

/// Checks the attributes that are given. Valid ones are given back beside faults, so that what depends on the state
/// can be checked too and all faults be told at once.
pub fn check_attributes(blueprint: &Blueprint, attributes: &Map<String, Value>, options: Options<'_>) -> Checked {
    let places: HashMap<&str, usize> =
        blueprint.fields.iter().enumerate().map(|(index, field)| (field.slug.as_str(), index)).collect();
    let mut checked = Checked::default();
    for (slug, value) in attributes {
        let Some(&index) = places.get(slug.as_str()) else {
            checked.faults.push((slug.clone(), vec![unknown_attribute(blueprint, slug)]));
            continue;
        };
        match check(&blueprint.fields[index], value.clone(), options) {
            Ok(value) => checked.values.push((index, value)),
            Err(wrong) => checked.faults.push((slug.clone(), wrong)),
        }
    }
    checked.values.sort_by_key(|(index, _)| *index);
    checked
}

/// What stands against a stored value as it is in a field that was changed (`API.md` 4.9.5); empty if it fits.
pub fn faults_as_stored(field: &Field, stored: &Value, sanitizer: &Sanitizer) -> Vec<String> {
    let options = Options { sanitizer, relations: Relations::Ids };
    match check(field, stored.clone(), options) {
        Ok(value) if value == *stored => Vec::new(),
        Ok(_) => vec!["must be as it is stored: sanitizing would change it".to_owned()],
        Err(faults) => faults,
    }
}

/// The required fields that a copy (a value for every field, in the blueprint's order) does not fill.
pub fn required_faults(blueprint: &Blueprint, copy: &[Value]) -> Faults {
    let pairs = blueprint.fields.iter().zip(copy);
    pairs
        .filter(|(field, value)| field.required && is_empty_for_required(value))
        .map(|(field, _)| (field.slug.clone(), vec![REQUIRED.to_owned()]))
        .collect()
}

const REQUIRED: &str = "must be filled: the field is required";

fn unknown_attribute(blueprint: &Blueprint, slug: &str) -> String {
    let known: Vec<String> = blueprint.fields.iter().map(|field| format!("`{}`", field.slug)).collect();
    let shown = shorten(slug);
    match known.is_empty() {
        true => format!("the blueprint `{}` has no field `{shown}`; it has none at all", blueprint.slug),
        false => {
            format!("the blueprint `{}` has no field `{shown}`; its fields are {}", blueprint.slug, known.join(", "))
        }
    }
}

/// What a value is, for a message: `the string `x``, `a number`, `an object`.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) => format!("the string `{}`", shorten(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn string(value: Value, what: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("must be {what}, not {}", describe(&other))),
    }
}

/// The text by which unique fields compare a value; `None` for null and `""`, which any number of resources may hold.
pub fn unique_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
