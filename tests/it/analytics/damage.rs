//! Damage: whatever is flipped, cut or removed, the analytics open and report the damage. Reports of undamaged days are
//! exact, the others are refused, and counting continues. A repair makes all days readable again with the remaining
//! pageviews.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bindery_analytics::{check, repair};
use bindery_http::analytics::Report;

use super::deletion::copy;
use super::{Counter, DAY, SITES};
use crate::support::{Failures, Server, binary};

const NOON: i64 = DAY / 2;
const TODAY: i64 = 20_002 * DAY + NOON;
const IMPORTED: &str = "2024-10-02";
const FIRST: &str = "2024-10-04";
const SECOND: &str = "2024-10-05";
const OPEN: &str = "2024-10-06";

/// The way in which a file is damaged.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// One bit of the byte at this part of the file (in thousandths) is flipped.
    Flip(usize),
    /// One bit of this byte is flipped.
    FlipByte(usize),
    /// Only this part of the file (in thousandths) is left.
    Cut(usize),
    Remove,
}

impl Damage {
    fn apply(self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Damage::Remove => return fs::remove_file(path).unwrap(),
            Damage::Flip(part) => {
                let at = bytes.len() * part / 1_000;
                bytes[at] ^= 4;
            }
            Damage::FlipByte(at) => bytes[at] ^= 4,
            Damage::Cut(part) => bytes.truncate(bytes.len() * part / 1_000),
        }
        fs::write(path, bytes).unwrap();
    }
}

/// Fills a folder with an import, two finished days, and four records of the third day.
fn fill(folder: &Path) {
    let mut counter = Counter::open(folder, 20_000 * DAY + NOON);
    let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
    let line = "192.0.2.1 - - [02/Oct/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0\"\n";
    import.push(line.repeat(2).as_bytes());
    import.finish().unwrap();
    for (day, count) in [(20_000, 3), (20_001, 2), (20_002, 4)] {
        for number in 0..count {
            counter.set_clock(day * DAY + NOON + number * 1_000);
            counter.submit(&format!("https://{}/{number}", SITES[0]), "", "192.0.2.1", 0, None);
        }
    }
    counter.set_clock(TODAY);
    counter.analytics.take().unwrap().close();
}

fn pageviews(counter: &Counter, day: &str) -> Result<u64, String> {
    // The visits for filters are a separate part of the file.
    let counts = ["", "&filter[page][ne]=/never"].map(|filter| {
        let query = format!("start={day}&end={day}{filter}");
        match Report::Pageviews.answer(counter.analytics.as_ref().unwrap(), &query) {
            Ok(body) => Ok(body["pageviews"].as_u64().unwrap()),
            Err(error) => Err(format!("{:?} {}", error.code, error.message)),
        }
    });
    let [all, filtered] = counts;
    if filtered.is_ok() {
        assert_eq!(all, filtered, "{day}");
    }
    all.and(filtered)
}

fn file_of(folder: &Path, name: &str) -> PathBuf {
    let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
    let mut found: Vec<PathBuf> = (fs::read_dir(folder.join("analytics").join(parent)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| match last.strip_prefix('*') {
            Some(end) => path.to_str().unwrap().ends_with(end),
            None => path.file_name().unwrap() == last,
        })
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| panic!("{name} is not there"))
}

