//! The part of a resource's copy that the index contains. The only module that knows both field types and columns; must
//! not do I/O.
//!
//! Each field has a block of eight column numbers: the first is the field's own column, those of its parts follow.

use std::sync::Arc;

use bindery_index::{
    Column, ColumnId, Kind, Language, Schema, Value, Variant, VariantNumber, WORKING_UPDATED, exact_hash,
    working_variant,
};
use bindery_model::blueprint::{Blueprint, Field, FieldType, SearchLanguage};
use bindery_model::time::parse_instant;
use bindery_model::value::ADDRESS_PARTS;
use bindery_sanitize::text_content;
use serde_json::Value as Json;

/// Column numbers are derived from the field's number, so a field that gets a new number gets new columns.
const PARTS_PER_FIELD: u32 = 8;

/// A column that a filter or sort names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnRef<'a> {
    /// The field it belongs to.
    pub field: &'a Field,
    /// The number of the column in the index.
    pub id: ColumnId,
    /// The kind of its values.
    pub kind: Kind,
}

/// Returns the columns and variants of a blueprint's index. Working copies have variants of their own.
pub fn schema(blueprint: &Blueprint) -> Schema {
    let columns = blueprint.fields.iter().flat_map(columns_of);
    let mut columns: Vec<Column> = columns.map(|(_, id, kind)| Column { id, kind }).collect();
    let variant = |number| Variant { number, locale: locale_of(blueprint, number).map(str::to_owned) };
    let mut variants: Vec<Variant> = blueprint.variant_numbers().into_iter().map(variant).collect();
    if blueprint.working_copy {
        columns.push(Column { id: WORKING_UPDATED, kind: Kind::Instant });
        let working = variants.iter().map(|live| Variant { number: working_variant(live.number), ..live.clone() });
        variants.extend(working.collect::<Vec<_>>());
    }
    Schema { columns, variants }
}

/// Returns the language tag that names the collation of a variant's texts: its slug. `None` for the copy of a blueprint
/// without variants. When a blueprint gets its first variant or loses its last one, its copies keep their number,
/// but not their collation.
pub fn locale_of(blueprint: &Blueprint, variant: VariantNumber) -> Option<&str> {
    let variant = blueprint.variants.iter().find(|known| known.number == variant);
    variant.map(|variant| variant.slug.as_str())
}

/// Returns the column with this name: a field's slug, or a part of the field such as `price.currency` or
/// `address.city`. `price.amount` is the same column as `price`.
pub fn column<'a>(blueprint: &'a Blueprint, name: &str) -> Option<ColumnRef<'a>> {
    let (slug, part) = name.split_once('.').map_or((name, None), |(slug, part)| (slug, Some(part)));
    let field = blueprint.field(slug)?;
    let part = match (&field.field_type, part) {
        (FieldType::Money { .. }, Some("amount")) => None,
        (_, part) => part,
    };
    let (_, id, kind) = columns_of(field).find(|(name, _, _)| *name == part)?;
    Some(ColumnRef { field, id, kind })
}

/// Returns the names of all columns for filters and sorts: each field, followed by its parts.
pub fn column_names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = Vec::new();
    for field in &blueprint.fields {
        names.push(field.slug.clone());
        if matches!(field.field_type, FieldType::Money { .. }) {
            names.push(format!("{}.amount", field.slug));
        }
        names.extend(columns_of(field).filter_map(|(part, _, _)| part.map(|part| format!("{}.{part}", field.slug))));
    }
    names
}

/// Returns the name of a column; `None` if no field of the blueprint has it.
pub fn column_name(blueprint: &Blueprint, column: ColumnId) -> Option<String> {
    let field = field_of(blueprint, column)?;
    let (part, ..) = columns_of(field).find(|(_, id, _)| *id == column)?;
    Some(part.map_or_else(|| field.slug.clone(), |part| format!("{}.{part}", field.slug)))
}

/// Returns the field that a column belongs to.
pub fn field_of(blueprint: &Blueprint, column: ColumnId) -> Option<&Field> {
    blueprint.fields.iter().find(|field| field.number == column / PARTS_PER_FIELD)
}

/// Returns the columns that `search` searches: those of text and rich-text fields.
pub fn searchable_columns(blueprint: &Blueprint) -> Vec<ColumnId> {
    blueprint.fields.iter().filter(|field| has_prose(field)).map(column_of).collect()
}

