//! The type of a field and its settings. Faults are keyed `fields.N.type` and `fields.N.settings`.

use serde_json::{Map, Value};

use super::super::{DurationUnit, FieldType};
use super::read::Reader;
use crate::model::blueprint::CURRENCIES;

/// Reads `type` and `settings` of a field; nothing if the type is not known.
pub(super) fn read(reader: &mut Reader, path: &str, field: &Map<String, Value>) -> Option<FieldType> {
    let name = field.get("type").and_then(Value::as_str).filter(|name| FieldType::NAMES.contains(name));
    let Some(name) = name else {
        let names: Vec<String> = FieldType::NAMES.iter().map(|name| format!("`{name}`")).collect();
        reader.fault(&format!("{path}.type"), format!("is required: one of {}", names.join(", ")));
        return None;
    };
    let path = format!("{path}.settings");
    let empty = Map::new();
    let settings = match field.get("settings") {
        None | Some(Value::Null) => &empty,
        Some(value) => reader.object(&path, value).unwrap_or(&empty),
    };
    Some(Settings { reader, path: &path, settings }.read(name))
}

struct Settings<'a> {
    reader: &'a mut Reader,
    path: &'a str,
    settings: &'a Map<String, Value>,
}

impl Settings<'_> {
    fn read(mut self, name: &str) -> FieldType {
        match name {
            "html-page" => {
                self.known(&["blocks", "template"]);
                FieldType::HtmlPage { blocks: self.texts("blocks"), template: self.text("template") }
            }
            "enum" => FieldType::Enum { values: self.values() },
            "multi-enum" => FieldType::MultiEnum { values: self.values() },
            "money" => self.money(),
            "duration" => self.duration(),
            "reference" => {
                let (blueprint, display) = self.relation();
                FieldType::Reference { blueprint, display }
            }
            "references" => {
                let (blueprint, display) = self.relation();
                FieldType::References { blueprint, display }
            }
            "user" => {
                self.known(&["role"]);
                FieldType::User { role: self.text("role") }
            }
            plain => {
                self.known(&[]);
                plain_type(plain)
            }
        }
    }

    fn known(&mut self, keys: &[&str]) {
        let unknown: Vec<&String> = self.settings.keys().filter(|key| !keys.contains(&key.as_str())).collect();
        for key in unknown {
            let names: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let text = if names.is_empty() {
                format!("`{key}` is no setting: this type has none")
            } else {
                format!("`{key}` is no setting of this type; its settings are {}", names.join(", "))
            };
            self.reader.fault(self.path, text);
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.settings.get(key);
        match value {
            Some(Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_)) => {
                self.reader.fault(self.path, format!("`{key}` must be a string, or null"));
                None
            }
            _ => self.reader.optional_text(self.path, value),
        }
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        self.reader.optional_texts(self.path, self.settings.get(key))
    }

    /// The allowed values: an array, or null for any.
    fn values(&mut self) -> Option<Vec<String>> {
        self.known(&["values"]);
        self.texts("values")
    }

    fn money(&mut self) -> FieldType {
        self.known(&["default_currency", "currencies"]);
        let currencies = self.texts("currencies");
        for currency in currencies.iter().flatten().filter(|currency| !CURRENCIES.contains(&currency.as_str())) {
            let text = format!("`{currency}` is no currency here; there are {}", CURRENCIES.join(" "));
            self.reader.fault(self.path, text);
        }
        if currencies.as_ref().is_some_and(Vec::is_empty) {
            self.reader.fault(self.path, "`currencies` must hold one at least, or be null for all".to_owned());
        }
        let currencies =
            currencies.unwrap_or_else(|| CURRENCIES.iter().map(|currency| (*currency).to_owned()).collect());
        let default_currency = self.text("default_currency");
        if let Some(default) = default_currency.as_ref().filter(|default| !currencies.contains(default)) {
            self.reader.fault(self.path, format!("`default_currency` is `{default}`, which is not among the currencies"));
        }
        FieldType::Money { default_currency, currencies }
    }

    fn duration(&mut self) -> FieldType {
        self.known(&["unit", "display", "min", "max"]);
        let unit = match self.settings.get("unit") {
            None | Some(Value::Null) => Some(DurationUnit::Minutes),
            Some(value) => value.as_str().and_then(DurationUnit::parse),
        };
        if unit.is_none() {
            self.reader.fault(self.path, "`unit` must be `minutes`, `hours` or `days`".to_owned());
        }
        let min = self.reader.optional_number(self.path, self.settings.get("min"));
        let max = self.reader.optional_number(self.path, self.settings.get("max"));
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            self.reader.fault(self.path, "`min` must not be above `max`".to_owned());
        }
        FieldType::Duration { unit: unit.unwrap_or(DurationUnit::Minutes), display: self.text("display"), min, max }
    }

    fn relation(&mut self) -> (String, Vec<String>) {
        self.known(&["blueprint", "display"]);
        let blueprint = self.text("blueprint");
        if blueprint.is_none() {
            self.reader.fault(self.path, "`blueprint` is required: the slug of the related blueprint".to_owned());
        }
        (blueprint.unwrap_or_default(), self.texts("display").unwrap_or_default())
    }
}

fn plain_type(name: &str) -> FieldType {
    match name {
        "rich-text" => FieldType::RichText,
        "slug" => FieldType::Slug,
        "email" => FieldType::Email,
        "link" => FieldType::Link,
        "image" => FieldType::Image,
        "file" => FieldType::File,
        "boolean" => FieldType::Boolean,
        "color" => FieldType::Color,
        "number" => FieldType::Number,
        "date" => FieldType::Date,
        "datetime" => FieldType::DateTime,
        "address" => FieldType::Address,
        _ => FieldType::Text,
    }
}
