//! `bindery blueprint infer FILE`: proposes a blueprint for data. A guess to start from: it reads the whole file, and never
//! proposes a type that a value of the file does not fit. Must not know what becomes of the proposal.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Read};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::blueprint_file::{as_file, read_blueprint};
use super::error::{CliError, failed};
use super::input::read_rows;
use super::output::print;
use super::rows::Rows;
use crate::model::blueprint::{CURRENCIES, FieldType, render};
use crate::model::value::{ADDRESS_PARTS, accepts};

/// The types of single texts and numbers, the most special first: the first one that all values fit is proposed.
const CANDIDATES: [&str; 9] = ["boolean", "number", "date", "datetime", "email", "color", "image", "link", "rich-text"];

/// A text is an enumeration if it has at most this many values, none longer than this, and each as often as this on average.
const MOST_CHOICES: usize = 30;
const LONGEST_CHOICE: usize = 40;
const REPEATED: usize = 4;

/// Keys of an item or an export that are no fields.
const NO_FIELDS: [&str; 7] = ["id", "type", "key", "published_at", "created_at", "updated_at", "relationships"];

/// Names that a field that labels a resource often has.
const TITLES: [&str; 4] = ["title", "name", "label", "headline"];

/// `list_separator` is what separates the elements of lists in cells, if there are any.
pub(super) fn infer(
    file: &Path,
    format: Option<&str>,
    name: Option<&str>,
    list_separator: Option<&str>,
) -> Result<(), CliError> {
    let (rows, reader) = read_rows(file, format.and_then(Rows::named))?;
    let mut columns = Columns { list_separator: list_separator.map(str::to_owned), ..Columns::default() };
    columns.read(rows, reader).map_err(|error| failed(format!("reading {}", file.display()), &error))?;
    let name = match (name, file.file_stem()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(stem)) if stem != "-" => {
            let stem = stem.to_string_lossy();
            stem.split('.').next().unwrap_or_default().replace(['_', '-'], " ")
        }
        (None, _) => "Items".to_owned(),
    };
    let blueprint = read_blueprint(columns.proposal(&capitalized(&name)))?;
    print(&format!("{:#}", as_file(render::to_json(&blueprint))));
    Ok(())
}

/// What is known of the values of a file.
#[derive(Default)]
struct Columns {
    rows: u64,
    /// In the order of their first appearance.
    names: Vec<String>,
    columns: BTreeMap<String, Column>,
    list_separator: Option<String>,
    hasher: RandomState,
}

/// What is known of the values of one column.
struct Column {
    /// How many are not null.
    values: u64,
    /// Those of [`CANDIDATES`] that all values fit.
    candidates: Vec<&'static str>,
    /// Of texts: the distinct ones, until there are too many or one is too long.
    choices: Option<HashSet<String>>,
    /// Hashes of all texts, as long as none appears twice.
    distinct: Option<HashSet<u64>>,
    /// Whether all values are arrays of texts, objects with an amount and a currency, or objects with parts of an address.
    are_lists: bool,
    /// Whether all values are texts whose elements may be those of a list, and one has several.
    are_separable: bool,
    has_separator: bool,
    are_money: bool,
    are_addresses: bool,
    /// Whether all values are texts, numbers or booleans.
    are_plain: bool,
}

impl Columns {
    fn read(&mut self, rows: Rows, mut reader: Box<dyn BufRead>) -> io::Result<()> {
        let invalid = |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        match rows {
            Rows::Ndjson => {
                for line in reader.lines() {
                    let line = line?;
                    if !line.trim().is_empty() {
                        self.add(serde_json::from_str(&line).map_err(|error| invalid(&error))?);
                    }
                }
            }
            Rows::Json => {
                let mut text = String::new();
                reader.read_to_string(&mut text)?;
                let objects: Vec<Map<String, Value>> = serde_json::from_str(&text).map_err(|error| invalid(&error))?;
                objects.into_iter().for_each(|object| self.add(object));
            }
            Rows::Csv => {
                let mut reader = csv::Reader::from_reader(reader);
                let header = reader.headers().map_err(|error| invalid(&error))?.clone();
                for record in reader.records() {
                    let record = record.map_err(|error| invalid(&error))?;
                    let names = header.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned());
                    self.add(names.zip(record.iter().map(value_of_cell)).collect());
                }
            }
        }
        Ok(())
    }

    /// Adds a row: an object of values, or an item with `attributes`.
    fn add(&mut self, mut row: Map<String, Value>) {
        self.rows += 1;
        if let Some(Value::Object(attributes)) = row.remove("attributes") {
            row = attributes;
        } else if let Some(Value::Object(variants)) = row.remove("variants") {
            row = variants.into_iter().find_map(|(_, copy)| copy.as_object().cloned()).unwrap_or_default();
        } else {
            row.retain(|name, _| !NO_FIELDS.contains(&name.as_str()));
        }
        for (name, value) in row {
            if !self.columns.contains_key(&name) {
                self.names.push(name.clone());
            }
            let column = self.columns.entry(name).or_default();
            if !value.is_null() {
                column.add(&value, &self.hasher);
                if let Some(separator) = &self.list_separator {
                    column.separate(&value, separator);
                }
            }
        }
    }

    /// The body of a blueprint.
    fn proposal(&self, name: &str) -> Value {
        let mut fields = Vec::new();
        for name in &self.names {
            let column = &self.columns[name];
            let (kind, settings) = column.kind(name);
            let is_key = kind == "slug" && column.distinct.is_some() && column.values == self.rows;
            // Names become slugs. One that is a slug already stays as it is.
            let slug = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            let mut field = json!({
                "name": capitalized(&name.replace(['_', '-'], " ")), "type": kind, "settings": settings,
                "required": self.rows > 0 && column.values == self.rows && kind != "boolean", "unique": is_key,
            });
            if slug {
                field["slug"] = name.as_str().into();
            }
            fields.push(field);
        }
        let titles = TITLES.into_iter().find(|title| self.names.iter().any(|name| name.to_lowercase() == *title));
        json!({ "name": name, "fields": fields, "record_title": titles })
    }
}

