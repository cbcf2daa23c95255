//! Deletions: deleted figures disappear from every report and from disk, also after a crash. All other figures stay.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bindery_http::analytics::Report;
use chrono::{NaiveDate, TimeDelta};
use serde_json::{Value, json};

use super::naive::{date, delete};
use super::private::{files, holds};
use super::random::{check_some, send, traffic, with_events};
use super::{AGENTS, Counter, DAY, Random, SITES, Seen};
use crate::support::{ADMIN, Server};

const EVENTS: &str = "/v2/analytics/events";
const ALL: &str = "start=2000-01-01&end=2100-01-01";

fn instant(year: i32, month: u32, day: u32) -> i64 {
    NaiveDate::from_ymd_opt(year, month, day).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp_millis()
}

/// Returns some days around a day: as query parameters and as a range.
fn some_days(random: &mut Random, now: i64) -> (String, RangeInclusive<NaiveDate>) {
    let end = date(now) - TimeDelta::days(random.below(4) as i64 - 1);
    let start = end - TimeDelta::days(random.below(4) as i64);
    let (first, last) = (NaiveDate::from_ymd_opt(1, 1, 1).unwrap(), NaiveDate::from_ymd_opt(9999, 12, 31).unwrap());
    match random.below(4) {
        0 => (format!("&end={end}"), first..=end),
        1 => (format!("&start={start}"), start..=last),
        _ => (format!("&start={start}&end={end}"), start..=end),
    }
}

fn delete_both(counter: &Counter, seen: &mut [Seen], site: &str, (query, days): &(String, RangeInclusive<NaiveDate>)) {
    let gone = |seen: &[Seen]| seen.iter().filter(|seen| seen.is_gone && seen.event.is_none()).count();
    let before = gone(seen);
    delete(seen, site, days.clone());
    let deleted = gone(seen) - before;
    assert_eq!(counter.delete(&format!("site={site}{query}")), deleted as u64, "{site}{query}");
}

