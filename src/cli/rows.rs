//! Tables and lists of plain objects as items of an import: CSV with a header row, a JSON array, NDJSON. Columns become fields
//! of a blueprint. Must not know where the items go; whether values are valid is decided there.

use std::collections::HashMap;
use std::io::{self, Read};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::model::blueprint::{Blueprint, Field, FieldType};
use crate::model::sent::{quote, quote_all};
use crate::model::value::ADDRESS_PARTS;

/// Keys of an item beside its attributes. Columns of these names are not fields.
const ITEM_KEYS: [&str; 4] = ["id", "published_at", "created_at", "updated_at"];
const MONEY_PARTS: [&str; 2] = ["amount", "currency"];

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// One item on each line.
    Ndjson,
    /// An array of items, or of plain objects if none of them has `attributes`.
    Json,
    /// A header row, and a row for each item.
    Csv,
}

/// How rows become items.
pub(super) struct RowOptions {
    /// The blueprint of the items.
    pub(super) blueprint: Blueprint,
    /// Columns and the fields that they mean; an empty field leaves the column out.
    pub(super) map: HashMap<String, String>,
    /// What separates the elements of a list in a cell.
    pub(super) list_separator: String,
    /// The column or field whose value becomes the item's key.
    pub(super) key: Option<String>,
}

/// What a column means.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    /// A key of the item.
    Item(&'static str),
    /// The field at this position in the blueprint.
    Field(usize),
    /// A part of that field, such as `currency`.
    Part(usize, &'static str),
    /// Nothing.
    Ignored,
}

impl Rows {
    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Rows> {
        match name {
            "ndjson" => Some(Rows::Ndjson),
            "json" => Some(Rows::Json),
            "csv" => Some(Rows::Csv),
            _ => None,
        }
    }

    /// What a file of this name holds, if the name tells. Endings of compressed files do not count.
    pub(super) fn of_name(name: &str) -> Option<Rows> {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Rows::Csv),
            "json" => Some(Rows::Json),
            "ndjson" | "jsonl" => Some(Rows::Ndjson),
            _ => None,
        }
    }

    /// What a text that begins like this holds: JSON begins with a bracket, and a table does not.
    pub(super) fn of_beginning(text: &[u8]) -> Rows {
        match text.trim_ascii_start().first() {
            Some(b'[') => Rows::Json,
            Some(b'{') | None => Rows::Ndjson,
            Some(_) => Rows::Csv,
        }
    }
}

/// Calls `emit` with each item as a line of NDJSON, until it returns false.
///
/// # Errors
/// Those of reading; a file of another form; a column that means nothing.
pub(super) fn each_item(
    rows: Rows,
    options: &RowOptions,
    mut reader: impl Read,
    emit: &mut dyn FnMut(Vec<u8>) -> bool,
) -> io::Result<()> {
    match rows {
        Rows::Csv => each_csv_item(options, reader, emit),
        Rows::Json => {
            let mut text = String::new();
            reader.read_to_string(&mut text)?;
            each_json_item(options, &text, emit)
        }
        Rows::Ndjson => each_line_item(options, reader, emit),
    }
}

/// The items of NDJSON with keys of their own.
fn each_line_item(options: &RowOptions, reader: impl Read, emit: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
    for line in io::BufRead::lines(io::BufReader::new(reader)) {
        let line = line?;
        // What is no object is sent as it is: its error is that of the import.
        let item = match serde_json::from_str(&line) {
            Ok(Value::Object(item)) => options.with_key(item).to_string(),
            _ => line,
        };
        if !item.trim().is_empty() && !emit(item.into_bytes()) {
            return Ok(());
        }
    }
    Ok(())
}

fn each_json_item(options: &RowOptions, text: &str, emit: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
    let rows: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
        invalid(format!("the file is no JSON array of objects ({error}); one object a line is NDJSON"))
    })?;
    let objects = || rows.iter().map(|row| serde_json::from_str::<Map<String, Value>>(row.get()));
    let is_item = |object: &Map<String, Value>| object.contains_key("attributes") || object.contains_key("variants");
    let are_items = objects().flatten().any(|object| is_item(&object));
    for (row, object) in rows.iter().zip(objects()) {
        let item = match object {
            Ok(object) if are_items => options.with_key(object).to_string(),
            Ok(object) => options.item_of_object(object)?.to_string(),
            // Its error is that of the import.
            Err(_) => row.get().replace(['\n', '\r'], " "),
        };
        if !emit(item.into_bytes()) {
            return Ok(());
        }
    }
    Ok(())
}

