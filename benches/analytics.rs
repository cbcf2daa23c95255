//! Measures analytics with ten million pageviews over sixty days: `cargo bench --bench analytics [PAGEVIEWS]`.
//!
//! Pageviews are generated from a seed and submitted one at a time as in the server, with the clock set to the time of
//! each: about 50,000 paths and 2,000 referrers, few of them frequent, and 40,000 visitors a day with one to ten
//! pageviews per session. Reports the rate, the size on disk, the time of a start, and the latency of reports over the
//! last 30 days (7 days if by hour), requested one at a time while 5,000 pageviews per second arrive.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bindery_analytics::{Analytics, AnalyticsOptions, Dimension, Hit, Metric, SessionPage};
use bindery_http::analytics::{Report, parse_event};

const DAY: i64 = 86_400_000;
const DAYS: i64 = 60;
/// 2026-09-22
const START: i64 = 20_718 * DAY;
const ROUNDS: usize = 200;
const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
];

/// A random number generator (SplitMix64) with reproducible results.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Returns a number below `bound`. Small numbers are more likely: `n` is about half as likely as `n / 2`.
    fn skewed(&mut self, bound: u64) -> u64 {
        let exponent = self.below(1_000_000) as f64 / 1_000_000.0;
        ((bound as f64).powf(exponent) - 1.0) as u64
    }

    fn hit(&mut self) -> Hit {
        let path = self.skewed(50_000);
        let visitor = self.below(40_000) as u32;
        let referrer = match self.below(3) {
            0 => format!("https://referrer-{}.example/", self.skewed(2_000)),
            _ => String::new(),
        };
        let body = format!(
            r#"{{"name":"pageview","url":"https://www.example.com/section-{}/article-{path}?utm_source=source-{}","referrer":"{referrer}","screen_width":1440}}"#,
            path % 40,
            path % 7
        );
        Hit {
            event: parse_event(body.as_bytes()).unwrap(),
            address: IpAddr::V4(Ipv4Addr::from_bits(visitor)),
            user_agent: AGENTS[visitor as usize % 4].to_owned(),
            country: Some(["de", "fr", "us", "jp", "br"][visitor as usize % 5].to_owned()),
        }
    }
}

fn open(folder: &Path, clock: &Arc<AtomicI64>) -> Analytics {
    let clock = Arc::clone(clock);
    Analytics::open(&AnalyticsOptions {
        sites: vec!["www.example.com".to_owned()],
        clock: Arc::new(move || clock.load(Ordering::SeqCst)),
        ..AnalyticsOptions::in_folder(folder)
    })
    .unwrap()
}

fn main() {
    let pageviews: i64 = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(10_000_000);
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(START));
    let analytics = open(folder.path(), &clock);
    let mut random = Random(1);
    let started = Instant::now();
    for number in 0..pageviews {
        clock.store(START + (DAYS * DAY - 3_600_000) * number / pageviews, Ordering::SeqCst);
        analytics.submit(random.hit());
        if number % 20_000 == 0 {
            Report::Live.answer(&analytics, "").unwrap();
        }
    }
    Report::Live.answer(&analytics, "").unwrap();
    let seconds = started.elapsed().as_secs_f64();
    println!("{pageviews} pageviews counted in {seconds:.1} s: {:.0} per second", pageviews as f64 / seconds);
    assert_eq!(analytics.dropped(), 0);

    analytics.close();
    let bytes = size(folder.path());
    println!("{bytes} bytes on disk: {:.1} per pageview", bytes as f64 / pageviews as f64);
    let started = Instant::now();
    let analytics = open(folder.path(), &clock);
    println!("opened in {:.0} ms", started.elapsed().as_secs_f64() * 1000.0);

    let sending = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&analytics, &clock, &sending));
        measure(&analytics, pageviews as u64);
        sending.store(false, Ordering::SeqCst);
        let (sent, seconds) = sender.join().unwrap();
        println!("meanwhile {:.0} pageviews per second, {} dropped", sent as f64 / seconds, analytics.dropped());
    });
}

fn measure(analytics: &Analytics, pageviews: u64) {
    let (month, week) = ("start=2026-10-22&end=2026-11-20", "start=2026-11-14&end=2026-11-20&interval=hour");
    let all = Report::Pageviews.answer(analytics, "start=2026-09-01&end=2026-12-01").unwrap();
    assert!(all["pageviews"].as_u64().unwrap() >= pageviews);
    for (name, report, query) in [
        ("summary", Report::Summary, month),
        ("pages", Report::Pages, month),
        ("pages, 1000 rows", Report::Pages, "start=2026-10-22&end=2026-11-20&limit=1000"),
        ("pages/{path}", Report::Page("section-7/article-7".to_owned()), month),
        ("referrers", Report::Referrers, month),
        ("referrers/trends", Report::ReferrersTrends, month),
        ("demographics/browsers", Report::Browsers, month),
        ("utm/source", Report::Utm(Dimension::Source), month),
        ("entry-pages", Report::SessionPages(SessionPage::First), month),
        ("summary, one country", Report::Summary, "start=2026-10-22&end=2026-11-20&filter[country]=DE"),
        ("pages, one browser", Report::Pages, "start=2026-10-22&end=2026-11-20&filter[browser]=Firefox"),
        ("timeseries by day", Report::Series(Metric::Visitors), month),
        ("timeseries by hour", Report::Series(Metric::Visitors), week),
    ] {
        // Visits are read each time.
        let rounds = if query.contains("filter") { ROUNDS / 20 } else { ROUNDS };
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let started = Instant::now();
                report.answer_noting(analytics, query, &|_| true).unwrap();
                started.elapsed()
            })
            .collect();
        let first = times[0];
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{name:24} median {:7.2} ms  p99 {:7.2} ms  first {:7.2} ms",
            ms(times[rounds / 2]),
            ms(times[rounds * 99 / 100]),
            ms(first)
        );
    }
}

/// Submits 5,000 pageviews per second while `sending` is set. Returns their number and the duration in seconds.
fn send(analytics: &Analytics, clock: &AtomicI64, sending: &AtomicBool) -> (u64, f64) {
    let (mut random, started, mut sent) = (Random(2), Instant::now(), 0);
    while sending.load(Ordering::SeqCst) {
        for _ in 0..50 {
            clock.fetch_add(1, Ordering::SeqCst);
            analytics.submit(random.hit());
            sent += 1;
        }
        let due = Duration::from_micros(200 * sent);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
    }
    (sent, started.elapsed().as_secs_f64())
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}
