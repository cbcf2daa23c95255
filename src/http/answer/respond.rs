//! Building responses. Must not know what they hold.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json as json_value};

/// Returns a response whose body is this JSON text.
pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response with this JSON value as its `data`.
pub(crate) fn data_value(status: StatusCode, value: Value) -> Response {
    json(status, json_value!({ "data": value }).to_string())
}

/// Returns an object with this JSON text as its `data`.
pub(crate) fn with_data(text: &str) -> String {
    format!("{{\"data\":{text}}}")
}

/// Returns 204, without a body.
pub(crate) fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The `Vary` of answers that depend on the token and on no other header.
pub(crate) const VARY_BY_TOKEN: &str = "Authorization";

/// The `Vary` of answers that depend on the token, and whose format `Accept` may choose.
pub(crate) const VARY_BY_TOKEN_AND_FORMAT: &str = "Authorization, Accept";

/// Returns a JSON response that the client may cache under an entity tag. `vary` lists the headers that it depends on.
pub(crate) fn cacheable(etag: HeaderValue, vary: &'static str, body: Bytes) -> Response {
    with_validators(json(StatusCode::OK, body), etag, vary)
}

/// Returns 304: the client has the representation with this tag.
pub(crate) fn not_modified(etag: HeaderValue, vary: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    with_validators(response, etag, vary)
}

fn with_validators(mut response: Response, etag: HeaderValue, vary: &'static str) -> Response {
    response.headers_mut().insert(ETAG, etag);
    response.headers_mut().insert(VARY, HeaderValue::from_static(vary));
    response
}

/// Returns whether `If-None-Match` contains the entity tag: the client has the representation with this tag. The
/// comparison is weak, as RFC 9110 requires.
pub(crate) fn is_unmodified(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let lists = request.get_all(IF_NONE_MATCH).iter();
    let mut tags = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    tags.any(|sent| sent == b"*" || sent.strip_prefix(b"W/").unwrap_or(sent) == tag.as_bytes())
}
