//! The HTTP client of object stores: the crate's own, with what passes through it observed.
//!
//! Owns what the store's answers say about time, and whether a request can have reached the store.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use parking_lot::Mutex;

/// True if what creates an object may have reached the store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sent(Arc<AtomicBool>);

impl Sent {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

tokio::task_local! {
    /// The mark that is set when what this task creates may have reached the store.
    pub(crate) static SENT: Sent;
}

/// The `Date` of the store's last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreDate {
    /// The time that the store stated, in whole seconds.
    pub(crate) date: DateTime<Utc>,
    /// The arrival of the answer, by this machine's clock.
    pub(crate) arrived: Instant,
}

/// The most by which the time of a node may differ from that of the store, in milliseconds.
const MAX_DIFFERENCE: i64 = 2_000;

impl StoreDate {
    /// Returns how far a clock that shows `own` is ahead of the store's, in milliseconds. The fraction of a second that
    /// the store leaves out is no difference.
    fn ahead(&self, own: i64) -> i64 {
        let stated =
            self.date.timestamp_millis() + i64::try_from(self.arrived.elapsed().as_millis()).unwrap_or(i64::MAX);
        own - own.clamp(stated, stated.saturating_add(999))
    }

    /// Returns the time for a node whose clock shows `own`: it differs by two seconds at most from the store's.
    pub(crate) fn hold(&self, own: i64) -> i64 {
        let ahead = self.ahead(own);
        own - (ahead - ahead.clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE))
    }

    /// Returns by how many seconds a clock that shows `own` is wrong; 0 if it is not wrong by more than a node's time
    /// may be.
    pub(crate) fn error_of(&self, own: i64) -> i64 {
        let ahead = self.ahead(own);
        if ahead.abs() > MAX_DIFFERENCE { ahead / 1_000 } else { 0 }
    }
}

/// The time by the answers of the store.
#[derive(Debug, Default)]
pub(crate) struct StoreClock {
    /// True once the store has answered, with a `Date` or without.
    pub(crate) has_answered: bool,
    /// The `Date` of its last answer that had one.
    pub(crate) date: Option<StoreDate>,
}

/// The clock that all connections to a store set.
pub(crate) type DateCell = Arc<Mutex<StoreClock>>;

/// Connects as the crate does, and observes.
#[derive(Debug)]
pub(crate) struct ObservedConnector {
    pub(crate) date: DateCell,
}

impl HttpConnector for ObservedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Observed { inner, date: Arc::clone(&self.date) }))
    }
}

#[derive(Debug)]
struct Observed {
    inner: HttpClient,
    date: DateCell,
}

#[async_trait]
impl HttpService for Observed {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_put = request.method().as_str() == "PUT";
        let response = self.inner.execute(request).await;
        let was_sent = !response.as_ref().is_err_and(has_not_connected);
        if is_put && was_sent {
            let _ = SENT.try_with(Sent::set);
        }
        if let Ok(response) = &response {
            self.keep_date(response);
        }
        response
    }
}

/// Returns whether a request failed before there was a connection. The crate calls a connection that takes too long a
/// timeout.
fn has_not_connected(error: &HttpError) -> bool {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    error.kind() == HttpErrorKind::Connect
        || causes.any(|cause| cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect))
}

impl Observed {
    fn keep_date(&self, response: &HttpResponse) {
        let date = response.headers().get("date").and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
        let mut clock = self.date.lock();
        clock.has_answered = true;
        if let Some(date) = date {
            clock.date = Some(StoreDate { date: date.with_timezone(&Utc), arrived: Instant::now() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_node_is_its_clock_within_two_seconds_of_the_stores() {
        let date = StoreDate { date: DateTime::UNIX_EPOCH, arrived: Instant::now() };
        // Its clock, the time, and the seconds by which the clock is wrong.
        let table = [
            (0, 0, 0),
            (900, 900, 0),
            (2_900, 2_900, 0),
            (-1_900, -1_900, 0),
            (3_600_000, 2_999, 3_599),
            (-3_600_000, -2_000, -3_600),
        ];
        for (own, held, wrong) in table {
            // Some time passes while the test runs.
            assert!((0..100).contains(&(date.hold(own) - held).abs()), "{own}: {}", date.hold(own));
            assert!((date.error_of(own) - wrong).abs() <= 1, "{own}: {}", date.error_of(own));
        }
    }
}
