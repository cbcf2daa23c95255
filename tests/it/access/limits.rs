//! Rate limits per token and per address (`API.md` 8.1).

use serde_json::json;

use crate::support::{ADMIN, Failures, Reply, Server};

const LIST: &str = "/v2/resources/notes";

fn from(server: &Server, token: &str, address: &str, path: &str) -> Reply {
    server.as_token(token).raw("GET", path, &[("x-forwarded-for", address)], b"")
}

#[test]
fn a_token_that_sends_too_much_is_told_when_to_go_on() {
    let server = Server::start_with(&["--rate-limit-per-token", "6/m"]);
    server.blueprint("notes", json!([]));
    let (one, other) = (server.token(&["view"]), server.token(&["create"]));
    let mut failures = Failures::default();
    for n in 0..6 {
        failures.check_eq(&format!("request {n}"), server.as_token(&one).get(LIST).status, 200);
    }
    let reply = server.as_token(&one).get(LIST);
    failures.check_eq("one too many", reply.outcome(), "429 RATE_LIMITED".to_owned());
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    failures.check((1..=10).contains(&wait), || format!("Retry-After: {wait}"));
    // The limit is checked before the ability, and on every route. Another token has its own limit.
    failures.check_eq("another route", server.as_token(&one).get("/v2/tokens").status, 429);
    failures.check_eq("another token", server.as_token(&other).get(LIST).status, 403);
    for _ in 0..10 {
        failures.check_eq("no token", server.as_token("").get(LIST).status, 401);
        failures.check_eq("alive", server.as_token(&one).get("/healthz").status, 200);
    }
    // Unknown routes and methods are checked before the limit.
    failures.check_eq("no route", server.as_token(&one).get("/v2/nowhere").status, 404);
    failures.check_eq("no method", server.as_token(&one).send("DELETE", LIST, None).status, 405);
    failures.assert_none();
}

#[test]
fn an_address_that_sends_too_much_is_told_when_to_go_on_whether_it_has_a_token_or_not() {
    let server = Server::start_with(&[
        "--rate-limit-per-address",
        "6/m",
        "--analytics-trusted-proxies",
        "127.0.0.1",
        "--analytics-sites",
        "a.example",
    ]);
    server.blueprint("notes", json!([]));
    let (bad, good, proxied) = ("203.0.113.1", "203.0.113.2", "198.51.100.7, 203.0.113.1");
    let mut failures = Failures::default();
    // Failed authentications count, so nobody can try many tokens.
    for n in 0..6 {
        failures.check_eq(&format!("guess {n}"), from(&server, &format!("guess-{n}"), bad, LIST).status, 401);
    }
    let reply = from(&server, "guess", bad, LIST);
    failures.check_eq("one too many", reply.outcome(), "429 RATE_LIMITED".to_owned());
    failures.check(reply.header("retry-after").is_some(), || "Retry-After".to_owned());
    failures.check_eq("with a token", from(&server, ADMIN, bad, LIST).status, 429);
    failures.check_eq("the last address is that of the client", from(&server, ADMIN, proxied, LIST).status, 429);
    failures.check_eq("another address", from(&server, ADMIN, good, LIST).status, 200);
    for path in ["/healthz", "/readyz", "/v2/analytics/script.js"] {
        for _ in 0..8 {
            failures.check_eq(path, from(&server, "", bad, path).status, 200);
        }
    }
    // Events have their own limit.
    let headers = [("x-forwarded-for", bad), ("content-type", "application/json")];
    let event = br#"{"name":"pageview","url":"https://a.example/","referrer":""}"#;
    failures.check_eq("event", server.as_token("").raw("POST", "/v2/analytics/events", &headers, event).status, 202);
    failures.check_eq(
        "deleting figures",
        {
            let delete = server.as_token("guess");
            delete.raw("DELETE", "/v2/analytics/events?site=a.example", &[("x-forwarded-for", bad)], b"").status
        },
        429,
    );
    failures.check_eq("no route", from(&server, "", bad, "/v2/nowhere").status, 404);
    failures.assert_none();
}
