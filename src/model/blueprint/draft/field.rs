//! Reading the fields of a blueprint's body.

use serde_json::Value;

use super::super::super::value::describe;
use super::super::FieldType;
use super::{Report, field_slug_from_name, is_slug, settings, slug};
use crate::model::sent::shorten;

/// Names in filters and sorts, and of a resource's own keys.
const RESERVED: [&str; 6] = ["published", "published_at", "created_at", "updated_at", "id", "type"];
const TAKEN: [&str; 7] = ["name", "slug", "type", "description", "required", "unique", "settings"];

/// A field of a body.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // As of `Field`.
pub struct DraftField {
    pub name: String,
    pub slug: String,
    pub description: Option<String>,
    pub required: bool,
    pub unique: bool,
    pub kind: FieldType,
}

/// The fields, as far as they could be read; `None` if there is no list of them.
pub(super) fn read_fields(value: Option<Value>, report: &mut Report) -> Option<Vec<DraftField>> {
    let elements = match value {
        Some(Value::Array(elements)) => elements,
        Some(other) => {
            report.fault("fields", format!("must be an array of fields, not {}", describe(&other)));
            return None;
        }
        None => {
            report.fault("fields", "must be given, an array of fields".to_owned());
            return None;
        }
    };
    let mut fields: Vec<DraftField> = Vec::new();
    for (place, value) in elements.into_iter().enumerate() {
        if let Some(field) = read_field(value, place, &fields, report) {
            fields.push(field);
        }
    }
    Some(fields)
}

fn read_field(value: Value, place: usize, before: &[DraftField], report: &mut Report) -> Option<DraftField> {
    let path = format!("fields.{place}");
    let mut object = report.object(value, &path)?;
    let name = report.label(object.shift_remove("name"), &format!("{path}.name"));
    let slug = read_slug(object.shift_remove("slug"), &name, &format!("{path}.slug"), before, report);
    let description = report.text(object.shift_remove("description"), &format!("{path}.description"));
    let required = report.flag(object.shift_remove("required"), &format!("{path}.required"));
    let unique = report.flag(object.shift_remove("unique"), &format!("{path}.unique"));
    let type_name = read_type(object.shift_remove("type"), &format!("{path}.type"), report);
    let settings = object.shift_remove("settings");
    let kind = type_name.map(|type_name| settings::read(&type_name, settings, &format!("{path}.settings"), report));
    report.unknown(&path, &object, &TAKEN, &[]);
    if unique && kind.as_ref().is_some_and(|kind| !kind.may_be_unique()) {
        report.fault(
            &format!("{path}.unique"),
            "must be false: only fields of the types `text`, `slug`, `email`, `link`, `number` may be unique"
                .to_owned(),
        );
    }
    // A field of an unknown type still has a name that others may name.
    let kind = kind.unwrap_or(FieldType::Text);
    Some(DraftField { name, slug, description, required, unique, kind })
}

fn read_slug(value: Option<Value>, name: &str, path: &str, before: &[DraftField], report: &mut Report) -> String {
    let slug = match value {
        None if name.is_empty() => return String::new(),
        None => match field_slug_from_name(name) {
            Some(slug) => slug,
            None => {
                let why = format!("must be given: no slug can be made from the name `{}`", shorten(name));
                report.fault(path, why);
                return String::new();
            }
        },
        Some(Value::String(slug)) => slug,
        Some(other) => {
            report.fault(path, format!("must be a string, not {}", describe(&other)));
            return String::new();
        }
    };
    if !is_slug(&slug) {
        report.fault(path, slug::fault(&slug));
    } else if RESERVED.contains(&slug.as_str()) {
        report.fault(path, format!("must be another slug: `{slug}` is taken, as are {}", RESERVED.join(", ")));
    } else if let Some(first) = before.iter().position(|field| field.slug == slug) {
        report.fault(path, format!("must not be there twice: `{slug}` is the slug of field {first} already"));
    }
    slug
}

fn read_type(value: Option<Value>, path: &str, report: &mut Report) -> Option<String> {
    let what = match value {
        Some(Value::String(name)) if FieldType::NAMES.contains(&name.as_str()) => return Some(name),
        Some(Value::String(name)) => format!("`{}`", shorten(&name)),
        Some(other) => describe(&other),
        None => "left out".to_owned(),
    };
    let names: Vec<String> = FieldType::NAMES.iter().map(|name| format!("`{name}`")).collect();
    report.fault(path, format!("must be one of {}, not {what}", names.join(", ")));
    None
}