impl Default for Column {
    fn default() -> Column {
        Column {
            values: 0,
            candidates: CANDIDATES.to_vec(),
            choices: Some(HashSet::new()),
            distinct: Some(HashSet::new()),
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

    /// Looks for the elements of a list in a value.
    fn separate(&mut self, value: &Value, separator: &str) {
        let text = value.as_str().unwrap_or_default();
        self.has_separator |= text.contains(separator);
        self.are_separable &=
            value.is_string() && text.split(separator).all(|element| is_choice(&element.trim().into()));
    }

    /// The type and its settings.
    fn kind(&self, name: &str) -> (&'static str, Value) {
        let plain = json!({});
        if self.values == 0 {
            return ("text", plain);
        }
        let are_lists = self.are_lists || self.has_separator && self.are_separable;
        for (holds, kind) in [(are_lists, "multi-enum"), (self.are_money, "money"), (self.are_addresses, "address")] {
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

/// Whether a value fits a type, and looks as if it were meant so.
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

/// A cell of a table: what looks like a number or a boolean is one. A number with leading zeros is a text.
fn value_of_cell(cell: &str) -> Value {
    let trimmed = cell.trim();
    match trimmed.to_ascii_lowercase().as_str() {
        "" => Value::Null,
        "true" | "yes" => Value::Bool(true),
        "false" | "no" => Value::Bool(false),
        _ => match serde_json::from_str(trimmed) {
            Ok(value @ (Value::Number(_) | Value::Array(_) | Value::Object(_))) => value,
            _ => cell.into(),
        },
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::blueprint::Definition;

    fn proposed(rows: Rows, text: &'static str) -> Value {
        let mut columns = Columns { list_separator: Some(";".to_owned()), ..Columns::default() };
        columns.read(rows, Box::new(text.as_bytes())).unwrap();
        let proposal = columns.proposal("Things");
        Definition::parse(proposal.clone()).unwrap();
        proposal
    }

    fn types(proposal: &Value) -> Vec<(String, String)> {
        let field =
            |field: &Value| (field["name"].as_str().unwrap().to_owned(), field["type"].as_str().unwrap().to_owned());
        proposal["fields"].as_array().unwrap().iter().map(field).collect()
    }

    #[test]
    fn cells_with_the_separator_are_lists_and_yes_and_no_are_booleans() {
        let csv = "tags,stock,note\nred; dry,yes,a;\nwhite,No,b\n,,c\n";
        let expected = [("Tags", "multi-enum"), ("Stock", "boolean"), ("Note", "text")];
        let proposal = proposed(Rows::Csv, csv);
        assert_eq!(types(&proposal), expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    }

    #[test]
    fn a_table_gets_the_types_that_all_its_values_fit() {
        let csv = "id,Title,price,Zip,kind,day,site,photo,mail,stock,notes\n\
            1,A,1.5,01067,x,2026-01-01,https://a.example,https://a.example/1.png,a@b.example,true,\n\
            2,B,2,20095,x,2026-01-02,https://b.example,https://a.example/2.jpg,c@d.example,false,a<br>b\n\
            3,C,-3,80331,x,2026-01-03,https://c.example,https://a.example/3.png,e@f.example,true,\n\
            4,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            5,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            6,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            7,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n\
            8,D,4e2,50667,y,2026-01-04,https://d.example,https://a.example/4.png,g@h.example,,\n";
        let proposal = proposed(Rows::Csv, csv);
        let expected = [
            ("Title", "text"),
            ("Price", "number"),
            ("Zip", "text"),
            ("Kind", "enum"),
            ("Day", "date"),
            ("Site", "link"),
            ("Photo", "image"),
            ("Mail", "email"),
            ("Stock", "boolean"),
            ("Notes", "rich-text"),
        ];
        assert_eq!(types(&proposal), expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
        assert_eq!(proposal["fields"][3]["settings"], json!({ "values": ["x", "y"] }));
        assert_eq!(
            (&proposal["fields"][1]["required"], &proposal["fields"][9]["required"]),
            (&json!(true), &json!(false))
        );
    }

    #[test]
    fn objects_and_lists_have_types_too() {
        let json = r##"[{"slug": "a", "tags": ["x"], "cost": {"amount": 1, "currency": "EUR"}, "at": {"city": "Porto"}, "hue": "#fff"},
            {"slug": "b", "tags": [], "cost": null, "at": {"country": "PT", "street": null}, "when": "2026-01-01T10:00:00Z"}]"##;
        let proposal = proposed(Rows::Json, json);
        let kinds: Vec<String> = types(&proposal).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, ["slug", "multi-enum", "money", "address", "color", "datetime"]);
        assert_eq!(proposal["fields"][0]["unique"], json!(true));
        let items = "{\"key\":\"k\",\"attributes\":{\"title\":\"t\",\"n\":1}}\n\n{\"attributes\":{\"title\":\"u\",\"n\":null}}\n";
        let proposal = proposed(Rows::Ndjson, items);
        assert_eq!(proposal["record_title"], json!("title"));
        assert_eq!(types(&proposal)[1], ("N".to_owned(), "number".to_owned()));
    }
}
