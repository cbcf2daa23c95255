//! Requests and answers of HTTP/2 in the form that the router knows from HTTP/1.1, and back. Must not know connections
//! beyond their record.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, DATE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
    UPGRADE,
};
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode, Uri};
use h2::RecvStream;
use h2::server::SendResponse;
use http_body::{Frame, SizeHint};

use super::budget::Charge;
use super::connection::Connection;
use super::refusal::{MAX_HEAD_BYTES, MAX_HEADERS};
use super::transfer::{AnswerBody, RequestBody};

/// What a header counts beside its name and value (RFC 9113, 6.5.2).
const HEADER_BYTES: usize = 32;

/// What belongs to a connection of HTTP/1.1 and must not be sent.
const OF_HTTP1: [HeaderName; 5] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A request as the router knows it, and the charge for its head; `None` if the head is too large.
pub(super) fn request(
    request: Request<RecvStream>,
    stream: &Arc<Connection>,
    client_timeout: Duration,
) -> Option<(Request<Body>, Charge)> {
    let (mut parts, body) = request.into_parts();
    join_cookies(&mut parts.headers);
    let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let sizes = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
    let bytes = sizes.sum::<usize>() + path.as_str().len();
    if bytes > MAX_HEAD_BYTES || parts.headers.len() > MAX_HEADERS {
        return None;
    }
    if let Some(authority) = parts.uri.authority()
        && !parts.headers.contains_key(HOST)
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(HOST, host);
    }
    parts.uri = Uri::from(path);
    // It was answered when the stream began.
    parts.headers.remove(EXPECT);
    parts.extensions.insert(Arc::clone(stream));
    let is_stream = parts.uri.path().ends_with("/import");
    let body = match body.is_end_stream() {
        true => Body::empty(),
        false => {
            let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            Body::new(RequestBody::new(Received { body, left: length }, Arc::clone(stream), client_timeout, is_stream))
        }
    };
    let mut charge = Charge::to(Some(Arc::clone(&stream.account)));
    charge.add(bytes);
    Some((Request::from_parts(parts, body), charge))
}

/// Clients may send each cookie in a header of its own (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

/// Whether the client sends the body only once it was asked to.
pub(super) fn expects_to_continue(request: &Request<RecvStream>) -> bool {
    let expected = request.headers().get(EXPECT);
    expected.is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Asks the client for the body. Whether it is wanted, only the handler knows; what it leaves is drained.
pub(super) fn send_continue(respond: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::CONTINUE;
    respond.send_informational(response)
}

/// The head of an answer as it is sent, and its body unless there is none.
pub(super) fn answer(response: Response<AnswerBody>, is_head: bool) -> (Response<()>, Option<AnswerBody>) {
    let (mut parts, body) = response.into_parts();
    let headers = &mut parts.headers;
    for name in OF_HTTP1 {
        headers.remove(name);
    }
    if !headers.contains_key(DATE)
        && let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now()))
    {
        headers.insert(DATE, date);
    }
    let has_no_body = is_head || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&parts.status);
    if !has_no_body
        && !headers.contains_key(CONTENT_LENGTH)
        && let Some(length) = body.size_hint().exact()
    {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    let is_empty = has_no_body || body.is_end_stream();
    (Response::from_parts(parts, ()), (!is_empty).then_some(body))
}

/// The body of a request as it arrives. The client may send more as soon as a piece was taken.
struct Received {
    body: RecvStream,
    /// How much is still to come, if the client said so. The protocol resets a stream that sends more or less.
    left: Option<u64>,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let Some(data) = ready!(self.body.poll_data(context)) else { return Poll::Ready(None) };
        let taken = data.and_then(|data| {
            self.body.flow_control().release_capacity(data.len())?;
            Ok(data)
        });
        if let Ok(data) = &taken {
            self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
        }
        Poll::Ready(Some(taken.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map(SizeHint::with_exact).unwrap_or_default()
    }
}
