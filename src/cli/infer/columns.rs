//! The facts known about the values of a file, and the blueprint proposed from them. Must not know where the values
//! come from.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

use bindery_model::blueprint::{CURRENCIES, FieldType, slug_from_name};
use bindery_model::sent::{quote, quote_all};
use bindery_model::value::{ADDRESS_PARTS, accepts};
use serde_json::{Map, Value, json};

/// The types of single texts and numbers, the most special first: the first type that all values fit is proposed.
const CANDIDATES: [&str; 9] = ["boolean", "number", "date", "datetime", "email", "color", "image", "link", "rich-text"];

/// A text field becomes an enumeration if it has at most this many values, none longer than this, each occurring this
/// often on average.
const MOST_CHOICES: usize = 30;
const LONGEST_CHOICE: usize = 40;
const REPEATED: usize = 4;

/// Keys of an item or an export that are not fields.
const NO_FIELDS: [&str; 7] = ["id", "type", "key", "published_at", "created_at", "updated_at", "relationships"];

/// Common names of the field that labels a resource.
const TITLES: [&str; 7] = ["title", "name", "label", "headline", "titel", "bezeichnung", "artikel"];

/// The number of names that are considered.
const MOST_NAMES: usize = 4_096;

/// The facts known of the values of a file.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) rows: u64,
    /// The names of the columns, in the order of their first appearance.
    names: Vec<String>,
    columns: BTreeMap<String, Column>,
    list_separator: Option<String>,
    /// The names of [`NO_FIELDS`] that had a value.
    left_out: BTreeSet<String>,
    hasher: RandomState,
}

/// The facts known of the values of one column.
struct Column {
    /// The number of values that are not null.
    values: u64,
    /// The types in [`CANDIDATES`] that all values fit.
    candidates: Vec<&'static str>,
    /// The distinct texts; `None` if there are too many or one is too long.
    choices: Option<HashSet<String>>,
    /// Hashes of all texts; `None` once a text occurs twice.
    distinct: Option<HashSet<u64>>,
    /// True if all values are arrays of texts. `are_money`: objects with an amount and a currency. `are_addresses`:
    /// objects with parts of an address.
    are_lists: bool,
    /// True if all values are texts whose parts may be elements of a list. `has_separator` is true if one has several.
    are_separable: bool,
    has_separator: bool,
    are_money: bool,
    are_addresses: bool,
    /// True if all values are texts, numbers or booleans.
    are_plain: bool,
    /// The currency of amounts without one.
    currency: Option<&'static str>,
}

impl Columns {
    /// Creates the facts. `list_separator` separates the elements of lists in cells, if there are any.
    pub(super) fn new(list_separator: Option<&str>) -> Columns {
        Columns { list_separator: list_separator.map(str::to_owned), ..Columns::default() }
    }

    /// Sets the currency of a column's amounts that have none.
    pub(super) fn default_currency(&mut self, name: &str, currency: &'static str) {
        if let Some(column) = self.columns.get_mut(name) {
            column.currency = Some(currency);
        }
    }

    /// Is true if cells may contain lists.
    pub(super) fn has_list_separator(&self) -> bool {
        self.list_separator.is_some()
    }

    /// Returns the names of columns that have values but do not become fields; `None` if there are none.
    pub(super) fn left_out(&self) -> Option<String> {
        (!self.left_out.is_empty()).then(|| quote_all(&self.left_out))
    }

    /// Adds a row: an object of values, or an item with `attributes`.
    pub(super) fn add(&mut self, mut row: Map<String, Value>) {
        self.rows += 1;
        if let Some(Value::Object(attributes)) = row.remove("attributes") {
            row = attributes;
        } else if let Some(Value::Object(variants)) = row.remove("variants") {
            row = variants.into_iter().find_map(|(_, copy)| copy.as_object().cloned()).unwrap_or_default();
        } else {
            row.retain(|name, value| {
                let is_field = !NO_FIELDS.contains(&name.as_str());
                if !is_field && !value.is_null() {
                    self.left_out.insert(name.clone());
                }
                is_field
            });
        }
        for (name, value) in row {
            if !self.columns.contains_key(&name) {
                // These are more than a blueprint can have. Without the limit, the names alone could fill the memory.
                if self.names.len() == MOST_NAMES {
                    continue;
                }
                self.names.push(name.clone());
            }
            let column = self.columns.entry(name).or_insert_with_key(|name| Column::of(name));
            if !value.is_null() {
                column.add(&value, &self.hasher);
                if let Some(separator) = &self.list_separator {
                    column.separate(&value, separator);
                }
            }
        }
    }

    /// Returns the body of a blueprint.
    ///
    /// # Errors
    /// If two columns become the same field.
    pub(super) fn proposal(&self, name: &str) -> Result<Value, String> {
        let mut fields = Vec::new();
        let mut slugs: Vec<(String, &str)> = Vec::new();
        for (position, name) in self.names.iter().enumerate() {
            let column = &self.columns[name];
            let (kind, settings) = column.kind(name);
            let is_key = kind == "slug" && column.distinct.is_some() && column.values == self.rows;
            let slug = slug_of(name, position);
            if let Some((_, other)) = slugs.iter().find(|(known, _)| *known == slug) {
                let [one, other] = [quote(other), quote(name)];
                return Err(format!(
                    "the columns {one} and {other} become the same field, `{slug}`; rename one of them"
                ));
            }
            fields.push(json!({
                "name": label(name), "slug": slug, "type": kind, "settings": settings,
                "required": self.rows > 0 && column.values == self.rows && kind != "boolean", "unique": is_key,
            }));
            slugs.push((slug, name.as_str()));
        }
        let title = TITLES.into_iter().find(|title| slugs.iter().any(|(slug, _)| slug == title));
        Ok(json!({ "name": name, "fields": fields, "record_title": title }))
    }
}