#[test]
fn a_deletion_removes_the_figures_it_names_and_no_others() {
    for seed in 0..5 {
        let mut random = Random(seed);
        let start = instant(2025, 12, 24);
        let seen = traffic(&mut random, start, 12, 500);
        let mut seen = with_events(seen, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let mut counter = Counter::open(folder.path(), start);
        send(&mut counter, &mut seen, &mut random, |counter, seen, random| {
            let now = seen.last().unwrap().at;
            let site = *random.pick(&SITES);
            let days = some_days(random, now);
            delete_both(counter, seen, site, &days);
            if random.below(2) == 0 {
                counter.restart();
            }
            check_some(counter, seen, now, random, 2, false);
        });
        let now = seen.last().unwrap().at;
        for site in [SITES[0], "never.example", SITES[1]] {
            check_some(&counter, &seen, now, &mut random, 2, false);
            counter.restart();
            check_some(&counter, &seen, now, &mut random, 2, false);
            delete_both(&counter, &mut seen, site, &(String::new(), date(0)..=date(now + DAY)));
        }
        counter.restart();
        check_some(&counter, &seen, now, &mut random, 2, false);
        assert_eq!(counter.report(&Report::Pageviews, ALL)["pageviews"], 0);
    }
}

/// Makes a folder with pageviews of both sites on four days, the last of which is being counted, and an import for the
/// first site. Each path names its site and day.
fn filled(folder: &Path) -> Counter {
    let counter = Counter::open(folder, 20_000 * DAY);
    for day in 20_000..20_004 {
        for (at, site) in [(1, SITES[0]), (2, SITES[1]), (3, SITES[0])] {
            counter.set_clock(day * DAY + at * 1_000);
            counter.submit(&format!("https://{site}/page-of-{site}-{day}"), "", "192.0.2.1", 0, None);
        }
    }
    let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
    import.push(log(&["04", "05", "06"]).as_bytes());
    assert_eq!(import.finish().unwrap().added, 3);
    counter
}

/// Returns an access log of days in October 2024. 2024-10-04 is day 20,000.
fn log(days: &[&str]) -> String {
    let line = |day: &&str| {
        format!(
            "192.0.2.9 - - [{day}/Oct/2024:10:00:00 +0000] \"GET /imported-{day} HTTP/1.1\" 200 1 \"-\" \"{}\"\n",
            AGENTS[0].0
        )
    };
    days.iter().map(line).collect()
}

fn pages(counter: &Counter) -> BTreeSet<String> {
    let rows = counter.report(&Report::Pages, &format!("{ALL}&limit=1000"));
    rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

/// Returns the paths that occur anywhere on disk.
fn on_disk(folder: &Path, paths: &BTreeSet<String>) -> BTreeSet<String> {
    let files: Vec<Vec<u8>> = files(folder).iter().map(|path| fs::read(path).unwrap()).collect();
    paths.iter().filter(|path| files.iter().any(|bytes| holds(bytes, path))).cloned().collect()
}

#[test]
fn deleted_figures_are_not_on_disk() {
    for (query, left) in [
        ("site=a.example", ""),
        ("site=a.example&end=2024-10-05", "06 07"),
        ("site=a.example&start=2024-10-06", "04 05"),
        ("site=a.example&start=2024-10-05&end=2024-10-06", "04 07"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut counter = filled(folder.path());
        let all = pages(&counter);
        let expected: BTreeSet<String> = (all.iter())
            .filter(|path| {
                let day = path.rsplit('-').next().unwrap().parse::<u64>().unwrap();
                let day = if day >= 20_000 { day - 20_000 + 4 } else { day };
                path.contains(SITES[1]) || left.split(' ').any(|left| left == format!("{day:02}"))
            })
            .cloned()
            .collect();
        assert_eq!(on_disk(folder.path(), &all), all, "every path is found before the deletion");
        assert_eq!(
            counter.delete(query),
            (all.len() - expected.len()) as u64 + views_twice(&all, &expected),
            "{query}"
        );
        assert_eq!((pages(&counter), on_disk(folder.path(), &all)), (expected.clone(), expected.clone()), "{query}");
        counter.restart();
        assert_eq!((pages(&counter), on_disk(folder.path(), &all)), (expected.clone(), expected), "{query}");
    }
}

/// Returns the number of deleted pages that sent events for the first site. Each of them was viewed twice.
fn views_twice(all: &BTreeSet<String>, left: &BTreeSet<String>) -> u64 {
    all.difference(left).filter(|path| path.contains("page-of")).count() as u64
}

#[test]
fn after_midnight_the_log_holds_no_pageviews_of_the_day_before() {
    let folder = tempfile::tempdir().unwrap();
    let counter = filled(folder.path());
    let logged = |path: &str| {
        files(&folder.path().join("analytics/log")).iter().any(|file| holds(&fs::read(file).unwrap(), path))
    };
    assert!(logged("/page-of-a.example-20003"));
    counter.set_clock(20_004 * DAY + 1);
    counter.submit("https://a.example/new", "", "192.0.2.1", 0, None);
    assert_eq!(pages(&counter).len(), 12);
    // The file of the day before is removed after the day is written. Another thread does that.
    let deadline = Instant::now() + Duration::from_secs(30);
    while logged("/page-of") && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(logged("/new") && !logged("/page-of"));
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, target).unwrap();
    }
}

/// Composes the states in which a crash may leave the folder, from the states before and after the deletion.
#[test]
fn a_deletion_interrupted_by_a_crash_is_finished_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after, torn] = ["before", "after", "torn"].map(|name| folder.path().join(name));
    let mut counter = filled(&after);
    let all = pages(&counter);
    counter.analytics.take().unwrap().close();
    copy(&after, &before);
    let counter = Counter::open(&after, 20_003 * DAY + 4_000);
    counter.delete("site=a.example&end=2024-10-05");
    let expected = pages(&counter);
    assert_eq!(expected.len(), all.len() - 4);
    drop(counter);
    let new_log: Vec<_> = files(&after.join("analytics/log"));
    let days = files(&before.join("analytics/days"));
    for done in 0..=days.len() + 1 {
        let _ = fs::remove_dir_all(&torn);
        copy(&before, &torn);
        new_log
            .iter()
            .for_each(|file| drop(fs::copy(file, torn.join("analytics/log").join(file.file_name().unwrap()))));
        // The first `done` day files are replaced or removed already.
        for day in days.iter().take(done) {
            let name = day.file_name().unwrap();
            let (new, old) = (after.join("analytics/days").join(name), torn.join("analytics/days").join(name));
            if new.exists() { drop(fs::copy(new, old)) } else { fs::remove_file(old).unwrap() }
        }
        // The list is written before files of imports are removed.
        let is_import = |day: &std::path::PathBuf| day.to_str().unwrap().contains('+');
        if done > days.len() || days.iter().take(done).any(is_import) {
            fs::copy(after.join("analytics/imports.json"), torn.join("analytics/imports.json")).unwrap();
        }
        for _ in 0..2 {
            let mut counter = Counter::open(&torn, 20_003 * DAY + 4_000);
            assert_eq!(pages(&counter), expected, "{done} day files were done");
            assert_eq!(on_disk(&torn, &all), expected);
            counter.restart();
        }
    }
    // Without the deletion's record, nothing is deleted.
    let counter = Counter::open(&before, 20_003 * DAY + 4_000);
    assert_eq!(pages(&counter), all);
}

