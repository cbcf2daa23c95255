//! What handlers take from a request, with faults in our shape.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use bytes::BytesMut;
use serde::de::DeserializeOwned;
use tokio_stream::StreamExt;

use super::App;
use super::error::Failure;
use crate::access::Access;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;

/// How much of an announced length is set aside before it has come.
const TRUSTED_BYTES: usize = 1 << 20;

/// The variable segments of the path. One that is not valid UTF-8 names nothing: 404.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Failure> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(segments)) => Ok(Path(segments)),
            Err(_) => {
                let path = quote(parts.uri.path());
                Err(Error::new(Code::NotFound, format!("there is nothing at {path}; it is not encoded as UTF-8"))
                    .into())
            }
        }
    }
}

/// The absolute address that the request was sent to, without path: the configured one, else by the `Host` header.
#[derive(Debug)]
pub struct BaseUrl(pub String);

impl FromRequestParts<App> for BaseUrl {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<BaseUrl, Infallible> {
        let config = &app.config;
        let base = config.public_url.clone().unwrap_or_else(|| match host(&parts.headers, &parts.uri) {
            Some(host) => format!("http://{host}"),
            None => format!("http://{}", config.listen),
        });
        Ok(BaseUrl(base))
    }
}

/// What the bearer of the request's token may do. Without a valid one: 401.
#[derive(Debug)]
pub struct Bearer(pub Access);

impl FromRequestParts<App> for Bearer {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Bearer, Failure> {
        let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let secret = header
            .and_then(|value| value.split_once(' '))
            .and_then(|(scheme, secret)| scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim()));
        Ok(Bearer(app.content.authenticate(secret)?))
    }
}

/// A body that is still to be read: what is wrong with it comes after what is wrong with the rest of the request, so
/// the handler says when.
#[derive(Debug)]
pub struct JsonBody {
    headers: HeaderMap,
    body: Source,
}

#[derive(Debug)]
enum Source {
    Unread(Body),
    /// Read ahead; what is wrong with it is told when it is asked for.
    Held(Result<Bytes, Failure>),
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(JsonBody { headers: parts.headers, body: Source::Unread(body) })
    }
}

impl JsonBody {
    /// The bytes of the body. An empty one passes whatever its type is: it is no JSON, which the reader of JSON says.
    ///
    /// Errors, in this order: `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`; `MALFORMED_JSON` for a body that breaks off.
    pub async fn read(self, max_bytes: usize) -> Result<Bytes, Failure> {
        self.read_as(max_bytes, &["application/json"]).await
    }

    /// The same of a body that may be sent as one of these types.
    pub async fn read_as(self, max_bytes: usize, types: &[&str]) -> Result<Bytes, Failure> {
        let bytes = match self.body {
            Source::Unread(body) => read_body(&self.headers, body, max_bytes).await,
            Source::Held(read) => read,
        }?;
        if !bytes.is_empty() {
            check_type(&self.headers, types)?;
        }
        Ok(bytes)
    }

    /// The same body, read ahead of its turn. What is wrong with it is told by [`JsonBody::read`].
    pub async fn hold(self, max_bytes: usize) -> JsonBody {
        let body = match self.body {
            Source::Unread(body) => Source::Held(read_body(&self.headers, body, max_bytes).await),
            held => held,
        };
        JsonBody { headers: self.headers, body }
    }

