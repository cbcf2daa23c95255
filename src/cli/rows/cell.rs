//! Converts cells to values. A cell that is not valid for its field stays a text, so that the import reports the
//! problem. Must not know columns.

use bindery_model::blueprint::{Field, FieldType};
use serde_json::{Map, Value, json};

use crate::guess::date::date;
use crate::guess::{Form, boolean, number};

/// Returns the value of a cell.
pub(super) fn value_of_cell(field: &Field, cell: &str, list_separator: &str, form: Form) -> Value {
    let cell = match &field.field_type {
        FieldType::Text | FieldType::RichText => cell,
        // White space at an end of a cell is rarely meant. Values of a list that have it are, and so are those of an
        // export.
        FieldType::Enum { values: Some(values) } if values.contains(cell) => cell,
        FieldType::Enum { values: None } if form.is_exported => cell,
        _ => cell.trim(),
    };
    if cell.is_empty() {
        return Value::Null;
    }
    let json = || serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell));
    match &field.field_type {
        FieldType::Number | FieldType::Duration { .. } | FieldType::User { .. } => number_or_text(cell, form),
        FieldType::Boolean => match cell {
            "1" => Value::Bool(true),
            "0" => Value::Bool(false),
            _ => boolean(cell).map_or_else(|| cell.into(), Value::Bool),
        },
        FieldType::Date | FieldType::DateTime => date(cell, form.order).unwrap_or_else(|| cell.to_owned()).into(),
        FieldType::MultiEnum { .. } | FieldType::References { .. } if cell.starts_with('[') => json(),
        FieldType::MultiEnum { .. } | FieldType::References { .. } => {
            let elements = cell.split(list_separator).map(str::trim).filter(|element| !element.is_empty());
            elements.map(Value::from).collect()
        }
        FieldType::Money { .. } | FieldType::Address | FieldType::HtmlPage { .. } if cell.starts_with('{') => json(),
        FieldType::Money { default_currency, .. } => money(cell, default_currency.as_deref(), form),
        FieldType::HtmlPage { .. } => json!({ "html": cell }),
        _ => cell.into(),
    }
}

/// Returns the value of a key of the item, such as `published_at`.
pub(super) fn of_item(name: &str, cell: &str, form: Form) -> Value {
    match cell {
        "" => Value::Null,
        cell if name.ends_with("_at") => date(cell, form.order).unwrap_or_else(|| cell.to_owned()).into(),
        cell => cell.into(),
    }
}

/// Adds a part to the value of a field. An empty part is left out, and a value without parts is null.
pub(super) fn add_part(field: &Field, attributes: &mut Map<String, Value>, part: &str, value: &Value, form: Form) {
    let whole = attributes.entry(field.slug.clone()).or_insert(Value::Null);
    let value = match value {
        Value::Null => return,
        Value::String(text) if text.is_empty() => return,
        Value::String(text) if part == "amount" => number_or_text(text, form),
        value => value.clone(),
    };
    if !whole.is_object() {
        *whole = json!({});
    }
    whole[part] = value;
}

fn number_or_text(text: &str, form: Form) -> Value {
    number::number(text).map_or_else(|| text.into(), |reading| reading.with(form.decimal).into())
}

/// Returns an amount with its currency, or without one if the field has a default currency.
fn money(cell: &str, default_currency: Option<&str>, form: Form) -> Value {
    let money = number::number_or_money(cell)
        .and_then(|(reading, currency)| Some((reading.with(form.decimal), currency.or(default_currency)?)));
    money.map_or_else(|| cell.into(), |(amount, currency)| json!({ "amount": amount, "currency": currency }))
}
