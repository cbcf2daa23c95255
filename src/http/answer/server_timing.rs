//! The header `Server-Timing` of explained answers (`API.md` 4.18). Must not know the steps that took the time.

use std::time::Duration;

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use bindery_content::Explanation;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Adds the header to an answer with an explanation, and marks it as not cacheable, because its times belong to this
/// request only.
pub(crate) fn explained(mut response: Response, explanation: Option<&Explanation>) -> Response {
    let Some(Explanation { queued, searched, documents, .. }) = explanation else { return response };
    let parts = [("queue", Some(queued)), ("search", Some(searched)), ("documents", documents.as_ref())];
    for (name, took) in parts {
        if let Some(took) = took {
            add(&mut response, name, *took);
        }
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns whether an answer has the header.
pub(crate) fn is_timed(response: &Response) -> bool {
    response.headers().contains_key(SERVER_TIMING)
}

/// Adds the duration of one part of the answer.
pub(crate) fn add(response: &mut Response, name: &str, took: Duration) {
    let entry = format!("{name};dur={:.3}", took.as_secs_f64() * 1_000.0);
    let before = response.headers().get(SERVER_TIMING).and_then(|value| value.to_str().ok());
    let value = before.map_or_else(|| entry.clone(), |before| format!("{before}, {entry}"));
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
}
