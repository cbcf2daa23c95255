//! The options for turning rows into items. They resolve columns: to a field of a blueprint, a part of a field, or a
//! key of the item. Must not know values.

use std::collections::HashMap;
use std::io;

use bindery_model::blueprint::{Blueprint, FieldType, slug_from_name};
use bindery_model::sent::{quote, quote_all};
use bindery_model::value::ADDRESS_PARTS;
use serde_json::{Map, Value};

use crate::guess::Kind;
use crate::survey::{ERRORS, TableOptions};

/// Keys of an item other than its attributes. Columns with these names are not fields.
const ITEM_KEYS: [&str; 4] = ["id", "published_at", "created_at", "updated_at"];
const MONEY_PARTS: [&str; 2] = ["amount", "currency"];

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// A key of the item.
    Item(&'static str),
    /// The field at this position in the blueprint.
    Field(usize),
    /// A part of that field, such as `currency`.
    Part(usize, &'static str),
    /// The column is ignored.
    Ignored,
}

/// The options for turning rows into items.
pub(crate) struct RowOptions {
    /// The blueprint of the items.
    pub(crate) blueprint: Blueprint,
    /// The fields of columns, by column name; an empty field leaves the column out.
    pub(crate) map: HashMap<String, String>,
    /// The separator of the elements of a list in a cell.
    pub(crate) list_separator: String,
    /// The column or field whose value becomes the item's key.
    pub(crate) key: Option<String>,
    /// The `published_at` of items that have none.
    pub(crate) publish: Option<String>,
    /// The options of the command line for a table.
    pub(crate) table: TableOptions,
}

impl RowOptions {
    /// Returns the kind of a column's cells; `None` if it is left out.
    pub(super) fn kind(&self, target: &Target) -> Option<Kind> {
        match target {
            Target::Ignored => None,
            Target::Item("id" | "key") => Some(Kind::Text),
            Target::Item(_) => Some(Kind::DateTime),
            Target::Field(position) => Some(Kind::of(&self.blueprint.fields[*position].field_type)),
            Target::Part(_, "amount") => Some(Kind::Number),
            Target::Part(..) => Some(Kind::Text),
        }
    }

    /// Is true if the cells of a column are lists.
    pub(super) fn is_list(&self, target: &Target) -> bool {
        let Target::Field(position) = target else { return false };
        matches!(self.blueprint.fields[*position].field_type, FieldType::MultiEnum { .. } | FieldType::References(_))
    }

    /// Returns the meaning of a column; `None` if it is unknown.
    pub(super) fn target(&self, column: &str) -> Option<Target> {
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
            && let Some(part) = self.parts(position).iter().find(|known| **known == part)
        {
            return Some(Target::Part(position, part));
        }
        if let Some(position) = self.position(name) {
            return Some(Target::Field(position));
        }
        match name {
            "key" => Some(Target::Item("key")),
            // In exports, `type` says that each row is a resource. In rejects, `errors` has the errors.
            "type" | ERRORS => Some(Target::Ignored),
            _ if mapped.is_none() && self.key.as_deref() == Some(column) => Some(Target::Ignored),
            _ => None,
        }
    }

    fn parts(&self, position: usize) -> &'static [&'static str] {
        match self.blueprint.fields[position].field_type {
            FieldType::Money { .. } => &MONEY_PARTS,
            FieldType::Address => &ADDRESS_PARTS,
            _ => &[],
        }
    }

    /// Returns the field with this slug, or with this name in any letter case, or with the slug for this name: `E-Mail`
    /// is `e_mail`.
    fn position(&self, name: &str) -> Option<usize> {
        let fields = &self.blueprint.fields;
        let slug = || slug_from_name(name).and_then(|slug| fields.iter().position(|field| field.slug == slug));
        fields
            .iter()
            .position(|field| field.slug == name)
            .or_else(|| fields.iter().position(|field| field.name.to_lowercase() == name.to_lowercase()))
            .or_else(slug)
    }

    pub(super) fn unknown(&self, column: &str) -> io::Error {
        let fields = quote_all(self.blueprint.fields.iter().map(|field| &field.slug));
        invalid(format!(
            "the column {} is no field of `{}`, whose fields are {fields}; say which one it is with `--map '{column}=FIELD'`, \
             or leave it out with `--map '{column}='`",
            quote(column),
            self.blueprint.slug
        ))
    }

    /// Returns the column with the keys.
    pub(super) fn key_column(&self, header: &[String]) -> io::Result<Option<usize>> {
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

    /// Is true for the column with the keys: its name is that of the key, or it means the field that the key names.
    fn is_key(&self, column: &str) -> bool {
        let Some(key) = &self.key else { return false };
        let is_field_of_key = |position: usize| self.position(key) == Some(position);
        column == key || matches!(self.target(column), Some(Target::Field(position)) if is_field_of_key(position))
    }

    /// Returns the key of a plain object.
    pub(super) fn key_of(&self, object: &Map<String, Value>) -> Option<Value> {
        object.iter().find(|(name, _)| self.is_key(name)).and_then(|(_, key)| key_text(key))
    }

    /// Adds the key and the date to a line of NDJSON. A line that is not an object is sent unchanged: the import
    /// reports its error.
    pub(super) fn changed(&self, line: Vec<u8>) -> Vec<u8> {
        match serde_json::from_slice(&line) {
            Ok(Value::Object(item)) => self.published(self.with_key(item)).to_string().into_bytes(),
            _ => line.trim_ascii_end().to_vec(),
        }
    }

    /// Adds the key to an item without one, from one of its attributes.
    pub(super) fn with_key(&self, mut item: Map<String, Value>) -> Map<String, Value> {
        if let Some(name) = &self.key
            && let Some(key) = item.get("attributes").and_then(|attributes| attributes.get(name)).and_then(key_text)
        {
            item.entry("key").or_insert(key);
        }
        item
    }

    /// Adds a publication date to an item without one, if `--publish` is given.
    pub(super) fn published(&self, mut item: Map<String, Value>) -> Value {
        if let Some(time) = &self.publish
            && item.get("published_at").is_none_or(Value::is_null)
        {
            item.insert("published_at".to_owned(), time.as_str().into());
        }
        Value::Object(item)
    }
}

/// Returns the text of a value for use as a key.
fn key_text(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.as_str().into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

pub(super) fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
