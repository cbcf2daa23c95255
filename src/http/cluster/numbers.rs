//! `Bindery-Number`, `Bindery-After` and `Bindery-Lag`: how a client reads what it has written, whichever server
//! answers.
//!
//! A single server has no use for numbers unless a cache in front of it compares them (`cache_tags`), and does not name
//! them: they count the writes of everybody, also of drafts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use crate::app::App;
use crate::error::Failure;

/// The number of the last log record of the state that an answer was made from.
pub(crate) const BINDERY_NUMBER: HeaderName = HeaderName::from_static("bindery-number");
/// The number that the state of an answer must include; or `latest`.
pub(crate) const BINDERY_AFTER: HeaderName = HeaderName::from_static("bindery-after");
/// The seconds since the server last saw that it has everything.
pub(crate) const BINDERY_LAG: HeaderName = HeaderName::from_static("bindery-lag");

/// The longest wait for a number.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The requests that may wait for a number at a time.
const MAX_WAITING: usize = 256;
/// The lag from which on reads say it.
const MENTIONED_LAG: Duration = Duration::from_secs(2);

/// The number of requests that wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Counts a waiting request until it is dropped.
struct Waiter;

impl Waiter {
    fn begin() -> Option<Waiter> {
        let before = WAITING.fetch_add(1, Ordering::SeqCst);
        let waiter = Waiter;
        (before < MAX_WAITING).then_some(waiter)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until the server has the state that a request asks for.
///
/// # Errors
/// `INVALID_PARAMETER` for a number that no server has, or a value that is no number; `OVERLOADED` if too many wait;
/// `LOG_UNREACHABLE` if the server does not get that far in time.
pub(crate) async fn wait_for(app: &App, headers: &HeaderMap) -> Result<(), Failure> {
    let Some(sent) = headers.get(BINDERY_AFTER) else { return Ok(()) };
    let text = sent.to_str().unwrap_or_default();
    let number = match (text, text.parse::<u64>()) {
        ("latest", _) => None,
        (_, Ok(number)) if number.to_string() == text => Some(number),
        _ => {
            let sent = quote(&String::from_utf8_lossy(sent.as_bytes()));
            let message = format!(
                "the header `Bindery-After` is {sent}; it must be a number from the header `Bindery-Number` of an answer, or `latest`"
            );
            return Err(Error::new(Code::InvalidParameter, message).into());
        }
    };
    if number.is_some_and(|number| number <= app.content.number()) {
        return Ok(());
    }
    let Some(_waiter) = Waiter::begin() else {
        let message = format!("{MAX_WAITING} requests wait for a newer state already; try again in a moment");
        return Err(Error::new(Code::Overloaded, message).into());
    };
    let confirmed = tokio::time::timeout(LONGEST_WAIT, app.content.confirm()).await.map_err(|_| {
        let message = "this server could not get the newest state in time; try again in a moment, or another server";
        Error::new(Code::LogUnreachable, message)
    })??;
    match number {
        Some(number) if number > confirmed => {
            let message = format!(
                "the header `Bindery-After` is {number}, but the newest number is {confirmed}; was it of another cluster, or was \
                 the content restored?"
            );
            Err(Error::new(Code::InvalidParameter, message).into())
        }
        _ => Ok(()),
    }
}

/// Adds the number of the state that an answer was made from, and how far the server is behind, if it is.
pub(crate) fn add(app: &App, response: &mut Response, number: Option<u64>, is_read: bool) {
    let lag = app.content.node_lag();
    if lag.is_none() && !app.config.cache_tags {
        return;
    }
    let headers = response.headers_mut();
    if let Some(number) = number
        && !headers.contains_key(BINDERY_NUMBER)
    {
        headers.insert(BINDERY_NUMBER, HeaderValue::from(number));
    }
    if is_read && let Some(lag) = lag.filter(|lag| *lag >= MENTIONED_LAG) {
        headers.insert(BINDERY_LAG, HeaderValue::from(lag.as_secs()));
    }
}