fn each_csv_item(options: &RowOptions, reader: impl Read, emit: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
    let mut reader = csv::ReaderBuilder::new().flexible(false).from_reader(reader);
    let header: Vec<String> = reader
        .headers()
        .map_err(invalid_csv)?
        .iter()
        .map(|name| name.trim_start_matches('\u{feff}').trim().to_owned())
        .collect();
    let targets = options.targets(&header)?;
    let key = options.key_column(&header)?;
    for record in reader.records() {
        let record = record.map_err(invalid_csv)?;
        let mut item = Map::new();
        let mut attributes = Map::new();
        for (cell, target) in record.iter().zip(&targets) {
            match target {
                Target::Ignored => {}
                Target::Item(name) if cell.is_empty() => drop(item.insert((*name).to_owned(), Value::Null)),
                Target::Item(name) => drop(item.insert((*name).to_owned(), cell.into())),
                Target::Field(position) => {
                    let field = &options.blueprint.fields[*position];
                    attributes.insert(field.slug.clone(), value_of_cell(field, cell, &options.list_separator));
                }
                Target::Part(position, part) => {
                    options.add_part(&mut attributes, *position, part, &Value::from(cell));
                }
            }
        }
        if let Some(key) = key.and_then(|index| record.get(index)).filter(|key| !key.is_empty()) {
            item.insert("key".to_owned(), key.into());
        }
        // An export has the ids of its resources; a table from elsewhere has none.
        item.retain(|name, value| name != "id" || !value.is_null());
        item.insert("attributes".to_owned(), attributes.into());
        if !emit(Value::Object(item).to_string().into_bytes()) {
            return Ok(());
        }
    }
    Ok(())
}

impl RowOptions {
    /// What each column means.
    fn targets(&self, header: &[String]) -> io::Result<Vec<Target>> {
        header.iter().map(|column| self.target(column).ok_or_else(|| self.unknown(column))).collect()
    }

    /// What a column means; `None` if that is not known.
    fn target(&self, column: &str) -> Option<Target> {
        let mapped = self.map.get(column);
        let name = mapped.map_or(column, String::as_str);
        if name.is_empty() {
            return Some(Target::Ignored);
        }
        if let Some(key) = ITEM_KEYS.into_iter().find(|key| *key == name) {
            return Some(Target::Item(key));
        }
        if let Some((slug, part)) = name.split_once('.')
            && let Some(position) = self.position(slug)
        {
            let parts: &[&'static str] = match self.blueprint.fields[position].field_type {
                FieldType::Money { .. } => &MONEY_PARTS,
                FieldType::Address => &ADDRESS_PARTS,
                _ => &[],
            };
            return parts.iter().find(|known| **known == part).map(|part| Target::Part(position, part));
        }
        if let Some(position) = self.position(name) {
            return Some(Target::Field(position));
        }
        match name {
            "key" => Some(Target::Item("key")),
            // Exports say that each row is a resource.
            "type" => Some(Target::Ignored),
            _ if mapped.is_none() && self.key.as_deref() == Some(column) => Some(Target::Ignored),
            _ => None,
        }
    }

    /// The field with this slug or, whatever the case, this name.
    fn position(&self, name: &str) -> Option<usize> {
        let fields = &self.blueprint.fields;
        fields
            .iter()
            .position(|field| field.slug == name)
            .or_else(|| fields.iter().position(|field| field.name.to_lowercase() == name.to_lowercase()))
    }

    fn unknown(&self, column: &str) -> io::Error {
        let fields = quote_all(self.blueprint.fields.iter().map(|field| &field.slug));
        invalid(format!(
            "the column {} is no field of `{}`, whose fields are {fields}; say which one it is with `--map '{column}=FIELD'`, \
             or leave it out with `--map '{column}='`",
            quote(column),
            self.blueprint.slug
        ))
    }

    /// Which column has the keys.
    fn key_column(&self, header: &[String]) -> io::Result<Option<usize>> {
        let Some(key) = &self.key else { return Ok(None) };
        let column = header.iter().position(|column| self.is_key(column));
        let columns = || quote_all(header.iter());
        column.map(Some).ok_or_else(|| {
            invalid(format!(
                "`--key` names {}, which is no column of the file; its columns are {}",
                quote(key),
                columns()
            ))
        })
    }

    /// Whether a column has the keys: it has the name of the key, or that of the field that the key names.
    fn is_key(&self, column: &str) -> bool {
        let Some(key) = &self.key else { return false };
        let is_field_of_key = |position: usize| self.position(key) == Some(position);
        column == key || matches!(self.target(column), Some(Target::Field(position)) if is_field_of_key(position))
    }

