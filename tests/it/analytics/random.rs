//! Random traffic with restarts in between: midnights, the limits of sessions, boundaries of weeks and months, empty
//! periods.

use bindery_analytics::{Dimension, Metric, SessionPage};
use bindery_http::analytics::Report;
use chrono::NaiveDate;

use super::naive::{Asked, Filter, assert_same, date, expected_body};
use super::{AGENTS, Counter, DAY, REFERRERS, Random, SITES, Seen};

const MINUTE: i64 = 60_000;
const PATHS: [&str; 6] = ["", "about", "blog/first", "blog/über uns", "50%", "z"];

pub(crate) fn reports() -> Vec<Report> {
    vec![
        Report::Summary,
        Report::Live,
        Report::Visitors,
        Report::VisitorsTrends,
        Report::Sessions,
        Report::AverageDuration,
        Report::Pageviews,
        Report::Pages,
        Report::Page(String::new()),
        Report::Page("blog/über uns".to_owned()),
        Report::Page("nothing".to_owned()),
        Report::Referrers,
        Report::ReferrersTrends,
        Report::Utm(Dimension::Source),
        Report::Utm(Dimension::Medium),
        Report::Utm(Dimension::Campaign),
        Report::Utm(Dimension::Content),
        Report::Utm(Dimension::Term),
        Report::SessionPages(SessionPage::First),
        Report::SessionPages(SessionPage::Last),
        Report::CustomEvents,
        Report::CustomEvent("sign up/now".to_owned()),
        Report::CustomEvent("never".to_owned()),
        Report::Devices,
        Report::Browsers,
        Report::Countries,
        Report::Series(Metric::Visitors),
        Report::Series(Metric::Pageviews),
        Report::Series(Metric::Sessions),
    ]
}

/// Returns a filter on values that [`send`] sends.
fn filter(random: &mut Random) -> Filter {
    let (field, values) = *random.pick(&[
        ("page", &["/", "/about", "/blog/über uns", "/50%"][..]),
        ("entry_page", &["/", "/about", "/z"]),
        ("exit_page", &["/", "/about", "/z"]),
        ("event", &["sign up/now", "download"]),
        ("referrer", &["direct", "news.example", "a.example"]),
        ("device", &["desktop", "mobile", "never"]),
        ("browser", &["Chrome", "Safari"]),
        ("country", &["DE", "FR", "unknown"]),
        ("utm_source", &["news", "a b"]),
        ("utm_medium", &["news", "ü"]),
        ("utm_campaign", &["news", "a b"]),
        ("utm_content", &["news", "later"]),
        ("utm_term", &["news", "ü"]),
    ]);
    let operator = *random.pick(&["eq", "ne", "in", "not_in"]);
    let count = if operator.ends_with("in") { 2 } else { 1 };
    Filter { field, operator, values: (0..count).map(|_| random.pick(values).to_string()).collect() }
}

/// Checks that filters that select every visit change no figure, except the figures of events outside of sessions.
fn check_all_selected(counter: &Counter, asked: &Asked) {
    for report in reports() {
        if matches!(report, Report::Live | Report::CustomEvents | Report::CustomEvent(_)) {
            continue;
        }
        let query = asked.query();
        let bodies = ["", "&filter[page][ne]=/never", "&filter[event][not_in]=never,neither"].map(|filter| {
            let mut body = counter.report(&report, &format!("{query}{filter}"));
            body.as_object_mut().map(|body| body.remove("live_users"));
            body
        });
        assert_eq!(bodies[0], bodies[1], "{report:?} {query}");
        assert_eq!(bodies[0], bodies[2], "{report:?} {query}");
    }
}

/// Compares every report for some periods, with and without filters.
pub(crate) fn check(counter: &Counter, seen: &[Seen], now: i64, random: &mut Random, periods: usize) {
    check_some(counter, seen, now, random, periods, true);
}

