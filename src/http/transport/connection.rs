//! One connection as the server sees it: for what it waits, since when, and how much memory it holds. Must not read,
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
use crate::transport::watchers::Watchers;

/// What a client must at least send or accept within each `client_timeout`, unless it ends sooner.
pub(crate) const MIN_PROGRESS_BYTES: usize = 16 << 10;

/// How much of a head is not charged to the budget: what the parser reserves for every connection.
const FREE_HEAD_BYTES: usize = 8 << 10;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) account: Arc<Account>,
    /// Those of the whole server.
    pub(crate) watchers: Arc<Watchers>,
    waits: Mutex<Waits>,
    is_cut: AtomicBool,
    is_stopping: AtomicBool,
    /// Wakes the connection's task when one of the two was set.
    signal: Notify,
}

#[derive(Debug)]
struct Waits {
    /// Since when no request is running; once its head begins to arrive, since then.
    head: Option<Instant>,
    head_bytes: usize,
    /// Whether the head's first line has arrived, within the limit of a head.
    is_line_complete: bool,
    head_charge: Charge,
    has_served: bool,
    /// How many requests are running: the next one may begin while the answer before it is still being dropped.
    running: usize,
    /// Since when a handler waits for more of its request's body.
    body: Option<Instant>,
    /// Since when the client has not accepted [`MIN_PROGRESS_BYTES`].
    write: Option<Instant>,
    written: usize,
}

/// How long the server waits for clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For an answer to be accepted.
    pub(crate) client: Duration,
    /// For the head of a request, and for the first request of a connection.
    pub(crate) head: Duration,
    /// For the next request.
    pub(crate) keepalive: Duration,
    /// For more of a body. `None` leaves it to the body's own timer, so that its request is answered.
    pub(crate) body: Option<Duration>,
}

/// A request that is running on a connection. It has ended when this is dropped.
pub(crate) struct RunningRequest(Arc<Connection>);

impl RunningRequest {
    /// The head of a request has arrived.
    pub(crate) fn begin(connection: &Arc<Connection>) -> RunningRequest {
        connection.request_begins();
        RunningRequest(Arc::clone(connection))
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.request_ends();
    }
}

impl Connection {
    /// The account of the connection of a request; none without a server, as in tests.
    pub(crate) fn account_of(extensions: &Extensions) -> Option<Arc<Account>> {
        extensions.get().map(|connection: &Arc<Connection>| Arc::clone(&connection.account))
    }

    pub(crate) fn new(peer: SocketAddr, account: Arc<Account>, watchers: Arc<Watchers>) -> Connection {
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

    /// Asks the connection's task to drop it.
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

    /// Completes when the connection was asked for one of the two since the last time.
    pub(crate) async fn signalled(&self) {
        self.signal.notified().await;
    }

    fn request_begins(&self) {
        let mut waits = self.waits.lock();
        waits.running += 1;
        waits.head = None;
    }

    /// The answer was handed over to be sent, or will not be sent.
    fn request_ends(&self) {
        let mut waits = self.waits.lock();
        waits.running = waits.running.saturating_sub(1);
        waits.has_served = true;
        if waits.running > 0 {
            return;
        }
        waits.head = Some(Instant::now());
        waits.head_bytes = 0;
        waits.is_line_complete = false;
        waits.head_charge = Charge::to(Some(Arc::clone(&self.account)));
    }

    /// Bytes have arrived.
    pub(crate) fn arrived(&self, bytes: &[u8]) {
        let mut waits = self.waits.lock();
        if waits.head.is_none() || bytes.is_empty() {
            return;
        }
        if waits.head_bytes == 0 {
            waits.head = Some(Instant::now());
        }
        let charged = waits.head_bytes.max(FREE_HEAD_BYTES);
        // A line that ends behind the limit is too long, however much of it arrived at once.
        let within_limit = bytes.len().min(MAX_HEAD_BYTES.saturating_sub(waits.head_bytes));
        waits.is_line_complete |= bytes[..within_limit].contains(&b'\n');
        waits.head_bytes += bytes.len();
        if let Some(more) = waits.head_bytes.checked_sub(charged) {
            waits.head_charge.add(more);
        }
    }

    /// Whether no request is running: what is written now, only the parser can have made.
    pub(crate) fn is_between_requests(&self) -> bool {
        self.waits.lock().head.is_some()
    }

    /// Whether the first line of the head that is arriving is complete.
    pub(crate) fn is_line_complete(&self) -> bool {
        self.waits.lock().is_line_complete
    }

    /// A handler waits for the body, or does no longer.
    pub(crate) fn awaits_body(&self, since: Option<Instant>) {
        self.waits.lock().body = since;
    }

    /// More of a body has arrived that is read while it is answered: its client is busy sending.
    pub(crate) fn is_sending(&self) {
        let mut waits = self.waits.lock();
        waits.write = waits.write.map(|_| Instant::now());
    }

    /// The client accepts nothing more for now.
    pub(crate) fn write_blocked(&self) {
        self.waits.lock().write.get_or_insert_with(Instant::now);
    }

    /// The client accepted bytes.
    pub(crate) fn wrote(&self, bytes: usize) {
        let mut waits = self.waits.lock();
        if waits.write.is_some() {
            waits.written += bytes;
            if waits.written >= MIN_PROGRESS_BYTES {
                (waits.write, waits.written) = (None, 0);
            }
        }
    }

    /// The client accepted everything.
    pub(crate) fn flushed(&self) {
        let mut waits = self.waits.lock();
        if waits.write.is_some() {
            (waits.write, waits.written) = (None, 0);
            waits.head = waits.head.map(|_| Instant::now());
        }
    }

    /// Since when the server waits for this client, if it does, and whether it waits for a request: then nothing is lost
    /// if the connection is closed.
    pub(crate) fn yields_since(&self) -> Option<(Instant, bool)> {
        let waits = self.waits.lock();
        let since = waits.write.or(waits.body).or(waits.head).filter(|_| !self.is_cut())?;
        Some((since, waits.head.is_some() && waits.write.is_none()))
    }

    /// For what the server has waited too long.
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
