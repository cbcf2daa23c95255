//! Delivery of files (`API.md` 4.27.5): who may see a file, which part or picture of it is answered, and for how long
//! it may be kept. Must not know how pictures are made.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT_RANGES, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_RANGE, RANGE, VARY,
};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri};
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
use crate::request::client::Client;
use crate::request::head::{Path, authorize, is_by_session};
use crate::request::session_cookie::headers_for_markup;
use crate::transport::rate::network;

/// The `Cache-Control` of an address that names the version of the file.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// That of other addresses of a public file, and of a file in the place of a picture that failed: what they stand for
/// may change.
const SHORT: &str = "public, max-age=60, must-revalidate";
/// That of a file that not everybody may see.
const PRIVATE: &str = "private, no-store";
/// That of an error.
const ERROR: &str = "no-store";

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
    /// The address of the client; of an IPv6 client, its network.
    client: IpAddr,
    is_head: bool,
    cache_control: &'static str,
    varies: bool,
}

/// The content of an address: the file, or a picture that was made from it.
struct Representation<'a> {
    tag: HeaderValue,
    bytes: u64,
    mime: &'a str,
    disposition: &'a str,
}

/// The part of it that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Whole,
    Range(Range<u64>),
    /// The range begins behind the end.
    Unsatisfiable,
    /// The client has it already.
    Known,
}

pub(crate) async fn deliver(
    State(app): State<App>,
    Path((id, _name)): Path<(String, String)>,
    uri: Uri,
    RawQuery(query): RawQuery,
    method: Method,
    extensions: Extensions,
    headers: HeaderMap,
) -> Answer {
    // Checked before the file is looked for (`API.md` 1.7).
    let parameters = Parameters::parse(query.as_deref().unwrap_or_default(), &app.media.config().sizes)?;
    // An address in another spelling would not be found where it is used.
    if !uri.path().starts_with(&format!("/media/{id}/")) {
        return Err(Error::new(Code::NotFound, "there is no such file").into());
    }
    let media = app.content.delivered_media(&id, || reader(&app, &method, &extensions, &headers))?;
    let hash: Hash = media.file.hash.parse().map_err(Error::internal)?;
    let is_current = parameters.version.as_deref() == Some(media.version.as_str());
    let cache_control = match (media.is_public, is_current) {
        (false, _) => PRIVATE,
        (true, true) => FOR_EVER,
        (true, false) => SHORT,
    };
    let (is_head, varies) = (method == Method::HEAD, parameters.depend_on_accept());
    let client = network(Client::of(&extensions, &headers, &app.config.analytics).address);
    let delivery = Delivery { app: &app, media, hash, request: &headers, client, is_head, cache_control, varies };
    match parameters.ask_for_a_picture() {
        true => delivery.picture(&parameters).await,
        false => delivery.original().await,
    }
}

