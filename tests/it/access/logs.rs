//! The log of a server that logs everything. The logs of all servers of the suite are watched (`support/log_watch.rs`).

use serde_json::json;

use crate::support::{ADMIN, Server, leaks};

#[test]
fn the_watch_finds_tokens_and_addresses() {
    for line in [
        "token bnd_0123",
        ADMIN,
        "from 203.0.113.7:",
        "from [203.0.113.7]:8080",
        "client=127.0.0.1:40312",
        "peer 2001:db8::1",
    ] {
        assert!(leaks(line), "{line}");
    }
    for line in ["2026-11-22T02:21:13.123456Z  INFO bindery_base::be: version 1.2.3 path=/v2/x", "took 0.5.", ""] {
        assert!(!leaks(line), "{line}");
    }
}

#[test]
fn even_a_log_of_everything_holds_no_token_and_no_address() {
    let server = Server::start_with(&[
        "--log-filter=trace",
        "--analytics-sites=a.example",
        "--analytics-trusted-proxies=127.0.0.1",
        "--rate-limit-per-address=1000/s",
        "--rate-limit-per-token=1000/s",
    ]);
    server.blueprint("notes", json!([{ "name": "T", "slug": "t", "type": "text", "unique": true }]));
    server.create("notes", json!({ "t": "x" }));
    let token = server.token(&["view"]);
    let forwarded = [("x-forwarded-for", "203.0.113.7, 2001:db8::7"), ("user-agent", "Mozilla/5.0 Firefox/140.0")];
    for token in [ADMIN, &token, "bnd_damaged", "unknown", ""] {
        for path in ["/v2/resources/notes", "/v2/tokens", "/v2/analytics/summary", "/v2/nowhere", "/readyz"] {
            server.as_token(token).raw("GET", path, &forwarded, b"");
        }
    }
    let event = br#"{"name":"pageview","url":"https://a.example/","referrer":""}"#;
    for body in [event.as_slice(), b"no event"] {
        let headers = [forwarded.as_slice(), &[("content-type", "application/json")]].concat();
        server.as_token("").raw("POST", "/v2/analytics/events", &headers, body);
    }
    let lines =
        "203.0.113.9 - - [20/Nov/2026:09:12:01 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"Firefox\"\n203.0.113.9 ?\n";
    let headers = [("content-type", "text/plain")];
    server.raw("POST", "/v2/analytics/import?site=a.example", &headers, lines.as_bytes()).expect(200);
    server.get("/v2/analytics/summary").expect(200);
    server.post("/v2/resources/notes", &json!({ "attributes": { "t": "x" } })).expect(422);
    assert!(server.logged_lines() > 100, "a log of everything has {} lines", server.logged_lines());
    // Dropping the server ends the watch, which fails the test if it found anything.
}
