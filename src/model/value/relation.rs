//! Values of `reference` and `references` fields. The existence of their targets is checked elsewhere.

use serde_json::Value;

use super::elements::{array, check_distinct};
use super::text::string;
use crate::id::ResourceId;
use crate::sent::quote;

/// The maximum number of elements of a `references` value. It is limited because the committer looks each of them up.
const MAX_TARGETS: usize = 10_000;

/// The ids that a relation may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relations {
    /// Ids as responses contain them.
    Ids,
    /// Any strings except the empty one: an import may refer to a resource by its key.
    IdsOrKeys,
}

pub(super) fn one(value: Value, relations: Relations) -> Result<Value, String> {
    let target = string(value, "the id of a resource")?;
    check(&target, relations)?;
    Ok(Value::String(target))
}

pub(super) fn many(value: Value, relations: Relations) -> Result<Value, Vec<String>> {
    let elements = array(value, "ids of resources")?;
    if elements.len() > MAX_TARGETS {
        return Err(vec![format!("must have at most {MAX_TARGETS} elements, not {}", elements.len())]);
    }
    check_distinct(&elements, "the id of a resource", |target| check(target, relations))?;
    Ok(Value::Array(elements))
}

fn check(target: &str, relations: Relations) -> Result<(), String> {
    match relations {
        Relations::IdsOrKeys if target.is_empty() => Err("must be an id or a key, not an empty string".to_owned()),
        Relations::Ids if ResourceId::parse(target).is_none() => {
            Err(format!("must be the id of a resource (a UUID in lowercase with hyphens), not {}", quote(target)))
        }
        _ => Ok(()),
    }
}
