//! Reading parts of a request body and collecting the errors, each with its path.

use serde_json::{Map, Value};

use crate::blueprint::slug::slug_from_name;
use crate::error::FieldErrors;
use crate::sent::{describe, quote, quote_all};

/// The longest label or other text, in characters.
const MAX_LABEL_CHARACTERS: usize = 1_000;

/// Reads parts of a body. A part that is wrong is reported, and read as if it were empty, so that reading goes on.
#[derive(Default)]
pub(super) struct BodyReader {
    /// The errors found so far, by path.
    pub(super) errors: FieldErrors,
    /// True if limits are checked that may change from one version to the next.
    has_limits: bool,
}

impl BodyReader {
    /// A reader of what a client sent.
    pub(super) fn with_limits() -> BodyReader {
        BodyReader { has_limits: true, ..BodyReader::default() }
    }

    /// Tests whether a list may have so many elements. Reports it if not.
    pub(super) fn accepts(&mut self, length: usize, limit: usize, path: &str) -> bool {
        let accepts = self.fits(length, limit);
        if !accepts {
            self.error(path, format!("must have at most {limit} elements, not {length}"));
        }
        accepts
    }

    /// Tests whether a length is within a limit, or limits are not checked.
    pub(super) fn fits(&self, length: usize, limit: usize) -> bool {
        length <= limit || !self.has_limits
    }

    /// Tests whether a text is not too long.
    pub(super) fn fits_text(&self, text: &str) -> bool {
        // A text never has more characters than bytes.
        self.fits(text.len(), MAX_LABEL_CHARACTERS) || self.fits(text.chars().count(), MAX_LABEL_CHARACTERS)
    }

    pub(super) fn error(&mut self, path: &str, text: String) {
        self.errors.push((path.to_owned(), vec![text]));
    }

    /// A required label.
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

    /// A slug, derived from the name if it is left out. `None` if there is none; its syntax is not checked.
    pub(super) fn slug(&mut self, value: Option<Value>, name: &str, path: &str) -> Option<String> {
        let error = match value {
            // The name's own error is reported already.
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

    /// A string that may be null or left out.
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

    /// A boolean; false if it is left out.
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

    /// An array; empty if it is null or left out.
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

    /// Reports the keys that are left over once the known keys are read. `path` is empty for the body itself.
    pub(super) fn unknown_keys(&mut self, path: &str, rest: &Map<String, Value>, known: &[&str]) {
        for key in rest.keys() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.error(&path, format!("is not a known key; known keys are {}", quote_all(known)));
        }
    }
}

/// The message for a text that is too long.
pub(super) fn too_long() -> String {
    format!("must have at most {MAX_LABEL_CHARACTERS} characters")
}
