//! Events as they arrive: a pageview or a named event, the request that brought it, and the countable parts of its
//! address. It does not know JSON or headers.

use std::borrow::Cow;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use super::search::{QueuedSearch, ResultClick, TrackedSearch};

/// The most bytes of a path or host that are kept; the rest is cut.
const MAX_NAME_BYTES: usize = 512;
/// The most bytes of a user agent that are read.
const MAX_AGENT_BYTES: usize = 1_024;
/// The most bytes of a UTM parameter that are kept.
const MAX_UTM_BYTES: usize = 128;
/// The most bytes of a header with a country.
const MAX_COUNTRY_BYTES: usize = 16;
/// The referrer of a session without one.
pub(super) const DIRECT: &str = "direct";

/// The parameters of a page's address that tell where a visitor comes from, in the order of their dimensions.
const UTM: [&str; 5] = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"];

/// The UTM parameters of an address.
pub(super) type Utm = [Option<String>; 5];

/// The absolute URL of a page: `http` or `https`, with a host.
#[derive(Debug, Clone, PartialEq)]
pub struct PageUrl(Url);

/// An event as a page sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The page.
    pub url: PageUrl,
    /// The page before it, in any form.
    pub referrer: Option<String>,
    /// The width of the screen in pixels.
    pub screen_width: Option<u64>,
    /// The event, if it is not a pageview.
    pub custom: Option<NamedEvent>,
}

/// The name and the properties of an event that is not a pageview. The code that creates one must bound both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedEvent {
    /// The name.
    pub name: String,
    /// The names and values of the properties; no name twice.
    pub properties: Vec<(String, String)>,
}

/// An event and the request that brought it. It is never written to disk or to the server's log.
pub struct Hit {
    /// The event that was sent.
    pub event: Event,
    /// The client's address.
    pub address: IpAddr,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The country according to a trusted proxy.
    pub country: Option<String>,
}

/// A pageview, an event, a search or a click that waits to be counted. Its size has a bound (4 KiB). It is never
/// written to disk or to the server's log. A node of a cluster hands it to another one in this form.
#[derive(Serialize, Deserialize)]
pub struct Countable(pub(super) CountableKind);

#[derive(Serialize, Deserialize)]
pub(super) enum CountableKind {
    Hit(Box<QueuedHit>),
    Click(ResultClick),
}

/// A hit that waits to be counted. It holds only countable data.
#[derive(Serialize, Deserialize)]
pub(super) struct QueuedHit {
    pub(super) site: String,
    pub(super) what: HitKind,
    pub(super) address: IpAddr,
    pub(super) user_agent: String,
    pub(super) country: Option<String>,
}

/// The kind of a waiting hit.
#[derive(Serialize, Deserialize)]
pub(super) enum HitKind {
    Pageview { path: String, referrer: String, device_by_width: Option<Cow<'static, str>>, utm: Utm },
    Event(NamedEvent),
    Search(QueuedSearch),
}

impl Countable {
    /// Returns whether it is a search.
    pub(super) fn is_search(&self) -> bool {
        matches!(&self.0, CountableKind::Hit(hit) if matches!(hit.what, HitKind::Search(_)))
    }
}

impl From<TrackedSearch> for Countable {
    fn from(search: TrackedSearch) -> Countable {
        let what = HitKind::Search(QueuedSearch::of(&search));
        let TrackedSearch { site, address, user_agent, .. } = search;
        let (site, user_agent) = (cut(site, MAX_NAME_BYTES), cut(user_agent, MAX_AGENT_BYTES));
        let hit = QueuedHit { site, what, address, user_agent, country: None };
        Countable(CountableKind::Hit(Box::new(hit)))
    }
}

impl From<ResultClick> for Countable {
    fn from(click: ResultClick) -> Countable {
        Countable(CountableKind::Click(click))
    }
}

impl From<Hit> for Countable {
    fn from(Hit { event, address, user_agent, country }: Hit) -> Countable {
        Countable(CountableKind::Hit(Box::new(QueuedHit {
            site: cut(event.url.host().to_owned(), MAX_NAME_BYTES),
            what: match event.custom {
                Some(custom) => HitKind::Event(custom),
                None => HitKind::Pageview {
                    path: event.url.page_path(),
                    referrer: event.referrer_host(),
                    device_by_width: event.device_by_width().map(Cow::Borrowed),
                    utm: event.url.utm(),
                },
            },
            address,
            user_agent: cut(user_agent, MAX_AGENT_BYTES),
            country: country.filter(|country| country.len() <= MAX_COUNTRY_BYTES),
        })))
    }
}

impl PageUrl {
    /// Parses a URL. Returns `None` if it is not the URL of a page.
    pub fn parse(text: &str) -> Option<PageUrl> {
        let is_page = |url: &Url| matches!(url.scheme(), "http" | "https") && url.host().is_some();
        Url::parse(text).ok().filter(is_page).map(PageUrl)
    }

    /// Returns the host, which names the site.
    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns the page's path.
    pub(super) fn page_path(&self) -> String {
        page_path(self.0.path())
    }

    /// Returns the UTM parameters that have a value. Of a repeated one, the first value counts.
    pub(super) fn utm(&self) -> Utm {
        let mut utm = Utm::default();
        for (name, value) in self.0.query_pairs() {
            let value = value.trim();
            if let Some(place) = UTM.iter().position(|known| *known == name)
                && utm[place].is_none()
                && !value.is_empty()
            {
                utm[place] = Some(cut(value.to_owned(), MAX_UTM_BYTES));
            }
        }
        utm
    }
}

impl Event {
    /// Returns the host of the referrer, or `direct`.
    pub(super) fn referrer_host(&self) -> String {
        let site = self.url.host();
        self.referrer.as_deref().map_or_else(|| DIRECT.to_owned(), |referrer| referrer_host(referrer, site))
    }

    /// Returns the device according to the width of its screen, for user agents without that information.
    pub(super) fn device_by_width(&self) -> Option<&'static str> {
        self.screen_width.map(|width| match width {
            0..=767 => "mobile",
            768..=1023 => "tablet",
            _ => "desktop",
        })
    }
}

/// Returns the path under which a page is counted: decoded, with one slash at the beginning and none at the end.
/// `encoded` is a URL's path, with or without the slash at the beginning.
pub fn page_path(encoded: &str) -> String {
    let decoded = percent_decode_str(encoded).decode_utf8();
    let decoded = decoded.unwrap_or_else(|_| encoded.into());
    cut(format!("/{}", decoded.trim_matches('/')), MAX_NAME_BYTES)
}

/// Returns the host of a referrer without `www.`; `direct` if it is the site itself or not the URL of a page.
pub(super) fn referrer_host(referrer: &str, site: &str) -> String {
    let without_www = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    let host = PageUrl::parse(referrer).map(|url| without_www(url.host())).filter(|host| *host != without_www(site));
    host.filter(|host| !host.is_empty()).map_or_else(|| DIRECT.to_owned(), |host| cut(host, MAX_NAME_BYTES))
}

/// Returns the first bytes of a text, up to the end of a character.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::page_path;

    #[test]
    fn a_path_has_one_slash_at_its_beginning_and_none_at_its_end() {
        let table =
            [("", "/"), ("/", "/"), ("///", "/"), ("a", "/a"), ("//a//", "/a"), ("/a%2F/", "/a"), ("/a//b/", "/a//b")];
        for (encoded, path) in table {
            assert_eq!(page_path(encoded), path, "{encoded}");
        }
    }
}
