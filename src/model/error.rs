//! Errors that the caller can read: a code for programs, and a message for people.
//!
//! A message is written where the broken rule is checked. It says what was wrong, where, and what would be right, and
//! never shows internals.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::sent::quote;

/// The codes of the error object (`API.md` 7). `http::error` maps each to an HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // API.md 7 documents the codes.
pub enum Code {
    MalformedJson,
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    SingularResource,
    Conflict,
    PreconditionFailed,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
    InvalidFilter,
    InvalidSort,
    InvalidVariant,
    InvalidParameter,
    BulkLimitExceeded,
    IdempotencyKeyReused,
    RateLimited,
    Internal,
    Overloaded,
}

/// How many fields a message names.
const NAMED_FIELDS: usize = 50;

/// How many fields [`Error::fields`] lists. One more entry says how many are left out, so that a body of a million
/// unknown keys does not get a response of hundreds of megabytes.
pub const LISTED_FIELDS: usize = 100;

/// The key of the entry that says how many fields are left out.
const MORE_FIELDS: &str = "…";

/// Errors per field: a field's slug or a path in the body, and what is wrong there. One field may have several entries
/// until [`Error::validation`] merges them.
pub type FieldErrors = Vec<(String, Vec<String>)>;

/// An error for the caller to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The kind of error.
    pub code: Code,
    /// One or two sentences: what was wrong, where, and what would be right.
    pub message: String,
    /// The errors of named fields, in the order in which they were found. Empty if the error concerns no field.
    pub fields: FieldErrors,
    /// The stored resources that conflict with a change; only with [`Code::Conflict`].
    pub conflict: Option<Conflict>,
}

/// Stored resources that conflict with a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// How many there are.
    pub count: u64,
    /// The first ten ids.
    pub ids: Vec<String>,
}

/// A result whose error the caller can read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that concerns no field.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), fields: Vec::new(), conflict: None }
    }

    /// `VALIDATION_FAILED` with the errors of each field, at most [`LISTED_FIELDS`]. Entries of one field are merged.
    pub fn validation(found: FieldErrors) -> Self {
        let mut fields = merge(found);
        let message = match fields.as_slice() {
            [(field, errors)] => format!("{} is not valid: {}", quote(field), errors.join("; ")),
            _ => {
                let names: Vec<String> = fields.iter().take(NAMED_FIELDS).map(|(field, _)| quote(field)).collect();
                let and_more = if fields.len() > NAMED_FIELDS { " and more" } else { "" };
                format!("{} fields are not valid: {}{and_more}", fields.len(), names.join(", "))
            }
        };
        let left_out = fields.len().saturating_sub(LISTED_FIELDS);
        if left_out > 0 {
            fields.truncate(LISTED_FIELDS);
            fields.push((MORE_FIELDS.to_owned(), vec![format!("{left_out} more fields are not valid")]));
        }
        Error { code: Code::ValidationFailed, message, fields, conflict: None }
    }

    /// An error of the server itself. Logs the cause; the caller gets a fixed text.
    pub fn internal(cause: impl fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Error::new(Code::Internal, "the server failed to handle the request; its log has the cause")
    }
}

/// One entry per field, in the order in which the fields were found, with each text once.
fn merge(found: FieldErrors) -> FieldErrors {
    let mut merged: FieldErrors = Vec::with_capacity(found.len());
    let mut positions: HashMap<String, usize> = HashMap::with_capacity(found.len());
    let mut seen: HashSet<(usize, String)> = HashSet::new();
    for (field, errors) in found {
        let position = *positions.entry(field).or_insert_with_key(|field| {
            merged.push((field.clone(), Vec::new()));
            merged.len() - 1
        });
        let new = errors.into_iter().filter(|text| seen.insert((position, text.clone())));
        merged[position].1.extend(new);
    }
    merged
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_field_are_merged_and_repeated_texts_are_dropped() {
        let found = [("z", "1"), ("a", "3"), ("z", "2"), ("z", "1")];
        let error = Error::validation(found.map(|(field, text)| (field.to_owned(), vec![text.to_owned()])).to_vec());
        assert_eq!(error.message, "2 fields are not valid: `z`, `a`");
        let expected = [("z", vec!["1", "2"]), ("a", vec!["3"])];
        let expected =
            expected.map(|(field, texts)| (field.to_owned(), texts.into_iter().map(str::to_owned).collect()));
        assert_eq!(error.fields, expected);
    }

    #[test]
    fn at_most_100_fields_are_listed_and_one_entry_counts_the_others() {
        let found = |count: usize| (0..count).map(|n| (format!("f{n}"), vec!["must be a number".to_owned()])).collect();
        assert_eq!(Error::validation(found(LISTED_FIELDS)).fields.len(), LISTED_FIELDS);
        let error = Error::validation(found(200_000));
        assert!(
            error.message.starts_with("200000 fields are not valid: `f0`, ") && error.message.ends_with("` and more")
        );
        assert_eq!(error.fields.len(), LISTED_FIELDS + 1);
        let (key, texts) = &error.fields[LISTED_FIELDS];
        assert_eq!((key.as_str(), texts.concat()), ("…", "199900 more fields are not valid".to_owned()));
    }
}
