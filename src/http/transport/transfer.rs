//! Bodies between hyper and the router. A request body fails if its client does not send it in time. An answer is
//! charged to the budget until it is written. Must not know what they hold.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;

use crate::transport::budget::Charge;
use crate::transport::connection::{Connection, MIN_PROGRESS_BYTES, RunningRequest};

/// The limit of waiting for a body that is read whole, in timeouts, even if it arrives steadily.
const TIMEOUTS_PER_BODY: u32 = 10;

/// Smaller answers are not charged, unless they are pieces of a stream: a connection has only one of them at a time.
const FREE_BYTES: usize = 4 << 10;

/// The time that a client has to send a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Read whole: it must make progress, and end after ten timeouts.
    Whole,
    /// A file: it must make progress, and may last any time, because it may be large.
    File,
    /// A stream of lines: any byte is progress, and it may last any time.
    Lines,
}

/// The body of a request. Only the time in which the server waits for the client counts.
pub(crate) struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
    timeout: Duration,
    kind: BodyKind,
    waiting: Option<Instant>,
    /// The time the server has waited since `arrived` was last reset.
    waited: Duration,
    waited_in_all: Duration,
    arrived: usize,
    timer: Option<Pin<Box<Sleep>>>,
}

impl BodyKind {
    /// Returns the kind of the body of a request with this path.
    pub(crate) fn of_path(path: &str) -> BodyKind {
        match path {
            _ if path.ends_with("/import") => BodyKind::Lines,
            _ if path.starts_with("/v2/media/") => BodyKind::File,
            _ => BodyKind::Whole,
        }
    }

    /// Returns the number of bytes that must arrive within one timeout.
    fn min_bytes(self) -> usize {
        match self {
            BodyKind::Whole | BodyKind::File => MIN_PROGRESS_BYTES,
            BodyKind::Lines => 1,
        }
    }
}

impl RequestBody {
    /// Creates the body of a request.
    pub(crate) fn new(body: Incoming, connection: Arc<Connection>, timeout: Duration, kind: BodyKind) -> RequestBody {
        RequestBody {
            body,
            connection,
            timeout,
            kind,
            waiting: None,
            waited: Duration::ZERO,
            waited_in_all: Duration::ZERO,
            arrived: 0,
            timer: None,
        }
    }

    /// Starts or continues to wait. Ready when the client's time is over.
    fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_none() {
            let now = Instant::now();
            self.waiting = Some(now);
            // A client that sends a byte now and then still keeps the server waiting, so the earlier waits count too.
            self.connection.awaits_body(now.checked_sub(self.waited).or(self.waiting));
            let mut left = self.timeout.saturating_sub(self.waited);
            if self.kind == BodyKind::Whole {
                left = left.min((self.timeout * TIMEOUTS_PER_BODY).saturating_sub(self.waited_in_all));
            }
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset((now + left).into()),
                None => self.timer = Some(Box::pin(tokio::time::sleep(left))),
            }
        }
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }

    fn arrived(&mut self, bytes: usize) {
        if let Some(since) = self.waiting.take() {
            let waited = since.elapsed();
            self.waited += waited;
            self.waited_in_all += waited;
            self.connection.awaits_body(None);
        }
        if bytes > 0 && self.kind == BodyKind::Lines {
            self.connection.is_sending();
        }
        self.arrived += bytes;
        if self.arrived >= self.kind.min_bytes() {
            (self.waited, self.arrived) = (Duration::ZERO, 0);
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.poll_overdue(context));
            self.arrived(0);
            return Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())));
        };
        let bytes = frame.as_ref().and_then(|frame| Some(frame.as_ref().ok()?.data_ref()?.len()));
        self.arrived(bytes.unwrap_or(0));
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.connection.awaits_body(None);
        }
    }
}

/// The body of an answer.
pub(crate) struct AnswerBody {
    body: Body,
    connection: Arc<Connection>,
    /// The charge for a body of known size, until its first piece is handed over.
    charge: Option<Charge>,
    /// True if its size is not known: many small pieces of it may wait to be written.
    is_stream: bool,
    _running: RunningRequest,
}

impl AnswerBody {
    /// Creates the body of the answer to a request on this connection. The request counts as running until the body is
    /// dropped.
    pub(crate) fn new(body: Body, connection: Arc<Connection>, running: RunningRequest) -> AnswerBody {
        let bytes = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let charge = bytes.and_then(|bytes| charge_of(&connection, bytes, FREE_BYTES));
        AnswerBody { body, connection, charge, is_stream: bytes.is_none(), _running: running }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        Poll::Ready(Some(Ok(frame.map_data(|data| {
            let least = if self.is_stream { 1 } else { FREE_BYTES };
            match self.charge.take().or_else(|| charge_of(&self.connection, data.len(), least)) {
                Some(charge) => charge.attach(data),
                None => data,
            }
        }))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the charge for a piece of an answer; `None` if it has fewer than `least` bytes.
fn charge_of(connection: &Connection, bytes: usize, least: usize) -> Option<Charge> {
    (bytes >= least).then(|| {
        let mut charge = Charge::to(Some(Arc::clone(&connection.account)));
        charge.add(bytes);
        charge
    })
}
