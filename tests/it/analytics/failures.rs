//! Failures: at a named step of midnight, an import or a deletion, the process ends, the disk fails, or the step waits.
//! The next start has the figures that were on disk, and counts nothing twice.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bindery_http::analytics::{Report, delete_figures};
use serde_json::json;

use super::{AGENTS, Counter, DAY, SITES};
use crate::support::{Failures, Server};

const NOON: i64 = DAY / 2;
const FOLDER: &str = "BINDERY_TEST_ANALYTICS_FOLDER";
const LINE: &str = "192.0.2.1 - - [02/Oct/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0\"\n";

/// The events of the separate process: three pageviews, midnight, two pageviews, an import, a deletion.
#[test]
#[ignore = "long: run by the test below in a process that fails"]
fn a_day_in_a_process_that_fails() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let _scenario = fail::FailScenario::setup();
    let mut counter = Counter::open(&folder, 20_000 * DAY + NOON);
    let submit = |counter: &Counter, at: i64, site: &str, visitor: &str| {
        counter.set_clock(at);
        counter.submit(&format!("https://{site}/a"), "", visitor, 0, None);
        counter.report(&Report::Live, "");
    };
    submit(&counter, 20_000 * DAY + NOON, SITES[0], "192.0.2.1");
    submit(&counter, 20_000 * DAY + NOON + 1_000, SITES[1], "192.0.2.1");
    submit(&counter, 20_001 * DAY - 1_000, SITES[0], "192.0.2.2");
    counter.restart();
    done(&folder, "first");
    submit(&counter, 20_001 * DAY + 1_000, SITES[0], "192.0.2.2");
    submit(&counter, 20_001 * DAY + NOON, SITES[0], "192.0.2.3");
    counter.restart();
    done(&folder, "second");
    let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
    import.push(LINE.repeat(2).as_bytes());
    if import.finish().is_ok() {
        done(&folder, "import");
    }
    let query = format!("site={}&start=2024-10-02&end=2024-10-04", SITES[0]);
    if delete_figures(counter.analytics.as_ref().unwrap(), &query).is_ok() {
        done(&folder, "deletion");
    }
    counter.analytics.take().unwrap().close();
}

fn done(folder: &Path, step: &str) {
    std::fs::write(folder.join(step), "").unwrap();
}

/// The steps, and the prefix of the action of each.
const POINTS: [(&str, &str); 14] = [
    ("analytics::append", "3*off->"),
    ("analytics::sync", "1*off->"),
    ("midnight::record", ""),
    ("midnight::write", ""),
    ("midnight::replace", ""),
    ("midnight::state", ""),
    ("midnight::cut", ""),
    ("import::write", ""),
    ("import::sync", ""),
    ("deletion::record", ""),
    ("deletion::prepare", ""),
    ("deletion::replace", ""),
    ("deletion::list", ""),
    ("deletion::cut", ""),
];

#[test]
fn a_kill_at_any_step_loses_nothing_that_was_on_disk_and_counts_nothing_twice() {
    let mut failures = Failures::default();
    for (point, before) in POINTS {
        fail_at(&format!("{point}={before}return(kill)"), &mut failures);
    }
    fail_at("", &mut failures);
    failures.assert_none();
}

#[test]
fn a_full_disk_holds_up_neither_deletions_nor_backups_nor_a_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let mut server =
        Server::start_failing(folder.path(), &["--analytics-sites=www.example.com"], "analytics::full=return");
    let event = json!({ "name": "pageview", "url": "https://www.example.com/a", "referrer": "" }).to_string();
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";
    let headers = [("content-type", "application/json"), ("user-agent", agent)];
    assert_eq!(server.as_token("").raw("POST", "/v2/analytics/events", &headers, event.as_bytes()).status, 202);
    let until = Instant::now() + Duration::from_secs(20);
    while server.logged("ERROR", "the disk is full").is_empty() {
        assert!(Instant::now() < until, "the pageview was never logged");
        std::thread::sleep(Duration::from_millis(20));
    }
    let started = Instant::now();
    let deleted = server.delete("/v2/analytics/events?site=www.example.com");
    assert_eq!(deleted.outcome(), "503 OVERLOADED");
    assert!(deleted.message().contains("disk is full"), "{}", deleted.message());
    assert_eq!(server.get("/v2/backup").outcome(), "503 OVERLOADED");
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn an_error_of_the_disk_at_any_step_loses_nothing_that_was_on_disk_and_counts_nothing_twice() {
    let mut failures = Failures::default();
    for (point, before) in POINTS {
        for error in ["EIO", "ENOSPC"] {
            fail_at(&format!("{point}={before}1*return({error})"), &mut failures);
        }
    }
    failures.assert_none();
}

