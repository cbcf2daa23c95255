//! Delivery of files (`API.md` 4.27.5): who may see a file, which part or picture of it is answered, and for how long it may be
//! kept. Must not know how pictures are made.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT_RANGES, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_RANGE, RANGE, VARY,
};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bindery_access::Access;
use bindery_content::DeliveredMedia;
use bindery_media::{Hash, Rendition, Source};
use bindery_model::error::{Code, Error};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::parameters::Parameters;
use crate::answer::respond::is_unmodified;
use crate::app::App;
use crate::error::{Answer, Failure};
use crate::media::error_of;
use crate::request::head::{Path, authorize, is_by_session};

/// The `Cache-Control` of an address that names the version of the file.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// That of other addresses of a public file: what they stand for may change.
const SHORT: &str = "public, max-age=60, must-revalidate";
/// That of a file that not everybody may see.
const PRIVATE: &str = "private, no-store";

/// The policy of SVG, which may contain scripts, and of everything that a browser might show as a page.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/// The characters of a file name that a header cannot contain as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A file that a client asked for.
struct Delivery<'a> {
    app: &'a App,
    media: DeliveredMedia,
    hash: Hash,
    request: &'a HeaderMap,
    is_head: bool,
    cache_control: &'static str,
    varies: bool,
}

/// The part of a file that a client asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Whole,
    Range(Range<u64>),
    /// The range begins behind the end.
    Unsatisfiable,
}

pub(crate) async fn deliver(
    State(app): State<App>,
    Path((id, _name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    method: Method,
    extensions: Extensions,
    headers: HeaderMap,
) -> Answer {
    let media = app.content.delivered_media(&id, || reader(&app, &method, &extensions, &headers))?;
    let parameters = Parameters::parse(query.as_deref().unwrap_or_default(), &app.media.config().sizes)?;
    let hash: Hash = media.file.hash.parse().map_err(Error::internal)?;
    let is_current = parameters.version.as_deref() == Some(media.version.as_str());
    let cache_control = match (media.is_public, is_current) {
        (false, _) => PRIVATE,
        (true, true) => FOR_EVER,
        (true, false) => SHORT,
    };
    let (is_head, varies) = (method == Method::HEAD, parameters.depend_on_accept());
    let delivery = Delivery { app: &app, media, hash, request: &headers, is_head, cache_control, varies };
    match parameters.ask_for_a_picture() {
        true => delivery.picture(&parameters).await,
        false => delivery.original().await,
    }
}

/// Returns the access of the sender, if it has a valid token or session. Without one, a file that is not public does not exist.
fn reader(app: &App, method: &Method, extensions: &Extensions, headers: &HeaderMap) -> Option<Arc<Access>> {
    let has_any = headers.contains_key(AUTHORIZATION) || is_by_session(headers);
    has_any.then(|| authorize(app, method, extensions, headers).ok()).flatten()
}

impl Delivery<'_> {
    /// Answers with another size or format of a picture.
    async fn picture(self, parameters: &Parameters) -> Answer {
        let mime = self.media.file.mime.as_str();
        let Some((width, height)) = self.media.file.size.filter(|_| can_be_resized(mime)) else {
            // A page that asks for its pictures in some size shows those of all types.
            if mime.starts_with("image/") {
                return self.original().await;
            }
            let text = format!(
                "a file of the type `{mime}` has no other sizes and formats; leave out `w`, `h`, `fit`, `format` and `q`"
            );
            return Err(Error::new(Code::InvalidParameter, text).into());
        };
        let renditions = &self.app.media.open()?.renditions;
        let is_animated = renditions.is_animated(&self.hash, mime).await.map_err(|error| error_of(&error))?;
        let (hash, mime, bytes) = (self.hash, mime.to_owned(), self.media.file.bytes);
        let source = Source { hash, mime, bytes, width, height, is_animated };
        let wanted = parameters.wanted(&self.media, is_animated, self.request);
        let counters = &self.app.media.counters;
        let made = match renditions.get(&source, &wanted).await {
            Ok(Rendition::Made(made)) => made,
            Ok(Rendition::Original) => return self.original().await,
            Err(error) => {
                counters.failed_renditions.fetch_add(1, Ordering::Relaxed);
                return Err(Failure::from(error_of(&error)).retry_after(2));
            }
        };
        counters.renditions.fetch_add(1, Ordering::Relaxed);
        let tag = header_value(&format!("\"{}\"", made.tag))?;
        let body = if self.is_head { Body::empty() } else { Body::from(made.bytes.clone()) };
        let mut response = self.begin(&tag, body);
        if response.status() == StatusCode::OK {
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(made.mime));
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
            headers.insert(CONTENT_LENGTH, HeaderValue::from(made.bytes.len()));
        }
        Ok(response)
    }

    /// Answers with the file, or a part of it.
    async fn original(self) -> Answer {
        let bytes = self.media.file.bytes;
        let tag = header_value(&format!("\"{}\"", self.media.file.hash))?;
        if is_unmodified(self.request, &tag) {
            return Ok(self.begin(&tag, Body::empty()));
        }
        let part = self.part(&tag);
        if part == Part::Unsatisfiable {
            let mut response = self.begin(&tag, Body::empty());
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            response.headers_mut().insert(CONTENT_RANGE, header_value(&format!("bytes */{bytes}"))?);
            return Ok(response);
        }
        let range = match &part {
            Part::Range(range) => range.clone(),
            _ => 0..bytes,
        };
        let body = if self.is_head { Body::empty() } else { self.body(&part).await? };
        self.app.media.counters.originals.fetch_add(1, Ordering::Relaxed);
        let mut response = self.begin(&tag, body);
        if let Part::Range(range) = &part {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let text = format!("bytes {}-{}/{bytes}", range.start, range.end.saturating_sub(1));
            response.headers_mut().insert(CONTENT_RANGE, header_value(&text)?);
        }
        let mime = self.media.file.mime.as_str();
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
        headers.insert(CONTENT_TYPE, header_value(mime)?);
        headers.insert(CONTENT_DISPOSITION, header_value(&disposition(mime, &self.media.file.name))?);
        if is_document(mime) {
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        }
        Ok(response)
    }

    async fn body(&self, part: &Part) -> Result<Body, Failure> {
        let range = match part {
            Part::Range(range) => Some(range.clone()),
            _ => None,
        };
        let files = &self.app.media.open()?.files;
        let stream = files.read(&self.hash, range).await.map_err(|error| error_of(&error))?;
        let stream = stream.ok_or_else(|| Error::internal(format!("the file {} is missing", self.hash)))?;
        Ok(Body::from_stream(stream.body))
    }

    /// Returns a response with the headers that all answers about the file have: 304 if the client has it already.
    fn begin(&self, tag: &HeaderValue, body: Body) -> Response {
        let is_known = is_unmodified(self.request, tag);
        let mut response = Response::new(if is_known { Body::empty() } else { body });
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(self.cache_control));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if self.varies {
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        response
    }

    /// Returns the part that `Range` asks for. A range of another version, or several ranges, stand for the whole file.
    fn part(&self, tag: &HeaderValue) -> Part {
        let is_of_this = self.request.get(IF_RANGE).is_none_or(|known| known == tag);
        let range = self.request.get(RANGE).and_then(|value| value.to_str().ok()).filter(|_| is_of_this);
        range.map_or(Part::Whole, |range| part_of(range, self.media.file.bytes))
    }
}

