//! The access log: a line for each request, written after the last byte of its answer was sent, or its client has left
//! (`API.md` 1.11). Must not know the format of a line.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::Response;
use bindery_access::Actor;
use bindery_config::{Config, LogFormat};
use bindery_model::time::now_millis;
use http_body::{Frame, SizeHint};

use crate::observe::access_line::AccessLine;
use crate::observe::line_writer::LineWriter;
use crate::request::client::Client;

/// The paths that visitors of sites request. Their addresses are not logged (`API.md` 4.8.4).
const OF_VISITORS: [&str; 2] = ["/v2/analytics/events", "/v2/analytics/script.js"];
/// The beginning and the end of the path to which they send clicks.
const CLICK: (&str, &str) = ("/v2/analytics/searches/", "/click");

/// The access log; `None` if it is off.
pub(crate) struct AccessLog(Option<Arc<Log>>);

struct Log {
    format: LogFormat,
    /// The admin token, which must not be logged.
    admin: Option<String>,
    lines: LineWriter,
}

/// The sender of a request, once it is known.
#[derive(Clone, Default)]
pub(crate) struct Sender(Arc<OnceLock<Actor>>);

/// A request that is being answered.
pub(crate) struct AccessLogEntry {
    log: Arc<Log>,
    line: AccessLine,
    started: Instant,
    sender: Sender,
}

impl AccessLog {
    /// Creates the log according to the settings.
    pub(crate) fn new(config: &Config) -> AccessLog {
        let format = config.log_format;
        AccessLog((format != LogFormat::Off).then(|| {
            let admin = config.admin_token.as_ref().map(|token| token.secret().to_owned());
            Arc::new(Log { format, admin, lines: LineWriter::start(std::io::stdout()) })
        }))
    }

    /// Begins the line of a request, if the log is on. Adds a [`Sender`] to the request, to be filled later.
    pub(crate) fn begin(&self, request: &mut Request, id: &HeaderValue, config: &Config) -> Option<AccessLogEntry> {
        let log = Arc::clone(self.0.as_ref()?);
        let sender = Sender::default();
        let line = AccessLine {
            at: now_millis(),
            id: id.to_str().unwrap_or_default().to_owned(),
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            status: 0,
            bytes: 0,
            took: std::time::Duration::ZERO,
            sender: None,
            client: client(request, config),
            is_complete: false,
        };
        request.extensions_mut().insert(sender.clone());
        Some(AccessLogEntry { log, line, started: Instant::now(), sender })
    }
}

fn client(request: &Request, config: &Config) -> Option<IpAddr> {
    let path = request.uri().path().trim_end_matches('/');
    let is_click = path.starts_with(CLICK.0) && path.ends_with(CLICK.1);
    let is_of_visitors = is_click || OF_VISITORS.contains(&path);
    let address = || Client::of(request.extensions(), request.headers(), &config.analytics).address;
    (!is_of_visitors).then(address).filter(|address| !address.is_unspecified())
}

impl Sender {
    /// Notes the sender of the request.
    pub(crate) fn note(&self, actor: &Actor) {
        let _ = self.0.set(actor.clone());
    }
}

impl AccessLogEntry {
    /// Returns a response that writes the line once its last byte was sent, or will never be sent.
    pub(crate) fn attach(mut self, response: Response) -> Response {
        self.line.status = response.status().as_u16();
        let sending = AnswerTransfer { entry: self, bytes: AtomicU64::new(0), is_complete: AtomicBool::new(false) };
        response.map(|body| Body::new(LoggedBody { body, sending: Arc::new(sending) }))
    }
}

/// An answer that is being sent. Its body holds a reference, and so does each piece of the body until it was sent.
/// Dropping the last reference writes the line.
struct AnswerTransfer {
    entry: AccessLogEntry,
    bytes: AtomicU64,
    is_complete: AtomicBool,
}

impl Drop for AnswerTransfer {
    fn drop(&mut self) {
        let AccessLogEntry { log, line, started, sender } = &self.entry;
        let line = AccessLine {
            bytes: self.bytes.load(Ordering::Relaxed),
            took: started.elapsed(),
            sender: sender.0.get().cloned(),
            is_complete: self.is_complete.load(Ordering::Relaxed),
            ..line.clone()
        };
        let line = line.redacted(log.admin.as_deref());
        log.lines.write(if log.format == LogFormat::Json { line.to_json() } else { line.to_text() });
    }
}

/// The body of an answer.
struct LoggedBody {
    body: Body,
    sending: Arc<AnswerTransfer>,
}

impl LoggedBody {
    fn note_end(&self) {
        self.sending.is_complete.store(true, Ordering::Relaxed);
    }
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match frame {
            None => {
                self.note_end();
                Poll::Ready(None)
            }
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame.map_data(|bytes| {
                self.sending.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Bytes::from_owner(BodyPiece { bytes, _sending: Arc::clone(&self.sending) })
            })))),
            failed => Poll::Ready(failed),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LoggedBody {
    fn drop(&mut self) {
        // A body that reports its end is not polled again, so its end is noted here.
        if self.body.is_end_stream() {
            self.note_end();
        }
    }
}

struct BodyPiece {
    bytes: Bytes,
    _sending: Arc<AnswerTransfer>,
}

impl AsRef<[u8]> for BodyPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
