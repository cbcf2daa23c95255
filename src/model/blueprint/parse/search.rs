//! The setting `search` of a blueprint: the fields that ranked search searches (`API.md` 4.6.15).

use serde_json::{Map, Value};

use super::body::BodyReader;
use crate::blueprint::definition::FieldDefinition;
use crate::blueprint::field::FieldType;
use crate::blueprint::types::SearchSettings;
use crate::sent::{describe, quote};

/// The maximum weight of a field. With a greater weight, a field would hide all others.
const MAX_WEIGHT: f64 = 1_000.0;

/// Reads `{"fields": {"title": 4, "body": 1}}`.
pub(super) fn read(value: Option<Value>, reader: &mut BodyReader) -> Option<SearchSettings> {
    let value = value.filter(|value| !value.is_null())?;
    let mut object = reader.object(value, "search")?;
    let fields = object.shift_remove("fields").unwrap_or(Value::Null);
    let fields: Map<String, Value> = reader.object(fields, "search.fields")?;
    reader.unknown_keys("search", &object, &["fields"]);
    if fields.is_empty() {
        reader.error("search.fields", "must name at least one field; leave `search` out for the defaults".to_owned());
    }
    let mut weights = Vec::with_capacity(fields.len());
    for (slug, weight) in fields {
        match weight.as_f64().filter(|weight| *weight > 0.0 && *weight <= MAX_WEIGHT) {
            Some(number) => weights.push((slug, number)),
            None => {
                let text = format!("must be a number above 0 and at most {MAX_WEIGHT}, not {}", describe(&weight));
                reader.error(&format!("search.fields.{slug}"), text);
            }
        }
    }
    Some(SearchSettings { fields: weights })
}

/// Checks that `search` names fields that contain text. Reports nothing if `fields` could not be read.
pub(super) fn check(search: Option<&SearchSettings>, fields: Option<&[FieldDefinition]>, reader: &mut BodyReader) {
    let (Some(search), Some(fields)) = (search, fields) else { return };
    for (slug, _) in &search.fields {
        let problem = match fields.iter().find(|field| field.slug == *slug).map(|field| &field.field_type) {
            Some(FieldType::Text | FieldType::RichText) => continue,
            Some(other) => format!("{} is of the type `{}`", quote(slug), other.name()),
            None => format!("there is no field {}", quote(slug)),
        };
        let text = format!("must be the slug of a field of the type `text` or `rich-text`; {problem}");
        reader.error(&format!("search.fields.{slug}"), text);
    }
}
