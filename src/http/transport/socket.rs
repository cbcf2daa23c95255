//! The TCP connection below the HTTP parser: records which bytes arrive and are accepted, and replaces the parser's own
//! answers. Must not know requests.
//!
//! The parser (hyper) answers requests that are not HTTP, and heads that are too large, with a status and an empty
//! body. These answers cannot be configured, so they are recognized here: while no request is running, only the parser
//! writes, and always the same bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::transport::connection::Connection;
use crate::transport::refusal;

/// The limits of reading from a client that still sends although its answer is complete. If its bytes were left unread,
/// the system would reset the connection, and the client might never see the answer.
const LINGER_BYTES: usize = 1 << 20;
const LINGER_TIME: Duration = Duration::from_secs(2);

/// The longest answer of the parser.
const PARSER_ANSWER_BYTES: usize = 200;

pub(crate) struct Socket {
    stream: TcpStream,
    connection: Arc<Connection>,
    /// The bytes read to detect a probe, and the number of them that the parser has read since.
    early: Option<(Vec<u8>, usize)>,
    /// The bytes written in place of the parser's answer, and the number of them already written.
    replacement: Option<(Vec<u8>, usize)>,
    /// The wait before the close. It is set once the parser has refused the request.
    linger: Option<Linger>,
}

struct Linger {
    until: Option<Pin<Box<Sleep>>>,
    read: usize,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, connection: Arc<Connection>) -> Socket {
        Socket { stream, connection, early: None, replacement: None, linger: None }
    }

    /// Creates a socket from which these bytes were already read.
    pub(crate) fn with_early(stream: TcpStream, connection: Arc<Connection>, early: Vec<u8>) -> Socket {
        connection.arrived(&early);
        let mut socket = Socket::new(stream, connection);
        socket.early = Some((early, 0));
        socket
    }

    fn write_replacement(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, written)) = &mut self.replacement
            && *written < bytes.len()
        {
            let polled = Pin::new(&mut self.stream).poll_write(context, &bytes[*written..]);
            *written += ready!(note(&self.connection, polled))?;
        }
        self.replacement = None;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some((early, read)) = &mut self.early
            && *read < early.len()
        {
            let count = buffer.remaining().min(early.len() - *read);
            buffer.put_slice(&early[*read..*read + count]);
            *read += count;
            return Poll::Ready(Ok(()));
        }
        self.early = None;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.connection.arrived(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices
            && self.linger.is_none()
            && only.ends_with(b"\r\n\r\n")
            && self.connection.is_between_requests()
            && let Some(bytes) = replace(only, self.connection.is_line_complete())
        {
            self.replacement = Some((bytes, 0));
            self.linger = Some(Linger { until: None, read: 0 });
        }
        if self.replacement.is_some() {
            ready!(self.write_replacement(context))?;
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        note(&self.connection, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.flushed();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = &mut *self;
        let Some(linger) = &mut socket.linger else { return Pin::new(&mut socket.stream).poll_shutdown(context) };
        if linger.until.is_none() {
            ready!(Pin::new(&mut socket.stream).poll_shutdown(context))?;
        }
        let until = linger.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIME)));
        let mut bytes = [0; 4096];
        while linger.read < LINGER_BYTES && until.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut socket.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => linger.read += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without this the system would keep the unread bytes, possibly for many minutes.
        if self.connection.is_cut() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// Records the bytes that the client accepted.
fn note(connection: &Connection, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    match &polled {
        Poll::Pending => connection.write_blocked(),
        Poll::Ready(Ok(count)) => connection.wrote(*count),
        Poll::Ready(Err(_)) => {}
    }
    polled
}

/// Returns the bytes with an error object in place of the parser's answer at their end; `None` if they do not end with
/// one.
fn replace(bytes: &[u8], is_line_complete: bool) -> Option<Vec<u8>> {
    let from = bytes.len().saturating_sub(PARSER_ANSWER_BYTES);
    let start = from + bytes[from..].windows(7).rposition(|window| window == b"HTTP/1.")?;
    let head = std::str::from_utf8(&bytes[start..]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?;
    // Answers without a body, such as 304, also get here. They are sorted out first, because the rest is slower.
    if !refusal::PARSER_STATUSES.contains(&status) {
        return None;
    }
    let is_parsers = |line: &str| ["content-length: 0", "connection: close", ""].contains(&line);
    let (date, others): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("date: "));
    if !others.contains(&"content-length: 0") || !others.into_iter().all(is_parsers) {
        return None;
    }
    let answer = refusal::of_the_parser(status, is_line_complete, date.first().copied())?;
    Some([&bytes[..start], &answer].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn replaced(bytes: &str) -> Option<String> {
        replace(bytes.as_bytes(), true).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn answers_of_the_parser_get_an_error_object() {
        for (line, code) in [
            ("400 Bad Request", "MALFORMED_JSON"),
            ("414 URI Too Long", "PAYLOAD_TOO_LARGE"),
            ("431 Request Header Fields Too Large", "PAYLOAD_TOO_LARGE"),
        ] {
            let date = "date: Tue, 01 Sep 2026 00:00:00 GMT";
            for version in ["1.0", "1.1"] {
                for rest in [
                    format!("connection: close\r\ncontent-length: 0\r\n{date}\r\n\r\n"),
                    format!("content-length: 0\r\n{date}\r\n\r\n"),
                ] {
                    let before = "HTTP/1.1 204 No Content\r\nx-request-id: a\r\n\r\n";
                    let answer = replaced(&format!("{before}HTTP/{version} {line}\r\n{rest}")).unwrap();
                    let answer = answer.strip_prefix(before).unwrap();
                    assert!(answer.starts_with(&format!("HTTP/1.1 {line}\r\n")), "{answer}");
                    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
                    for header in [date, "content-type: application/json", "x-request-id: ", "connection: close"] {
                        assert!(head.contains(header), "{header}: {head}");
                    }
                    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
                    assert!(body.starts_with(&format!("{{\"errors\":{{\"code\":\"{code}\"")), "{body}");
                }
            }
        }
    }

    #[test]
    fn other_answers_stay_as_they_are() {
        for bytes in [
            "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\nx-request-id: a\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\n",
            "HTTP/1.1 400\r\n\r\n",
            "400 Bad Request\r\ncontent-length: 0\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(replaced(bytes), None, "{bytes}");
        }
    }
}
