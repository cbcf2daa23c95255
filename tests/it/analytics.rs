//! Analytics: compares every figure with the definitions of `API.md` 4.8, computed naively over a list of pageviews.

mod apache;
mod backups;
mod browser;
mod damage;
mod deletion;
mod endpoints;
mod failures;
mod flood;
mod intake;
mod logs;
mod midnight;
mod naive;
mod private;
mod random;
mod searches;
mod sharing;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bindery_analytics::{Analytics, AnalyticsOptions, Hit};
use bindery_http::analytics::{Report, delete_figures, parse_event};
use serde_json::{Value, json};

pub(crate) const DAY: i64 = 86_400_000;
pub(crate) const SITES: [&str; 2] = ["a.example", "www.b.example"];

/// User agents with their device and browser.
pub(crate) const AGENTS: [(&str, &str, &str); 5] = [
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
        "desktop",
        "Chrome",
    ),
    ("Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "desktop", "Firefox"),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
        "mobile",
        "Safari",
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
        "tablet",
        "Chrome",
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
        "desktop",
        "Edge",
    ),
];

/// Referrers as they are sent, and the name under which each counts on the first site.
pub(crate) const REFERRERS: [(&str, &str); 7] = [
    ("", "direct"),
    ("https://www.search.example/?q=x", "search.example"),
    ("https://news.example/a", "news.example"),
    ("https://a.example/other", "direct"),
    ("https://www.a.example/", "direct"),
    ("android-app://com.example", "direct"),
    ("http://News.Example:8080", "news.example"),
];

/// The name of an event and its properties.
pub(crate) type SentEvent = (String, Vec<(String, String)>);

/// A pageview or an event for the naive reports.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) at: i64,
    pub(crate) site: String,
    /// The address, for imports preceded by the file, and the index of the user agent.
    pub(crate) who: (String, usize),
    pub(crate) path: String,
    pub(crate) referrer: String,
    pub(crate) country: String,
    pub(crate) device: String,
    pub(crate) browser: String,
    /// The UTM parameters of the page's address. They are empty if it has none.
    pub(crate) utm: [String; 5],
    /// The event, if it is not a pageview.
    pub(crate) event: Option<SentEvent>,
    /// True if the pageview was deleted.
    pub(crate) is_gone: bool,
    /// True if its session was deleted, along with the day on which the session began.
    pub(crate) is_of_gone_session: bool,
}

impl Seen {
    /// Makes a pageview without a referrer by one of [`AGENTS`].
    pub(crate) fn new(at: i64, site: &str, who: (String, usize), path: &str) -> Seen {
        let (_, device, browser) = AGENTS[who.1];
        Seen {
            at,
            site: site.to_owned(),
            who,
            path: path.to_owned(),
            referrer: "direct".to_owned(),
            country: "unknown".to_owned(),
            device: device.to_owned(),
            browser: browser.to_owned(),
            utm: Default::default(),
            event: None,
            is_gone: false,
            is_of_gone_session: false,
        }
    }
}

/// Analytics on a folder with a clock that the test sets.
pub(crate) struct Counter {
    folder: std::path::PathBuf,
    clock: Arc<AtomicI64>,
    /// The days that are kept from the next restart on.
    pub(crate) retention_days: Option<u32>,
    pub(crate) analytics: Option<Analytics>,
}

impl Counter {
    pub(crate) fn open(folder: &Path, now: i64) -> Counter {
        let (folder, clock) = (folder.to_owned(), Arc::new(AtomicI64::new(now)));
        let mut counter = Counter { folder, clock, retention_days: None, analytics: None };
        counter.restart();
        counter
    }

    pub(crate) fn restart(&mut self) {
        if let Some(analytics) = self.analytics.take() {
            analytics.close();
        }
        let clock = Arc::clone(&self.clock);
        let options = AnalyticsOptions {
            sites: SITES.map(String::from).to_vec(),
            clock: Arc::new(move || clock.load(Ordering::SeqCst)),
            retention_days: self.retention_days,
            ..AnalyticsOptions::in_folder(&self.folder)
        };
        self.analytics = Some(Analytics::open(&options).unwrap());
    }

    /// Sets the clock once every earlier pageview is counted.
    pub(crate) fn set_clock(&self, now: i64) {
        self.report(&Report::Live, "");
        self.clock.store(now, Ordering::SeqCst);
    }

    pub(crate) fn report(&self, report: &Report, query: &str) -> Value {
        report
            .answer(self.analytics.as_ref().unwrap(), query)
            .unwrap_or_else(|error| panic!("{report:?} {query}: {error}"))
    }

    /// Deletes pageviews, and returns the reported number of deleted pageviews.
    pub(crate) fn delete(&self, query: &str) -> u64 {
        delete_figures(self.analytics.as_ref().unwrap(), query).unwrap()["deleted"].as_u64().unwrap()
    }

    pub(crate) fn submit(&self, url: &str, referrer: &str, address: &str, agent: usize, country: Option<&str>) {
        let body = json!({ "name": "pageview", "url": url, "referrer": referrer });
        self.submit_body(&body, address, agent, country);
    }

    pub(crate) fn submit_event(&self, site: &str, (name, properties): &SentEvent, address: &str, agent: usize) {
        let properties: Value = properties.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let body =
            json!({ "name": name, "url": format!("https://{site}/x?utm_source=ignored"), "properties": properties });
        self.submit_body(&body, address, agent, None);
    }

    pub(crate) fn submit_body(&self, body: &Value, address: &str, agent: usize, country: Option<&str>) {
        let hit = Hit {
            event: parse_event(body.to_string().as_bytes()).unwrap(),
            address: address.parse::<Ipv4Addr>().map(IpAddr::V4).unwrap(),
            user_agent: AGENTS[agent].0.to_owned(),
            country: country.map(str::to_owned),
        };
        self.analytics.as_ref().unwrap().submit(hit);
    }
}

/// Reproducible random numbers from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}
