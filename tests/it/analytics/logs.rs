//! Imports of access logs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use bindery_analytics::{BadLine, ImportOutcome};
use bindery_http::analytics::Report;
use chrono::{DateTime, NaiveDate};

use super::random::{check, traffic};
use super::{AGENTS, Counter, DAY, REFERRERS, Random, SITES, Seen};
use crate::support::{ADMIN, Server};

/// Returns a log of pageviews in random order, and its pageviews in the order of the file.
fn log(random: &mut Random, file: &str, count: usize) -> (Vec<String>, Vec<Seen>) {
    let start =
        NaiveDate::from_ymd_opt(2026, 2, 20).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp_millis();
    let mut seen = traffic(random, start, 14, count);
    let mut lines = Vec::new();
    for view in &mut seen {
        view.site = SITES[0].to_owned();
        view.at -= view.at.rem_euclid(1000);
        let (sent, counts) = random.pick(&REFERRERS);
        view.referrer = (*counts).to_owned();
        lines.push(line(view, sent, random));
        view.who.0 = format!("{file} {}", view.who.0);
    }
    // The lines are shuffled. Within one second, the order of the file decides.
    let mut order: Vec<usize> = (0..seen.len()).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    let seen: Vec<Seen> = order.iter().map(|at| seen[*at].clone()).collect();
    let lines = order.iter().map(|at| lines[*at].clone()).collect();
    (lines, seen)
}

fn line(view: &Seen, referrer: &str, random: &mut Random) -> String {
    let zone = *random.pick(&[0, 330, -480]);
    let time = DateTime::from_timestamp_millis(view.at + zone * 60_000).unwrap().format("%d/%b/%Y:%H:%M:%S");
    let zone = format!("{}{:02}{:02}", if zone < 0 { '-' } else { '+' }, zone.abs() / 60, zone.abs() % 60);
    let path = view.path.replace('%', "%25").replace(' ', "%20").replace('ü', "%C3%BC");
    let query = random.pick(&["", "?q=a\\\"b", "?a.png"]);
    let referrer = if referrer.is_empty() { "-" } else { referrer };
    let (status, agent) = (random.pick(&[200, 204, 304]), AGENTS[view.who.1].0);
    format!(
        "{} - bob [{time} {zone}] \"GET {path}{query} HTTP/1.1\" {status} 12 \"{referrer}\" \"{agent}\"",
        view.who.0
    )
}

/// Returns lines that are not pageviews, with the class of each.
fn noise() -> [(String, &'static str); 11] {
    let of = |request: &str, status: u16, agent: &str| {
        format!("192.0.2.9 - - [25/Feb/2026:10:00:00 +0000] \"{request}\" {status} 1 \"-\" \"{agent}\"")
    };
    let agent = AGENTS[0].0;
    [
        (of("POST / HTTP/1.1", 200, agent), "other"),
        (of("GET / HTTP/1.1", 404, agent), "other"),
        (of("GET / HTTP/1.1", 301, agent), "other"),
        (of("GET /style.CSS?x HTTP/1.1", 200, agent), "other"),
        (of("GET /robots.txt HTTP/1.1", 200, agent), "other"),
        (of("\\x16\\x03\\x01", 400, "-"), "other"),
        (of("GET / HTTP/1.1", 200, "Googlebot/2.1 (+http://www.google.com/bot.html)"), "robot"),
        (of("GET / HTTP/1.1", 200, "-"), "robot"),
        ("nonsense".to_owned(), "bad"),
        ("192.0.2.9 - - [31/Feb/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"".to_owned(), "bad"),
        ("192.0.2.9 - - [31/Dec/9999:23:59:00 -0200] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"".to_owned(), "bad"),
    ]
}

fn import(counter: &Counter, text: &str, random: &mut Random) -> ImportOutcome {
    let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.len().min(1 + random.below(4000) as usize));
        import.push(piece);
        rest = more;
    }
    import.finish().unwrap()
}

#[test]
fn figures_of_imports_match_the_definitions() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let (mut lines, mut seen) = log(&mut random, "first", 300);
        let noise = noise();
        for (number, (line, _)) in noise.iter().enumerate() {
            lines.insert(number * 7, line.clone());
        }
        let folder = tempfile::tempdir().unwrap();
        let now = seen.iter().map(|seen| seen.at).max().unwrap() + DAY;
        let mut counter = Counter::open(folder.path(), now);
        let outcome = import(&counter, &(lines.join("\r\n") + "\r\n\r\n"), &mut random);
        assert_eq!((outcome.lines, outcome.pageviews, outcome.added), (311, 300, 300));
        assert_eq!((outcome.others, outcome.robots, outcome.bad), (6, 2, 3));
        assert_eq!(outcome.first_bad[0], BadLine { number: 57, text: "nonsense".to_owned() });
        check(&counter, &seen, now, &mut random, 8);
        // A second file of the same days: its visitors are different ones.
        let (lines, more) = log(&mut random, "second", 60);
        import(&counter, &lines.join("\n"), &mut random);
        seen.extend(more);
        check(&counter, &seen, now, &mut random, 4);
        counter.restart();
        check(&counter, &seen, now, &mut random, 4);
    }
}

