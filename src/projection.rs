//! Temporary: names to columns, until the projection is merged.

use bindery_index::{ColumnId, Kind};

use crate::model::blueprint::{Blueprint, Field, FieldType};

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
    let (number, kind) = match (&field.kind, part) {
        (kind, None) => (0, whole(kind)),
        (FieldType::Money { .. }, Some("amount")) => (0, Kind::Number),
        (FieldType::Money { .. }, Some("currency")) => (1, Kind::Text),
        (FieldType::Address, Some(part)) => {
            (1 + ["street", "postal_code", "city", "country"].iter().position(|name| *name == part)? as u32, Kind::Text)
        }
        _ => return None,
    };
    Some(ColumnRef { field, id: field.number * 8 + number, kind })
}

/// The columns that `search` looks at.
pub fn searchable_columns(blueprint: &Blueprint) -> Vec<ColumnId> {
    let fields = blueprint.fields.iter();
    fields.filter(|f| matches!(f.kind, FieldType::Text | FieldType::RichText)).map(|f| f.number * 8).collect()
}

/// The names of all columns.
pub fn filterable_names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = Vec::new();
    for field in &blueprint.fields {
        names.push(field.slug.clone());
        let parts: &[&str] = match field.kind {
            FieldType::Money { .. } => &["amount", "currency"],
            FieldType::Address => &["street", "postal_code", "city", "country"],
            _ => &[],
        };
        names.extend(parts.iter().map(|part| format!("{}.{part}", field.slug)));
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
