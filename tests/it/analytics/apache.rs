//! Tests with a real access log, if `BINDERY_TEST_DATA` names its folder: every endpoint is compared with the
//! definitions.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::PathBuf;

use bindery_analytics::{Dimension, Metric, SessionPage};
use bindery_http::analytics::Report;
use chrono::{DateTime, NaiveDate, Utc};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::Random;
use super::Seen;
use super::naive::{Asked, Filter, assert_same, expected_body};
use super::random::reports;
use crate::support::Server;

/// The site of the log, and a second site that gets the log's second half.
const SITES: [&str; 2] = ["semicomplete.com", "www.other.example"];

/// A request of the log.
struct Request {
    at: DateTime<Utc>,
    address: String,
    user_agent: String,
    target: String,
    referrer: String,
    method: String,
    status: u64,
}

impl Request {
    fn read(line: &str) -> Request {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
        Request {
            at: text("timestamp").parse().unwrap(),
            address: text("ip"),
            user_agent: text("user_agent"),
            target: text("path"),
            referrer: text("referrer"),
            method: text("method"),
            status: line["status"].as_u64().unwrap(),
        }
    }

    fn line(&self) -> String {
        let time = self.at.format("%d/%b/%Y:%H:%M:%S +0000");
        let Request { address, user_agent, target, referrer, method, status, .. } = self;
        format!("{address} - - [{time}] \"{method} {target} HTTP/1.1\" {status} 1 \"{referrer}\" \"{user_agent}\"\n")
    }

    /// Returns the path, if the request is for a page.
    fn page(&self) -> Option<String> {
        let path = self.target.split(['?', '#']).next().unwrap();
        let name = path.rsplit('/').next().unwrap();
        let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
        let is_page = extension.is_none_or(|extension| ["", "html", "htm", "php"].contains(&extension));
        let was_answered = (200..300).contains(&self.status) || self.status == 304;
        let path = percent_decode_str(path).decode_utf8().map_or(path.to_owned(), |path| path.into_owned());
        let path = if path.len() > 1 { path.strip_suffix('/').unwrap_or(&path).to_owned() } else { path };
        (self.method == "GET" && was_answered && is_page).then_some(path)
    }

    /// Returns the UTM parameters of the page's address.
    fn utm(&self) -> [String; 5] {
        let query = self.target.split_once('?').map_or("", |(_, query)| query).split('#').next().unwrap();
        ["source", "medium", "campaign", "content", "term"].map(|name| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("utm_{name}="))).unwrap_or("");
            percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned()
        })
    }

    fn referrer(&self, site: &str) -> String {
        let rest = self.referrer.strip_prefix("http://").or_else(|| self.referrer.strip_prefix("https://"));
        let host = rest.unwrap_or_default().split(['/', '?', '#', ':']).next().unwrap().to_lowercase();
        let plain = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
        // Some hosts are not UTF-8. The log has escaped bytes for these.
        let is_host = !host.is_empty() && !host.contains('\\') && plain(&host) != plain(site);
        if is_host { plain(&host) } else { "direct".to_owned() }
    }
}

/// Returns device and browser according to the server, for each user agent that is not a robot. Each user agent is
/// imported on a separate day.
fn agents(server: &Server, requests: &[Request]) -> HashMap<String, (String, String)> {
    let mut agents: Vec<&String> = requests.iter().map(|request| &request.user_agent).collect();
    agents.sort();
    agents.dedup();
    let day = |number: usize| NaiveDate::from_ymd_opt(2000, 1, 1).unwrap() + chrono::TimeDelta::days(number as i64);
    let line = |(number, agent): (usize, &&String)| {
        format!(
            "192.0.2.1 - - [{}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n",
            day(number).format("%d/%b/%Y")
        )
    };
    import(server, "agents.example", &agents.iter().enumerate().map(line).collect::<String>());
    let said = agents.into_iter().enumerate().filter_map(|(number, agent)| {
        let ask = |name: &str, key: &str| {
            let (day, site) = (day(number), "agents.example");
            let rows = get(server, &format!("demographics/{name}?start={day}&end={day}&site={site}"));
            Some(rows.as_array().unwrap().first()?[key].as_str().unwrap().to_owned())
        };
        Some((agent.clone(), (ask("devices", "device")?, ask("browsers", "browser")?)))
    });
    said.collect()
}

fn import(server: &Server, site: &str, log: &str) -> Value {
    let path = format!("/v2/analytics/import?site={site}");
    server.raw("POST", &path, &[("content-type", "text/plain")], log.as_bytes()).expect(200).json()
}

fn get(server: &Server, path: &str) -> Value {
    server.get(&format!("/v2/analytics/{path}")).expect(200).json()
}

