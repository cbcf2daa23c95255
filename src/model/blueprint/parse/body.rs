//! The reading of parts of a request body. Collects the errors, each with its path.

use serde_json::{Map, Value};

use crate::blueprint::slug::slug_from_name;
use crate::error::FieldErrors;
use crate::sent::{describe, quote, quote_all};

/// The maximum length of a label or another text, in characters.
const MAX_LABEL_CHARACTERS: usize = 1_000;

/// Reads parts of a body. An invalid part is reported, and treated as if it were empty, so that the reading continues.
#[derive(Default)]
pub(super) struct BodyReader {
    /// The errors found so far, by path.
    pub(super) errors: FieldErrors,
    /// True if limits are checked that may change from one version to the next.
    has_limits: bool,
}

impl BodyReader {
    /// Makes a reader for a body that a client sent.
    pub(super) fn with_limits() -> BodyReader {
        BodyReader { has_limits: true, ..BodyReader::default() }
    }

    /// Returns whether a list may have this many elements. Reports an error if not.
    pub(super) fn accepts(&mut self, length: usize, limit: usize, path: &str) -> bool {
        let accepts = self.fits(length, limit);
        if !accepts {
            self.error(path, format!("must have at most {limit} elements, not {length}"));
        }
        accepts
    }

    /// Returns whether a length is within a limit, or limits are not checked.
    pub(super) fn fits(&self, length: usize, limit: usize) -> bool {
        length <= limit || !self.has_limits
    }

    /// Returns whether a text is not too long.
    pub(super) fn fits_text(&self, text: &str) -> bool {
        // A text never has more characters than bytes.
        self.fits(text.len(), MAX_LABEL_CHARACTERS) || self.fits(text.chars().count(), MAX_LABEL_CHARACTERS)
    }

    pub(super) fn error(&mut self, path: &str, text: String) {
        self.errors.push((path.to_owned(), vec![text]));
    }

    /// Reads a required label.
    pub(super) fn label(&mut self, value: Option<Value>, path: &str) -> String {
        let error = match value {
            Some(Value::String(text)) if !text.trim().is_empty() && text.chars().count() <= MAX_LABEL_CHARACTERS => {
                return text;
            }
            Some(Value::String(text)) if text.trim().is_empty() => "must not be empty".to_owned(),
            Some(Value::String(_)) => too_long(),
            Some(other) => format!("must be a string, not {}", describe(&other)),
            None => "must be given: a string".to_owned(),
        };
        self.error(path, error);
        String::new()
    }

    /// Reads a slug. If it is left out, it is derived from the name. Returns `None` if there is none. The syntax is not
    /// checked.
    pub(super) fn slug(&mut self, value: Option<Value>, name: &str, path: &str) -> Option<String> {
        let error = match value {
            // The error of the name itself is already reported.
            None if name.is_empty() => return None,
            None => match slug_from_name(name) {
                Some(slug) => return Some(slug),
                None => format!("must be given: no slug can be derived from the name {}", quote(name)),
            },
            Some(Value::String(slug)) => return Some(slug),
            Some(other) => format!("must be a string, not {}", describe(&other)),
        };
        self.error(path, error);
        None
    }

    /// Reads a string that may be null or left out.
    pub(super) fn text(&mut self, value: Option<Value>, path: &str) -> Option<String> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if self.fits_text(&text) => Some(text),
            Some(Value::String(_)) => {
                self.error(path, too_long());
                None
            }
            Some(other) => {
                self.error(path, format!("must be a string or null, not {}", describe(&other)));
                None
            }
        }
    }

    /// Reads a boolean; false if it is left out.
    pub(super) fn flag(&mut self, value: Option<Value>, path: &str) -> bool {
        match value {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.error(path, format!("must be true or false, not {}", describe(&other)));
                false
            }
        }
    }

    /// Reads an array; empty if it is null or left out.
    pub(super) fn array(&mut self, value: Option<Value>, path: &str) -> Vec<Value> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(elements)) => elements,
            Some(other) => {
                self.error(path, format!("must be an array, not {}", describe(&other)));
                Vec::new()
            }
        }
    }

    pub(super) fn object(&mut self, value: Value, path: &str) -> Option<Map<String, Value>> {
        match value {
            Value::Object(object) => Some(object),
            other => {
                self.error(path, format!("must be an object, not {}", describe(&other)));
                None
            }
        }
    }

    /// Reports the keys that are left after the known keys were read. `path` is empty for the body itself.
    pub(super) fn unknown_keys(&mut self, path: &str, rest: &Map<String, Value>, known: &[&str]) {
        for key in rest.keys() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.error(&path, format!("is not a known key; known keys are {}", quote_all(known)));
        }
    }
}

/// Returns the message for a text that is too long.
pub(super) fn too_long() -> String {
    format!("must have at most {MAX_LABEL_CHARACTERS} characters")
}
