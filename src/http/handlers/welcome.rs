//! `GET /` in a browser: links to the dashboard and the documentation. Other clients get the error of an unknown path.
//! Must not know the content of the linked pages.

use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;

/// The content security policy: one stylesheet of this server, and nothing else.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE: &str = include_str!("docs/welcome.html");

/// The place in the page for the explanation of a first start.
const FIRST_STEPS: &str = "<!-- first steps -->";

/// Shown until somebody can sign in.
const NOBODY_YET: &str = "<p>Nobody can sign in yet. Open the link that the server printed when it started, or make one: \
    <code>bindery member invite EMAIL --role owner</code>.</p>";

/// Returns whether a browser requests the page.
pub(crate) fn is_asked_for(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types =
        accepted.flat_map(|value| value.split(',')).map(|range| range.split(';').next().unwrap_or_default());
    matches!(*method, Method::GET | Method::HEAD)
        && path == "/"
        && types.any(|media_type| media_type.trim().eq_ignore_ascii_case("text/html"))
}

/// Returns the page.
pub(crate) fn page(somebody_can_sign_in: bool) -> Response {
    let page = PAGE.replace(FIRST_STEPS, if somebody_can_sign_in { "" } else { NOBODY_YET });
    let mut response = Response::new(Body::from(page));
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "Accept"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
