//! Building responses. Must not know what they hold.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use axum::http::request::Parts;
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

/// The entity tags that the client has, from `If-None-Match`.
#[derive(Debug)]
pub(crate) struct IfNoneMatch(Vec<HeaderValue>);

impl<S: Send + Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<IfNoneMatch, Infallible> {
        Ok(IfNoneMatch(parts.headers.get_all(IF_NONE_MATCH).iter().cloned().collect()))
    }
}

impl IfNoneMatch {
    /// Returns whether the client has the representation with this tag.
    pub(crate) fn names(&self, tag: &HeaderValue) -> bool {
        self.0.iter().any(|value| is_named(value, tag.as_bytes()))
    }
}

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

/// Returns whether `If-None-Match` contains the entity tag.
pub(crate) fn is_unmodified(request: &HeaderMap, tag: &HeaderValue) -> bool {
    request.get_all(IF_NONE_MATCH).iter().any(|value| is_named(value, tag.as_bytes()))
}

/// Returns whether a list of tags contains this one. The comparison is weak, as RFC 9110 requires for `If-None-Match`.
fn is_named(list: &HeaderValue, tag: &[u8]) -> bool {
    let mut tags = list.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    tags.any(|sent| sent == b"*" || sent.strip_prefix(b"W/").unwrap_or(sent) == tag)
}
