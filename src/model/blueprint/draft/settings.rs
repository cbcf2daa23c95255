//! Reading the settings of a field, by its type. Every setting has a default; one that the type does not have is a fault.

use serde_json::{Map, Value};

use super::super::super::value::{MAX_CHOICE_CHARACTERS, describe};
use super::super::{DurationUnit, FieldType};
use super::{CURRENCIES, Report, is_slug};
use crate::model::sent::shorten;

/// Reads the settings of a field whose type has that name, which is one of [`FieldType::NAMES`].
pub(super) fn read(type_name: &str, value: Option<Value>, path: &str, report: &mut Report) -> FieldType {
    let object = match value {
        None | Some(Value::Null) => Map::new(),
        Some(value) => report.object(value, path).unwrap_or_default(),
    };
    let mut settings = Settings { object, path, report };
    let (kind, taken): (FieldType, &[&str]) = match type_name {
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
        "reference" => {
            let (blueprint, display) = (settings.blueprint(), settings.display());
            (FieldType::Reference { blueprint, display }, &["blueprint", "display"])
        }
        "references" => {
            let (blueprint, display) = (settings.blueprint(), settings.display());
            (FieldType::References { blueprint, display }, &["blueprint", "display"])
        }
        "user" => (FieldType::User { role: settings.text("role") }, &["role"]),
        "address" => (FieldType::Address, &[]),
        _ => (FieldType::Text, &[]),
    };
    settings.finish(type_name, taken);
    kind
}

struct Settings<'a> {
    object: Map<String, Value>,
    path: &'a str,
    report: &'a mut Report,
}

impl Settings<'_> {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.object.shift_remove(key).filter(|value| !value.is_null())
    }

    /// Settings are told at the path of all of them.
    fn fault(&mut self, fault: String) {
        self.report.fault(self.path, fault);
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                self.fault(format!("`{key}` must be a string or null, not {}", describe(&other)));
                None
            }
        }
    }

    fn list(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.take(key)?;
        let texts = value.as_array().map(|elements| elements.iter().map(|element| element.as_str().map(str::to_owned)));
        let list = texts.and_then(|texts| texts.collect::<Option<Vec<String>>>());
        let Some(list) = list else {
            self.fault(format!("`{key}` must be an array of strings or null"));
            return None;
        };
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = list.iter().find(|text| !seen.insert(text.as_str())) {
            self.fault(format!("`{key}` must not hold `{}` twice", shorten(twice)));
        }
        Some(list)
    }

    fn values(&mut self) -> Option<Vec<String>> {
        let values = self.list("values")?;
        if values.is_empty() {
            self.fault("`values` must hold one value at least, or be null to take any".to_owned());
        }
        let fits = |value: &String| (1..=MAX_CHOICE_CHARACTERS).contains(&value.chars().count());
        if let Some(wrong) = values.iter().find(|value| !fits(value)) {
            let shown = shorten(wrong);
            self.fault(format!("`values` must have 1 to {MAX_CHOICE_CHARACTERS} characters each; `{shown}` has not"));
        }
        Some(values)
    }

    fn money(&mut self) -> FieldType {
        let currencies = self.list("currencies").unwrap_or_else(|| CURRENCIES.map(str::to_owned).to_vec());
        if currencies.is_empty() {
            self.fault("`currencies` must hold one currency at least".to_owned());
        }
        if let Some(unknown) = currencies.iter().find(|currency| !CURRENCIES.contains(&currency.as_str())) {
            let (known, unknown) = (CURRENCIES.join(", "), shorten(unknown));
            self.fault(format!("`currencies` must be among {known}; `{unknown}` is not"));
        }
        let default_currency = self.text("default_currency");
        if let Some(default) = default_currency.as_ref().filter(|default| !currencies.contains(default)) {
            let (among, default) = (currencies.join(", "), shorten(default));
            self.fault(format!("`default_currency` must be among the currencies {among}; `{default}` is not"));
        }
        FieldType::Money { default_currency, currencies }
    }

    fn duration(&mut self) -> FieldType {
        let unit = match self.take("unit") {
            None => DurationUnit::Minutes,
            Some(value) => value.as_str().and_then(DurationUnit::parse).unwrap_or_else(|| {
                self.fault(format!("`unit` must be `minutes`, `hours` or `days`, not {}", describe(&value)));
                DurationUnit::Minutes
            }),
        };
        let display = self.text("display");
        let (min, max) = (self.bound("min"), self.bound("max"));
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            self.fault(format!("`min` must not be above `max`: {min} is above {max}"));
        }
        FieldType::Duration { unit, display, min, max }
    }

    fn bound(&mut self, key: &str) -> Option<f64> {
        let value = self.take(key)?;
        let number = super::super::super::value::read_number(&value);
        number.map_err(|fault| self.fault(format!("`{key}` {fault}"))).ok()
    }

    fn blueprint(&mut self) -> String {
        match self.take("blueprint") {
            Some(Value::String(slug)) if is_slug(&slug) => return slug,
            Some(other) => self.fault(format!("`blueprint` must be the slug of a blueprint, not {}", describe(&other))),
            None => self.fault("`blueprint` must be given, the slug of the related blueprint".to_owned()),
        }
        String::new()
    }

    fn display(&mut self) -> Vec<String> {
        self.list("display").unwrap_or_default()
    }

    fn finish(self, type_name: &str, taken: &[&str]) {
        let keys: Vec<String> = taken.iter().map(|key| format!("`{key}`")).collect();
        for key in self.object.keys().filter(|key| !taken.contains(&key.as_str())) {
            let known = match keys.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", keys.join(", ")),
            };
            self.report
                .fault(self.path, format!("a field of type `{type_name}` has no setting `{}`; {known}", shorten(key)));
        }
    }
}
