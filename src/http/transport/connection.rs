//! The server's record of one connection: what it waits for, since when, and how much memory it holds. Must not read,
//! write or close anything: [`crate::transport::connections`] decides, and the connection's own task closes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::http::Extensions;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::transport::budget::{Account, Charge};
use crate::transport::refusal::MAX_HEAD_BYTES;
use crate::transport::slots::RequestSlots;

/// The number of bytes that a client must send or accept within each `client_timeout`, unless it finishes sooner.
pub(crate) const MIN_PROGRESS_BYTES: usize = 16 << 10;

/// The part of a head that is not charged to the budget: the parser reserves it for every connection.
const FREE_HEAD_BYTES: usize = 8 << 10;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) account: Arc<Account>,
    /// The slots for requests that wait for changes, of the whole server.
    pub(crate) watchers: Arc<RequestSlots>,
    waits: Mutex<Waits>,
    is_cut: AtomicBool,
    is_stopping: AtomicBool,
    /// Wakes the connection's task when `is_cut` or `is_stopping` was set.
    signal: Notify,
}

#[derive(Debug)]
struct Waits {
    /// The time since when no request is running, or since when the next head is arriving.
    head: Option<Instant>,
    head_bytes: usize,
    /// True if the head's first line has arrived, within the limit of a head.
    is_line_complete: bool,
    head_charge: Charge,
    has_served: bool,
    /// The number of running requests. It may be two: the next one may begin while the previous answer is still being
    /// dropped.
    running: usize,
    /// The time since when a handler waits for more of its request's body.
    body: Option<Instant>,
    /// The time since when the client has not accepted [`MIN_PROGRESS_BYTES`].
    write: Option<Instant>,
    written: usize,
}

/// The times that the server waits for clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The time for an answer to be accepted.
    pub(crate) client: Duration,
    /// The time for the head of a request, and for the first request of a connection.
    pub(crate) head: Duration,
    /// The time for the next request.
    pub(crate) keepalive: Duration,
    /// The time for more of a body. `None` leaves this to the body's own timer, which answers the request with an
    /// error.
    pub(crate) body: Option<Duration>,
}

/// A request that is running on a connection. Dropping this ends it.
pub(crate) struct RunningRequest(Arc<Connection>);

impl RunningRequest {
    /// Notes that the head of a request has arrived.
    pub(crate) fn begin(connection: &Arc<Connection>) -> RunningRequest {
        let mut waits = connection.waits.lock();
        waits.running += 1;
        waits.head = None;
        RunningRequest(Arc::clone(connection))
    }
}

impl Drop for RunningRequest {
    /// Notes that the answer was handed over to be sent, or will not be sent.
    fn drop(&mut self) {
        let mut waits = self.0.waits.lock();
        waits.running = waits.running.saturating_sub(1);
        waits.has_served = true;
        if waits.running > 0 {
            return;
        }
        waits.head = Some(Instant::now());
        waits.head_bytes = 0;
        waits.is_line_complete = false;
        waits.head_charge = Charge::to(Some(Arc::clone(&self.0.account)));
    }
}

impl Connection {
    /// Returns the account of the request's connection; `None` without a server, as in tests.
    pub(crate) fn account_of(extensions: &Extensions) -> Option<Arc<Account>> {
        extensions.get().map(|connection: &Arc<Connection>| Arc::clone(&connection.account))
    }

    pub(crate) fn new(peer: SocketAddr, account: Arc<Account>, watchers: Arc<RequestSlots>) -> Connection {
        let waits = Waits {
            head: Some(Instant::now()),
            head_bytes: 0,
            is_line_complete: false,
            head_charge: Charge::to(Some(Arc::clone(&account))),
            has_served: false,
            running: 0,
            body: None,
            write: None,
            written: 0,
        };
        Connection {
            peer,
            account,
            watchers,
            waits: Mutex::new(waits),
            is_cut: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            signal: Notify::new(),
        }
    }

