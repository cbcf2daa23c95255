//! The exchange of a request and its response: gives the request an id (`API.md` 1.8) and finds its route when it
//! arrives; sets the header, counts the response and logs one line when it is answered. Must not know what the request
//! asks for, except for its route.

use std::cell::RefCell;
use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, Uri};
use axum::response::Response;
use tracing::Span;
use uuid::Builder;
use uuid::fmt::Hyphenated;

use crate::cluster::forward::BETWEEN_NODES;
use crate::observe::access_line::redacted_path;
use crate::observe::metrics::Metrics;
use crate::observe::operations;

/// The header that carries the id, in requests and in responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_CHARS: usize = 128;

/// The number of ids for which random bytes are fetched at once.
const BATCH: usize = 64;

/// A request that is being answered, and the data of its log line.
pub(crate) struct Exchange {
    id: HeaderValue,
    method: Method,
    uri: Uri,
    /// The route that the path belongs to, as the description of the API has it.
    route: Option<&'static str>,
    started: Instant,
}

impl Exchange {
    /// Begins the answer to a request: gives it an id.
    pub(crate) fn begin(request: &Request) -> Exchange {
        let id = request.headers().get(X_REQUEST_ID).and_then(usable).unwrap_or_else(random);
        let (method, uri) = (request.method().clone(), request.uri().clone());
        Exchange { id, route: operations::route_of(uri.path()), method, uri, started: Instant::now() }
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> &HeaderValue {
        &self.id
    }

    /// The route that the path belongs to, if there is one.
    pub(crate) fn route_name(&self) -> Option<&'static str> {
        self.route
    }

    /// Returns the span in which the handler runs: everything logged in it carries the id.
    pub(crate) fn span(&self) -> Span {
        tracing::info_span!("request", id = self.id.to_str().unwrap_or_default())
    }

    /// Adds the id to the response, counts it, and logs one line unless the access log does. `admin` is the admin
    /// token: no line may contain it, wherever the client put it.
    pub(crate) fn end(self, response: &mut Response, metrics: &Metrics, is_logged: bool, admin: Option<&str>) {
        let Exchange { id, method, uri, route, started } = self;
        let status = response.status().as_u16();
        let duration = started.elapsed();
        metrics.count(method.as_str(), route, status, duration.as_secs_f64());
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let text = id.to_str().unwrap_or_default();
        // Other nodes send hints several times a second.
        let is_worth_a_line = !is_logged && !uri.path().starts_with(BETWEEN_NODES);
        if is_worth_a_line && tracing::enabled!(tracing::Level::INFO) {
            let path = redacted_path(uri.path(), admin);
            tracing::info!(id = text, %method, path, status, duration_us, "answered");
        }
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
}

/// Returns the client's own id, if it is safe to write to any log.
fn usable(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let plain = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
    (plain && (1..=MAX_CHARS).contains(&bytes.len())).then(|| value.clone())
}

/// Returns a new id.
pub(crate) fn random() -> HeaderValue {
    thread_local! {
        static RANDOM: RefCell<RandomBytes> = const { RefCell::new(RandomBytes { bytes: [[0; 16]; BATCH], used: BATCH }) };
    }
    let random = RANDOM.with_borrow_mut(RandomBytes::next);
    let id = Builder::from_random_bytes(random).into_uuid();
    let mut text = [0; Hyphenated::LENGTH];
    HeaderValue::from_str(id.hyphenated().encode_lower(&mut text)).expect("a UUID is visible ASCII")
}

/// Random bytes for several ids: getting them from the system takes as long as making an id.
struct RandomBytes {
    bytes: [[u8; 16]; BATCH],
    used: usize,
}

impl RandomBytes {
    fn next(&mut self) -> [u8; 16] {
        if self.used == BATCH {
            self.used = 0;
            // Ids need not be secret, only distinct: without a random generator the clock is good enough.
            if getrandom::fill(self.bytes.as_flattened_mut()).is_err() {
                self.used = BATCH;
                let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
                return since.as_nanos().to_be_bytes();
            }
        }
        self.used += 1;
        self.bytes[self.used - 1]
    }
}
