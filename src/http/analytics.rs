//! Analytics over HTTP (`API.md` 4.8): the routes of reports, events, imports and the script.

mod client;
mod event_body;
mod events;
mod figures;
mod import;
mod params;
mod rate;
mod report;
mod script;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{MethodRouter, get, post};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::analytics::Metric;
use crate::config::Config;
use crate::http::app::App;
use crate::http::error::Answer;
use crate::http::frame;
use crate::http::head::Bearer;
use crate::http::respond;
use crate::model::ability::Ability;
use crate::model::error::Error;
use crate::model::site::site_host;
use rate::RateLimit;

pub use event_body::parse_event;
pub use events::delete_figures;
pub use import::ImportBody;
pub use report::Report;

const PAGES: &str = "/v2/analytics/pages/";

/// The routes for readers and administrators.
pub(super) fn reports() -> Router<App> {
    let page = || {
        get(|uri: Uri, app: State<App>, bearer: Bearer, query: RawQuery| {
            let path = uri.path().strip_prefix(PAGES).unwrap_or_default().to_owned();
            answer(Report::Page(path), app, bearer, query)
        })
    };
    let routes = [
        ("summary", Report::Summary),
        ("live", Report::Live),
        ("visitors", Report::Visitors),
        ("visitors/trends", Report::VisitorsTrends),
        ("sessions", Report::Sessions),
        ("sessions/average-duration", Report::AverageDuration),
        ("pageviews", Report::Pageviews),
        ("pages", Report::Pages),
        ("referrers", Report::Referrers),
        ("referrers/trends", Report::ReferrersTrends),
        ("demographics/devices", Report::Devices),
        ("demographics/browsers", Report::Browsers),
        ("demographics/countries", Report::Countries),
        ("timeseries/visitors", Report::Series(Metric::Visitors)),
        ("timeseries/pageviews", Report::Series(Metric::Pageviews)),
        ("timeseries/sessions", Report::Series(Metric::Sessions)),
    ];
    let router = routes
        .into_iter()
        .fold(Router::new(), |router, (path, which)| router.route(&format!("/v2/analytics/{path}"), report(which)));
    let router = router.route("/v2/analytics/import", post(import::import));
    router.route(PAGES, page()).route(&format!("{PAGES}{{*path}}"), page())
}

/// The routes for the pages that are counted. Scripts of the configured sites may call them.
pub(super) fn intake(config: &Config) -> Router<App> {
    let limit = Arc::new(RateLimit::new(config.analytics.events_per_minute));
    let routes = Router::new()
        .route("/v2/analytics/events", post(events::send).layer(Extension(limit)).delete(events::delete))
        .route("/v2/analytics/script.js", get(script::serve))
        // Before the CORS layer, which answers the `OPTIONS` requests of browsers.
        .method_not_allowed_fallback(frame::no_method);
    let (sites, origins) = (config.analytics.sites.clone(), config.cors_origins.clone());
    if sites.is_empty() && origins.is_empty() {
        return routes;
    }
    let allowed = AllowOrigin::predicate(move |origin, _| is_allowed(origin, &sites, &origins));
    // `sendBeacon` always sends credentials, although none are used.
    let cors = CorsLayer::new().allow_origin(allowed).allow_credentials(true);
    routes.layer(cors.allow_methods([Method::GET, Method::HEAD, Method::POST]).allow_headers([CONTENT_TYPE]))
}

fn is_allowed(origin: &HeaderValue, sites: &[String], origins: &[String]) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let host = origin.split_once("://").and_then(|(_, host)| site_host(host));
    host.is_some_and(|host| sites.contains(&host)) || origins.iter().any(|known| known == "*" || known == origin)
}

fn report(which: Report) -> MethodRouter<App> {
    get(move |app: State<App>, bearer: Bearer, query: RawQuery| answer(which.clone(), app, bearer, query))
}

async fn answer(report: Report, State(app): State<App>, Bearer(access): Bearer, RawQuery(raw): RawQuery) -> Answer {
    access.require(&[Ability::AnalyticsView])?;
    let answering = tokio::task::spawn_blocking(move || report.answer(&app.analytics, &raw.unwrap_or_default()));
    let body = answering.await.map_err(Error::internal)??;
    Ok(respond::json(StatusCode::OK, body.to_string()))
}