/// Returns the columns of ranked search with their weights: those in the blueprint's settings, or all text and
/// rich-text fields.
pub fn ranked_columns(blueprint: &Blueprint) -> Vec<(ColumnId, f32)> {
    let by_default = |field: &Field| match field.field_type {
        _ if blueprint.record_title.as_deref() == Some(field.slug.as_str()) => 4.0,
        FieldType::Text => 2.0,
        _ => 1.0,
    };
    let weight = |field: &Field| match &blueprint.search {
        None => Some(by_default(field)),
        Some(settings) if settings.fields.is_empty() => Some(by_default(field)),
        Some(settings) => {
            settings.fields.iter().find(|(slug, _)| *slug == field.slug).map(|(_, weight)| *weight as f32)
        }
    };
    let searchable = blueprint.fields.iter().filter(|field| has_prose(field));
    searchable.filter_map(|field| Some((column_of(field), weight(field)?))).collect()
}

/// Returns the language of the texts of a variant, for ranked search; `None` if they have none.
pub fn language_of(blueprint: &Blueprint, variant: VariantNumber) -> Option<Language> {
    match blueprint.search.as_ref().map_or(&SearchLanguage::OfVariant, |search| &search.language) {
        SearchLanguage::None => None,
        SearchLanguage::Code(code) => Language::of_tag(code),
        SearchLanguage::OfVariant => {
            let variant = blueprint.variants.iter().find(|known| known.number == variant)?;
            Language::of_tag(&variant.slug)
        }
    }
}

/// Returns whether a field holds text that people read and search.
pub fn has_prose(field: &Field) -> bool {
    matches!(field.field_type, FieldType::Text | FieldType::RichText)
}

/// Returns the column values of checked values, each given with its field's position in the blueprint. A null has none.
pub fn project<'a>(
    blueprint: &Blueprint,
    values: impl IntoIterator<Item = (usize, &'a Json)>,
) -> Vec<(ColumnId, Value)> {
    values.into_iter().flat_map(|(position, value)| project_field(&blueprint.fields[position], value)).collect()
}

/// Returns the column values of one field's checked value. A null has none.
pub fn project_field(field: &Field, value: &Json) -> impl Iterator<Item = (ColumnId, Value)> {
    let parts = parts_of(&field.field_type).iter().zip(column_of(field) + 1..);
    let parts = parts.filter_map(|(part, id)| Some((id, Value::Text(Arc::from(value.get(part)?.as_str()?)))));
    parts.chain(own_value(field, value).map(|own| (column_of(field), own)))
}

/// Returns the field's own column.
pub fn column_of(field: &Field) -> ColumnId {
    field.number * PARTS_PER_FIELD
}

/// Returns the column of a part of a field, such as the currency of money; `None` if there is no such part.
pub fn part_column(field: &Field, part: &str) -> Option<ColumnId> {
    columns_of(field).find(|(name, _, _)| *name == Some(part)).map(|(_, id, _)| id)
}

/// Returns the own column of the field that a column belongs to. It is null exactly if the attribute is.
pub fn whole_column(column: ColumnId) -> ColumnId {
    column - column % PARTS_PER_FIELD
}

/// Returns the kind of the field's own column.
fn kind_of(field_type: &FieldType) -> Kind {
    match field_type {
        FieldType::Text => Kind::Prose,
        FieldType::Slug
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

/// Returns the parts that have their own columns, which are all text.
fn parts_of(field_type: &FieldType) -> &'static [&'static str] {
    match field_type {
        FieldType::Money { .. } => &["currency"],
        FieldType::Address => &ADDRESS_PARTS,
        _ => &[],
    }
}

/// Returns the field's own column, then the columns of its parts, each with the part's name.
fn columns_of(field: &Field) -> impl Iterator<Item = (Option<&'static str>, ColumnId, Kind)> {
    let own = column_of(field);
    let parts = parts_of(&field.field_type).iter().zip(own + 1..).map(|(part, id)| (Some(*part), id, Kind::Text));
    std::iter::once((None, own, kind_of(&field.field_type))).chain(parts)
}

/// Returns the value of the field's own column; `None` for null.
fn own_value(field: &Field, value: &Json) -> Option<Value> {
    if value.is_null() {
        return None;
    }
    match &field.field_type {
        FieldType::HtmlPage { .. } => value.get("html").and_then(Json::as_str).map(markup),
        FieldType::Money { .. } => value.get("amount").and_then(Json::as_f64).map(Value::Number),
        FieldType::Address => Some(Value::Text(Arc::from(joined_address(value)))),
        field_type => match kind_of(field_type) {
            Kind::Text | Kind::Prose | Kind::Plain => value.as_str().map(|text| Value::Text(Arc::from(text))),
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

/// Returns the parts that are neither null nor empty, separated by commas.
fn joined_address(value: &Json) -> String {
    let parts = ADDRESS_PARTS.iter().filter_map(|part| value.get(part)?.as_str()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