#[test]
fn a_kill_during_a_deletion_leaves_all_or_nothing_deleted() {
    let mut server = Server::start();
    let days: Vec<String> = (1..=31).map(|day| format!("{day:02}")).collect();
    let log = log(&days.iter().map(String::as_str).collect::<Vec<_>>());
    let counted = |server: &Server| server.get(&format!("/v2/analytics/pageviews?{ALL}")).json()["pageviews"].clone();
    for round in 0..6 {
        let path = "/v2/analytics/import?site=a.example";
        server.raw("POST", path, &[("content-type", "text/plain")], log.as_bytes()).expect(200);
        assert_eq!(counted(&server), 31, "a new import counts the deleted pageviews again");
        let url = format!("{}{EVENTS}?site=a.example&end=2024-10-20", server.address());
        let deleting = std::thread::spawn(move || {
            ureq::delete(url).header("authorization", format!("Bearer {ADMIN}")).call().is_ok()
        });
        std::thread::sleep(std::time::Duration::from_millis(3 * round));
        server.kill_and_restart();
        let (was_answered, left) = (deleting.join().unwrap(), counted(&server));
        assert!(left == 11 || left == 31 && !was_answered, "{left} are left, answered: {was_answered}");
    }
}

#[test]
fn importing_a_log_again_restores_its_deleted_figures() {
    let import = |counter: &Counter, days: &[&str]| {
        let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
        import.push(log(days).as_bytes());
        import.finish().unwrap().added
    };
    let imported = |counter: &Counter| -> Vec<String> {
        pages(counter).into_iter().filter_map(|path| path.strip_prefix("/imported-").map(str::to_owned)).collect()
    };
    for restarts in [false, true] {
        for (query, left, again) in [
            ("&end=2024-10-04", &["05", "06"][..], 1),
            ("", &[], 3),
            ("&start=2024-10-07", &["04", "05", "06"], 0),
            ("&start=2024-10-05&end=2024-10-05", &["04", "06"], 1),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut counter = filled(folder.path());
            counter.delete(&format!("site=a.example{query}"));
            if restarts {
                counter.restart();
            }
            assert_eq!(imported(&counter), left, "{query}");
            // Imports the file again, then a longer one: each line counts once.
            assert_eq!(import(&counter, &["04", "05", "06"]), again, "{query}");
            assert_eq!(imported(&counter), ["04", "05", "06"], "{query}");
            if restarts {
                counter.restart();
            }
            assert_eq!(import(&counter, &["04", "05", "06", "07"]), 1, "{query}");
            assert_eq!(imported(&counter), ["04", "05", "06", "07"], "{query}");
            let counted = counter.report(&Report::Pageviews, &format!("{ALL}&site=a.example"))["pageviews"].clone();
            let sent = pages(&counter).iter().filter(|path| path.contains("page-of-a")).count() * 2;
            assert_eq!(counted, 4 + sent, "{query}");
        }
    }
}