/// Compares every report for some periods. Uses filters only if no session that continues was deleted.
pub(crate) fn check_some(
    counter: &Counter,
    seen: &[Seen],
    now: i64,
    random: &mut Random,
    periods: usize,
    filtered: bool,
) {
    for period in 0..periods {
        let end = date(now - DAY * random.below(20) as i64);
        let start = end - chrono::TimeDelta::days(random.below(45) as i64);
        let site = random.pick(&[None, Some(SITES[0]), Some(SITES[1]), Some("never.example")]).map(str::to_owned);
        let interval = *random.pick(&["hour", "day", "week", "month"]);
        let limit = 1 + random.below(8) as usize;
        let mut asked = Asked { site, start, end, interval, limit, filters: Vec::new() };
        if period == 0 {
            check_all_selected(counter, &asked);
        }
        if filtered && random.below(3) > 0 {
            asked.filters = (0..=random.below(2)).map(|_| filter(random)).collect();
        }
        for report in reports() {
            let expected = expected_body(&report, &asked, seen, now);
            let body = counter.report(&report, &asked.query());
            assert_same(&body, &expected, &format!("{report:?} {}", asked.query()));
        }
    }
}

/// Pageviews of some weeks in the order of their times, many of them near midnight or the end of a session.
pub(crate) fn traffic(random: &mut Random, start: i64, days: i64, count: usize) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for _ in 0..count {
        let who = (format!("192.0.2.{}", random.below(6)), random.below(AGENTS.len() as u64) as usize);
        let site = random.pick(&SITES).to_string();
        let earlier: Vec<i64> =
            seen.iter().filter(|seen| seen.who == who && seen.site == site).map(|seen| seen.at).collect();
        let at = if !earlier.is_empty() && random.below(4) > 0 {
            let edge = [0, 1, 5_000, 29 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE, 30 * MINUTE + 1, 31 * MINUTE];
            random.pick(&earlier) + random.pick(&edge)
        } else if random.below(2) == 0 {
            start + (1 + random.below(days as u64) as i64) * DAY + random.below(40 * 60) as i64 * 1000 - 20 * MINUTE
        } else {
            start + random.below((days * DAY) as u64) as i64
        };
        let path = format!("/{}", random.pick(&PATHS));
        seen.push(Seen::new(at, &site, who, &path));
    }
    seen.sort_by_key(|seen| seen.at);
    seen
}

/// Makes every sixth pageview an event.
pub(crate) fn with_events(mut seen: Vec<Seen>, random: &mut Random) -> Vec<Seen> {
    for event in seen.iter_mut() {
        if random.below(6) == 0 {
            let name = *random.pick(&["sign up/now", "download", "näme"]);
            let values = ["", "large", "42", "true"];
            let names = ["plan", "size"].iter().filter(|_| random.below(2) == 0).collect::<Vec<_>>();
            let properties = names.into_iter().map(|name| (name.to_string(), random.pick(&values).to_string()));
            event.event = Some((name.to_owned(), properties.collect()));
        }
    }
    seen
}

/// Returns a query string with UTM parameters. Other parameters and empty values in it do not count.
fn utm_query(random: &mut Random) -> (String, [String; 5]) {
    let (mut query, mut utm) = ("?query=1&utm_source=".to_owned(), <[String; 5]>::default());
    for (name, value) in ["source", "medium", "campaign", "content", "term"].iter().zip(&mut utm) {
        if random.below(3) == 0 {
            let (sent, counts) = *random.pick(&[("news", "news"), ("a%20b", "a b"), ("a+b", "a b"), ("%C3%BC", "ü")]);
            query += &format!("&utm_{name}={sent}&utm_{name}=later");
            *value = counts.to_owned();
        }
    }
    (query, utm)
}

