//! Requests that are refused before their head is complete (`API.md` 1.9), and the header that every answer has.

use std::time::Duration;

use serde_json::json;

use super::attack::{Raw, fill, head, is_well};
use crate::support::{Failures, Server};

#[test]
fn what_is_not_http_gets_the_error_object() {
    let server = Server::start();
    let long = "x".repeat(70_000);
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let good = head("GET", "/healthz", "");
    let mut failures = Failures::default();
    for (case, sent, status, code) in [
        ("no request", "NONSENSE\r\n\r\n".to_owned(), 400, "MALFORMED_JSON"),
        ("a malformed header", format!("{good}no colon\r\n\r\n"), 400, "MALFORMED_JSON"),
        ("a malformed version", "GET / HTTP/9\r\n\r\n".to_owned(), 400, "MALFORMED_JSON"),
        ("two lengths", format!("{good}content-length: 1\r\ncontent-length: 2\r\n\r\n"), 400, "MALFORMED_JSON"),
        ("a long URL", format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 414, "PAYLOAD_TOO_LARGE"),
        ("a long header", format!("{good}x: {long}\r\n\r\n"), 431, "PAYLOAD_TOO_LARGE"),
        ("many headers", format!("{good}{many}\r\n"), 431, "PAYLOAD_TOO_LARGE"),
    ] {
        for before in [0, 1] {
            let case = format!("{case} after {before} requests");
            let mut raw = Raw::connect(server.address());
            for _ in 0..before {
                raw.send(format!("{good}\r\n"));
                failures.check_eq(&case, raw.answer().map(|answer| answer.status), Some(200));
            }
            raw.send(&sent);
            let Some(answer) = raw.answer() else {
                failures.check(false, || format!("{case}: no answer"));
                continue;
            };
            failures.check_eq(&case, (answer.status, answer.code().as_str()), (status, code));
            failures.check_eq(&case, answer.header("content-type"), Some("application/json"));
            failures.check_eq(&case, answer.header("x-content-type-options"), Some("nosniff"));
            failures.check_eq(&case, answer.header("connection"), Some("close"));
            failures.check(answer.header("x-request-id").is_some_and(|id| id.len() == 36), || {
                format!("{case}: {answer:?}")
            });
            failures.check(answer.header("date").is_some(), || format!("{case}: {answer:?}"));
            failures.check(raw.rest().is_ok_and(|rest| rest.is_empty()), || format!("{case}: not closed"));
        }
    }
    // Close to the limit, everything works.
    let mut raw = Raw::connect(server.address());
    raw.send(format!("{}x: {}\r\n\r\n", head("GET", &format!("/{}", "x".repeat(30_000)), ""), "y".repeat(30_000)));
    failures.check_eq("60 kB", raw.answer().map(|answer| answer.status), Some(404));
    failures.assert_none();
}

#[test]
fn a_client_that_begins_with_http_2_is_disconnected_and_others_are_served() {
    let server = Server::start();
    fill(&server, 1, 10);
    // The preface, and an empty frame with settings.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for _ in 0..20 {
        let mut raw = Raw::connect(server.address());
        raw.send(preface);
        assert!(raw.closed_after(Duration::from_secs(2)).is_some(), "the connection stays open");
    }
    is_well(&server);
}

#[test]
fn pipelined_requests_are_answered_in_order_up_to_a_malformed_one() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let (list, probe) = (head("GET", "/v2/resources/notes", ""), head("GET", "/healthz", ""));
    let mut raw = Raw::connect(server.address());
    raw.send(format!("{list}\r\n{probe}\r\n{list}\r\n{probe}\r\nNONSENSE\r\n\r\n"));
    let answers: Vec<_> = std::iter::from_fn(|| raw.answer()).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 400], "{answers:?}");
    assert_eq!(answers[4].code(), "MALFORMED_JSON");
}

#[test]
fn no_answer_may_be_sniffed() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let id = server.create("notes", json!({}));
    let mut failures = Failures::default();
    for (method, path) in [
        ("GET", "/v2/resources/notes".to_owned()),
        ("HEAD", "/v2/resources/notes".to_owned()),
        ("GET", "/v2/resources/notes/export?format=csv".to_owned()),
        ("GET", "/v2/backup".to_owned()),
        ("GET", "/v2/analytics/script.js".to_owned()),
        ("GET", "/v2/analytics/summary".to_owned()),
        ("GET", "/healthz".to_owned()),
        ("GET", "/nowhere".to_owned()),
        ("PUT", "/v2/resources/notes".to_owned()),
        ("OPTIONS", "/v2/analytics/events".to_owned()),
        ("DELETE", format!("/v2/resources/notes/{id}")),
    ] {
        let mut raw = Raw::connect(server.address());
        raw.send(format!("{}\r\n", head(method, &path, "connection: close\r\n")));
        let header = raw.answer().and_then(|answer| answer.header("x-content-type-options").map(str::to_owned));
        failures.check_eq(&format!("{method} {path}"), header.as_deref(), Some("nosniff"));
    }
    failures.assert_none();
}