#[test]
fn deleting_needs_manage_and_a_site() {
    let server = Server::start_with(&["--analytics-sites=a.example"]);
    let headers = [("content-type", "application/json"), ("user-agent", AGENTS[0].0)];
    let view = |path: &str| {
        let body = json!({ "name": "pageview", "url": format!("https://a.example/{path}") }).to_string();
        server.as_token("").raw("POST", EVENTS, &headers, body.as_bytes()).expect(202);
    };
    ["one", "two"].iter().for_each(|path| view(path));
    let url = |query: &str| format!("{EVENTS}?{query}");
    assert_eq!(server.as_token("").send("DELETE", &url("site=a.example"), None).outcome(), "401 UNAUTHENTICATED");
    let reader = server.token(&["analytics:view", "delete"]);
    let refused = server.as_token(&reader).send("DELETE", &url("site=a.example"), None).expect(403);
    assert!(refused.message().contains("`manage`"), "{}", refused.message());
    for (query, name) in [
        ("", "`site` is missing"),
        ("site=https://a.example", "`site`"),
        ("site=a.example&start=x", "`start`"),
        ("site=a.example&end=2026-02-30", "`end`"),
        ("site=a.example&start=2026-01-02&end=2026-01-01", "`start`"),
        ("site=a.example&form=2026-01-01", "`form` is not a parameter"),
    ] {
        let refused = server.delete(&url(query)).expect(422);
        assert_eq!(refused.code(), "INVALID_PARAMETER", "{query}");
        assert!(refused.message().contains(name), "{}", refused.message());
    }
    let views = || server.get("/v2/analytics/pageviews").expect(200).json()["pageviews"].clone();
    for (query, deleted) in [("site=other.example", 0), ("site=a.example&end=2020-01-01", 0), ("site=a.example", 2)] {
        assert_eq!(server.delete(&url(query)).expect(200).json(), json!({ "deleted": deleted }), "{query}");
    }
    assert_eq!((views(), server.get("/v2/analytics/live").json()), (json!(0), json!({ "live_users": 0 })));
    view("three");
    assert_eq!(views(), json!(1));
    assert_eq!(server.get(EVENTS).expect(405).header("allow"), Some("POST,DELETE"));
}

#[test]
fn the_delete_command_works_on_a_folder_and_on_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = format!("--data={}", folder.path().display());
    filled(folder.path()).analytics.take().unwrap().close();
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
        command.args(["analytics", "delete", "--site=a.example"]).args(more).output().unwrap()
    };
    let stdout = |more: &[&str]| {
        let output = run(more);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(stdout(&["--before=2024-10-05", &data]), "3 pageviews of a.example were deleted\n");
    assert_eq!(stdout(&["--from=2024-10-05", "--to=2024-10-05", &data]), "3 pageviews of a.example were deleted\n");
    for wrong in [&["--before=2024-10-05", "--to=2024-10-05"][..], &["--before=soon"], &["--from=soon"]] {
        assert!(!run(&[wrong, &[data.as_str()]].concat()).status.success(), "{wrong:?}");
    }
    let server = Server::start_in(folder.path(), &[]);
    let remote = ["--url", server.address(), "--token", ADMIN];
    let left = || -> Value { server.get(&format!("/v2/analytics/pageviews?{ALL}")).json()["pageviews"].clone() };
    assert_eq!(left(), 9);
    assert_eq!(stdout(&[&["--to=2024-10-06"], &remote[..]].concat()), "3 pageviews of a.example were deleted\n");
    assert_eq!(stdout(&remote), "2 pageviews of a.example were deleted\n");
    assert_eq!(left(), 4);
}