/// Submits the pageviews in order. Calls `between` from time to time.
pub(crate) fn send(
    counter: &mut Counter,
    seen: &mut [Seen],
    random: &mut Random,
    mut between: impl FnMut(&mut Counter, &mut [Seen], &mut Random),
) {
    for at in 0..seen.len() {
        let view = &mut seen[at];
        counter.set_clock(view.at);
        if let Some(event) = &view.event {
            counter.submit_event(&view.site, event, &view.who.0, view.who.1);
            continue;
        }
        let (query, utm) = utm_query(random);
        view.utm = utm;
        // The class of a referrer depends on the site.
        let (sent, counts) = random.pick(&REFERRERS);
        view.referrer =
            if view.site != SITES[0] && sent.contains("a.example") { "a.example" } else { counts }.to_owned();
        // The country depends on the address.
        let country = *random.pick(&[None, Some("DE"), Some("fr"), Some("XX"), Some("nonsense")]);
        view.country = match country {
            Some("DE") => "DE",
            Some("fr") => "FR",
            _ => "unknown",
        }
        .to_owned();
        let path = percent_encoding::utf8_percent_encode(&view.path, percent_encoding::CONTROLS).to_string();
        let path = path.replace("50%", "50%25").replace(' ', "%20");
        let slash = if random.below(3) == 0 && path != "/" { "/" } else { "" };
        let url = format!("https://{}{path}{slash}{query}#part", view.site);
        counter.submit(&url, sent, &view.who.0, view.who.1, country);
        if random.below(150) == 0 {
            between(counter, &mut seen[..=at], random);
        }
    }
}

#[test]
fn figures_match_the_definitions_across_midnights_and_restarts() {
    for seed in 0..4 {
        let mut random = Random(seed);
        // The weeks around the end of 2025, in which a year, months and weeks begin.
        let start = NaiveDate::from_ymd_opt(2025, 12, 20).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc();
        let start = start.timestamp_millis();
        let seen = traffic(&mut random, start, 18, 700);
        let mut seen = with_events(seen, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let mut counter = Counter::open(folder.path(), start);
        send(&mut counter, &mut seen, &mut random, |counter, seen, random| {
            if random.below(2) == 0 {
                counter.restart();
            }
            check(counter, seen, seen.last().unwrap().at, random, 1);
        });
        for later in [0, 4 * MINUTE, 6 * MINUTE, DAY, 3 * DAY] {
            let now = seen.last().unwrap().at + later;
            counter.set_clock(now);
            check(&counter, &seen, now, &mut random, 3);
            counter.restart();
            check(&counter, &seen, now, &mut random, 2);
        }
    }
}

#[test]
fn a_session_of_several_days_belongs_to_the_day_it_began_on() {
    let start = 20_000 * DAY;
    let mut random = Random(1);
    let mut seen: Vec<Seen> = (0..200)
        .map(|step| Seen::new(start + step * 29 * MINUTE, SITES[0], ("192.0.2.1".to_owned(), 0), "/"))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), start);
    send(&mut counter, &mut seen, &mut random, |counter, seen, random| {
        counter.restart();
        check(counter, seen, seen.last().unwrap().at, random, 1);
    });
    check(&counter, &seen, seen.last().unwrap().at, &mut random, 10);
}

#[test]
fn days_older_than_the_retention_are_removed() {
    use bindery_analytics::{Analytics, AnalyticsOptions};
    use std::sync::Arc;

    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), 20_000 * DAY);
    for day in 20_000..20_010 {
        counter.set_clock(day * DAY + 1);
        counter.submit("https://a.example/", "", "192.0.2.1", 0, None);
    }
    counter.restart();
    let query = "start=2024-01-01&end=2025-01-01";
    assert_eq!(counter.report(&Report::Pageviews, query)["pageviews"], 10);
    counter.analytics.take().unwrap().close();
    let options = AnalyticsOptions {
        retention_days: Some(3),
        clock: Arc::new(|| 20_009 * DAY + 2),
        ..AnalyticsOptions::in_folder(folder.path())
    };
    let analytics = Analytics::open(&options).unwrap();
    let pageviews = || Report::Pageviews.answer(&analytics, query).unwrap()["pageviews"].clone();
    assert_eq!(pageviews(), 3);
    let mut import = analytics.import("a.example").unwrap();
    for day in ["10/Oct", "11/Oct", "12/Oct"] {
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let line = format!("192.0.2.7 - - [{day}/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n");
        import.push(line.as_bytes());
    }
    let outcome = import.finish().unwrap();
    assert_eq!((outcome.pageviews, outcome.added, pageviews()), (3, 2, 5.into()));
}
