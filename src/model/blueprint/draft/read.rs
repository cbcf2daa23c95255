//! Reading parts of a body, with every fault noted under its path.

use serde_json::{Map, Value};

use crate::model::error::{Error, Result};

const MAX_TEXT: usize = 1_000;

/// Collects faults while a body is read.
pub(super) struct Reader {
    faults: Vec<(String, Vec<String>)>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Reader { faults: Vec::new() }
    }

    pub(super) fn fault(&mut self, path: &str, text: String) {
        match self.faults.iter_mut().find(|(other, _)| other == path) {
            Some((_, texts)) => texts.push(text),
            None => self.faults.push((path.to_owned(), vec![text])),
        }
    }

    pub(super) fn has_fault(&self, path: &str) -> bool {
        self.faults.iter().any(|(other, _)| other == path)
    }

    pub(super) fn finish(self) -> Result<()> {
        if self.faults.is_empty() { Ok(()) } else { Err(Error::validation(self.faults)) }
    }

    pub(super) fn check_keys(&mut self, path: &str, object: &Map<String, Value>, known: &[&str], ignored: &[&str]) {
        let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        for key in object.keys().filter(|key| !known.contains(&key.as_str()) && !ignored.contains(&key.as_str())) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let text = match names.as_slice() {
                [] => "is not a key here: there are none".to_owned(),
                names => format!("is not a key here; known are {}", names.join(", ")),
            };
            self.fault(&path, text);
        }
    }

    pub(super) fn object<'a>(&mut self, path: &str, value: &'a Value) -> Option<&'a Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.fault(path, "must be an object".to_owned());
        }
        object
    }

    pub(super) fn required_text(&mut self, path: &str, value: Option<&Value>) -> Option<String> {
        let text = value.and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let text = text.filter(|text| text.chars().count() <= MAX_TEXT);
        if text.is_none() {
            self.fault(path, format!("is required: a string of 1 to {MAX_TEXT} characters"));
        }
        text.map(str::to_owned)
    }

    /// A string, or nothing where there is none or null.
    pub(super) fn optional_text(&mut self, path: &str, value: Option<&Value>) -> Option<String> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.chars().count() <= MAX_TEXT => Some(text.clone()),
            Some(_) => {
                self.fault(path, format!("must be a string of at most {MAX_TEXT} characters, or null"));
                None
            }
        }
    }

    pub(super) fn optional_bool(&mut self, path: &str, value: Option<&Value>) -> bool {
        match value {
            None | Some(Value::Null) => false,
            Some(Value::Bool(bool)) => *bool,
            Some(_) => {
                self.fault(path, "must be true or false".to_owned());
                false
            }
        }
    }

    pub(super) fn optional_number(&mut self, path: &str, value: Option<&Value>) -> Option<f64> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::Number(number)) => number.as_f64(),
            Some(_) => {
                self.fault(path, "must be a number, or null".to_owned());
                None
            }
        }
    }

    /// An array, or nothing where there is none or null.
    pub(super) fn optional_array<'a>(&mut self, path: &str, value: Option<&'a Value>) -> Option<&'a Vec<Value>> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::Array(items)) => Some(items),
            Some(_) => {
                self.fault(path, "must be an array, or null".to_owned());
                None
            }
        }
    }

    /// An array of strings without repeats, or nothing where there is none or null.
    pub(super) fn optional_texts(&mut self, path: &str, value: Option<&Value>) -> Option<Vec<String>> {
        let items = self.optional_array(path, value)?;
        let mut texts: Vec<String> = Vec::with_capacity(items.len());
        let mut seen = std::collections::HashSet::new();
        for item in items {
            match item.as_str() {
                Some(text) if (1..=255).contains(&text.chars().count()) => {
                    if seen.insert(text) {
                        texts.push(text.to_owned());
                    } else {
                        self.fault(path, format!("holds `{text}` twice"));
                    }
                }
                _ => self.fault(path, "must hold strings of 1 to 255 characters".to_owned()),
            }
        }
        Some(texts)
    }
}
