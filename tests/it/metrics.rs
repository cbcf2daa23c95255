//! `/metrics` (`API.md` 4.12).

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Server, binary};

#[test]
fn without_a_token_metrics_are_for_loopback_addresses_only() {
    let server = Server::start_with(&["--analytics-trusted-proxies=127.0.0.1"]);
    for (forwarded, outcome) in [
        (None, "200"),
        (Some("127.0.0.1"), "200"),
        (Some("::1"), "200"),
        (Some("203.0.113.7"), "403 FORBIDDEN"),
        (Some("10.0.0.7"), "403 FORBIDDEN"),
        // The nearest address that no trusted proxy has is the one that counts.
        (Some("127.0.0.2, 203.0.113.7"), "403 FORBIDDEN"),
    ] {
        let headers: Vec<(&str, &str)> = forwarded.into_iter().map(|address| ("x-forwarded-for", address)).collect();
        let reply = server.as_token("").raw("GET", "/metrics", &headers, b"");
        assert_eq!(reply.outcome(), outcome, "{forwarded:?}");
        // A token of the API does not help.
        assert_eq!(server.raw("GET", "/metrics", &headers, b"").outcome(), outcome, "{forwarded:?}");
    }
    let server = Server::start();
    let spoofed = [("x-forwarded-for", "203.0.113.7")];
    assert_eq!(server.as_token("").raw("GET", "/metrics", &spoofed, b"").status, 200, "nobody trusts this header");
}

#[test]
fn with_a_token_of_their_own_metrics_need_it_from_everywhere() {
    let server = Server::start_with(&["--metrics-token=scrape-me-please-7", "--analytics-trusted-proxies=127.0.0.1"]);
    let from_afar = [("x-forwarded-for", "203.0.113.7")];
    for headers in [&[][..], &from_afar] {
        for (token, outcome) in [
            ("", "401 UNAUTHENTICATED"),
            ("scrape-me-please-8", "401 UNAUTHENTICATED"),
            (server.secret(), "401 UNAUTHENTICATED"),
            ("scrape-me-please-7", "200"),
        ] {
            let reply = server.as_token(token).raw("GET", "/metrics", headers, b"");
            assert_eq!(reply.outcome(), outcome, "{token}");
            assert_eq!(reply.header("www-authenticate").is_some(), reply.status == 401);
        }
    }
    assert_eq!(server.as_token("scrape-me-please-7").get("/v2/blueprints").outcome(), "401 UNAUTHENTICATED");
    let arguments = ["config", "show", "--metrics-token=scrape-me-please-7"];
    let shown = Command::new(binary()).args(arguments).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("metrics_token") && !shown.contains("scrape-me"), "{shown}");
}

/// Returns the values of the metrics without labels, by their names.
fn values(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn metrics_tell_about_the_queue_syncs_sizes_merges_caches_and_snapshots() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let id = server.create("notes", json!({ "title": "x" }));
    let (path, list) = (format!("/v2/resources/notes/{id}"), "/v2/resources/notes?sort=title");
    (0..3).for_each(|_| drop(server.get(list).expect(200)));
    (0..3).for_each(|_| drop(server.get(&path).expect(200)));
    let text = server.as_token("").get("/metrics").expect(200).text;
    let found = values(&text);
    let value = |name: &str| *found.get(name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    assert_eq!(value("bindery_write_queue"), 0.0);
    // The writes of a blueprint and of a resource were counted.
    assert!(value("bindery_write_queue_seconds_count") >= 2.0 && value("bindery_log_sync_seconds_count") >= 2.0);
    assert!(value("bindery_log_sync_seconds_sum") > 0.0 && value("bindery_log_sync_seconds_sum") < 60.0);
    let last = value("bindery_log_sync_seconds_bucket{le=\"+Inf\"}");
    assert_eq!(last, value("bindery_log_sync_seconds_count"));
    assert!(value("bindery_log_bytes") > 0.0 && value("bindery_store_bytes") > 0.0);
    assert!(found.contains_key("bindery_index_bytes") && found.contains_key("bindery_index_merges_total"));
    assert_eq!(value("bindery_kept_answers_hits_total"), 4.0, "two of three lists, and two of three resources");
    assert_eq!(value("bindery_kept_answers_misses_total"), 2.0);
    assert!(value("bindery_kept_documents_hits_total") + value("bindery_kept_documents_misses_total") >= 1.0);
    assert!(value("bindery_index_snapshots") >= 1.0);
    assert_checked("metrics", &text);
}

#[test]
fn metrics_are_in_the_format_that_is_asked_for() {
    let server = Server::start();
    let accept = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5";
    let open = server.raw("GET", "/metrics", &[("accept", accept)], b"").expect(200);
    assert!(open.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(open.text.contains("# TYPE bindery_writes counter\n") && open.text.ends_with("# EOF\n"));
    let plain = server.get("/metrics").expect(200);
    assert!(plain.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    assert!(plain.text.contains("# TYPE bindery_writes_total counter\n"), "{}", plain.text);
    assert!(!plain.text.contains("# EOF") && !plain.text.contains("# UNIT"));
    let names = |text: &str| -> Vec<String> { values(text).into_keys().filter(|name| !name.contains('{')).collect() };
    assert_eq!(names(&plain.text), names(&open.text));
}

#[test]
fn the_alert_rules_are_valid() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/alerts.yml");
    let text = std::fs::read_to_string(rules).unwrap();
    assert!(text.matches("- alert: ").count() >= 5);
    let checked = Command::new("promtool").args(["check", "rules", rules]).output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => eprintln!("the rules are not checked by promtool, which is not installed"),
    }
}

/// Checks a text with `promtool`. Prints a note if it is not installed.
fn assert_checked(kind: &str, text: &str) {
    let command = Command::new("promtool").args(["check", kind]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = command else {
        eprintln!("the {kind} are not checked by promtool, which is not installed");
        return;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A kept list is answered again, with its tag, after writes that do not show in it.
#[test]
fn a_kept_list_outlives_writes_that_do_not_show_in_it() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let list = "/v2/resources/notes?filter[title][starts_with]=a&sort=title&per_page=2";
    let titles = ["a", "ab", "abc", "abcd", "b"];
    let ids: Vec<String> = titles.iter().map(|title| server.create("notes", json!({ "title": title }))).collect();
    let outlived = || values(&server.get("/metrics").expect(200).text)["bindery_kept_answers_outlived_total"];
    let mut before = server.get(list).expect(200);
    for (write, id, body, is_same) in [
        ("one that does not match", &ids[4], json!({ "attributes": { "title": "bc" } }), true),
        ("a match behind the page", &ids[3], json!({ "attributes": { "title": "abcdef" } }), true),
        ("a match that leaves", &ids[3], json!({ "attributes": { "title": "c" } }), false),
        ("one that comes", &ids[4], json!({ "attributes": { "title": "az" } }), false),
        ("one of the page", &ids[0], json!({ "published_at": "2026-02-02" }), false),
        ("a match that comes onto the page", &ids[2], json!({ "attributes": { "title": "aa" } }), false),
        ("a match behind the page", &ids[4], json!({ "attributes": { "title": "ax" } }), true),
    ] {
        let counted = outlived();
        server.patch(&format!("/v2/resources/notes/{id}"), &body).expect(200);
        let tag = before.header("etag").unwrap().to_owned();
        let answer = server.get(list).expect(200);
        assert_eq!(outlived() - counted, if is_same { 1.0 } else { 0.0 }, "{write}");
        assert_eq!((answer.header("etag") == Some(&tag), answer.text == before.text), (is_same, is_same), "{write}");
        before = answer;
    }
}
