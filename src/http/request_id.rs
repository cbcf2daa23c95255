//! The id of a request (`API.md` 1.8), in its response and in its log line. Must not know what the request asks for.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use uuid::Builder;

/// The header that carries the id, in requests and in responses.
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_CHARS: usize = 128;

/// The middleware: gives the request an id, adds it to the response and logs one line. Everything that is logged while
/// the request runs carries the id.
pub(super) async fn carry(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request.headers().get(X_REQUEST_ID).and_then(usable).unwrap_or_else(random);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    let duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    span.in_scope(|| tracing::info!(%method, path, status, duration_us, "answered"));
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

/// The client's own id, if it is safe to write to any log.
fn usable(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let plain = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
    (plain && (1..=MAX_CHARS).contains(&bytes.len())).then(|| value.clone())
}

/// A new id.
pub(super) fn random() -> HeaderValue {
    let mut random = [0; 16];
    // Ids need not be secret, only distinct: without a random generator the clock is good enough.
    if getrandom::fill(&mut random).is_err() {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        random = since.as_nanos().to_be_bytes();
    }
    let id = Builder::from_random_bytes(random).into_uuid().to_string();
    HeaderValue::from_str(&id).expect("a UUID is visible ASCII")
}
