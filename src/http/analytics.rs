//! Analytics (`API.md` 4.8): reports, the intake of pageviews, the script that sends them, imports.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Extension, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, USER_AGENT};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::app::App;
use super::body::JsonBody;
use super::error::Answer;
use super::frame;
use super::head::Bearer;
use super::respond::{is_unmodified, json};
use crate::analytics::{Event, Hit, Report};
use crate::config::{AnalyticsConfig, Config};
use crate::model::ability::Ability;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;
use crate::model::site::site_host;
use crate::query::RawParams;
use rate::RateLimit;

mod rate;
mod script;

/// The longest event that is taken.
const MAX_EVENT_BYTES: usize = 64 << 10;
/// How much of an import may wait to be counted.
const PIECES_IN_FLIGHT: usize = 4;
const PAGES: &str = "/v2/analytics/pages/";

/// The routes of those who read the figures.
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
        ("timeseries/visitors", Report::VisitorsSeries),
        ("timeseries/pageviews", Report::PageviewsSeries),
        ("timeseries/sessions", Report::SessionsSeries),
    ];
    let router = routes
        .into_iter()
        .fold(Router::new(), |router, (path, which)| router.route(&format!("/v2/analytics/{path}"), report(which)));
    router.route(PAGES, page()).route(&format!("{PAGES}{{*path}}"), page()).route("/v2/analytics/import", post(import))
}

/// The routes of pages that are counted: they may be called from the configured sites.
pub(super) fn intake(config: &Config) -> Router<App> {
    let limit = Arc::new(RateLimit::new(config.analytics.events_per_minute));
    let routes = Router::new()
        .route("/v2/analytics/events", post(take).layer(Extension(limit)).delete(delete))
        .route("/v2/analytics/script.js", get(script::serve))
        // Before the layer, which answers what browsers ask with `OPTIONS`.
        .method_not_allowed_fallback(frame::no_method);
    let (sites, origins) = (config.analytics.sites.clone(), config.cors_origins.clone());
    if sites.is_empty() && origins.is_empty() {
        return routes;
    }
    let allowed = AllowOrigin::predicate(move |origin, _| is_allowed(origin, &sites, &origins));
    // `sendBeacon` always asks with credentials, though none are used.
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
    let answered = tokio::task::spawn_blocking(move || app.analytics.report(&report, &raw.unwrap_or_default()));
    let figures = answered.await.map_err(Error::internal)??;
    Ok(json(StatusCode::OK, figures.to_string()))
}

async fn take(
    State(app): State<App>,
    Extension(limit): Extension<Arc<RateLimit>>,
    connection: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    body: JsonBody,
) -> Answer {
    let settings = &app.config.analytics;
    let peer = connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Extension(ConnectInfo(peer))| peer.ip());
    let client = Client::of(peer, &headers, settings);
    if let Err(seconds) = limit.take(client.address) {
        let message = format!("more than {} pageviews a minute come from one address", settings.events_per_minute);
        return Err(super::error::Failure::from(Error::new(Code::RateLimited, message)).retry_after(seconds));
    }
    let body =
        body.read_as(MAX_EVENT_BYTES.min(app.config.max_body_bytes), &["application/json", "text/plain"]).await?;
    let event = Event::parse(&body)?;
    if !(settings.do_not_track && asks_not_to_be_tracked(&headers)) {
        let user_agent = headers.get(USER_AGENT).map_or("".into(), |value| String::from_utf8_lossy(value.as_bytes()));
        let hit = Hit { event, address: client.address, user_agent: user_agent.into_owned(), country: client.country };
        app.analytics.take(hit);
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

fn asks_not_to_be_tracked(headers: &HeaderMap) -> bool {
    ["dnt", "sec-gpc"].iter().any(|name| headers.get(*name).is_some_and(|value| value.as_bytes() == b"1"))
}

/// Who sent a request, by the connection, or by a trusted proxy, and by nobody else.
struct Client {
    address: IpAddr,
    country: Option<String>,
}

impl Client {
    fn of(peer: IpAddr, headers: &HeaderMap, settings: &AnalyticsConfig) -> Client {
        let is_trusted = |address: IpAddr| settings.trusted_proxies.iter().any(|network| network.contains(address));
        let peer = peer.to_canonical();
        if !is_trusted(peer) {
            return Client { address: peer, country: None };
        }
        let values = headers.get_all(&settings.forwarded_header).iter();
        let named: Vec<&str> =
            values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).collect();
        // Each proxy adds at the end whom it was asked by: the last one that is no proxy is the client.
        let mut address = peer;
        for named in named.into_iter().rev() {
            let Some(next) = parse_address(named.trim()) else { break };
            address = next;
            if !is_trusted(next) {
                break;
            }
        }
        let country =
            settings.country_header.as_ref().and_then(|name| headers.get(name)?.to_str().ok().map(str::to_owned));
        Client { address, country }
    }
}

/// An address with or without brackets and port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let address = bare().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

async fn delete(State(app): State<App>, Bearer(access): Bearer, RawQuery(raw): RawQuery) -> Answer {
    access.require(&[Ability::Manage])?;
    let deleted = tokio::task::spawn_blocking(move || app.analytics.delete(&raw.unwrap_or_default()));
    let pageviews = deleted.await.map_err(Error::internal)??;
    Ok(json(StatusCode::OK, serde_json::json!({ "deleted": pageviews }).to_string()))
}

async fn import(State(app): State<App>, Bearer(access): Bearer, RawQuery(raw): RawQuery, body: Body) -> Answer {
    access.require(&[Ability::Manage])?;
    let params = RawParams::parse(raw.as_deref().unwrap_or_default());
    let sent = params.single("site")?.unwrap_or_default();
    let site = site_host(sent).ok_or_else(|| {
        let message =
            format!("`site` is {}; it takes the host that the log is of, such as `www.example.com`", quote(sent));
        Error::new(Code::InvalidParameter, message)
    })?;
    let (pieces, mut received) = mpsc::channel::<Bytes>(PIECES_IN_FLIGHT);
    let mut import = app.analytics.import(&site);
    let counting = tokio::task::spawn_blocking(move || {
        while let Some(piece) = received.blocking_recv() {
            import.push(&piece);
        }
        import
    });
    let mut body = body.into_data_stream();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| Error::new(Code::MalformedJson, "the body breaks off before its end"))?;
        if pieces.send(piece).await.is_err() {
            break;
        }
    }
    drop(pieces);
    let import = counting.await.map_err(Error::internal)?;
    let finished = tokio::task::spawn_blocking(move || import.finish());
    let outcome = finished.await.map_err(Error::internal)??;
    Ok(json(StatusCode::OK, serde_json::to_string(&outcome).map_err(Error::internal)?))
}