impl Column {
    /// Creates the facts about a column. Only a column named `slug` may become the key.
    fn of(name: &str) -> Column {
        Column {
            currency: None,
            values: 0,
            candidates: CANDIDATES.to_vec(),
            choices: Some(HashSet::new()),
            distinct: (name == "slug").then(HashSet::new),
            are_lists: true,
            are_separable: true,
            has_separator: false,
            are_money: true,
            are_addresses: true,
            are_plain: true,
        }
    }
}

impl Column {
    fn add(&mut self, value: &Value, hasher: &RandomState) {
        self.values += 1;
        self.candidates.retain(|candidate| fits(candidate, value));
        self.are_lists &= value.as_array().is_some_and(|elements| elements.iter().all(is_choice));
        self.are_plain &= !value.is_array() && !value.is_object();
        let keys: Vec<&str> =
            value.as_object().map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default();
        let currency = value["currency"].as_str();
        self.are_money &= keys.len() == 2
            && value["amount"].is_number()
            && currency.is_some_and(|currency| CURRENCIES.contains(&currency));
        self.are_addresses &= !keys.is_empty() && keys.iter().all(|key| ADDRESS_PARTS.contains(key));
        let text = value.as_str().filter(|text| !text.is_empty());
        self.choices = self.choices.take().zip(text).and_then(|(mut choices, text)| {
            choices.insert(text.to_owned());
            (choices.len() <= MOST_CHOICES && text.chars().count() <= LONGEST_CHOICE).then_some(choices)
        });
        self.distinct = self
            .distinct
            .take()
            .zip(text)
            .and_then(|(mut distinct, text)| distinct.insert(hasher.hash_one(text)).then_some(distinct));
    }

    /// Looks for list elements in a value.
    fn separate(&mut self, value: &Value, separator: &str) {
        let text = value.as_str().unwrap_or_default();
        self.has_separator |= text.contains(separator);
        self.are_separable &=
            value.is_string() && text.split(separator).all(|element| is_choice(&element.trim().into()));
    }

    /// Returns the type and its settings.
    fn kind(&self, name: &str) -> (&'static str, Value) {
        let plain = json!({});
        if self.values == 0 {
            return ("text", plain);
        }
        let are_lists = self.are_lists || self.has_separator && self.are_separable;
        if self.are_money {
            return ("money", self.currency.map_or(plain, |currency| json!({ "default_currency": currency })));
        }
        for (holds, kind) in [(are_lists, "multi-enum"), (self.are_addresses, "address")] {
            if holds {
                return (kind, plain);
            }
        }
        if name == "slug" && self.distinct.is_some() {
            return ("slug", plain);
        }
        if let Some(candidate) = self.candidates.first() {
            return (candidate, plain);
        }
        match &self.choices {
            Some(choices) if choices.len() * REPEATED <= self.values as usize => {
                let mut choices: Vec<&String> = choices.iter().collect();
                choices.sort();
                ("enum", json!({ "values": choices }))
            }
            _ => ("text", plain),
        }
    }
}

/// Is true if a value is valid for a type and probably meant as one.
fn fits(kind: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let looks_so = match kind {
        "rich-text" => text.contains("</") || text.contains("<br"),
        "link" | "image" => text.starts_with("http://") || text.starts_with("https://"),
        _ => true,
    };
    if kind == "image"
        && ![".png", ".jpg", ".jpeg", ".webp", ".gif", ".svg", ".avif"].iter().any(|end| text.ends_with(end))
    {
        return false;
    }
    let field_type = match kind {
        "boolean" => FieldType::Boolean,
        "number" => FieldType::Number,
        "date" => FieldType::Date,
        "datetime" => FieldType::DateTime,
        "email" => FieldType::Email,
        "color" => FieldType::Color,
        "image" | "link" => FieldType::Link,
        _ => return looks_so,
    };
    looks_so && accepts(field_type, value)
}

fn is_choice(value: &Value) -> bool {
    value.as_str().is_some_and(|text| (1..=255).contains(&text.chars().count()))
}

/// Returns the slug of the field for a column. Adds to a name without usable letters or digits, or with a digit at its
/// beginning.
fn slug_of(name: &str, position: usize) -> String {
    // A name that is a slug already is kept; others are converted.
    let is_slug = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let slug = if is_slug { Some(name.to_owned()) } else { slug_from_name(name) };
    slug.or_else(|| slug_from_name(&format!("field {name}")).filter(|slug| slug != "field"))
        .unwrap_or_else(|| format!("field_{}", position + 1))
}

/// Returns the name of the field for a column: its header, with identifiers split into words.
fn label(name: &str) -> String {
    let is_of_program = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    let words = if name.bytes().all(is_of_program) { name.replace(['_', '-'], " ") } else { name.to_owned() };
    capitalized(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(super) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
