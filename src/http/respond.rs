//! Building responses. Must not know what they hold.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json as json_value};

/// A response whose body is this JSON text.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response with this JSON text as its `data`.
pub(super) fn data(status: StatusCode, text: &str) -> Response {
    json(status, with_data(text))
}

/// A response with this JSON value as its `data`.
pub(super) fn data_value(status: StatusCode, value: Value) -> Response {
    json(status, json_value!({ "data": value }).to_string())
}

/// An object that holds this JSON text as its `data`.
pub(super) fn with_data(text: &str) -> String {
    format!("{{\"data\":{text}}}")
}

/// 204, without a body.
pub(super) fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The `Vary` of what depends on the token and on no other header.
pub(super) const VARY_BY_TOKEN: &str = "Authorization";

/// A JSON text that the client may cache under an entity tag; 304 if the request names that tag. `vary` lists the
/// headers that the text depends on.
pub(super) fn cacheable(request: &HeaderMap, tag: &str, vary: &str, body: String) -> Response {
    let is_unmodified = is_unmodified(request, tag);
    let headers = [(ETAG, tag), (VARY, vary)];
    if is_unmodified {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, json(StatusCode::OK, body)).into_response()
}

/// Whether `If-None-Match` names the entity tag. The comparison is weak, as RFC 9110 requires of this header.
pub(super) fn is_unmodified(request: &HeaderMap, tag: &str) -> bool {
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|sent| sent == "*" || sent.strip_prefix("W/").unwrap_or(sent) == tag)
}