    /// A plain object as an item.
    fn item_of_object(&self, object: Map<String, Value>) -> io::Result<Value> {
        let mut item = Map::new();
        let mut attributes = Map::new();
        let key = object.iter().find(|(name, _)| self.is_key(name));
        if let Some(key) = key.and_then(|(_, key)| key_text(key)) {
            item.insert("key".to_owned(), key);
        }
        for (name, value) in object {
            match self.target(&name).ok_or_else(|| self.unknown(&name))? {
                Target::Ignored => {}
                Target::Item(key) => {
                    item.entry(key).or_insert(value);
                }
                Target::Field(position) => {
                    attributes.insert(self.blueprint.fields[position].slug.clone(), value);
                }
                Target::Part(position, part) => self.add_part(&mut attributes, position, part, &value),
            }
        }
        item.insert("attributes".to_owned(), attributes.into());
        Ok(Value::Object(item))
    }

    /// An item with the key that one of its attributes is, if it has none.
    fn with_key(&self, mut item: Map<String, Value>) -> Value {
        if let Some(name) = &self.key
            && let Some(key) = item.get("attributes").and_then(|attributes| attributes.get(name)).and_then(key_text)
        {
            item.entry("key").or_insert(key);
        }
        Value::Object(item)
    }

    /// Adds a part to the value of a field. An empty part is left out, and a value without parts is null.
    fn add_part(&self, attributes: &mut Map<String, Value>, position: usize, part: &str, value: &Value) {
        let field = &self.blueprint.fields[position];
        let whole = attributes.entry(field.slug.clone()).or_insert(Value::Null);
        let value = match value {
            Value::Null => return,
            Value::String(text) if text.is_empty() => return,
            Value::String(text) if part == "amount" => number_or_text(text),
            value => value.clone(),
        };
        if !whole.is_object() {
            *whole = json!({});
        }
        whole[part] = value;
    }
}

/// The text of a value that is to be a key.
fn key_text(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.as_str().into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

/// The value that a cell stands for. What it cannot stand for stays a text, so that the import says what is wrong.
fn value_of_cell(field: &Field, cell: &str, list_separator: &str) -> Value {
    let cell = match field.field_type {
        FieldType::Text | FieldType::RichText => cell,
        _ => cell.trim(),
    };
    if cell.is_empty() {
        return Value::Null;
    }
    let json = || serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell));
    match &field.field_type {
        FieldType::Number | FieldType::Duration { .. } | FieldType::User { .. } => number_or_text(cell),
        FieldType::Boolean => match cell.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Value::Bool(true),
            "false" | "no" | "0" => Value::Bool(false),
            _ => cell.into(),
        },
        FieldType::MultiEnum { .. } | FieldType::References { .. } if cell.starts_with('[') => json(),
        FieldType::MultiEnum { .. } | FieldType::References { .. } => {
            let elements = cell.split(list_separator).map(str::trim).filter(|element| !element.is_empty());
            elements.map(Value::from).collect()
        }
        FieldType::Money { .. } | FieldType::Address | FieldType::HtmlPage { .. } if cell.starts_with('{') => json(),
        FieldType::Money { default_currency, .. } => money(cell, default_currency.as_deref()),
        FieldType::HtmlPage { .. } => json!({ "html": cell }),
        _ => cell.into(),
    }
}

fn number_or_text(text: &str) -> Value {
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(number @ Value::Number(_)) => number,
        _ => text.into(),
    }
}

/// `12.50 EUR`, `EUR 12.50`, or `12.50` if the field has a default currency.
fn money(cell: &str, default_currency: Option<&str>) -> Value {
    let words: Vec<&str> = cell.split_whitespace().collect();
    let amount = |text: &str| Some(number_or_text(text)).filter(Value::is_number);
    let pair = match words[..] {
        [number] => amount(number).zip(default_currency),
        [one, other] => amount(one).map(|number| (number, other)).or_else(|| amount(other).map(|number| (number, one))),
        _ => None,
    };
    pair.map_or_else(|| cell.into(), |(amount, currency)| json!({ "amount": amount, "currency": currency }))
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn invalid_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.map_or(0, |position| position.line());
            invalid(format!("the row in line {line} has {len} cells, but the header row has {expected_len}"))
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.map_or(0, |position| position.line());
            invalid(format!("line {line} is not UTF-8; convert the file first: `iconv -f WINDOWS-1252 -t UTF-8 FILE`"))
        }
        other => invalid(format!("the file is no CSV: {other:?}")),
    }
}

#[cfg(test)]
mod tests;
