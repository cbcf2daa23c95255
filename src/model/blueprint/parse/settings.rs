//! The reading of the settings of a field, by its type. Every setting except the `blueprint` of a relation has a
//! default. A setting that the type does not have is an error.

use serde_json::{Map, Value};

use super::body::{BodyReader, too_long};
use crate::blueprint::field::{
    CURRENCIES, Choices, DurationUnit, FieldType, MAX_CHOICE_CHARACTERS, OnDelete, Relation,
};
use crate::blueprint::slug::is_slug;
use crate::number;
use crate::sent::{describe, quote, quote_all};

/// The maximum number of elements of a setting that is a list, such as the allowed values of a choice.
const MAX_LIST: usize = 1_000;

/// The settings of a relation.
const RELATION: [&str; 3] = ["blueprint", "display", "on_delete"];

/// Reads the settings of a field whose type has this name, which is one of [`FieldType::NAMES`].
pub(super) fn read(type_name: &str, value: Option<Value>, path: &str, reader: &mut BodyReader) -> FieldType {
    let object = match value {
        None | Some(Value::Null) => Map::new(),
        Some(value) => reader.object(value, path).unwrap_or_default(),
    };
    let mut settings = Settings { object, path, reader };
    let (field_type, known): (FieldType, &[&str]) = match type_name {
        "rich-text" => (FieldType::RichText, &[]),
        "html-page" => {
            let (blocks, template) = (settings.list("blocks"), settings.text("template"));
            (FieldType::HtmlPage { blocks, template }, &["blocks", "template"])
        }
        "slug" => (FieldType::Slug, &[]),
        "email" => (FieldType::Email, &[]),
        "link" => (FieldType::Link, &[]),
        "image" => (FieldType::Image, &[]),
        "file" => (FieldType::File, &[]),
        "enum" => (FieldType::Enum { values: settings.values() }, &["values"]),
        "multi-enum" => (FieldType::MultiEnum { values: settings.values() }, &["values"]),
        "boolean" => (FieldType::Boolean, &[]),
        "color" => (FieldType::Color, &[]),
        "number" => (FieldType::Number, &[]),
        "money" => (settings.money(), &["default_currency", "currencies"]),
        "date" => (FieldType::Date, &[]),
        "datetime" => (FieldType::DateTime, &[]),
        "duration" => (settings.duration(), &["unit", "display", "min", "max"]),
        "reference" => (FieldType::Reference(settings.relation()), &RELATION),
        "references" => (FieldType::References(settings.relation()), &RELATION),
        "user" => (FieldType::User { role: settings.text("role") }, &["role"]),
        "address" => (FieldType::Address, &[]),
        _ => (FieldType::Text, &[]),
    };
    settings.unknown(type_name, known);
    field_type
}

struct Settings<'a> {
    object: Map<String, Value>,
    path: &'a str,
    reader: &'a mut BodyReader,
}

