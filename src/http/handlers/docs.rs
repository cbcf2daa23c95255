//! `/docs`: a viewer of the OpenAPI description (`API.md` 4.12), embedded in this binary. Must not know the
//! description.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, REFERRER_POLICY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use crate::answer::respond::is_unmodified;
use crate::error::Answer;
use crate::request::head::{Path, takes_no_parameters};

/// The content security policy: nothing from other hosts, no inline scripts. The viewer sets styles inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The content of a file, as the binary has it.
#[derive(Clone, Copy)]
enum Content {
    Plain(&'static [u8]),
    /// Packed with zstd, which keeps the binary small.
    Packed(&'static [u8]),
}

/// Name, type and content of each file.
const FILES: [(&str, &str, Content); 5] = [
    ("index.html", "text/html; charset=utf-8", Content::Plain(include_bytes!("docs/index.html"))),
    ("start.js", "text/javascript; charset=utf-8", Content::Plain(include_bytes!("docs/start.js"))),
    (
        "swagger-ui-bundle.js",
        "text/javascript; charset=utf-8",
        Content::Packed(include_bytes!("docs/swagger-ui-bundle.js.zst")),
    ),
    ("swagger-ui.css", "text/css; charset=utf-8", Content::Packed(include_bytes!("docs/swagger-ui.css.zst"))),
    // Used by the page at `/`.
    ("welcome.css", "text/css; charset=utf-8", Content::Plain(include_bytes!("docs/welcome.css"))),
];

/// The content of each file, unpacked when the first one is asked for, and its entity tag.
static UNPACKED: LazyLock<[(Bytes, HeaderValue); 5]> = LazyLock::new(|| {
    FILES.map(|(_, _, content)| {
        let content = match content {
            Content::Plain(content) => Bytes::from_static(content),
            Content::Packed(packed) => {
                zstd::decode_all(packed).expect("the binary has the file as it was packed").into()
            }
        };
        let hash = blake3::hash(&content).to_hex();
        let tag = HeaderValue::from_str(&format!("\"{}\"", &hash[..32])).expect("a hash is visible ASCII");
        (content, tag)
    })
});

pub(crate) async fn index(RawQuery(query): RawQuery, headers: HeaderMap) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    Ok(file(&headers, 0))
}

pub(crate) async fn asset(Path(name): Path<String>, RawQuery(query): RawQuery, headers: HeaderMap) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    match FILES.iter().position(|(known, _, _)| *known == name) {
        Some(position) => Ok(file(&headers, position)),
        None => Err(Error::new(Code::NotFound, format!("/docs has no file {}", quote(&name))).into()),
    }
}

fn file(request: &HeaderMap, position: usize) -> Response {
    let (_, media_type, _) = FILES[position];
    let (content, tag) = UNPACKED[position].clone();
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (ETAG, tag.clone()),
    ];
    match is_unmodified(request, &tag) {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (StatusCode::OK, headers, content).into_response(),
    }
}
