//! What a caller is told when something cannot be done.
//!
//! Two needs, two parts: callers that branch look at [`Code`], people read the message. A message is made where the
//! rule stands that was broken; it says what was wrong, where, and what would be right, and never shows internals.

use std::fmt;

use super::blueprint::Blueprint;
use super::sent::quote;

/// The codes of the error object (`API.md` 7). The table from code to status is in `http::error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are the documentation: each is documented in API.md 7.
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

/// How many fields a message names; all stand in [`Error::fields`].
const NAMED_FIELDS: usize = 50;

/// A fault that is the caller's to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What kind of fault it is.
    pub code: Code,
    /// One sentence or two: what was wrong, where, what would be right.
    pub message: String,
    /// The faults of named fields, in the order in which they were found; empty where the fault lies in none.
    pub fields: Vec<(String, Vec<String>)>,
    /// The stored resources that stand against a change; only with [`Code::Conflict`].
    pub conflict: Option<Conflict>,
}

/// Stored resources that stand against a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// How many there are.
    pub count: u64,
    /// The first ten ids.
    pub ids: Vec<String>,
}

/// Errors of named fields, each with its messages.
pub type FieldErrors = Vec<(String, Vec<String>)>;

/// The result of everything that a caller may get wrong.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A fault without named fields.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), fields: Vec::new(), conflict: None }
    }

    /// `VALIDATION_FAILED` with the faults of each field; those of one field may come in several pieces.
    pub fn validation(found: Vec<(String, Vec<String>)>) -> Self {
        let mut fields: Vec<(String, Vec<String>)> = Vec::with_capacity(found.len());
        for (field, faults) in found {
            match fields.iter_mut().find(|(known, _)| *known == field) {
                Some((_, known)) => known.extend(faults),
                None => fields.push((field, faults)),
            }
        }
        let message = match fields.as_slice() {
            [(field, faults)] => format!("{} is not valid: {}", quote(field), faults.join("; ")),
            _ => {
                let names: Vec<String> = fields.iter().take(NAMED_FIELDS).map(|(field, _)| quote(field)).collect();
                let and_more = if fields.len() > NAMED_FIELDS { " and more" } else { "" };
                format!("{} fields are not valid: {}{and_more}", fields.len(), names.join(", "))
            }
        };
        Error { code: Code::ValidationFailed, message, fields, conflict: None }
    }

    /// A fault of ours. The cause is logged here, once; the caller gets a fixed text.
    pub fn internal(cause: impl fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Error::new(Code::Internal, "the server failed to answer; the cause is in its log")
    }
}

/// One entry per field, in the order of the blueprint's fields, unknown names last.
pub fn merged(blueprint: &Blueprint, errors: FieldErrors) -> FieldErrors {
    let mut merged = Error::validation(errors).fields;
    for (_, messages) in &mut merged {
        let mut seen = std::collections::HashSet::new();
        messages.retain(|message| seen.insert(message.clone()));
    }
    let position = |slug: &str| blueprint.fields.iter().position(|field| field.slug == slug).unwrap_or(usize::MAX);
    merged.sort_by_cached_key(|(field, _)| position(field));
    merged
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