    /// Asks the connection's task to close it at once.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        self.signal.notify_one();
    }

    /// Asks the connection's task to serve no more requests.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.signal.notify_one();
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Completes when [`Connection::cut`] or [`Connection::stop`] was called since the last time.
    pub(crate) async fn signalled(&self) {
        self.signal.notified().await;
    }

    /// Notes that bytes have arrived.
    pub(crate) fn arrived(&self, bytes: &[u8]) {
        let mut waits = self.waits.lock();
        if waits.head.is_none() || bytes.is_empty() {
            return;
        }
        if waits.head_bytes == 0 {
            waits.head = Some(Instant::now());
        }
        let charged = waits.head_bytes.max(FREE_HEAD_BYTES);
        // A line that ends beyond the limit is too long, even if all of it arrived at once.
        let within_limit = bytes.len().min(MAX_HEAD_BYTES.saturating_sub(waits.head_bytes));
        waits.is_line_complete |= bytes[..within_limit].contains(&b'\n');
        waits.head_bytes += bytes.len();
        if let Some(more) = waits.head_bytes.checked_sub(charged) {
            waits.head_charge.add(more);
        }
    }

    /// Is true if no request is running. Bytes that are written then can only come from the parser.
    pub(crate) fn is_between_requests(&self) -> bool {
        self.waits.lock().head.is_some()
    }

    /// Is true if the first line of the arriving head is complete.
    pub(crate) fn is_line_complete(&self) -> bool {
        self.waits.lock().is_line_complete
    }

    /// Notes since when a handler waits for the body; `None` if it no longer waits.
    pub(crate) fn awaits_body(&self, since: Option<Instant>) {
        self.waits.lock().body = since;
    }

    /// Notes that more of a body arrived while it is answered. The client is busy sending, so its time for reading
    /// starts over.
    pub(crate) fn is_sending(&self) {
        let mut waits = self.waits.lock();
        waits.write = waits.write.map(|_| Instant::now());
    }

    /// Notes that the client accepts no more bytes for now.
    pub(crate) fn write_blocked(&self) {
        self.waits.lock().write.get_or_insert_with(Instant::now);
    }

    /// Notes that the client accepted bytes.
    pub(crate) fn wrote(&self, bytes: usize) {
        let mut waits = self.waits.lock();
        if waits.write.is_some() {
            waits.written += bytes;
            if waits.written >= MIN_PROGRESS_BYTES {
                (waits.write, waits.written) = (None, 0);
            }
        }
    }

    /// Notes that the client accepted everything.
    pub(crate) fn flushed(&self) {
        let mut waits = self.waits.lock();
        if waits.write.is_some() {
            (waits.write, waits.written) = (None, 0);
            waits.head = waits.head.map(|_| Instant::now());
        }
    }

    /// Returns since when the server waits for this client, and whether it waits for a new request. In that case
    /// nothing is lost if the connection is closed.
    pub(crate) fn yields_since(&self) -> Option<(Instant, bool)> {
        let waits = self.waits.lock();
        let since = waits.write.or(waits.body).or(waits.head).filter(|_| !self.is_cut())?;
        Some((since, waits.head.is_some() && waits.write.is_none()))
    }

    /// Returns what the server has waited for too long.
    pub(crate) fn overdue(&self, now: Instant, patience: Patience) -> Option<&'static str> {
        let waits = self.waits.lock();
        let exceeds = |since: Instant, patience| now.saturating_duration_since(since) > patience;
        if let Some(since) = waits.write {
            return exceeds(since, patience.client).then_some("the client does not read the answer");
        }
        if let (Some(since), Some(patience)) = (waits.body, patience.body) {
            return exceeds(since, patience).then_some("the body of the request does not arrive");
        }
        let since = waits.head?;
        if waits.head_bytes > 0 || !waits.has_served {
            return exceeds(since, patience.head).then_some("the head of the request does not arrive");
        }
        exceeds(since, patience.keepalive).then_some("no request arrives")
    }
}