/// Returns the part of a file of that many bytes that the value of `Range` asks for.
fn part_of(range: &str, bytes: u64) -> Part {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-')) else {
        return Part::Whole;
    };
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let range = match (first, last) {
        ("", last) => number(last).map(|length| bytes.saturating_sub(length)..bytes),
        (first, "") => number(first).map(|first| first..bytes),
        (first, last) => number(first)
            .zip(number(last))
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| first..last.saturating_add(1).min(bytes)),
    };
    match range {
        None => Part::Whole,
        Some(range) if range.start >= bytes => Part::Unsatisfiable,
        Some(range) => Part::Range(range),
    }
}

/// Returns whether pictures of this type can be made smaller. Other pictures are served as they are.
fn can_be_resized(mime: &str) -> bool {
    matches!(mime, "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "image/tiff")
}

/// Returns whether a browser may show the file in the page that links to it. Everything else is stored on disk.
fn is_shown(mime: &str) -> bool {
    let group = mime.split('/').next().unwrap_or_default();
    matches!(group, "image" | "video" | "audio") || mime == "application/pdf"
}

/// Returns whether a browser might run scripts in the file.
fn is_document(mime: &str) -> bool {
    mime.contains("svg") || mime.contains("html") || mime.contains("xml")
}

fn disposition(mime: &str, name: &str) -> String {
    let kind = if is_shown(mime) { "inline" } else { "attachment" };
    format!("{kind}; filename*=UTF-8''{}", utf8_percent_encode(name, ENCODED))
}

fn header_value(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_part_of_the_file_or_none_at_all() {
        for (range, part) in [
            ("bytes=0-0", Part::Range(0..1)),
            ("bytes=2-", Part::Range(2..10)),
            ("bytes=2-99", Part::Range(2..10)),
            ("bytes=-3", Part::Range(7..10)),
            ("bytes=-99", Part::Range(0..10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("bytes=99999999999999999999-", Part::Whole),
        ] {
            assert_eq!(part_of(range, 10), part, "{range}");
        }
    }
}
