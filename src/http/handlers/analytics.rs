//! Analytics over HTTP (`API.md` 4.8): the routes of reports, events, clicks, imports and the script.

mod bodies;
mod clicks;
mod event_body;
mod events;
mod figures;
mod filters;
mod import;
mod params;
mod report;
mod script;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{MethodRouter, get, post};
use bindery_analytics::{Dimension, Metric, SearchReport, SessionPage};
use bindery_config::Config;
use bindery_model::ability::Ability;
use bindery_model::error::Error;
use bindery_model::site::site_host;
use bindery_model::time::format_date;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::answer::respond;
use crate::app::App;
use crate::error::Answer;
use crate::frame;
use crate::request::head::Bearer;
use crate::route::{Route, into_router};

pub use event_body::parse_event;
pub(crate) use events::asks_not_to_be_tracked;
pub use events::delete_figures;
pub use import::ImportBody;
pub use report::Report;

/// The header with the first days for which filters did not see every visit.
const CUT_DAYS: HeaderName = HeaderName::from_static("bindery-incomplete-days");
const MAX_CUT_DAYS: usize = 10;
/// The path to which clicks on the results of a search are sent.
const CLICK: &str = "/v2/analytics/searches/{search_id}/click";
const PAGES: &str = "/v2/analytics/pages/";
const CUSTOM_EVENTS: &str = "/v2/analytics/custom-events/";

/// Returns the routes for readers and administrators.
pub(crate) fn reports() -> Vec<Route> {
    let page = || report_of_rest(PAGES, Report::Page);
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
        ("entry-pages", Report::SessionPages(SessionPage::First)),
        ("exit-pages", Report::SessionPages(SessionPage::Last)),
        ("utm/source", Report::Utm(Dimension::Source)),
        ("utm/medium", Report::Utm(Dimension::Medium)),
        ("utm/campaign", Report::Utm(Dimension::Campaign)),
        ("utm/content", Report::Utm(Dimension::Content)),
        ("utm/term", Report::Utm(Dimension::Term)),
        ("custom-events", Report::CustomEvents),
        ("searches", Report::Searches(SearchReport::All)),
        ("searches/without-results", Report::Searches(SearchReport::WithoutResults)),
        ("searches/without-clicks", Report::Searches(SearchReport::WithoutClicks)),
        ("demographics/devices", Report::Devices),
        ("demographics/browsers", Report::Browsers),
        ("demographics/countries", Report::Countries),
        ("timeseries/visitors", Report::Series(Metric::Visitors)),
        ("timeseries/pageviews", Report::Series(Metric::Pageviews)),
        ("timeseries/sessions", Report::Series(Metric::Sessions)),
    ];
    let reports = routes.into_iter().map(|(path, which)| Route::new(format!("/v2/analytics/{path}"), report(which)));
    let others = [
        Route::new("/v2/analytics/import", post(import::import)),
        Route::new(PAGES, page()),
        Route::new(format!("{PAGES}{{*path}}"), page()),
        Route::new(format!("{CUSTOM_EVENTS}{{*event}}"), report_of_rest(CUSTOM_EVENTS, Report::CustomEvent)),
    ];
    reports.chain(others).collect()
}

/// Returns the routes that the pages of sites use.
pub(crate) fn intake() -> Vec<Route> {
    let events = post(events::send).delete(events::delete);
    vec![
        Route::new("/v2/analytics/events", events).open_to_all(&[Method::POST]),
        Route::new(CLICK, post(clicks::click)).open_to_all(&[Method::POST]),
        Route::new("/v2/analytics/script.js", get(script::serve)).open_to_all(&[Method::GET, Method::HEAD]),
    ]
}

/// Returns the intake routes as a router. Scripts of the configured sites may call them.
pub(crate) fn intake_router(config: &Config) -> Router<App> {
    // Comes before the CORS layer, which answers the `OPTIONS` requests of browsers.
    let routes = into_router(intake()).method_not_allowed_fallback(frame::no_method);
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

/// Returns the handler of a report whose name is the rest of the URL's path.
fn report_of_rest(prefix: &'static str, which: fn(String) -> Report) -> MethodRouter<App> {
    get(move |uri: Uri, app: State<App>, bearer: Bearer, query: RawQuery| {
        let rest = uri.path().strip_prefix(prefix).unwrap_or_default().to_owned();
        answer(which(rest), app, bearer, query)
    })
}

async fn answer(report: Report, State(app): State<App>, Bearer(access): Bearer, RawQuery(raw): RawQuery) -> Answer {
    access.require(&[Ability::AnalyticsView])?;
    let analytics = app.analytics.counting()?;
    let answering = tokio::task::spawn_blocking(move || {
        report.answer_noting(&analytics, &raw.unwrap_or_default(), &|slug| access.sees(slug))
    });
    let (body, cut_days) = answering.await.map_err(Error::internal)??;
    let mut answer = respond::json(StatusCode::OK, body);
    if !cut_days.is_empty() {
        let days: Vec<String> = cut_days.into_iter().take(MAX_CUT_DAYS).map(format_date).collect();
        answer.headers_mut().insert(CUT_DAYS, HeaderValue::from_str(&days.join(", ")).map_err(Error::internal)?);
    }
    Ok(answer)
}
