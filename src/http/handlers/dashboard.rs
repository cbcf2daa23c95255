//! `/admin`: the files of the dashboard (`API.md` 4.15), with headers that block scripts of other origins. Must not
//! know the content of the dashboard.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use bindery_dashboard::DashboardFile;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use crate::answer::encoding::Encoding;
use crate::answer::respond::is_unmodified;
use crate::error::Answer;

/// The content security policy of the dashboard: only resources of this server, nothing inline, no framing by other
/// sites. Images may come from anywhere, because fields of the types `image` and `file` hold addresses whose images
/// editors want to see.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: http: https:; \
    media-src http: https:; font-src 'self'; connect-src 'self'; frame-src 'self' blob: data:; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

/// The `Cache-Control` of files whose names change with their content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Answer {
    let path = uri.path().strip_prefix("/admin").unwrap_or_default().trim_start_matches('/');
    let Some(file) = bindery_dashboard::file(path) else {
        return Err(Error::new(Code::NotFound, format!("the dashboard has no file {}", quote(path))).into());
    };
    Ok(respond(file, &headers)?)
}

fn respond(file: &'static DashboardFile, request: &HeaderMap) -> Result<Response, Error> {
    let gzip = Encoding::Gzip.is_accepted(request).then(|| file.gzip()).flatten();
    // Each encoding is its own representation, and needs its own strong tag.
    let tag = format!("\"{}{}\"", file.tag, if gzip.is_some() { "-gzip" } else { "" });
    let tag = HeaderValue::from_str(&tag).map_err(Error::internal)?;
    let is_known = is_unmodified(request, &tag);
    let body = if is_known { Body::empty() } else { Body::from(gzip.unwrap_or(&file.bytes).clone()) };
    let mut response = Response::new(body);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, file.media_type),
        (CACHE_CONTROL, if file.is_hashed { FOR_EVER } else { "no-cache" }),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (VARY, "Accept-Encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(ETAG, tag);
    if gzip.is_some() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}
