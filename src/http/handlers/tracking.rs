//! Searches with `track=true` (`API.md` 4.8.13): each is handed to the analytics, and its answer gets an id, for clicks
//! on its results. Must not know how searches are answered or counted.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::{CACHE_CONTROL, HeaderValue, ORIGIN, REFERER, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use bindery_analytics::TrackedSearch;
use bindery_model::site::site_host;
use bindery_query::RawParams;
use serde_json::Value;
use url::Url;

use super::analytics::asks_not_to_be_tracked;
use crate::app::App;
use crate::request::client::Client;

/// The visitor behind a request; `None` if the request must not be counted.
pub(crate) struct Visitor(Option<CountedVisitor>);

/// A visitor, who is known in the same way as that of a pageview.
struct CountedVisitor {
    app: App,
    site: String,
    client: Client,
    user_agent: String,
}

/// The parts of an answer that count.
pub(super) struct AnsweredSearch {
    pub(super) total: u64,
    /// The slugs of the blueprints in which something was found, or of the only one that was searched.
    pub(super) blueprints: Vec<String>,
    /// True if the token sees drafts. Only such a token searches working copies.
    pub(super) sees_drafts: bool,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Visitor, Infallible> {
        let settings = &app.config.analytics;
        let is_counted = parts.method == Method::GET
            && !(settings.do_not_track && asks_not_to_be_tracked(&parts.headers))
            // Nearly all requests are not tracked.
            && parts.uri.query().is_some_and(|query| RawParams::has(query, "track"));
        let site = if is_counted { site(&parts.headers, &settings.sites) } else { None };
        Ok(Visitor(site.map(|site| {
            let user_agent = parts.headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
            let client = Client::of(&parts.extensions, &parts.headers, settings);
            CountedVisitor { app: app.clone(), site, client, user_agent: user_agent.unwrap_or_default().into_owned() }
        })))
    }
}

impl Visitor {
    /// Counts an answered search, and returns the value of `meta.search_id`: null if it is not counted.
    pub(super) fn search_id(&self, params: &RawParams, answered: AnsweredSearch) -> Value {
        let question = params.single("q").ok().flatten().unwrap_or_default();
        self.counted(question, answered).map_or(Value::Null, Value::String)
    }

    fn counted(&self, question: &str, answered: AnsweredSearch) -> Option<String> {
        let CountedVisitor { app, site, client, user_agent } = self.0.as_ref()?;
        // A visitor who sends too much is answered, too, but not counted.
        app.limits.take_visitor(client.address).ok()?;
        let id = app.analytics.issue_search()?;
        let AnsweredSearch { total, blueprints, sees_drafts } = answered;
        app.analytics.submit(TrackedSearch {
            number: id.number,
            site: site.clone(),
            question: question.to_owned(),
            found: total > 0,
            blueprints,
            is_public: !sees_drafts,
            address: client.address,
            user_agent: user_agent.clone(),
        });
        Some(id.text)
    }
}

/// Returns the site whose page sent a request: the host of `Origin`, otherwise of `Referer`. Without both, it is the
/// only site, if there is one only. `None` if that host is not one of the sites.
fn site(headers: &HeaderMap, sites: &[String]) -> Option<String> {
    let sent = [ORIGIN, REFERER].into_iter().find_map(|name| headers.get(name));
    let Some(sent) = sent else { return sites.first().filter(|_| sites.len() == 1).cloned() };
    let host = Url::parse(sent.to_str().ok()?).ok()?.host_str().and_then(site_host)?;
    sites.contains(&host).then_some(host)
}

/// Returns the body of a list with `meta.search_id`. The list is as it is kept for other requests: it ends with `meta`,
/// which is not empty.
pub(super) fn with_search_id(list: &[u8], id: &Value) -> Vec<u8> {
    let mut body = list.strip_suffix(b"}}").unwrap_or(list).to_vec();
    body.extend_from_slice(format!(",\"search_id\":{id}}}}}").as_bytes());
    body
}

/// Marks an answer that is for one visitor only.
pub(super) fn not_kept(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_site_is_that_of_the_page_that_asked() {
        let two = ["a.example".to_owned(), "www.b.example".to_owned()];
        type Headers = &'static [(&'static str, &'static str)];
        let table: [(Headers, &[String], Option<&str>); 8] = [
            (&[("origin", "https://a.example")], &two, Some("a.example")),
            (&[("origin", "https://A.example:8443")], &two, Some("a.example")),
            (&[("referer", "https://www.b.example/search?q=x")], &two, Some("www.b.example")),
            (&[("origin", "https://a.example"), ("referer", "https://www.b.example/")], &two, Some("a.example")),
            (&[("origin", "https://other.example"), ("referer", "https://a.example/")], &two, None),
            (&[("origin", "null")], &two, None),
            (&[], &two, None),
            (&[], &two[1..], Some("www.b.example")),
        ];
        for (sent, sites, expected) in table {
            let headers: HeaderMap =
                sent.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
            assert_eq!(site(&headers, sites).as_deref(), expected, "{sent:?}");
        }
    }

    #[test]
    fn an_id_is_added_to_the_meta_of_a_list() {
        let list = br#"{"data":[],"meta":{"total":0}}"#;
        let body: Value = serde_json::from_slice(&with_search_id(list, &Value::from("x"))).unwrap();
        assert_eq!(body, serde_json::json!({ "data": [], "meta": { "total": 0, "search_id": "x" } }));
    }
}
