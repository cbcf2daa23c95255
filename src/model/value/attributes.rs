//! The check of all attributes of a body against a blueprint.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use bindery_sanitize::RemovalCounts;
use serde_json::{Map, Value, json};

use super::rules::{Options, check_noting};
use crate::blueprint::Blueprint;
use crate::error::{FieldErrors, LISTED_FIELDS};
use crate::sent::{quote, quote_all};

/// The number of messages about unknown attributes that list the existing fields, and the number of fields in each
/// list.
const NAMING_MESSAGES: usize = 10;
const NAMED_FIELDS: usize = 50;

/// The valid attributes of a body, and the errors of the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckedAttributes {
    /// The valid values, each with its field's position in the blueprint, in that order.
    pub values: Vec<(usize, Value)>,
    /// The errors of fields in the order of the body, then those of slugs that the blueprint does not have.
    pub errors: FieldErrors,
    /// The parts that sanitizing removed.
    pub sanitized: FieldRemovals,
}

/// The parts that sanitizing removed, by the slug of the field. Fields of which nothing was removed are missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldRemovals(BTreeMap<String, RemovalCounts>);

impl FieldRemovals {
    /// Returns whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the parts that were removed from other values.
    pub fn add(&mut self, other: &FieldRemovals) {
        other.0.iter().for_each(|(slug, removed)| self.note(slug, removed));
    }

    fn note(&mut self, slug: &str, removed: &RemovalCounts) {
        if !removed.is_empty() {
            self.0.entry(slug.to_owned()).or_default().add(removed);
        }
    }

    /// Returns the form in answers (`API.md` 4.4.8): `{"body": {"removed": {"iframe": 2}}}`.
    pub fn to_json(&self) -> Value {
        let field = |(slug, removed): (&String, &RemovalCounts)| {
            let removed: Map<String, Value> =
                removed.iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
            (slug.clone(), json!({ "removed": removed }))
        };
        Value::Object(self.0.iter().map(field).collect())
    }
}

/// Checks the attributes of a body. Returns the valid ones beside the errors, so that the caller can also check the
/// rules that depend on stored resources, and report all errors at once.
pub fn check_attributes(
    blueprint: &Blueprint,
    attributes: Map<String, Value>,
    options: Options<'_>,
) -> CheckedAttributes {
    let positions = positions(blueprint);
    let mut checked = CheckedAttributes::default();
    let mut unknown = FieldErrors::new();
    for (slug, value) in attributes {
        match positions.get(slug.as_str()) {
            Some(&position) => {
                let mut removed = RemovalCounts::default();
                match check_noting(&blueprint.fields[position], value, options, &mut removed) {
                    Ok(value) => checked.values.push((position, value)),
                    Err(errors) => checked.errors.push((slug.clone(), errors)),
                }
                checked.sanitized.note(&slug, &removed);
            }
            None if unknown.count() < LISTED_FIELDS => {
                let error = unknown_attribute(blueprint, &slug, unknown.count());
                unknown.push((slug, vec![error]));
            }
            None => unknown.leave_out(1),
        }
    }
    checked.errors.append(unknown);
    checked.values.sort_by_key(|(position, _)| *position);
    checked
}

/// Returns the errors of required fields that are empty in a copy. `copy` has a value for every field in the
/// blueprint's order.
pub fn required_errors(blueprint: &Blueprint, copy: &[impl Borrow<Value>]) -> FieldErrors {
    let pairs = blueprint.fields.iter().zip(copy);
    pairs
        .filter(|(field, value)| field.required && is_empty((*value).borrow()))
        .map(|(field, _)| (field.slug.clone(), vec!["must not be empty: the field is required".to_owned()]))
        .collect()
}

/// Sorts the errors by the order of the blueprint's fields. Errors of other names follow in their earlier order.
pub fn in_field_order(blueprint: &Blueprint, mut errors: FieldErrors) -> FieldErrors {
    let positions = positions(blueprint);
    errors.sort_by_key(|field| positions.get(field).copied().unwrap_or(usize::MAX));
    errors
}

fn positions(blueprint: &Blueprint) -> HashMap<&str, usize> {
    blueprint.fields.iter().enumerate().map(|(position, field)| (field.slug.as_str(), position)).collect()
}

/// Returns whether a required field with this value is empty: `null`, `""` and `[]` are. An object never is, whatever
/// its parts are.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// Returns the message for an attribute that is not a field, with the known fields. Only the first messages list them,
/// so that a bulk request with very many unknown keys does not get a response of gigabytes.
fn unknown_attribute(blueprint: &Blueprint, slug: &str, errors_before: usize) -> String {
    let unknown = format!("the blueprint `{}` has no field {}", blueprint.slug, quote(slug));
    if errors_before >= NAMING_MESSAGES {
        unknown
    } else if blueprint.fields.is_empty() {
        format!("{unknown}; it has no fields")
    } else {
        let and_more = if blueprint.fields.len() > NAMED_FIELDS { ", …" } else { "" };
        let named = quote_all(blueprint.fields.iter().take(NAMED_FIELDS).map(|field| &field.slug));
        format!("{unknown}; its fields are {named}{and_more}")
    }
}
