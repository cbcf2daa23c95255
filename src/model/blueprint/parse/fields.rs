//! The reading of the fields of a definition.

use std::collections::HashMap;

use serde_json::Value;

use super::body::BodyReader;
use super::settings;
use crate::blueprint::definition::FieldDefinition;
use crate::blueprint::field::{FieldType, OnDelete};
use crate::blueprint::slug::{is_slug, not_a_slug};
use crate::sent::{describe, quote, quote_all};

/// The slugs that filters, sorts or the keys of a resource already use.
const RESERVED: [&str; 6] = ["published", "published_at", "created_at", "updated_at", "id", "type"];
/// The maximum number of fields of a blueprint.
const MAX_FIELDS: usize = 500;
const KEYS: [&str; 7] = ["name", "slug", "type", "description", "required", "unique", "settings"];

/// Reads the fields. Leaves out elements that are not objects. Returns `None` if there is no array of fields.
pub(super) fn read(value: Option<Value>, reader: &mut BodyReader) -> Option<Vec<FieldDefinition>> {
    let elements = match value {
        Some(Value::Array(elements)) => elements,
        Some(other) => {
            reader.error("fields", format!("must be an array of fields, not {}", describe(&other)));
            return None;
        }
        None => {
            reader.error("fields", "must be given: an array of fields".to_owned());
            return None;
        }
    };
    if !reader.accepts(elements.len(), MAX_FIELDS, "fields") {
        return None;
    }
    let mut fields = FieldsReader { reader, positions: HashMap::new() };
    Some(elements.into_iter().enumerate().filter_map(|(position, value)| fields.field(value, position)).collect())
}

struct FieldsReader<'a> {
    reader: &'a mut BodyReader,
    /// The slugs read so far, each with the position of its first field.
    positions: HashMap<String, usize>,
}

impl FieldsReader<'_> {
    fn field(&mut self, value: Value, position: usize) -> Option<FieldDefinition> {
        let path = format!("fields.{position}");
        let mut object = self.reader.object(value, &path)?;
        let name = self.reader.label(object.shift_remove("name"), &format!("{path}.name"));
        let slug = self.slug(object.shift_remove("slug"), &name, &format!("{path}.slug"));
        self.positions.entry(slug.clone()).or_insert(position);
        let description = self.reader.text(object.shift_remove("description"), &format!("{path}.description"));
        let required = self.reader.flag(object.shift_remove("required"), &format!("{path}.required"));
        let unique = self.reader.flag(object.shift_remove("unique"), &format!("{path}.unique"));
        let is_system = self.reader.flag(object.shift_remove("system"), &format!("{path}.system"));
        let type_name = self.type_name(object.shift_remove("type"), &format!("{path}.type"));
        let settings = object.shift_remove("settings");
        let settings_path = format!("{path}.settings");
        let field_type = type_name.map(|name| settings::read(&name, settings, &settings_path, self.reader));
        self.reader.unknown_keys(&path, &object, &KEYS);
        if unique && field_type.as_ref().is_some_and(|field_type| !field_type.may_be_unique()) {
            let text =
                "must be false: only fields of the types `text`, `slug`, `email`, `link`, `number` may be unique";
            self.reader.error(&format!("{path}.unique"), text.to_owned());
        }
        let on_delete = field_type.as_ref().and_then(FieldType::relation).map(|relation| relation.on_delete);
        if required && on_delete == Some(OnDelete::Nullify) {
            let text =
                "`on_delete` must not be `nullify` in a required field, which cannot become null; use `restrict`";
            self.reader.error(&settings_path, text.to_owned());
        }
        // A field of an unknown type still has a slug, which `record_title` and `seo` may name.
        let field_type = field_type.unwrap_or(FieldType::Text);
        Some(FieldDefinition { name, slug, description, required, unique, field_type, is_system })
    }

    fn slug(&mut self, value: Option<Value>, name: &str, path: &str) -> String {
        let Some(slug) = self.reader.slug(value, name, path) else { return String::new() };
        if !is_slug(&slug) {
            self.reader.error(path, not_a_slug(&slug));
        } else if RESERVED.contains(&slug.as_str()) {
            self.reader.error(path, format!("must not be `{slug}`: the slugs {} are reserved", quote_all(RESERVED)));
        } else if let Some(first) = self.positions.get(&slug) {
            self.reader.error(path, format!("must be unique: field {first} already has the slug `{slug}`"));
        }
        slug
    }

    fn type_name(&mut self, value: Option<Value>, path: &str) -> Option<String> {
        let types = quote_all(FieldType::NAMES);
        let error = match value {
            Some(Value::String(name)) if FieldType::NAMES.contains(&name.as_str()) => return Some(name),
            Some(Value::String(name)) => format!("must be one of {types}, not {}", quote(&name)),
            Some(other) => format!("must be one of {types}, not {}", describe(&other)),
            None => format!("must be given: one of {types}"),
        };
        self.reader.error(path, error);
        None
    }
}