fn path_of(report: &Report) -> String {
    match report {
        Report::Summary => "summary".to_owned(),
        Report::Live => "live".to_owned(),
        Report::Visitors => "visitors".to_owned(),
        Report::VisitorsTrends => "visitors/trends".to_owned(),
        Report::Sessions => "sessions".to_owned(),
        Report::AverageDuration => "sessions/average-duration".to_owned(),
        Report::Pageviews => "pageviews".to_owned(),
        Report::Pages => "pages".to_owned(),
        Report::Page(path) => format!("pages/{}", utf8_percent_encode(path, NON_ALPHANUMERIC)),
        Report::Referrers => "referrers".to_owned(),
        Report::ReferrersTrends => "referrers/trends".to_owned(),
        Report::Devices => "demographics/devices".to_owned(),
        Report::Browsers => "demographics/browsers".to_owned(),
        Report::Countries => "demographics/countries".to_owned(),
        Report::Utm(Dimension::Source) => "utm/source".to_owned(),
        Report::Utm(Dimension::Medium) => "utm/medium".to_owned(),
        Report::Utm(Dimension::Campaign) => "utm/campaign".to_owned(),
        Report::Utm(Dimension::Content) => "utm/content".to_owned(),
        Report::Utm(_) => "utm/term".to_owned(),
        Report::SessionPages(SessionPage::First) => "entry-pages".to_owned(),
        Report::SessionPages(SessionPage::Last) => "exit-pages".to_owned(),
        Report::Searches(_) => "searches".to_owned(),
        Report::CustomEvents => "custom-events".to_owned(),
        Report::CustomEvent(name) => format!("custom-events/{}", utf8_percent_encode(name, NON_ALPHANUMERIC)),
        Report::Series(Metric::Visitors) => "timeseries/visitors".to_owned(),
        Report::Series(Metric::Pageviews) => "timeseries/pageviews".to_owned(),
        Report::Series(Metric::Sessions) => "timeseries/sessions".to_owned(),
    }
}

/// Returns the pageviews of the log that a site is expected to count.
fn pageviews(requests: &[Request], site: &str, agents: &HashMap<String, (String, String)>) -> Vec<Seen> {
    let mut numbers: BTreeMap<&String, usize> = BTreeMap::new();
    let views = requests.iter().filter_map(|request| {
        let (path, (device, browser)) = (request.page()?, agents.get(&request.user_agent)?);
        let next = numbers.len();
        let number = *numbers.entry(&request.user_agent).or_insert(next);
        let seen = Seen::new(request.at.timestamp_millis(), site, (request.address.clone(), 0), &path);
        let (device, browser, referrer) = (device.clone(), browser.clone(), request.referrer(site));
        Some(Seen { who: (request.address.clone(), number), device, browser, referrer, utm: request.utm(), ..seen })
    });
    views.collect()
}

#[test]
fn figures_of_a_real_log_match_the_definitions() {
    let Some(folder) = std::env::var_os("BINDERY_TEST_DATA").map(PathBuf::from) else {
        let _ = writeln!(std::io::stderr(), "the test of a real access log is skipped: BINDERY_TEST_DATA is not set");
        return;
    };
    let packed = std::fs::read(folder.join("events-apache.ndjson.zst")).unwrap();
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let requests: Vec<Request> = text.lines().map(Request::read).collect();
    assert_eq!(requests.len(), 10_000);
    let server = Server::start();
    let agents = agents(&server, &requests);
    let halves = [&requests[..], &requests[requests.len() / 2..]];
    let mut seen = Vec::new();
    for (site, requests) in SITES.into_iter().zip(halves) {
        let views = pageviews(requests, site, &agents);
        let outcome = import(&server, site, &requests.iter().map(Request::line).collect::<String>());
        assert_eq!((&outcome["lines"], &outcome["bad"]), (&requests.len().into(), &0.into()));
        assert_eq!(outcome["added"], views.len(), "{site}");
        seen.extend(views);
    }
    let day = |month, day| NaiveDate::from_ymd_opt(2015, month, day).unwrap();
    let periods = [
        (day(5, 17), day(5, 17)),
        (day(5, 18), day(5, 18)),
        (day(5, 20), day(5, 20)),
        (day(5, 18), day(5, 19)),
        (day(5, 19), day(5, 20)),
        (day(5, 17), day(5, 20)),
        (day(5, 20), day(5, 25)),
        (day(5, 21), day(5, 24)),
        (day(5, 1), day(5, 31)),
        (day(4, 30), day(6, 1)),
        (day(6, 1), day(6, 30)),
    ];
    let top = get(&server, "pages?start=2015-05-01&end=2015-05-31&limit=5");
    let top = top.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()[1..].to_owned());
    let reports: Vec<Report> = reports().into_iter().chain(top.map(Report::Page)).collect();
    let mut random = Random(3);
    let now = Utc::now().timestamp_millis();
    for (number, (start, end)) in periods.into_iter().enumerate() {
        for (turn, site) in [None, Some(SITES[0]), Some(SITES[1])].into_iter().enumerate() {
            for more in 0..2 {
                let turn = number + turn + 2 * more;
                let interval = ["hour", "day", "week", "month"][turn % 4];
                let limit = [1, 7, 10, 1_000][turn % 4];
                let filters = filters(&mut random);
                let asked = Asked { site: site.map(str::to_owned), start, end, interval, limit, filters };
                // The second round asks only for reports that depend on the interval or the limit.
                for report in reports.iter().filter(|report| more == 0 || has_choice(report)) {
                    let path = format!("{}?{}", path_of(report), asked.query());
                    assert_same(&get(&server, &path), &expected_body(report, &asked, &seen, now), &path);
                }
            }
        }
    }
}

/// Returns no filter, or one on a value of the log.
fn filters(random: &mut Random) -> Vec<Filter> {
    let (field, value) = *random.pick(&[
        ("", ""),
        ("page", "/"),
        ("entry_page", "/projects/xdotool"),
        ("exit_page", "/"),
        ("browser", "Firefox"),
        ("device", "mobile"),
        ("referrer", "google.com"),
        ("utm_source", "feedburner"),
    ]);
    let operator = *random.pick(&["eq", "ne"]);
    let filter = Filter { field, operator, values: vec![value.to_owned()] };
    if field.is_empty() { Vec::new() } else { vec![filter] }
}

fn has_choice(report: &Report) -> bool {
    matches!(report, Report::Pages | Report::Referrers | Report::Utm(_) | Report::SessionPages(_) | Report::Series(_))
}
