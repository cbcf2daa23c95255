//! The schemas of a blueprint's attributes, in answers and in writes (`API.md` 2.4.3).

use bindery_model::blueprint::{Blueprint, Choices, Field, FieldType};
use bindery_model::value::ADDRESS_PARTS;
use serde_json::{Map, Value, json};

use super::shape;

/// Returns the schemas of one blueprint's attributes, under names that begin with its slug.
pub(super) fn schemas(blueprint: &Blueprint) -> Vec<(String, Value)> {
    let slug = &blueprint.slug;
    let named = |part: &str| format!("{slug}.{part}");
    let properties = |schema: fn(&Field) -> Value| -> Map<String, Value> {
        blueprint.fields.iter().map(|field| (field.slug.clone(), schema(field))).collect()
    };
    let all: Vec<&str> = blueprint.fields.iter().map(|field| field.slug.as_str()).collect();
    let required: Vec<&str> =
        blueprint.fields.iter().filter(|field| field.required).map(|field| field.slug.as_str()).collect();
    let mut write = json!({ "type": "object", "properties": properties(created), "additionalProperties": false });
    if !required.is_empty() {
        write["required"] = json!(required);
    }
    vec![
        (
            named("attributes"),
            json!({
                "title": blueprint.name, "type": "object", "properties": properties(answered), "required": all,
                "additionalProperties": false,
            }),
        ),
        (named("write"), write),
        (
            named("change"),
            json!({ "type": "object", "properties": properties(written), "additionalProperties": false }),
        ),
    ]
}

/// Returns the schema of a field's value in answers.
fn answered(field: &Field) -> Value {
    let mut schema = value(&field.field_type);
    if let FieldType::HtmlPage { .. } = field.field_type {
        schema["required"] = json!(["html", "css", "blocks"]);
    }
    if let FieldType::Address = field.field_type {
        schema["required"] = json!(ADDRESS_PARTS);
    }
    about(field, nullable(schema))
}

/// Returns the schema of a field's value in writes.
fn written(field: &Field) -> Value {
    about(field, nullable(value(&field.field_type)))
}

/// Returns the schema of a field's value in the write of a new resource: a required value is not null.
fn created(field: &Field) -> Value {
    match field.required {
        true => about(field, value(&field.field_type)),
        false => written(field),
    }
}

fn about(field: &Field, mut schema: Value) -> Value {
    schema["title"] = field.name.as_str().into();
    if let Some(description) = &field.description {
        schema["description"] = description.as_str().into();
    }
    schema
}

/// Allows null in a schema. A choice needs null among its values too.
fn nullable(mut schema: Value) -> Value {
    if let Some(values) = schema["enum"].as_array_mut() {
        values.push(Value::Null);
    }
    if schema["enum"].is_null() {
        schema.as_object_mut().map(|schema| schema.remove("enum"));
    }
    schema["type"] = json!([schema["type"].take(), "null"]);
    schema
}

fn value(field_type: &FieldType) -> Value {
    let choice = |values: &Option<Choices>| match values {
        Some(values) => json!({ "type": "string", "enum": values.values() }),
        None => json!({ "type": "string", "minLength": 1, "maxLength": 255 }),
    };
    match field_type {
        FieldType::Text => json!({ "type": "string", "maxLength": 65_536 }),
        FieldType::RichText => json!({ "type": "string", "contentMediaType": "text/html" }),
        FieldType::HtmlPage { .. } => json!({
            "type": "object",
            "properties": {
                "html": { "type": "string" }, "css": { "type": "string" },
                "blocks": { "type": "array", "items": shape::any_object(), "maxItems": 10_000 },
            },
            "additionalProperties": false,
        }),
        FieldType::Slug => json!({ "type": "string", "minLength": 1, "maxLength": 255 }),
        FieldType::Email => json!({ "type": "string", "format": "email", "maxLength": 254 }),
        FieldType::Link | FieldType::Image | FieldType::File => json!({ "type": "string", "format": "uri-reference" }),
        FieldType::Enum { values } => choice(values),
        FieldType::MultiEnum { values } => {
            json!({ "type": "array", "items": choice(values), "uniqueItems": true, "maxItems": 2_000 })
        }
        FieldType::Boolean => json!({ "type": "boolean" }),
        FieldType::Color => json!({
            "type": "string", "pattern": "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$",
        }),
        FieldType::Number => json!({ "type": "number" }),
        FieldType::Money { currencies, .. } => json!({
            "type": "object",
            "properties": { "amount": { "type": "number" }, "currency": { "type": "string", "enum": currencies } },
            "required": ["amount", "currency"],
            "additionalProperties": false,
        }),
        FieldType::Date => json!({ "type": "string", "format": "date" }),
        FieldType::DateTime => json!({ "type": "string" }),
        FieldType::Duration { min, max, .. } => {
            let mut schema = json!({ "type": "number" });
            for (key, bound) in [("minimum", min), ("maximum", max)] {
                if let Some(bound) = bound {
                    schema[key] = json!(bound);
                }
            }
            schema
        }
        FieldType::Reference(relation) => related(&relation.blueprint),
        FieldType::References(relation) => json!({
            "type": "array", "items": related(&relation.blueprint), "uniqueItems": true, "maxItems": 10_000,
        }),
        FieldType::User { .. } => json!({ "type": "integer", "description": "The id of a member." }),
        FieldType::Address => {
            let parts = ADDRESS_PARTS.map(|part| (part.to_owned(), json!({ "type": ["string", "null"] })));
            json!({ "type": "object", "properties": Map::from_iter(parts), "additionalProperties": false })
        }
    }
}

/// Returns a value that the field accepts. The ids of a relation may name nothing.
pub(super) fn example(field_type: &FieldType) -> Value {
    let choice = |values: &Option<Choices>| {
        values.as_ref().and_then(|values| values.values().first().cloned()).unwrap_or_else(|| "value".to_owned())
    };
    let id = "00000000-0000-7000-8000-000000000000";
    match field_type {
        FieldType::Text => json!("Text"),
        FieldType::RichText => json!("<p>Text</p>"),
        FieldType::HtmlPage { .. } => json!({ "html": "<p>Text</p>" }),
        FieldType::Slug => json!("a-slug"),
        FieldType::Email => json!("reader@example.com"),
        FieldType::Link | FieldType::Image | FieldType::File => json!("https://www.example.com/"),
        FieldType::Enum { values } => json!(choice(values)),
        FieldType::MultiEnum { values } => json!([choice(values)]),
        FieldType::Boolean => json!(true),
        FieldType::Color => json!("#7a1f3d"),
        FieldType::Number => json!(1),
        FieldType::Money { currencies, .. } => json!({ "amount": 1, "currency": currencies.first() }),
        FieldType::Date => json!("2026-01-31"),
        FieldType::DateTime => json!("2026-01-31T12:00:00Z"),
        FieldType::Duration { min, max, .. } => json!(min.or(*max).unwrap_or(1.0)),
        FieldType::Reference(_) => json!(id),
        FieldType::References(_) => json!([id]),
        FieldType::User { .. } => json!(1),
        FieldType::Address => json!({ "city": "Lisbon" }),
    }
}

fn related(blueprint: &str) -> Value {
    json!({ "type": "string", "format": "uuid", "description": format!("The id of a resource of `{blueprint}`.") })
}
