//! The HTTP client of object stores: the crate's own, with what passes through it observed.
//!
//! Owns what the store's answers say about time, and whether a request can have reached the store.

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
pub struct StoreDate {
    /// The time that the store stated, in whole seconds.
    pub date: DateTime<Utc>,
    /// The arrival of the answer, by this machine's clock.
    pub arrived: Instant,
}

/// Where the last date is kept.
pub(crate) type DateCell = Arc<Mutex<Option<StoreDate>>>;

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
        let was_sent = !matches!(&response, Err(error) if error.kind() == HttpErrorKind::Connect);
        if is_put && was_sent {
            let _ = SENT.try_with(Sent::set);
        }
        if let Ok(response) = &response {
            self.keep_date(response);
        }
        response
    }
}

impl Observed {
    fn keep_date(&self, response: &HttpResponse) {
        let date = response.headers().get("date").and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
        if let Some(date) = date {
            *self.date.lock() = Some(StoreDate { date: date.with_timezone(&Utc), arrived: Instant::now() });
        }
    }
}
