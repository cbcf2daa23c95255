//! Errors as responses: the status and name of each code, and the error object (`API.md` 1.5). Must not contain the
//! text of an error.

use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use bindery_model::error::{Code, Error};
use serde_json::{Value, json};

use crate::answer::respond;

/// The default of `Retry-After` in seconds.
const DEFAULT_RETRY_SECONDS: u64 = 1;

/// An error that a handler returns; `?` converts an [`Error`] into it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    error: Error,
    retry_after_seconds: u64,
}

/// The result of a handler.
pub(super) type Answer = Result<Response, Failure>;

impl Failure {
    pub(super) fn code(&self) -> Code {
        self.error.code
    }

    pub(super) fn into_error(self) -> Error {
        self.error
    }

    /// Sets `Retry-After`, which only `RATE_LIMITED` and `OVERLOADED` have.
    pub(super) fn retry_after(self, seconds: u64) -> Failure {
        Failure { retry_after_seconds: seconds, ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, retry_after_seconds: DEFAULT_RETRY_SECONDS }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, _) = wire(self.error.code);
        let body = json!({ "errors": error_object(&self.error) });
        let mut response = respond::json(status, body.to_string());
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from(self.retry_after_seconds));
            }
            _ => {}
        }
        response
    }
}

/// Returns the error object. It is the value of `errors` in an error response, in each failed item of a bulk response
/// and in each failed line of an import.
pub fn error_object(error: &Error) -> Value {
    error.to_json()
}

/// Returns the HTTP status of an error.
pub fn error_status(error: &Error) -> u16 {
    wire(error.code).0.as_u16()
}

/// Returns the status and the name of a code.
pub(super) fn wire(code: Code) -> (StatusCode, &'static str) {
    let status = match code {
        Code::MalformedJson => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::SingularResource | Code::Conflict => StatusCode::CONFLICT,
        Code::Gone => StatusCode::GONE,
        Code::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        Code::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::ValidationFailed
        | Code::InvalidFilter
        | Code::InvalidSort
        | Code::InvalidVariant
        | Code::InvalidParameter
        | Code::BulkLimitExceeded
        | Code::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Overloaded | Code::LogUnreachable | Code::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, code.as_str())
}
