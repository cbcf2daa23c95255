//! The handlers of events: one pageview in, and a site's figures out (`API.md` 4.8.1, 4.8.9).

use axum::extract::{RawQuery, State};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use bindery_analytics::{Analytics, Hit};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use bindery_query::{RawParams, strict};
use serde_json::{Value, json};

use super::event_body::parse_event;
use super::params;
use crate::answer::respond;
use crate::app::App;
use crate::error::{Answer, Failure};
use crate::request::client::Client;
use crate::request::head::Bearer;
use crate::transport::body::JsonBody;

/// The longest body of an event.
pub(super) const MAX_EVENT_BYTES: usize = 64 << 10;

/// Handles `POST /v2/analytics/events`. Answers before the pageview is counted, and gives the same answer if it is not
/// counted.
pub(super) async fn send(State(app): State<App>, parts: Parts, body: JsonBody) -> Answer {
    let client = limit_visitor(&app, &parts)?;
    let (settings, headers) = (&app.config.analytics, parts.headers);
    let max_bytes = MAX_EVENT_BYTES.min(app.config.max_body_bytes);
    let body = body.read_as(max_bytes, &["application/json", "text/plain"]).await?;
    let event = parse_event(&body)?;
    if !(settings.do_not_track && asks_not_to_be_tracked(&headers)) {
        let user_agent = headers.get(USER_AGENT).map_or("".into(), |value| String::from_utf8_lossy(value.as_bytes()));
        let hit = Hit { event, address: client.address, user_agent: user_agent.into_owned(), country: client.country };
        app.analytics.submit(hit);
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Returns the visitor who sent a request, and counts it.
///
/// Errors: `RATE_LIMITED`.
pub(super) fn limit_visitor(app: &App, parts: &Parts) -> Result<Client, Failure> {
    let settings = &app.config.analytics;
    let client = Client::of(&parts.extensions, &parts.headers, settings);
    let limited = app.limits.take_visitor(client.address);
    limited.map_err(|wait| {
        let most = settings.events_per_minute;
        let message = format!("one address sent more than {most} pageviews, searches and clicks in a minute");
        Failure::from(Error::new(Code::RateLimited, message)).retry_after(wait.seconds)
    })?;
    Ok(client)
}

/// `DELETE /v2/analytics/events`.
pub(super) async fn delete(State(app): State<App>, Bearer(access): Bearer, RawQuery(raw): RawQuery) -> Answer {
    access.require(&[Ability::Manage])?;
    let analytics = app.analytics.counting()?;
    let deleting = tokio::task::spawn_blocking(move || {
        let deleted = delete_figures(&analytics, &raw.unwrap_or_default())?;
        app.analytics.publish(&analytics)?;
        Ok::<_, Error>(deleted)
    });
    let body = deleting.await.map_err(Error::internal)??;
    Ok(respond::json(StatusCode::OK, body.to_string()))
}

/// Deletes the figures that a query string names by `site`, `start` and `end`, and returns the body of the answer.
/// Without dates it deletes all days. On return no report shows these figures and no file holds them.
///
/// # Errors
/// `INVALID_PARAMETER`, and those of [`Analytics::delete`].
pub fn delete_figures(analytics: &Analytics, raw_query: &str) -> Result<Value> {
    let params = RawParams::parse(raw_query);
    // A misspelt bound would delete everything.
    strict::check_names(&params, &["site", "start", "end"])?;
    let site = params::required_site(&params)?;
    let period = params::open_period(&params)?;
    Ok(json!({ "deleted": analytics.delete(&site, period)? }))
}

/// Returns whether the visitor's browser asks not to be tracked.
pub(crate) fn asks_not_to_be_tracked(headers: &HeaderMap) -> bool {
    ["dnt", "sec-gpc"].iter().any(|name| headers.get(*name).is_some_and(|value| value.as_bytes() == b"1"))
}