#[test]
fn damage_is_reported_costs_its_own_days_only_and_can_be_repaired() {
    use Damage::{Cut, Flip, FlipByte, Remove};
    let cases: [(&str, &[Damage], &[&str]); 7] = [
        (
            "days/2024-10-04.part",
            &[FlipByte(3), FlipByte(10), FlipByte(25), Flip(900), Cut(500), Cut(50), Remove],
            &[FIRST],
        ),
        ("days/*+0.part", &[FlipByte(3), Flip(900), Cut(500), Remove], &[IMPORTED]),
        ("imports.json", &[FlipByte(2), Flip(500), Flip(990), Cut(500), Remove], &[IMPORTED]),
        // The segment has 1 MiB. The records are in its first bytes.
        ("log/*.log", &[FlipByte(9), FlipByte(150), FlipByte(250), Cut(0), Remove], &[OPEN]),
        ("state.json", &[FlipByte(2), Flip(500), Cut(500)], &[]),
        ("salts/*-06", &[FlipByte(5), FlipByte(34), Cut(500), Remove], &[OPEN]),
        ("days/2024-10-05.part", &[Flip(500), Remove], &[SECOND]),
    ];
    let temp = tempfile::tempdir().unwrap();
    let whole = temp.path().join("whole");
    fill(&whole);
    let mut failures = Failures::default();
    let expected = [(IMPORTED, 2), (FIRST, 3), (SECOND, 2), (OPEN, 4)];
    assert!(check(&whole.join("analytics"), true).unwrap().findings.is_empty());
    for (number, (name, kinds, lost)) in cases.into_iter().enumerate() {
        for damage in kinds {
            let case = format!("{name} {damage:?}");
            let folder = temp.path().join(format!("{number}"));
            let _ = fs::remove_dir_all(&folder);
            copy(&whole, &folder);
            let path = file_of(&folder, name);
            damage.apply(&path);
            let analytics = folder.join("analytics");
            // Only the salt of today is needed.
            if !name.starts_with("salts") {
                let found = check(&analytics, true).unwrap().findings;
                let file = path.file_name().unwrap().to_str().unwrap();
                let is_named = found.iter().any(|finding| finding.file.contains(file) || name.starts_with("log"));
                failures.check(!found.is_empty() && is_named, || format!("{case}: found {found:?}"));
            }
            for start in 0..2 {
                let counter = Counter::open(&folder, TODAY);
                for (day, count) in expected {
                    let got = pageviews(&counter, day);
                    let count = if day == OPEN { count + start } else { count };
                    // A header alone may be damaged without a loss of records.
                    let may_be_whole = name.starts_with("log") && got == Ok(count);
                    let holds = match lost.contains(&day) {
                        true => may_be_whole || got.as_ref().is_err_and(|text| text.contains(day)),
                        false => got == Ok(count),
                    };
                    failures.check(holds, || format!("{case}: start {start}: {day}: {got:?}"));
                }
                counter.submit(&format!("https://{}/new", SITES[0]), "", "192.0.2.9", 0, None);
                let live = counter.report(&Report::Live, "")["live_users"].as_u64().unwrap();
                failures.check(live >= 1, || format!("{case}: counting stopped"));
                counter.analytics.unwrap().close();
            }
            let done = repair(&analytics).unwrap();
            failures.check(!done.is_empty() || lost.is_empty() || name.starts_with("log"), || {
                format!("{case}: nothing to repair")
            });
            failures.check_eq(&case, repair(&analytics).unwrap(), Vec::new());
            let left = check(&analytics, true).unwrap().findings;
            failures.check(left.is_empty(), || format!("{case}: after the repair {left:?}"));
            let counter = Counter::open(&folder, TODAY);
            for (day, count) in expected {
                let got = pageviews(&counter, day);
                let whole = count + if day == OPEN { 2 } else { 0 };
                let holds = match &got {
                    Ok(left) if lost.contains(&day) => *left <= whole,
                    got => *got == Ok(whole),
                };
                failures.check(holds, || format!("{case}: repaired: {day}: {got:?}"));
            }
            counter.analytics.unwrap().close();
        }
    }
    failures.assert_none();
}

#[test]
fn a_flip_in_the_log_loses_no_pageview_behind_it() {
    let temp = tempfile::tempdir().unwrap();
    fill(temp.path());
    let path = file_of(temp.path(), "log/*.log");
    let mut bytes = fs::read(&path).unwrap();
    // The second record of the day: the paths are in the records.
    let at = bytes.windows(2).position(|window| window == b"/1").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let counter = Counter::open(temp.path(), TODAY);
    assert!(pageviews(&counter, OPEN).unwrap_err().contains("2024-10-06"));
    counter.analytics.unwrap().close();
    assert!(fs::read_dir(temp.path().join("analytics/damaged-1/log")).unwrap().count() > 0, "the damaged log is kept");
    repair(&temp.path().join("analytics")).unwrap();
    let counter = Counter::open(temp.path(), TODAY);
    assert_eq!(pageviews(&counter, OPEN), Ok(3), "one of four records is lost");
    counter.analytics.unwrap().close();
}

#[test]
fn content_is_served_with_analytics_that_are_damaged_or_cannot_be_opened() {
    let temp = tempfile::tempdir().unwrap();
    let sites = format!("--analytics-sites={}", SITES.join(","));
    for (name, is_open) in [("days/2024-10-04.part", true), ("log/*.log", true), ("days", false)] {
        let folder = temp.path().join(name.replace('/', "-"));
        fill(&folder);
        match is_open {
            true => Damage::FlipByte(9).apply(&file_of(&folder, name)),
            false => {
                fs::remove_dir_all(folder.join("analytics/days")).unwrap();
                fs::write(folder.join("analytics/days"), "not a folder").unwrap();
            }
        }
        let server = Server::start_in(&folder, &[&sites]);
        server.blueprint("notes", serde_json::json!([{ "name": "Text", "slug": "text", "type": "text" }]));
        server.create("notes", serde_json::json!({ "text": "served" }));
        let reply = server.get("/v2/analytics/pageviews?start=2024-10-04&end=2024-10-04");
        if name != "log/*.log" {
            assert_eq!(reply.outcome(), "500 INTERNAL", "{name}: {}", reply.text);
        }
        let today = server.get("/v2/analytics/pageviews?start=2026-01-01").outcome();
        assert_eq!(today == "200", is_open, "{name}: {today}");
        drop(server);
        if is_open {
            let run = |arguments: &[&str]| {
                Command::new(binary()).args(arguments).arg("--data").arg(&folder).output().unwrap()
            };
            run(&["analytics", "repair"]);
            let repaired = run(&["analytics", "repair"]);
            assert!(String::from_utf8_lossy(&repaired.stdout).contains("nothing of the analytics is damaged"));
        }
    }
}
