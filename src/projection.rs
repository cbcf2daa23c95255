//! What is searchable how: from blueprints to columns, and from values to index entries. Pure, and the only place that
//! says it; folding, collating and how columns are asked are the index's.
//!
//! Column `number * 8` is the field itself, the ones after it are its parts (`API.md` 4.8).

use std::sync::Arc;

use bindery_index::{Column, ColumnId, Kind, Schema, Value as Indexed, Variant, exact_hash};
use serde_json::Value;

use crate::model::blueprint::{Blueprint, Field, FieldType};
use crate::model::html::text_content;
use crate::model::time::parse_instant;

/// A column with the field it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    /// The field.
    pub field: &'a Field,
    /// The column.
    pub id: ColumnId,
    /// What the column holds.
    pub kind: Kind,
}

/// The column of that name.
pub fn column<'a>(blueprint: &'a Blueprint, name: &str) -> Option<ColumnRef<'a>> {
    let (slug, part) = name.split_once('.').map_or((name, None), |(slug, part)| (slug, Some(part)));
    let field = blueprint.field(slug)?;
    let (part, kind) = match part {
        None => (0, whole(&field.kind)),
        Some(part) => {
            let (_, part, kind) = parts(&field.kind).iter().find(|(name, _, _)| *name == part)?;
            (*part, *kind)
        }
    };
    Some(ColumnRef { field, id: column_id(field, part), kind })
}

/// The columns that `search` looks at.
pub fn searchable_columns(blueprint: &Blueprint) -> Vec<ColumnId> {
    let fields = blueprint.fields.iter();
    fields.filter(|field| is_searched(&field.kind)).map(|field| column_id(field, 0)).collect()
}

/// The names of all columns.
pub fn filterable_names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = Vec::new();
    for field in &blueprint.fields {
        names.push(field.slug.clone());
        names.extend(parts(&field.kind).iter().map(|(part, _, _)| format!("{}.{part}", field.slug)));
    }
    names
}

fn whole(kind: &FieldType) -> Kind {
    match kind {
        FieldType::RichText | FieldType::HtmlPage { .. } => Kind::Markup,
        FieldType::Number | FieldType::Duration { .. } | FieldType::User { .. } | FieldType::Money { .. } => {
            Kind::Number
        }
        FieldType::Boolean => Kind::Bool,
        FieldType::Date | FieldType::Address => Kind::Plain,
        FieldType::DateTime => Kind::Instant,
        FieldType::MultiEnum { .. } | FieldType::References { .. } => Kind::List,
        _ => Kind::Text,
    }
}

/// The parts of a type: name, place behind the field's own column, and kind. A money's amount is the field itself.
fn parts(kind: &FieldType) -> &'static [(&'static str, u32, Kind)] {
    match kind {
        FieldType::Money { .. } => &[("amount", 0, Kind::Number), ("currency", 1, Kind::Text)],
        FieldType::Address => &[
            ("street", 1, Kind::Text),
            ("postal_code", 2, Kind::Text),
            ("city", 3, Kind::Text),
            ("country", 4, Kind::Text),
        ],
        _ => &[],
    }
}

fn is_searched(kind: &FieldType) -> bool {
    matches!(kind, FieldType::Text | FieldType::RichText)
}

fn column_id(field: &Field, part: u32) -> ColumnId {
    field.number * 8 + part
}

/// The columns and variants of a blueprint's index.
pub fn schema(blueprint: &Blueprint) -> Schema {
    let mut columns = Vec::new();
    for field in &blueprint.fields {
        columns.push(Column { id: column_id(field, 0), kind: whole(&field.kind) });
        let own = parts(&field.kind).iter().filter(|(_, part, _)| *part > 0);
        columns.extend(own.map(|(_, part, kind)| Column { id: column_id(field, *part), kind: *kind }));
    }
    let variants = if blueprint.variants.is_empty() {
        vec![Variant { number: blueprint.plain_variant, locale: None }]
    } else {
        let variant = |variant: &crate::model::blueprint::Variant| Variant {
            number: variant.number,
            locale: Some(variant.slug.clone()),
        };
        blueprint.variants.iter().map(variant).collect()
    };
    Schema { columns, variants }
}

/// The index values of a copy's canonical values, each with its field's place in the blueprint. Nulls give none.
pub fn project(blueprint: &Blueprint, values: &[(usize, &Value)]) -> Vec<(ColumnId, Indexed)> {
    let mut entry = Vec::with_capacity(values.len());
    for (place, value) in values {
        project_field(&blueprint.fields[*place], value, &mut entry);
    }
    entry
}

fn project_field(field: &Field, value: &Value, entry: &mut Vec<(ColumnId, Indexed)>) {
    if value.is_null() {
        return;
    }
    let id = column_id(field, 0);
    match &field.kind {
        FieldType::RichText => entry.extend(value.as_str().map(|html| (id, markup(html)))),
        FieldType::HtmlPage { .. } => entry.extend(value["html"].as_str().map(|html| (id, markup(html)))),
        FieldType::Number | FieldType::Duration { .. } | FieldType::User { .. } => {
            entry.extend(value.as_f64().map(|number| (id, Indexed::Number(number))));
        }
        FieldType::Money { .. } => {
            entry.extend(value["amount"].as_f64().map(|amount| (id, Indexed::Number(amount))));
            entry.extend(value["currency"].as_str().map(|currency| (column_id(field, 1), text(currency))));
        }
        FieldType::Boolean => entry.extend(value.as_bool().map(|bool| (id, Indexed::Bool(bool)))),
        FieldType::DateTime => {
            let instant = value.as_str().and_then(|sent| Some((sent, parse_instant(sent)?)));
            entry.extend(instant.map(|(sent, instant)| {
                (id, Indexed::Instant { micros: instant.micros, text: Arc::from(sent) })
            }));
        }
        FieldType::MultiEnum { .. } | FieldType::References { .. } => {
            let elements = value.as_array().into_iter().flatten().filter_map(Value::as_str).map(Arc::from);
            entry.push((id, Indexed::List(elements.collect())));
        }
        FieldType::Address => project_address(field, value, entry),
        FieldType::Text
        | FieldType::Slug
        | FieldType::Email
        | FieldType::Link
        | FieldType::Image
        | FieldType::File
        | FieldType::Enum { .. }
        | FieldType::Color
        | FieldType::Date
        | FieldType::Reference { .. } => entry.extend(value.as_str().map(|value| (id, text(value)))),
    }
}

/// The text form of an address: the parts that are there, in their order, joined by `, `.
fn project_address(field: &Field, value: &Value, entry: &mut Vec<(ColumnId, Indexed)>) {
    let mut joined = Vec::new();
    for (name, part, _) in parts(&field.kind) {
        let Some(sent) = value[name].as_str() else { continue };
        if !sent.is_empty() {
            joined.push(sent);
        }
        entry.push((column_id(field, *part), text(sent)));
    }
    entry.push((column_id(field, 0), text(&joined.join(", "))));
}

fn text(value: &str) -> Indexed {
    Indexed::Text(Arc::from(value))
}

fn markup(html: &str) -> Indexed {
    Indexed::Markup { exact: exact_hash(html), text: Arc::from(text_content(html)) }
}