    /// The bytes that were read ahead, if nothing is wrong with them.
    pub fn held(&self) -> Option<&[u8]> {
        match &self.body {
            Source::Held(Ok(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The body as lines that are read while they come; each may be as long as `max_bytes`.
    ///
    /// Errors: `UNSUPPORTED_MEDIA_TYPE`.
    pub fn lines(self, max_bytes: usize) -> Result<Lines, Failure> {
        let sent = self.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let media_type = sent.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let known = ["application/x-ndjson", "application/ndjson", "application/json"];
        if !known.iter().any(|known| media_type.eq_ignore_ascii_case(known)) {
            let message = format!(
                "the body's type is {}; send it with `Content-Type: application/x-ndjson`",
                sent.map_or_else(|| "missing".to_owned(), |sent| quote(&sent))
            );
            return Err(Error::new(Code::UnsupportedMediaType, message).into());
        }
        let body = match self.body {
            Source::Unread(body) => body,
            Source::Held(read) => Body::from(read?),
        };
        Ok(Lines {
            chunks: body.into_data_stream(),
            rest: BytesMut::new(),
            searched: 0,
            is_skipping: false,
            is_over: false,
            max_bytes,
        })
    }
}

/// The lines of a body that is still coming.
pub struct Lines {
    chunks: BodyDataStream,
    rest: BytesMut,
    /// How much of `rest` holds no line end.
    searched: usize,
    /// Whether what comes belongs to a line that is too long.
    is_skipping: bool,
    is_over: bool,
    max_bytes: usize,
}

/// A line of a body.
pub enum Line {
    /// Without the limit to mind.
    Whole(BytesMut),
    /// Longer than the limit; it is skipped.
    TooLong(Error),
}

impl Lines {
    /// The next line; nothing at the end of the body.
    ///
    /// # Errors
    /// `MALFORMED_JSON` for a body that breaks off.
    pub async fn next(&mut self) -> Result<Option<Line>, Error> {
        loop {
            if let Some(end) = self.rest[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(self.searched + end + 1);
                return Ok(Some(self.end_line(line)));
            }
            self.searched = self.rest.len();
            if self.rest.len() > self.max_bytes {
                self.is_skipping = true;
            }
            if self.is_skipping {
                self.rest.clear();
                self.searched = 0;
            }
            if self.is_over {
                let line = std::mem::take(&mut self.rest);
                let is_line = self.is_skipping || !line.is_empty();
                return Ok(is_line.then(|| self.end_line(line)));
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.rest.extend_from_slice(&chunk),
                Some(Err(_)) => return Err(Error::new(Code::MalformedJson, "the body breaks off before its end")),
                None => self.is_over = true,
            }
        }
    }

    fn end_line(&mut self, line: BytesMut) -> Line {
        self.searched = 0;
        let is_too_long = std::mem::take(&mut self.is_skipping) || line.len() > self.max_bytes;
        if is_too_long { Line::TooLong(self.line_too_long()) } else { Line::Whole(line) }
    }

    fn line_too_long(&self) -> Error {
        let message = format!("a line has more than the {} bytes that are taken", self.max_bytes);
        Error::new(Code::PayloadTooLarge, message)
    }
}

/// How much of a body that is too large is read on, and how long, so that its sender gets to see the answer: a
/// connection that is closed on unread bytes may take the answer with it.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(5);

async fn read_body(headers: &HeaderMap, body: Body, max_bytes: usize) -> Result<Bytes, Failure> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let announced = announced.unwrap_or(0);
    let mut chunks = body.into_data_stream();
    if announced <= max_bytes
        && let Some(bytes) = collect(&mut chunks, max_bytes, announced).await?
    {
        return Ok(bytes);
    }
    // A sender that waits for leave to send has sent nothing yet.
    if !headers.contains_key(EXPECT) {
        drain(&mut chunks).await;
    }
    Err(payload_too_large(max_bytes))
}

/// The whole body, if it is within the limit. `announced` is how much of it to expect.
async fn collect(chunks: &mut BodyDataStream, max_bytes: usize, announced: usize) -> Result<Option<Bytes>, Failure> {
    let mut read = Vec::with_capacity(announced.min(TRUSTED_BYTES));
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Error::new(Code::MalformedJson, "the body breaks off before its end"))?;
        if read.len() + chunk.len() > max_bytes {
            return Ok(None);
        }
        read.extend_from_slice(&chunk);
    }
    Ok(Some(read.into()))
}

async fn drain(chunks: &mut BodyDataStream) {
    let all = async {
        let mut drained = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            drained += chunk.len();
            if drained > DRAIN_BYTES {
                return;
            }
        }
    };
    // Either way the answer is sent.
    let _ = tokio::time::timeout(DRAIN_TIME, all).await;
}

fn payload_too_large(max_bytes: usize) -> Failure {
    Error::new(Code::PayloadTooLarge, format!("the body has more than the {max_bytes} bytes that are taken")).into()
}

fn check_type(headers: &HeaderMap, types: &[&str]) -> Result<(), Failure> {
    let right = "send it with `Content-Type: application/json`";
    let message = match headers.get(CONTENT_TYPE) {
        None => format!("the body has no type; {right}"),
        Some(value) => {
            let sent = String::from_utf8_lossy(value.as_bytes());
            let media_type = sent.split(';').next().unwrap_or_default().trim();
            if types.iter().any(|known| media_type.eq_ignore_ascii_case(known)) {
                return Ok(());
            }
            format!("the body's type is {}; {right}", quote(&sent))
        }
    };
    Err(Error::new(Code::UnsupportedMediaType, message).into())
}

/// The host that the client addressed, if it is one.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<Authority> {
    let header = headers.get(HOST).and_then(|value| Authority::try_from(value.as_bytes()).ok());
    header.or_else(|| uri.authority().cloned()).filter(|authority| !authority.as_str().contains('@'))
}
