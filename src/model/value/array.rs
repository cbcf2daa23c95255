//! Values that are arrays of strings.

use std::collections::HashSet;

use serde_json::Value;

use super::text::{check_choice, check_relation};
use super::{Relations, describe};
use crate::model::sent::shorten;

const MAX_CHOICES: usize = 2_000;

pub(super) fn choices(value: Value, values: Option<&[String]>) -> Result<Value, Vec<String>> {
    let elements = array(value, "strings")?;
    if elements.len() > MAX_CHOICES {
        return Err(vec![format!("must have at most {MAX_CHOICES} elements, not {}", elements.len())]);
    }
    check_elements(&elements, "a string", |choice| check_choice(choice, values))?;
    Ok(Value::Array(elements))
}

pub(super) fn relations(value: Value, relations: Relations) -> Result<Value, Vec<String>> {
    let elements = array(value, "ids of resources")?;
    check_elements(&elements, "the id of a resource", |target| check_relation(target, relations))?;
    Ok(Value::Array(elements))
}

fn array(value: Value, of: &str) -> Result<Vec<Value>, Vec<String>> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(vec![format!("must be an array of {of}, not {}", describe(&other))]),
    }
}

/// All faults of the elements; each names the place, counted from 0.
fn check_elements(
    elements: &[Value],
    what: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<(), Vec<String>> {
    const TOLD: usize = 20;
    let mut seen = HashSet::with_capacity(elements.len());
    let mut faults = Vec::new();
    for (place, element) in elements.iter().enumerate() {
        let fault = match element {
            Value::String(text) if !seen.insert(text.as_str()) => {
                Some(format!("must not be there twice: `{}`", shorten(text)))
            }
            Value::String(text) => check(text).err(),
            other => Some(format!("must be {what}, not {}", describe(other))),
        };
        faults.extend(fault.map(|fault| format!("element {place} {fault}")));
        if faults.len() == TOLD {
            break;
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