impl Settings<'_> {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.object.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Reports an error at the path of all settings, since their keys are not paths of the API.
    fn error(&mut self, text: String) {
        self.reader.error(self.path, text);
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) if self.reader.fits_text(&text) => Some(text),
            Value::String(_) => {
                self.error(format!("`{key}` {}", too_long()));
                None
            }
            other => {
                self.error(format!("`{key}` must be a string or null, not {}", describe(&other)));
                None
            }
        }
    }

    fn list(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.take(key)?;
        let texts = value.as_array().map(|elements| elements.iter().map(|element| element.as_str().map(str::to_owned)));
        let list = texts.and_then(|texts| texts.collect::<Option<Vec<String>>>());
        let Some(list) = list else {
            self.error(format!("`{key}` must be an array of strings or null"));
            return None;
        };
        if !self.reader.fits(list.len(), MAX_LIST) {
            self.error(format!("`{key}` must have at most {MAX_LIST} elements, not {}", list.len()));
            return None;
        }
        if list.iter().any(|text| !self.reader.fits_text(text)) {
            self.error(format!("each of `{key}` {}", too_long()));
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(repeated) = list.iter().find(|text| !seen.insert(text.as_str())) {
            self.error(format!("`{key}` must not contain {} twice", quote(repeated)));
        }
        Some(list)
    }

    fn values(&mut self) -> Option<Choices> {
        let values = self.list("values")?;
        if values.is_empty() {
            self.error("`values` must have at least one value, or be null to accept any".to_owned());
        }
        let fits = |value: &String| (1..=MAX_CHOICE_CHARACTERS).contains(&value.chars().count());
        if let Some(wrong) = values.iter().find(|value| !fits(value)) {
            let text =
                format!("`values` must be strings of 1 to {MAX_CHOICE_CHARACTERS} characters, not {}", quote(wrong));
            self.error(text);
        }
        Some(Choices::new(values))
    }

    fn money(&mut self) -> FieldType {
        let currencies = self.list("currencies").unwrap_or_else(|| CURRENCIES.map(str::to_owned).to_vec());
        if currencies.is_empty() {
            self.error("`currencies` must have at least one currency".to_owned());
        }
        if let Some(unknown) = currencies.iter().find(|currency| !CURRENCIES.contains(&currency.as_str())) {
            self.error(format!("`currencies` must be among {}, not {}", CURRENCIES.join(", "), quote(unknown)));
        }
        let default_currency = self.text("default_currency");
        if let Some(default) = default_currency.as_ref().filter(|default| !currencies.contains(default)) {
            let text = format!("`default_currency` must be among {}, not {}", currencies.join(", "), quote(default));
            self.error(text);
        }
        FieldType::Money { default_currency, currencies }
    }

    fn duration(&mut self) -> FieldType {
        let unit = match self.take("unit") {
            None => DurationUnit::Minutes,
            Some(value) => value.as_str().and_then(DurationUnit::parse).unwrap_or_else(|| {
                self.error(format!("`unit` must be `minutes`, `hours` or `days`, not {}", describe(&value)));
                DurationUnit::Minutes
            }),
        };
        let display = self.text("display");
        let (min, max) = (self.bound("min"), self.bound("max"));
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            self.error(format!("`min` must not be greater than `max`: {min} is greater than {max}"));
        }
        FieldType::Duration { unit, display, min, max }
    }

    fn bound(&mut self, key: &str) -> Option<f64> {
        let value = self.take(key)?;
        number::read(&value).map_err(|error| self.error(format!("`{key}` {error}"))).ok()
    }

    fn relation(&mut self) -> Relation {
        let (blueprint, display) = (self.blueprint(), self.list("display").unwrap_or_default());
        let on_delete = match self.take("on_delete") {
            None => OnDelete::Keep,
            Some(value) => value.as_str().and_then(OnDelete::parse).unwrap_or_else(|| {
                let all = quote_all(OnDelete::ALL.map(OnDelete::as_str));
                self.error(format!("`on_delete` must be one of {all}, not {}", describe(&value)));
                OnDelete::Keep
            }),
        };
        Relation { blueprint, display, on_delete }
    }

    fn blueprint(&mut self) -> String {
        match self.take("blueprint") {
            Some(Value::String(slug)) if is_slug(&slug) => return slug,
            Some(other) => self.error(format!("`blueprint` must be the slug of a blueprint, not {}", describe(&other))),
            None => self.error("`blueprint` must be given: the slug of the related blueprint".to_owned()),
        }
        String::new()
    }

    /// Reports the settings that are left after the known ones were read.
    fn unknown(self, type_name: &str, known: &[&str]) {
        let has = if known.is_empty() { "no settings".to_owned() } else { quote_all(known) };
        for key in self.object.keys().filter(|key| !known.contains(&key.as_str())) {
            let text = format!("must not have {}: a field of type `{type_name}` has {has}", quote(key));
            self.reader.error(self.path, text);
        }
    }
}
