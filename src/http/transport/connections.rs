//! All connections of a server: their limit, and which ones are closed to make room. Must not do I/O.
//!
//! When a new connection needs a place or memory, the connection that waits longest is closed. Every connection is
//! closed when its time is over.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::transport::budget::{Account, Budget};
use crate::transport::connection::{Connection, Patience};
use crate::transport::rate::network;
use crate::transport::slots::{RequestSlots, SlotLimits};

/// The number of connections that may exist beyond the limit while others are being closed.
const BEYOND: usize = 64;

/// The time for which an idle connection is never closed: its request may have arrived without having been read yet.
const LEAST_IDLE: Duration = Duration::from_millis(100);

/// The time for which the server waits for a body, or for an answer to be read, before the connection may be closed to
/// make room.
const LEAST_BUSY: Duration = Duration::from_secs(1);

/// When memory is short, connections are closed that hold at least this much and have kept the server waiting for this
/// long.
const YIELDING_BYTES: usize = 64 << 10;
const YIELDING_TIME: Duration = Duration::from_secs(1);

/// The times that a stopping server waits for a head, and for a client that does not send or read.
const STOPPING_HEAD: Duration = Duration::from_secs(1);
const STOPPING_CLIENT: Duration = Duration::from_secs(5);

/// The minimum time between two log lines about refused connections.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The limits for clients of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The number of connections that may be open.
    pub max_connections: usize,
    /// The memory that bodies of requests and answers may use, in bytes.
    pub max_buffer_bytes: usize,
    /// The time to wait for a client that sends or reads nothing.
    pub client_timeout: Duration,
    /// The time to keep a connection open for the next request.
    pub keepalive_timeout: Duration,
    /// The time that a stopping server gives running requests.
    pub stop_timeout: Duration,
}

/// The connections of a server.
pub(crate) struct Connections {
    pub(crate) limits: Limits,
    budget: Arc<Budget>,
    watchers: Arc<RequestSlots>,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    is_stopping: AtomicBool,
    closed: Notify,
    logged: Mutex<Option<Instant>>,
}

/// A connection's place among the open ones. Dropping it frees the place.
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    connection: Arc<Connection>,
}

/// The outcome of looking for a place for a connection.
pub(crate) enum Admission {
    Now(ConnectionSlot),
    /// A place will be free in a moment.
    Later,
    /// No connection can be closed, because all are busy with a request.
    Refused,
}

impl Deref for ConnectionSlot {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl ConnectionSlot {
    /// Returns the limits of the server.
    pub(crate) fn limits(&self) -> Limits {
        self.connections.limits
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
        self.connections.closed.notify_waiters();
    }
}

/// Returns the connection to close for a new one, and since when it keeps the server waiting. It belongs to the address
/// with the most waiting connections, and is its longest idle one; if none is idle, the longest waiting. So a client
/// that opens many connections displaces its own. If all share one address, as behind a proxy, only the times matter.
fn yielding<'a>(open: impl Iterator<Item = &'a Arc<Connection>>) -> Option<(Instant, &'a Arc<Connection>)> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    let mut waiting = Vec::new();
    for connection in open {
        let Some((since, is_idle)) = connection.yields_since() else { continue };
        if is_idle || since.elapsed() >= LEAST_BUSY {
            let address = network(connection.peer.ip());
            *counts.entry(address).or_default() += 1;
            waiting.push((address, !is_idle, since, connection));
        }
    }
    let most = counts.values().max().copied()?;
    let of_most = waiting.into_iter().filter(|(address, ..)| counts.get(address) == Some(&most));
    of_most.min_by_key(|(_, is_busy, since, _)| (*is_busy, *since)).map(|(_, _, since, connection)| (since, connection))
}

