//! Making answers.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json as json_value};

/// An answer with a JSON text as its body.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer with a JSON text as its `data`.
pub fn data(status: StatusCode, text: &str) -> Response {
    json(status, format!("{{\"data\":{text}}}"))
}

/// An answer with a JSON value as its `data`.
pub fn data_value(status: StatusCode, value: Value) -> Response {
    json(status, json_value!({ "data": value }).to_string())
}

/// Whether the client has what the entity tag stands for. Compared weakly, as RFC 9110 asks of `If-None-Match`.
pub fn is_unmodified(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|sent| sent == "*" || sent.strip_prefix("W/").unwrap_or(sent) == tag)
}
