//! Building blocks of schemas. Must not know what they describe.

use serde_json::{Map, Value, json};

/// Schemas by name.
pub(super) type Schemas = Vec<(&'static str, Value)>;

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn maybe(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

pub(super) fn maybe_time() -> Value {
    json!({ "type": ["string", "null"], "format": "date-time" })
}

pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// Returns a schema that also allows null.
pub(super) fn or_null(schema: &str) -> Value {
    json!({ "anyOf": [reference(schema), { "type": "null" }] })
}

/// Requires all keys of an object schema.
pub(super) fn all_required(mut schema: Value) -> Value {
    let keys: Vec<Value> = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| json!(key)).collect();
    schema["required"] = Value::Array(keys);
    schema
}

/// Adds a description to a schema.
pub(super) fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

pub(super) fn list_of(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

pub(super) fn reference(schema: &str) -> Value {
    super::reference(schema)
}

/// Returns an object that may have any keys. Without `additionalProperties`, generators would read it as an object that
/// has none.
pub(super) fn any_object() -> Value {
    json!({ "type": "object", "additionalProperties": true })
}

/// Returns an object whose keys the client chooses.
pub(super) fn map_of(values: Value) -> Value {
    json!({ "type": "object", "additionalProperties": values })
}

/// Returns an object that has all of these keys.
pub(super) fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(key, _)| *key).collect();
    let properties: Map<String, Value> =
        properties.iter().map(|(key, schema)| ((*key).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Returns an object that may have these keys.
pub(super) fn options<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let properties: Map<String, Value> = properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "type": "object", "properties": properties })
}

/// Adds optional keys to an object schema.
pub(super) fn also<const N: usize>(mut schema: Value, properties: [(&str, Value); N]) -> Value {
    for (key, property) in properties {
        schema["properties"][key] = property;
    }
    schema
}
