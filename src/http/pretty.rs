//! `pretty=true`: JSON answers for people, indented (`API.md` 1.11). One place for all of them, behind the handlers and before
//! compression. Must not know what an answer holds.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio_stream::Stream;

use super::body::no_memory;
use super::connection::Connection;
use super::error::Failure;
use super::indent::{Indenter, Length};
use super::offload::offload;
use super::respond::PRETTY_TAG;
use crate::query::RawParams;

/// Larger answers are indented on a thread that may block.
const QUICK_BYTES: usize = 64 << 10;

/// How much of a streamed answer is indented at a time: deeply nested, it may become a hundred times as large.
const INDENTED_AT_ONCE: usize = 4 << 10;

/// A request whose answer is to be indented.
pub(super) struct Pretty {
    is_head: bool,
}

impl Pretty {
    /// Whether a request asks for it. Prepares the request: the tags that it names are those of indented answers, and `HEAD`
    /// is answered like `GET` up to the end, because the length of the body is not known before.
    pub(super) fn begin(request: &mut Request) -> Option<Pretty> {
        let is_asked = |query: &&str| RawParams::parse(query).flag("pretty").unwrap_or(false);
        request.uri().query().filter(|query| may_name_it(query)).filter(is_asked)?;
        without_suffixes(request.headers_mut());
        let is_head = request.method() == Method::HEAD;
        if is_head {
            *request.method_mut() = Method::GET;
        }
        Some(Pretty { is_head })
    }

    /// The answer, indented if it is JSON. If there is no memory for that, the answer to a read is an error, and that to a write
    /// stays as it is.
    pub(super) async fn indent(&self, response: Response, connection: Option<&Connection>, is_read: bool) -> Response {
        let (mut parts, body) = response.into_parts();
        if parts.status == StatusCode::NOT_MODIFIED {
            add_suffix(&mut parts.headers);
            return Response::from_parts(parts, body);
        }
        if !is_json(&parts.headers) {
            return Response::from_parts(parts, body);
        }
        add_suffix(&mut parts.headers);
        parts.headers.remove(CONTENT_LENGTH);
        let Some(length) = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()) else {
            let stream =
                Indented { body: body.into_data_stream(), arrived: Bytes::new(), indenter: Indenter::default() };
            return Response::from_parts(parts, Body::from_stream(stream));
        };
        let Ok(bytes) = axum::body::to_bytes(body, length).await else {
            return Response::from_parts(parts, Body::empty());
        };
        let length = length_of(bytes.clone()).await;
        if connection.is_some_and(|connection| !connection.account.has_room_for(length)) {
            return match is_read {
                true => Failure::from(no_memory()).into_response(),
                false => Response::from_parts(parts, Body::from(bytes)),
            };
        }
        Response::from_parts(parts, Body::from(indent(bytes, length).await))
    }

    /// Takes the body of an answer to `HEAD`, and leaves its length.
    pub(super) fn end(&self, response: &mut Response) {
        if self.is_head {
            let length = response.body().size_hint().exact();
            *response.body_mut() = Body::empty();
            if let Some(length) = length {
                response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
        }
    }
}

/// Whether a query string may have the parameter: most have not, and parsing them all would take longer than a kept answer.
fn may_name_it(query: &str) -> bool {
    query.split('&').any(|part| {
        let name = part.split_once('=').map_or(part, |(name, _)| name);
        name == "pretty" || name.len() <= 3 * "pretty".len() && name.contains('%')
    })
}

/// How long an answer is once it is indented.
async fn length_of(bytes: Bytes) -> usize {
    let measure = move |bytes: &Bytes| {
        let mut length = Length::default();
        Indenter::default().push(bytes, &mut length);
        length.0
    };
    let compact = bytes.len();
    match compact <= QUICK_BYTES {
        true => measure(&bytes),
        false => offload(move || measure(&bytes)).await.unwrap_or(compact),
    }
}

async fn indent(bytes: Bytes, length: usize) -> Bytes {
    let indent = move |bytes: Bytes| {
        let mut out = Vec::with_capacity(length);
        Indenter::default().push(&bytes, &mut out);
        Bytes::from(out)
    };
    if bytes.len() <= QUICK_BYTES {
        return indent(bytes);
    }
    let compact = bytes.clone();
    // Not indented, the answer is still right.
    offload(move || indent(bytes)).await.unwrap_or(compact)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.starts_with("application/json") && !headers.contains_key(CONTENT_ENCODING)
}

/// Gives the entity tag of an answer the suffix of its indented form.
fn add_suffix(headers: &mut HeaderMap) {
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).and_then(|tag| tag.strip_suffix('"'));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("{tag}{PRETTY_TAG}\"")).ok()) {
        headers.insert(ETAG, tag);
    }
}

/// Leaves of `If-None-Match` the tags of indented answers, as the handlers know them.
fn without_suffixes(headers: &mut HeaderMap) {
    let sent = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let tags = sent.flat_map(|value| value.split(',')).map(str::trim).filter_map(|tag| match tag {
        "*" => Some(tag.to_owned()),
        tag => Some(format!("{}\"", tag.strip_suffix('"')?.strip_suffix(PRETTY_TAG)?)),
    });
    let tags: Vec<String> = tags.collect();
    headers.remove(IF_NONE_MATCH);
    if let Ok(tags) = HeaderValue::from_str(&tags.join(", "))
        && !tags.is_empty()
    {
        headers.insert(IF_NONE_MATCH, tags);
    }
}

/// A body that is indented piece by piece.
struct Indented {
    body: BodyDataStream,
    /// What arrived and is not indented yet.
    arrived: Bytes,
    indenter: Indenter,
}

impl Stream for Indented {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if self.arrived.is_empty() {
                match ready!(Pin::new(&mut self.body).poll_next(context)) {
                    Some(Ok(piece)) => self.arrived = piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                    None => return Poll::Ready(None),
                }
            }
            let length = self.arrived.len().min(INDENTED_AT_ONCE);
            let piece = self.arrived.split_to(length);
            let mut out = Vec::with_capacity(2 * length);
            self.indenter.push(&piece, &mut out);
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Bytes::from(out))));
            }
        }
    }
}