#[test]
fn a_file_imported_again_adds_only_what_it_has_grown_by() {
    let mut random = Random(9);
    let (lines, seen) = log(&mut random, "file", 400);
    let folder = tempfile::tempdir().unwrap();
    let now = seen.iter().map(|seen| seen.at).max().unwrap() + DAY;
    let mut counter = Counter::open(folder.path(), now);
    // The file is also cut within a line, which is malformed until the rest has arrived.
    for (count, torn, added) in [
        (3, false, 3),
        (3, false, 0),
        (150, true, 147),
        (150, false, 0),
        (400, false, 250),
        (400, false, 0),
        (200, false, 0),
    ] {
        let mut text = lines[..count].join("\n") + "\n";
        if torn {
            text.push_str(&lines[count][..40]);
        }
        assert_eq!(import(&counter, &text, &mut random).added, added, "{count}");
        assert_eq!(import(&counter, "", &mut random).added, 0, "an empty file is none of the others");
        let most = count.max(if added == 0 { 400 } else { 0 });
        if added > 0 {
            check(&counter, &seen[..most], now, &mut random, 2);
        }
        counter.restart();
    }
    check(&counter, &seen, now, &mut random, 4);
    // For another site, the same lines are another file.
    let mut other = counter.analytics.as_ref().unwrap().import("other.example").unwrap();
    other.push(lines.join("\n").as_bytes());
    assert_eq!(other.finish().unwrap().added, 400);
    let folder = std::fs::read_dir(folder.path().join("analytics/days")).unwrap();
    assert!(folder.count() < 40, "the day files that a grown file replaced are removed");
}

fn run(file: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
    command.args(["analytics", "import"]).arg(file).args(["--site", SITES[0]]).args(more);
    command.output().unwrap()
}

#[test]
fn the_import_command_reads_plain_and_compressed_files_into_a_folder_or_a_server() {
    let mut random = Random(3);
    let (lines, _) = log(&mut random, "file", 50);
    let text = lines.join("\n") + "\nnonsense\n";
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("access.log");
    std::fs::write(&plain, &text).unwrap();
    let gzip = folder.path().join("access.log.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    std::fs::write(&gzip, encoder.finish().unwrap()).unwrap();
    let zstd = folder.path().join("access.log.zst");
    std::fs::write(&zstd, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();

    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("analytics")).unwrap();
    let data_flag = format!("--data={}", data.display());
    for (file, added) in [(&gzip, 50), (&plain, 0), (&zstd, 0)] {
        let output = run(file, &[&data_flag]);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains(&format!("50 pageviews ({added} of them new)")), "{stdout}");
        assert!(
            stdout.contains("1 bad line\n") && stdout.contains("line 51 is not in the combined format: nonsense"),
            "{stdout}"
        );
    }
    let server = Server::start_in(&data, &[]);
    let query = "/v2/analytics/pageviews?start=2026-01-01&end=2026-12-31";
    assert_eq!(server.get(query).json()["pageviews"], 50);
    let output = run(&plain, &["--url", server.address(), "--token", ADMIN]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("(0 of them new)"), "{output:?}");
    std::fs::write(&plain, text.clone() + &lines[0] + "\n").unwrap();
    let output = run(&plain, &["--url", server.address(), "--token", ADMIN]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("(1 of them new)"), "{output:?}");
    assert_eq!(server.get(query).json()["pageviews"], 51);
    let refused = run(&plain, &["--url", server.address(), "--token", &server.token(&["analytics:view"])]);
    assert!(!refused.status.success());
    assert!(!run(&plain, &[&data_flag]).status.success(), "a running server holds the folder");
}

#[test]
fn a_start_removes_what_an_interrupted_import_left() {
    let mut random = Random(5);
    let (lines, seen) = log(&mut random, "file", 40);
    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), seen[0].at);
    import(&counter, &lines.join("\n"), &mut random);
    counter.analytics.take().unwrap().close();
    let analytics = folder.path().join("analytics");
    // The list has the state before the import.
    let body = r#"{"next":0,"files":[]}"#;
    let head = format!(r#"{{"version":2,"blake3":"{}"}}"#, blake3::hash(body.as_bytes()));
    std::fs::write(analytics.join("imports.json"), format!("{head}\n{body}")).unwrap();
    std::fs::write(analytics.join("days/2026-03-01+7.unfinished"), "half").unwrap();
    let counter = Counter::open(folder.path(), seen[0].at);
    assert_eq!(counter.report(&Report::Pageviews, "start=2026-01-01&end=2026-12-31")["pageviews"], 0);
    assert_eq!(std::fs::read_dir(analytics.join("days")).unwrap().count(), 0);
}