/// Returns the access of the sender, if it has a valid token or session. Without one, a file that is not public does
/// not exist.
///
/// # Errors
/// `RATE_LIMITED`, `LOG_UNREACHABLE`.
fn reader(
    app: &App,
    method: &Method,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<Option<Arc<Access>>, Failure> {
    if !headers.contains_key(AUTHORIZATION) && !is_by_session(headers) {
        return Ok(None);
    }
    match authorize(app, method, extensions, &headers_for_markup(headers)) {
        Err(failure) if [Code::Unauthenticated, Code::Forbidden].contains(&failure.code()) => Ok(None),
        authorized => authorized.map(Some),
    }
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
        if parameters.keep_the_file(is_animated, self.request) {
            return self.original().await;
        }
        let (hash, mime, bytes) = (self.hash, mime.to_owned(), self.media.file.bytes);
        let source = Source { hash, mime, bytes, width, height, is_animated };
        let wanted = parameters.wanted(&self.media, is_animated, self.request);
        let counters = &self.app.media.counters;
        let made = match renditions.get(&source, &wanted, self.client).await {
            Ok(Rendition::Made(made)) => made,
            Ok(Rendition::Original) => return self.original().await,
            Ok(Rendition::Failed) => {
                let cache_control = if self.media.is_public { SHORT } else { PRIVATE };
                return Delivery { cache_control, ..self }.original().await;
            }
            Err(error) => {
                counters.failed_renditions.fetch_add(1, Ordering::Relaxed);
                return Err(Failure::from(error_of(&error)).retry_after(2));
            }
        };
        counters.renditions.fetch_add(1, Ordering::Relaxed);
        let tag = header_value(&format!("\"{}\"", made.tag))?;
        let shown = Representation { tag, bytes: made.bytes.len() as u64, mime: made.mime, disposition: "inline" };
        let part = self.part(&shown);
        let body = match part.range(shown.bytes).filter(|_| !self.is_head) {
            Some(range) => Body::from(made.bytes.slice(range.start as usize..range.end as usize)),
            None => Body::empty(),
        };
        self.answer(&shown, &part, body)
    }

    /// Answers with the file, or a part of it.
    async fn original(self) -> Answer {
        let file = &self.media.file;
        let tag = header_value(&format!("\"{}\"", file.hash))?;
        let disposition = disposition(&file.mime, &file.name);
        let shown = Representation { tag, bytes: file.bytes, mime: &file.mime, disposition: &disposition };
        let part = self.part(&shown);
        let body = match part.range(shown.bytes) {
            Some(_) if self.is_head => Body::empty(),
            Some(range) => self.body(range, shown.bytes).await?,
            None => Body::empty(),
        };
        if part.range(shown.bytes).is_some() {
            self.app.media.counters.originals.fetch_add(1, Ordering::Relaxed);
        }
        self.answer(&shown, &part, body)
    }

    /// Returns the response with a part of what is shown.
    fn answer(&self, shown: &Representation<'_>, part: &Part, body: Body) -> Answer {
        let Representation { tag, bytes, mime, disposition } = shown;
        let (status, content_range) = match part {
            Part::Whole => (StatusCode::OK, None),
            Part::Known => (StatusCode::NOT_MODIFIED, None),
            Part::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, Some(format!("bytes */{bytes}"))),
            Part::Range(Range { start, end }) => {
                (StatusCode::PARTIAL_CONTENT, Some(format!("bytes {start}-{}/{bytes}", end.saturating_sub(1))))
            }
        };
        let cache_control = if *part == Part::Unsatisfiable { ERROR } else { self.cache_control };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(ETAG, tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache_control));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if self.varies {
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        if let Some(range) = part.range(*bytes) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
            headers.insert(CONTENT_TYPE, header_value(mime)?);
            headers.insert(CONTENT_DISPOSITION, header_value(disposition)?);
            if is_document(mime) {
                headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
            }
        }
        if let Some(range) = content_range {
            headers.insert(CONTENT_RANGE, header_value(&range)?);
        }
        Ok(response)
    }

    /// Reads a part of the file, which has that many bytes.
    async fn body(&self, range: Range<u64>, bytes: u64) -> Result<Body, Failure> {
        let range = Some(range).filter(|range| *range != (0..bytes));
        let files = &self.app.media.open()?.files;
        let stream = files.read(&self.hash, range).await.map_err(|error| error_of(&error))?;
        let stream = stream.ok_or_else(|| Error::internal(format!("the file {} is missing", self.hash)))?;
        Ok(Body::from_stream(stream.body))
    }

    /// Returns the part that is asked for. `Range` counts for `GET` only, and a range of another version, or several
    /// ranges, stand for the whole.
    fn part(&self, shown: &Representation<'_>) -> Part {
        if is_unmodified(self.request, &shown.tag) {
            return Part::Known;
        }
        let is_of_this = self.request.get(IF_RANGE).is_none_or(|known| *known == shown.tag);
        let range = self.request.get(RANGE).and_then(|value| value.to_str().ok());
        range.filter(|_| is_of_this && !self.is_head).map_or(Part::Whole, |range| part_of(range, shown.bytes))
    }
}

impl Part {
    /// Returns the bytes of it that are answered, of that many.
    fn range(&self, bytes: u64) -> Option<Range<u64>> {
        match self {
            Part::Whole => Some(0..bytes),
            Part::Range(range) => Some(range.clone()),
            Part::Unsatisfiable | Part::Known => None,
        }
    }
}

/// Returns the part of that many bytes that the value of `Range` asks for.
fn part_of(range: &str, bytes: u64) -> Part {
    let range = range.split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((first, last)) = range.and_then(|(_, range)| range.trim().split_once('-')) else {
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
            ("Bytes=0-1", Part::Range(0..2)),
            ("lines=0-1", Part::Whole),
            ("bytes=99999999999999999999-", Part::Whole),
        ] {
            assert_eq!(part_of(range, 10), part, "{range}");
        }
    }
}