fn fail_at(points: &str, failures: &mut Failures) {
    let temp = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "analytics::failures::a_day_in_a_process_that_fails", "--ignored"])
        .env("FAILPOINTS", points)
        .env(FOLDER, temp.path())
        .output()
        .unwrap();
    failures.check(output.status.success() != points.contains("kill"), || {
        format!("{points}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    });
    let is_done = |step: &str| temp.path().join(step).exists();
    // After an error of its log, the analytics drop pageviews until a restart.
    let is_dropping = points.starts_with("analytics::") && !points.contains("kill");
    for start in 0..2 {
        let counter = Counter::open(temp.path(), 20_001 * DAY + NOON + 1_000);
        let count = |day: &str, site: &str| {
            let query = format!("site={site}&start={day}&end={day}");
            let pages = counter.report(&Report::Page("a".to_owned()), &query);
            let body = counter.report(&Report::Summary, &query);
            assert_eq!(pages["views"], body["pageviews"], "{points}");
            body["pageviews"].as_u64().unwrap()
        };
        let mut check = |day: &str, site: &str, expected: std::ops::RangeInclusive<u64>| {
            let got = count(day, site);
            failures.check(expected.contains(&got), || {
                format!("{points}: start {start}: {site} on {day}: {got}, expected {expected:?}")
            });
        };
        let least = |step: &str, count: u64| if is_done(step) && !is_dropping { count } else { 0 };
        let first = match (is_done("deletion"), points.starts_with("deletion")) {
            (true, _) => 0..=0,
            // The record may be on disk. Then the deletion is done.
            (false, true) => 0..=2,
            (false, false) => least("first", 2)..=2,
        };
        check("2024-10-04", SITES[0], first);
        check("2024-10-04", SITES[1], least("first", 1)..=1);
        check("2024-10-05", SITES[0], least("second", 2)..=2);
        let imported = if is_done("import") { 2 } else { 0 };
        let imported = match (is_done("deletion"), points.starts_with("deletion")) {
            (true, _) => 0..=0,
            (false, true) => 0..=imported,
            (false, false) => imported..=imported,
        };
        check("2024-10-02", SITES[0], imported);
        counter.analytics.unwrap().close();
    }
}

#[test]
fn counting_and_reports_go_on_while_the_disk_keeps_an_import_or_the_log_waiting() {
    for (points, imports) in [("import::sync=sleep(2500)", true), ("analytics::sync=sleep(2500)", false)] {
        let temp = tempfile::tempdir().unwrap();
        let sites = format!("--analytics-sites={}", SITES.join(","));
        let server = Server::start_failing(&temp.path().join("data"), &[&sites], points);
        let import = || {
            let path = format!("/v2/analytics/import?site={}", SITES[0]);
            server.raw("POST", &path, &[("content-type", "text/plain")], LINE.as_bytes()).expect(200)
        };
        std::thread::scope(|scope| {
            let importing = imports.then(|| scope.spawn(import));
            std::thread::sleep(Duration::from_millis(300));
            let (began, mut slowest) = (Instant::now(), Duration::ZERO);
            for number in 1..=20 {
                let body = json!({ "name": "pageview", "url": format!("https://{}/{number}", SITES[0]) }).to_string();
                let headers = [("content-type", "text/plain"), ("user-agent", AGENTS[0].0)];
                let sent = Instant::now();
                server.as_token("").raw("POST", "/v2/analytics/events", &headers, body.as_bytes()).expect(202);
                assert_eq!(server.get("/v2/analytics/pageviews").expect(200).json()["pageviews"], number);
                slowest = slowest.max(sent.elapsed());
            }
            assert!(slowest < Duration::from_millis(1_500), "{points}: an event and its report took {slowest:?}");
            if let Some(importing) = importing {
                assert!(began.elapsed() > Duration::from_secs(2) || !importing.is_finished(), "the import waits");
                importing.join().unwrap();
                let query = "/v2/analytics/pageviews?start=2024-10-02&end=2024-10-02";
                assert_eq!(server.get(query).json()["pageviews"], 1);
            }
        });
    }
}
