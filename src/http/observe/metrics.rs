//! Counters of requests (`API.md` 4.12). Must not name a blueprint, a token or an address, because reading them needs
//! no token.

use std::collections::HashMap;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::observe::operations;

/// The upper bounds of the buckets, in seconds.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The label of paths that match no route.
const NO_ROUTE: &str = "other";

/// The counts since the start.
pub(crate) struct Metrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    /// The histograms of `durations`, found without a lock.
    by_route: HashMap<&'static str, Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: MethodLabel,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

/// A method. All unknown methods count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(clippy::upper_case_acronyms)]
enum MethodLabel {
    GET,
    HEAD,
    POST,
    PUT,
    PATCH,
    DELETE,
    OTHER,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let durations = Family::<RouteLabels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let routes = operations::paths().chain([NO_ROUTE]);
        let by_route = routes.map(|route| (route, durations.get_or_create(&RouteLabels { route }).clone())).collect();
        Metrics { requests: Family::default(), durations, by_route }
    }
}

impl Metrics {
    /// Counts an answer to a request of a route, if there is one for it. `seconds` is how long it took until its head
    /// was ready.
    pub(crate) fn count(&self, method: &str, route: Option<&'static str>, status: u16, seconds: f64) {
        let route = route.unwrap_or(NO_ROUTE);
        let method = MethodLabel::of(method);
        self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
        if let Some(durations) = self.by_route.get(route) {
            durations.observe(seconds);
        }
    }

    /// Adds the counts to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Answers by method, route and status", self.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time until the head of an answer was ready, by route",
            Unit::Seconds,
            self.durations.clone(),
        );
    }
}

impl MethodLabel {
    fn of(method: &str) -> MethodLabel {
        match method {
            "GET" => MethodLabel::GET,
            "HEAD" => MethodLabel::HEAD,
            "POST" => MethodLabel::POST,
            "PUT" => MethodLabel::PUT,
            "PATCH" => MethodLabel::PATCH,
            "DELETE" => MethodLabel::DELETE,
            _ => MethodLabel::OTHER,
        }
    }
}
