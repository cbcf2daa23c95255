//! Errors that the caller can read: a code for programs, and a message for people.
//!
//! A message is written where the broken rule is checked. It says the problem, its place and a valid value, and never
//! shows internals.

mod fields;

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::os_error::is_from_full_disk;
use super::sent::quote;
pub use fields::{FieldError, FieldErrors, LISTED_FIELDS};

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
    Gone,
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
    LogUnreachable,
    OutcomeUnknown,
}

impl Code {
    /// Returns its name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::MalformedJson => "MALFORMED_JSON",
            Code::Unauthenticated => "UNAUTHENTICATED",
            Code::Forbidden => "FORBIDDEN",
            Code::NotFound => "NOT_FOUND",
            Code::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Code::SingularResource => "SINGULAR_RESOURCE",
            Code::Conflict => "CONFLICT",
            Code::Gone => "GONE",
            Code::PreconditionFailed => "PRECONDITION_FAILED",
            Code::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Code::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Code::ValidationFailed => "VALIDATION_FAILED",
            Code::InvalidFilter => "INVALID_FILTER",
            Code::InvalidSort => "INVALID_SORT",
            Code::InvalidVariant => "INVALID_VARIANT",
            Code::InvalidParameter => "INVALID_PARAMETER",
            Code::BulkLimitExceeded => "BULK_LIMIT_EXCEEDED",
            Code::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Code::RateLimited => "RATE_LIMITED",
            Code::Internal => "INTERNAL",
            Code::Overloaded => "OVERLOADED",
            Code::LogUnreachable => "LOG_UNREACHABLE",
            Code::OutcomeUnknown => "OUTCOME_UNKNOWN",
        }
    }
}

/// The maximum number of fields that a message names.
const NAMED_FIELDS: usize = 50;

/// An error for the caller to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The kind of error.
    pub code: Code,
    /// One or two sentences: the problem, its place, and a valid value.
    pub message: String,
    /// The errors of named fields, in the order in which they were found. Empty if the error concerns no field.
    pub fields: Vec<FieldError>,
    /// The stored resources that conflict with a change; only with [`Code::Conflict`].
    pub conflict: Option<Conflict>,
}

/// Stored resources that conflict with a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The number of them.
    pub count: u64,
    /// The first ten ids.
    pub ids: Vec<String>,
}

/// A result whose error the caller can read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error that concerns no field.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), fields: Vec::new(), conflict: None }
    }

    /// Makes the error `VALIDATION_FAILED` with the errors of each field, at most [`LISTED_FIELDS`].
    pub fn validation(found: FieldErrors) -> Self {
        let count = found.count();
        let fields = found.into_listed();
        let message = match fields.as_slice() {
            [(field, errors)] => format!("{} is not valid: {}", quote(field), errors.join("; ")),
            _ => {
                let names: Vec<String> = fields.iter().take(NAMED_FIELDS).map(|(field, _)| quote(field)).collect();
                let and_more = if count > NAMED_FIELDS { " and more" } else { "" };
                format!("{count} fields are not valid: {}{and_more}", names.join(", "))
            }
        };
        Error { code: Code::ValidationFailed, message, fields, conflict: None }
    }

    /// Makes the error `VALIDATION_FAILED` for one field.
    pub fn of_field(field: &str, text: impl Into<String>) -> Self {
        Error::validation(FieldErrors::from_iter([(field.to_owned(), vec![text.into()])]))
    }

    /// Makes an error of the server itself. Logs the cause; the caller gets a fixed text.
    pub fn internal(cause: impl fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Error::new(Code::Internal, "the server failed to handle the request; its log has the cause")
    }

    /// Returns the error object (`API.md` 1.5): `code`, `message`, and `fields`, `count` and `ids` if the error has
    /// them.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("code".to_owned(), json!(self.code.as_str()));
        object.insert("message".to_owned(), json!(self.message));
        if !self.fields.is_empty() {
            let fields = self.fields.iter().map(|(field, messages)| (field.clone(), json!(messages)));
            object.insert("fields".to_owned(), Value::Object(fields.collect()));
        }
        if let Some(conflict) = &self.conflict {
            object.insert("count".to_owned(), json!(conflict.count));
            object.insert("ids".to_owned(), json!(conflict.ids));
        }
        Value::Object(object)
    }

    /// Makes the error for a failed write of a file. For a full disk it is `OVERLOADED` and names the folder: after the
    /// operator has freed space, the same request succeeds.
    pub fn writing(file: &Path, cause: &(dyn std::error::Error + 'static)) -> Self {
        if !is_from_full_disk(cause) {
            return Error::internal(cause);
        }
        let folder = file.parent().unwrap_or(file).display();
        Error::new(Code::Overloaded, format!("the disk of {folder} is full; free some space and try again"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