/// Returns the limits of requests that wait for changes. Each holds a connection for a long time.
fn watchers(max_connections: usize) -> SlotLimits {
    SlotLimits {
        of_all: (max_connections * 3 / 4).max(1),
        of_one: (max_connections / 2).max(1),
        message: |most, whose| {
            format!(
                "{most} requests of {whose} wait for changes, which is the limit; end some, or try again in a moment"
            )
        },
    }
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Arc<Connections> {
        Arc::new(Connections {
            limits,
            budget: Arc::new(Budget::new(limits.max_buffer_bytes)),
            watchers: RequestSlots::new(watchers(limits.max_connections)),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            closed: Notify::new(),
            logged: Mutex::new(None),
        })
    }

    /// Looks for a place for a new connection. If all are taken, closes a connection that keeps the server waiting.
    pub(crate) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Admission {
        let mut open = self.open.lock();
        if open.len() >= self.limits.max_connections {
            let longest = yielding(open.values());
            self.log_full(longest.is_some());
            let Some((since, longest)) = longest else { return Admission::Refused };
            if since.elapsed() < LEAST_IDLE || open.len() >= self.limits.max_connections + BEYOND {
                return Admission::Later;
            }
            longest.cut();
        }
        Admission::Now(self.place(&mut open, peer))
    }

    /// Returns a place beyond the limit, for a probe.
    pub(crate) fn admit_probe(self: &Arc<Self>, peer: SocketAddr) -> ConnectionSlot {
        self.place(&mut self.open.lock(), peer)
    }

    fn place(self: &Arc<Self>, open: &mut HashMap<u64, Arc<Connection>>, peer: SocketAddr) -> ConnectionSlot {
        let connection =
            Arc::new(Connection::new(peer, Account::new(Arc::clone(&self.budget)), Arc::clone(&self.watchers)));
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Arc::clone(&connection));
        ConnectionSlot { connections: Arc::clone(self), number, connection }
    }

    fn log_full(&self, has_idle: bool) {
        let mut logged = self.logged.lock();
        if logged.is_none_or(|at| at.elapsed() > LOG_INTERVAL) {
            *logged = Some(Instant::now());
            let consequence = if has_idle { "closing those that keep the server waiting" } else { "refusing new ones" };
            tracing::warn!(max_connections = self.limits.max_connections, "all connections are in use: {consequence}");
        }
    }

    /// Closes connections whose time is over, and others while memory is short. Must be called a few times a second.
    pub(crate) fn sweep(&self, now: Instant) {
        let open: Vec<Arc<Connection>> = self.open.lock().values().cloned().collect();
        let patience = self.patience();
        for connection in &open {
            if let Some(reason) = connection.overdue(now, patience) {
                tracing::debug!(peer = %connection.peer, reason, "closing a connection");
                connection.cut();
            }
        }
        self.relieve(&open, now);
    }

    fn patience(&self) -> Patience {
        let Limits { client_timeout, keepalive_timeout, .. } = self.limits;
        if self.is_stopping.load(Ordering::Relaxed) {
            let client = client_timeout.min(STOPPING_CLIENT);
            let head = client.min(STOPPING_HEAD);
            return Patience { client, head, keepalive: Duration::ZERO, body: Some(client) };
        }
        Patience { client: client_timeout, head: client_timeout, keepalive: keepalive_timeout, body: None }
    }

    /// Closes connections if more than half of the memory for bodies is in use: those that hold some and keep the
    /// server waiting, the longest waiting ones first.
    fn relieve(&self, open: &[Arc<Connection>], now: Instant) {
        let mut excess = self.budget.over_half();
        if excess == 0 {
            return;
        }
        // Connections that are already being closed will give back their memory.
        let closing = open.iter().filter(|connection| connection.is_cut()).map(|connection| connection.account.held());
        excess = excess.saturating_sub(closing.sum());
        let holding = open.iter().filter(|connection| connection.account.held() >= YIELDING_BYTES);
        let waiting = holding.filter_map(|connection| Some((connection.yields_since()?.0, connection)));
        let mut yielding: Vec<_> =
            waiting.filter(|(since, _)| now.saturating_duration_since(*since) >= YIELDING_TIME).collect();
        yielding.sort_by_key(|(since, _)| *since);
        let mut count = 0;
        for (_, connection) in yielding {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(connection.account.held());
            connection.cut();
            count += 1;
        }
        if count > 0 {
            tracing::warn!(count, "memory for bodies is short: closed connections of clients that do not send or read");
        }
    }

    /// Makes all connections serve no more requests, and use the shorter times of a stopping server. Must be called
    /// when no more connections are accepted.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.open.lock().values().for_each(|connection| connection.stop());
    }

    /// Completes when no connection is open.
    pub(crate) async fn all_closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.open.lock().is_empty() {
                return;
            }
            closed.await;
        }
    }

    /// Closes all connections, even busy ones.
    pub(crate) fn cut_all(&self) {
        self.open.lock().values().for_each(|connection| connection.cut());
    }
}
