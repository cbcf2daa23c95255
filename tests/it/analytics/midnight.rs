//! Midnight: the finished day moves from the log into a day file. A crash during this loses nothing and counts nothing
//! twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bindery_analytics::SessionPage;
use bindery_http::analytics::Report;
use chrono::NaiveDate;

use super::deletion::copy;
use super::naive::{Asked, Filter, assert_same, expected_body};
use super::private::files;
use super::random::reports;
use super::{Counter, DAY, SITES, Seen};

const MINUTE: i64 = 60_000;

fn submit(counter: &Counter, seen: &mut Vec<Seen>, views: &[(i64, usize, &str)]) {
    for (at, visitor, path) in views {
        let (at, address) = (20_000 * DAY + at * MINUTE, format!("192.0.2.{visitor}"));
        counter.set_clock(at);
        counter.submit(&format!("https://{}{path}", SITES[0]), "", &address, 0, None);
        seen.push(Seen::new(at, SITES[0], (address, 0), path));
    }
}

fn check(folder: &Path, seen: &[Seen]) {
    let now = 20_001 * DAY + 40 * MINUTE;
    let counter = Counter::open(folder, now);
    let date = |day| NaiveDate::from_ymd_opt(2024, 10, day).unwrap();
    for (start, end) in [(4, 4), (5, 5), (4, 5)] {
        let filter = |field, operator, value: &str| Filter { field, operator, values: vec![value.to_owned()] };
        let filters = [vec![], vec![filter("exit_page", "eq", "/b")], vec![filter("page", "ne", "/never")]];
        for (filters, report) in
            filters.into_iter().flat_map(|of| reports().into_iter().map(move |to| (of.clone(), to)))
        {
            let interval = "hour";
            let asked = Asked { site: None, start: date(start), end: date(end), interval, limit: 10, filters };
            let expected = expected_body(&report, &asked, seen, now);
            assert_same(&counter.report(&report, &asked.query()), &expected, &format!("{report:?} {}", asked.query()));
        }
    }
    counter.analytics.unwrap().close();
}

fn names(folder: &Path) -> BTreeSet<String> {
    files(folder).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_crash_at_midnight_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after, torn] = ["before", "after", "torn"].map(|name| folder.path().join(name));
    let mut seen = Vec::new();
    let mut counter = Counter::open(&after, 20_000 * DAY);
    submit(&counter, &mut seen, &[(600, 1, "/a"), (1_420, 2, "/b"), (1_430, 3, "/c"), (1_435, 2, "/a")]);
    counter.analytics.take().unwrap().close();
    copy(&after, &before);
    counter.restart();
    // The second visitor's session continues across midnight; the third visitor begins a new one.
    submit(&counter, &mut seen, &[(1_445, 2, "/d"), (1_465, 3, "/c"), (1_470, 2, "/b"), (1_475, 4, "/a")]);
    counter.analytics.take().unwrap().close();
    let (log, days) = (Path::new("analytics/log"), Path::new("analytics/days"));
    assert_eq!(names(&after.join(days)), BTreeSet::from(["2024-10-04.part".to_owned()]));
    assert!(
        names(&after.join(log))
            .is_disjoint(&names(&before.join(log)).into_iter().filter(|name| name != "LOCK").collect())
    );
    check(&after, &seen);
    for has_day_file in [false, true] {
        let _ = fs::remove_dir_all(&torn);
        copy(&after, &torn);
        copy(&before.join(log), &torn.join(log));
        fs::copy(before.join("analytics/state.json"), torn.join("analytics/state.json")).unwrap();
        if !has_day_file {
            fs::remove_file(torn.join(days).join("2024-10-04.part")).unwrap();
            fs::write(torn.join(days).join("2024-10-04.unfinished"), "half").unwrap();
        }
        for _ in 0..2 {
            check(&torn, &seen);
        }
    }
}

#[test]
fn a_session_that_outlives_the_figures_of_its_first_day_changes_no_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), 20_000 * DAY);
    counter.retention_days = Some(1);
    counter.restart();
    // The first visitor's session continues across midnight, when the figures of the day before are removed.
    submit(&counter, &mut Vec::new(), &[(1_430, 1, "/a"), (1_445, 1, "/b"), (1_450, 2, "/a")]);
    for _ in 0..2 {
        for report in [Report::Sessions, Report::AverageDuration, Report::SessionPages(SessionPage::Last)] {
            let of_both_days = counter.report(&report, "start=2024-10-04&end=2024-10-05");
            assert_eq!(of_both_days, counter.report(&report, "start=2024-10-05&end=2024-10-05"), "{report:?}");
        }
        assert_eq!(counter.report(&Report::Sessions, "")["sessions"], 1);
        assert_eq!(counter.report(&Report::Pageviews, "")["pageviews"], 2);
        counter.restart();
    }
}
