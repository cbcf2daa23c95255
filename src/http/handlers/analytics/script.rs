//! The script that pages include. It sends a pageview when a page is shown, also on client-side navigation and when the
//! page comes from the browser's history, and has `bindery(name, properties)` for events. It reports
//! clicks within an element whose attribute `data-search` has the id of a search, that of a resource, and its position.
//! It stores nothing in the browser.

use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use bindery_model::error::Error;

use crate::answer::respond::is_unmodified;
use crate::app::App;
use crate::error::Answer;
use crate::request::head::takes_no_parameters;

const SCRIPT: &str = include_str!("script.js");
/// Replaces `/*check*/` in the script if browsers can ask not to be tracked.
const CHECK: &str = "if(n.doNotTrack==1||n.globalPrivacyControl)return;";
const MAX_AGE: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// `GET /v2/analytics/script.js`.
pub(super) async fn serve(State(app): State<App>, RawQuery(query): RawQuery, headers: HeaderMap) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    let text = text(app.config.analytics.do_not_track);
    let tag = format!("\"{}\"", &blake3::hash(text.as_bytes()).to_hex()[..16]);
    let tag = HeaderValue::from_str(&tag).map_err(Error::internal)?;
    let cache_headers = [(CACHE_CONTROL, MAX_AGE), (ETAG, tag.clone())];
    if is_unmodified(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, cache_headers).into_response());
    }
    let content_type = [(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"))];
    Ok((cache_headers, content_type, text).into_response())
}

fn text(do_not_track: bool) -> String {
    let minified: String = SCRIPT.lines().filter(|line| !line.starts_with("//")).map(str::trim_start).collect();
    minified.replace("/*check*/", if do_not_track { CHECK } else { "" })
}
