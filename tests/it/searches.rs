//! The limits of searches, and their effect on other requests (API.md 8).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Failures, Server};

/// Starts a server with this many notes, imported as lines.
fn notes(count: usize, arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("notes", json!([field("title", "text"), field("body", "text"), field("number", "number")]));
    let mut lines = String::new();
    for number in 0..count {
        let body = format!("{} of {number:05}: {}", number % 97, "words that are the same everywhere ".repeat(6));
        let attributes = json!({ "title": format!("Note {}", number % 89), "body": body, "number": number });
        writeln!(lines, "{}", json!({ "attributes": attributes, "published_at": "2026-01-01T00:00:00Z" })).unwrap();
    }
    let reply =
        server.raw("POST", "/v2/resources/notes/import", &[("content-type", "application/x-ndjson")], lines.as_bytes());
    assert_eq!(reply.expect(200).lines().len(), count);
    server
}

#[test]
fn lists_and_exports_refuse_too_many_filters_values_and_sort_keys() {
    let server = notes(3, &[]);
    let values = |count: usize| format!("filter[title][in]={}", vec!["a"; count].join(","));
    let cases = [
        (vec!["filter[title][ne]=x"; 100].join("&"), "200"),
        (vec!["filter[title][ne]=x"; 101].join("&"), "422 INVALID_FILTER"),
        (values(1_000), "200"),
        (values(1_001), "422 INVALID_FILTER"),
        ("sort=title,-body,number,id,created_at,updated_at,published_at".to_owned(), "200"),
        ("sort=title,body,title".to_owned(), "422 INVALID_SORT"),
        (format!("sort={}title", "title,".repeat(5_000)), "422 INVALID_SORT"),
    ];
    let mut failures = Failures::default();
    for (query, expected) in &cases {
        for path in ["notes", "notes/export"] {
            let outcome = server.get(&format!("/v2/resources/{path}?{query}")).outcome();
            failures.check_eq(&format!("{path}?{}", &query[..query.len().min(60)]), outcome.as_str(), expected);
        }
    }
    failures.assert_none();
}

/// Lets clients send expensive searches, each a different one, and measures all other requests meanwhile. Returns the
/// slowest time of the others, and the number of times each outcome was seen.
fn attack(server: &Server, clients: usize, time: Duration) -> (Duration, usize, usize) {
    let stop = AtomicBool::new(false);
    let (answered, refused) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
    // The order and the visibility are already in memory: an ordinary server has answered its front page before.
    server.get("/v2/resources/notes").expect(200);
    let slowest = std::thread::scope(|scope| {
        for client in 0..clients {
            let (stop, answered, refused) = (&stop, &answered, &refused);
            scope.spawn(move || {
                for round in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let filter = |number: usize| format!("filter[body][not_contains]={client}x{round}y{number}");
                    let filters: Vec<String> = (0..100).map(filter).collect();
                    let keys =
                        [["title", "body", "number"], ["body", "-number", "title"], ["-title", "number", "body"]];
                    let sort = keys[round % 3].join(",");
                    let reply = server.get(&format!("/v2/resources/notes?{}&sort={sort}", filters.join("&")));
                    match reply.status {
                        200 => answered.fetch_add(1, Ordering::SeqCst),
                        _ => {
                            assert_eq!(reply.outcome(), "503 OVERLOADED", "{}", reply.text);
                            assert!(reply.header("retry-after").is_some());
                            refused.fetch_add(1, Ordering::SeqCst)
                        }
                    };
                }
            });
        }
        let mut slowest = Duration::ZERO;
        let end = Instant::now() + time;
        let mut number = 0;
        while Instant::now() < end {
            for path in ["/healthz", "/v2/resources/notes", "/v2/resources/notes?page=2"] {
                let started = Instant::now();
                server.get(path).expect(200);
                slowest = slowest.max(started.elapsed());
            }
            number += 1;
            let started = Instant::now();
            server.create("notes", json!({ "title": format!("new {number}") }));
            slowest = slowest.max(started.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::SeqCst);
        slowest
    });
    (slowest, answered.into_inner(), refused.into_inner())
}

#[test]
fn expensive_searches_do_not_hold_up_other_requests() {
    let server = notes(1_500, &["--query-timeout", "2"]);
    let (slowest, answered, refused) = attack(&server, 16, Duration::from_secs(3));
    assert!(answered + refused > 0);
    assert!(slowest < Duration::from_millis(1_500), "{slowest:?}, {answered} answered, {refused} refused");
    server.get("/v2/resources/notes?filter[body][contains]=same&sort=-title").expect(200);
}

#[test]
#[ignore = "long: 20,000 resources; run with `cargo test --test it -- searches --ignored`"]
fn expensive_searches_do_not_hold_up_other_requests_of_a_large_blueprint() {
    let server = notes(20_000, &["--query-timeout", "5"]);
    let (slowest, answered, refused) = attack(&server, 64, Duration::from_secs(30));
    eprintln!("slowest {slowest:?}, {answered} answered, {refused} refused");
    assert!(answered + refused > 0);
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    eprintln!("peak memory {peak}");
    assert!(peak.trim_end_matches(" kB").parse::<u64>().unwrap() < 1 << 20, "{peak}");
}
