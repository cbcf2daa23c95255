//! What of a resource's copy is searchable, and how: the one place that knows both field types and columns.
//!
//! Pure. A field has a block of eight column numbers: the field itself is the first, its parts follow.

use std::sync::Arc;

use bindery_index::{Column, ColumnId, Kind, Schema, Value, Variant, exact_hash};
use serde_json::Value as Json;

use crate::model::blueprint::{Blueprint, Field, FieldType};
use crate::model::html::text_content;
use crate::model::time::parse_instant;
use crate::model::value::address;

/// Columns are numbered by field number and part, so that a field's columns go with its number.
const PARTS_PER_FIELD: u32 = 8;

/// A column as filters and sorts name it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnRef<'a> {
    /// The field it belongs to.
    pub field: &'a Field,
    /// Its number in the index.
    pub id: ColumnId,
    /// What it holds.
    pub kind: Kind,
}

/// The columns and variants of a blueprint's index. A variant's text is sorted by the collation that its slug names.
pub fn schema(blueprint: &Blueprint) -> Schema {
    let columns = blueprint.fields.iter().flat_map(columns_of);
    let columns = columns.map(|(_, id, kind)| Column { id, kind }).collect();
    let variants = match blueprint.variants.is_empty() {
        true => vec![Variant { number: blueprint.plain_variant, locale: None }],
        false => blueprint
            .variants
            .iter()
            .map(|variant| Variant { number: variant.number, locale: Some(variant.slug.clone()) })
            .collect(),
    };
    Schema { columns, variants }
}

/// The column of that name: a field's slug, or a part of it such as `price.currency` or `address.city`. (`price.amount`
/// is the column of `price`.)
pub fn column<'a>(blueprint: &'a Blueprint, name: &str) -> Option<ColumnRef<'a>> {
    let (slug, part) = name.split_once('.').map_or((name, None), |(slug, part)| (slug, Some(part)));
    let field = blueprint.field(slug)?;
    let part = match (&field.kind, part) {
        (FieldType::Money { .. }, Some("amount")) => None,
        (_, part) => part,
    };
    let (_, id, kind) = columns_of(field).find(|(name, _, _)| *name == part)?;
    Some(ColumnRef { field, id, kind })
}

/// All names that filters and sorts take of the blueprint's own: each field, followed by its parts.
pub fn column_names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = Vec::new();
    for field in &blueprint.fields {
        names.push(field.slug.clone());
        if matches!(field.kind, FieldType::Money { .. }) {
            names.push(format!("{}.amount", field.slug));
        }
        names.extend(columns_of(field).filter_map(|(part, _, _)| part.map(|part| format!("{}.{part}", field.slug))));
    }
    names
}

/// The columns that `search` looks at: those of text and rich-text fields.
pub fn searchable_columns(blueprint: &Blueprint) -> Vec<ColumnId> {
    let searchable = |field: &&Field| matches!(field.kind, FieldType::Text | FieldType::RichText);
    blueprint.fields.iter().filter(searchable).map(own_column).collect()
}

/// The column values of checked values, each with its field's place in the blueprint. Nulls give none.
pub fn project<'a>(
    blueprint: &Blueprint,
    values: impl IntoIterator<Item = (usize, &'a Json)>,
) -> Vec<(ColumnId, Value)> {
    values.into_iter().flat_map(|(place, value)| project_field(&blueprint.fields[place], value)).collect()
}

/// The column values of one field's checked value. Null gives none.
pub fn project_field(field: &Field, value: &Json) -> impl Iterator<Item = (ColumnId, Value)> {
    let parts = parts_of(&field.kind).iter().zip(own_column(field) + 1..);
    let parts = parts.filter_map(|(part, id)| Some((id, Value::Text(Arc::from(value.get(part)?.as_str()?)))));
    parts.chain(own_value(field, value).map(|own| (own_column(field), own)))
}

fn own_column(field: &Field) -> ColumnId {
    field.number * PARTS_PER_FIELD
}

/// What the column of the field itself holds.
fn kind_of(field_type: &FieldType) -> Kind {
    match field_type {
        FieldType::Text
        | FieldType::Slug
        | FieldType::Email
        | FieldType::Link
        | FieldType::Image
        | FieldType::File
        | FieldType::Enum { .. }
        | FieldType::Color
        | FieldType::Reference { .. } => Kind::Text,
        FieldType::RichText | FieldType::HtmlPage { .. } => Kind::Markup,
        FieldType::Number | FieldType::Duration { .. } | FieldType::User { .. } | FieldType::Money { .. } => {
            Kind::Number
        }
        FieldType::Boolean => Kind::Bool,
        FieldType::Date | FieldType::Address => Kind::Plain,
        FieldType::DateTime => Kind::Instant,
        FieldType::MultiEnum { .. } | FieldType::References { .. } => Kind::List,
    }
}

/// The parts that have columns of their own, all of them text.
fn parts_of(field_type: &FieldType) -> &'static [&'static str] {
    match field_type {
        FieldType::Money { .. } => &["currency"],
        FieldType::Address => &address::PARTS,
        _ => &[],
    }
}

/// The field's own column, then those of its parts.
fn columns_of(field: &Field) -> impl Iterator<Item = (Option<&'static str>, ColumnId, Kind)> {
    let own = own_column(field);
    let parts = parts_of(&field.kind).iter().zip(own + 1..).map(|(part, id)| (Some(*part), id, Kind::Text));
    std::iter::once((None, own, kind_of(&field.kind))).chain(parts)
}

/// The value of the field's own column; `None` is null.
fn own_value(field: &Field, value: &Json) -> Option<Value> {
    if value.is_null() {
        return None;
    }
    match &field.kind {
        FieldType::HtmlPage { .. } => value.get("html").and_then(Json::as_str).map(markup),
        FieldType::Money { .. } => value.get("amount").and_then(Json::as_f64).map(Value::Number),
        FieldType::Address => Some(Value::Text(Arc::from(joined_address(value)))),
        field_type => match kind_of(field_type) {
            Kind::Text | Kind::Plain => value.as_str().map(|text| Value::Text(Arc::from(text))),
            Kind::Markup => value.as_str().map(markup),
            Kind::Number => value.as_f64().map(Value::Number),
            Kind::Bool => value.as_bool().map(Value::Bool),
            Kind::Instant => {
                let text = value.as_str()?;
                Some(Value::Instant { micros: parse_instant(text)?.micros, text: Arc::from(text) })
            }
            Kind::List => {
                let elements = value.as_array()?.iter().filter_map(Json::as_str);
                Some(Value::List(elements.map(Arc::from).collect()))
            }
        },
    }
}

fn markup(html: &str) -> Value {
    Value::Markup { exact: exact_hash(html), text: Arc::from(text_content(html)) }
}

/// The parts that are neither null nor empty.
fn joined_address(value: &Json) -> String {
    let parts = address::PARTS.iter().filter_map(|part| value.get(part)?.as_str()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
