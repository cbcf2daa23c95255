//! The common parts of all requests: routes, methods, `HEAD`, request ids, tokens, CORS, errors (`API.md` 1 and 5).

use serde_json::{Value, json};

use crate::support::{ADMIN, Failures, Server};

#[test]
fn every_error_has_the_same_shape() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let mut failures = Failures::default();
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/v2", 404),
        ("GET", "/v1/resources/notes", 404),
        ("GET", "/v2/resources", 404),
        ("GET", "/v2/resources/", 404),
        ("GET", "/v2/resources/notes/", 404),
        ("GET", "/v2/resources//notes", 404),
        ("GET", "/v2/resources/notes/x/y", 404),
        ("GET", "/v2/Resources/notes", 404),
        ("GET", "/v2/resources/Notes", 404),
        ("GET", "/v2/resources/%6Eotes", 200),
        ("GET", "/v2/resources/%ff", 404),
        ("GET", "/v2/resources/notes/%00", 404),
        ("GET", "/v2/resources/notes/..%2f..", 404),
        ("GET", "/v2/blueprints/", 404),
        ("GET", "/v2/members/x", 404),
        ("GET", "/v2/members/-1", 404),
        ("DELETE", "/v2/resources/notes", 405),
        ("PUT", "/v2/resources/notes", 405),
        ("POST", "/v2/resources/notes/export", 405),
        ("GET", "/v2/resources/notes/import", 405),
        ("GET", "/v2/tokens/x", 405),
        ("TRACE", "/v2/resources/notes", 405),
        ("OPTIONS", "/v2/resources/notes", 405),
        ("BREW", "/v2/resources/notes", 405),
        ("POST", "/healthz", 405),
    ] {
        let reply = server.raw(method, path, &[], b"");
        let case = format!("{method} {path}");
        failures.check_eq(&case, reply.status, status);
        if status >= 400 {
            let body = reply.json();
            let keys: Vec<&String> = body["errors"].as_object().map(|all| all.keys().collect()).unwrap_or_default();
            failures.check(keys == ["code", "message"], || format!("{case}: {}", reply.text));
            failures.check_eq(&case, reply.header("content-type"), Some("application/json"));
        }
        failures.check_eq(&case, reply.header("allow").is_some(), status == 405);
        // Unknown routes and wrong methods are reported even without a token.
        if status == 405 || path == "/v2/resources" {
            failures.check_eq(&case, server.as_token("").raw(method, path, &[], b"").status, status);
        }
    }
    failures.assert_none();
}

#[test]
fn the_allow_header_lists_the_methods() {
    let server = Server::start();
    let id = "0192b3c4-0000-7000-8000-000000000000";
    let mut failures = Failures::default();
    for (path, allowed) in [
        ("/v2/resources/notes".to_owned(), "GET HEAD POST"),
        (format!("/v2/resources/notes/{id}"), "DELETE GET HEAD PATCH PUT"),
        ("/v2/resources/notes/export".to_owned(), "GET HEAD"),
        ("/v2/resources/notes/import".to_owned(), "POST"),
        ("/v2/blueprints".to_owned(), "GET HEAD POST"),
        ("/v2/blueprints/notes".to_owned(), "DELETE GET HEAD PUT"),
        ("/v2/tokens".to_owned(), "GET HEAD POST"),
        ("/v2/tokens/x".to_owned(), "DELETE"),
        ("/v2/members".to_owned(), "GET HEAD POST"),
        ("/v2/members/1".to_owned(), "DELETE GET HEAD PATCH"),
    ] {
        let reply = server.as_token("").raw("TRACE", &path, &[], b"");
        failures.check_eq(&path, reply.status, 405);
        let mut listed: Vec<&str> = reply.header("allow").unwrap_or_default().split(',').map(str::trim).collect();
        listed.sort_unstable();
        failures.check_eq(&path, listed.join(" "), allowed.to_owned());
    }
    failures.assert_none();
}

#[test]
fn a_valid_request_id_is_returned_and_any_other_replaced() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let (longest, too_long) = ("x".repeat(128), "x".repeat(129));
    let mut failures = Failures::default();
    for (sent, kept) in [
        ("a", true),
        ("abc-1.2_Z", true),
        (longest.as_str(), true),
        (too_long.as_str(), false),
        ("a b", false),
        ("a/b", false),
        ("é", false),
        ("", false),
        ("a\"b", false),
    ] {
        for path in ["/v2/resources/notes", "/nowhere", "/healthz"] {
            let reply = server.raw("GET", path, &[("x-request-id", sent)], b"");
            let answered = reply.header("x-request-id").unwrap_or_default();
            failures.check((answered == sent) == kept && !answered.is_empty(), || format!("{path} {sent}: {answered}"));
        }
    }
    let ids: Vec<String> = ["/v2/resources/notes", "/x", "/v2/tokens"]
        .iter()
        .map(|path| server.get(path).header("x-request-id").unwrap_or_default().to_owned())
        .collect();
    failures.check(ids[0] != ids[1] && ids[1] != ids[2] && !ids[0].is_empty(), || format!("generated ids: {ids:?}"));
    failures.assert_none();
}

#[test]
fn head_answers_like_get_without_a_body() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let id = server.create("notes", json!({}));
    let mut failures = Failures::default();
    for path in [
        "/v2/resources/notes".to_owned(),
        "/v2/resources/notes?page=0".to_owned(),
        format!("/v2/resources/notes/{id}"),
        "/v2/resources/notes/nothing".to_owned(),
        "/v2/resources/notes/export".to_owned(),
        "/v2/blueprints".to_owned(),
        "/v2/blueprints/notes".to_owned(),
        "/v2/tokens".to_owned(),
        "/v2/members".to_owned(),
        "/healthz".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let (get, head) = (server.raw("GET", &path, &[], b""), server.raw("HEAD", &path, &[], b""));
        failures.check_eq(&path, head.status, get.status);
        failures.check_eq(&path, head.text.as_str(), "");
        for header in ["content-type", "etag", "vary"] {
            failures.check_eq(&path, head.header(header), get.header(header));
        }
    }
    failures.assert_none();
}

#[test]
fn only_a_valid_bearer_token_is_accepted() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    let mut failures = Failures::default();
    let (good, lower, spaced) = (format!("Bearer {ADMIN}"), format!("bearer {ADMIN}"), format!("Bearer   {ADMIN} "));
    for (header, status) in [
        (Some(good.as_str()), 200),
        (Some(lower.as_str()), 200),
        (Some(spaced.as_str()), 200),
        (None, 401),
        (Some(""), 401),
        (Some("Bearer"), 401),
        (Some("Bearer "), 401),
        (Some("Bearer x"), 401),
        (Some(ADMIN), 401),
        (Some("Basic YTpi"), 401),
        (Some(&good[..good.len() - 1]), 401),
    ] {
        let headers: Vec<(&str, &str)> = header.map(|sent| ("authorization", sent)).into_iter().collect();
        let reply = server.as_token("").raw("GET", "/v2/resources/notes", &headers, b"");
        let case = format!("{header:?}");
        failures.check_eq(&case, reply.status, status);
        failures.check_eq(&case, reply.header("www-authenticate"), (status == 401).then_some("Bearer"));
        failures.check(!reply.text.contains(ADMIN), || format!("{case}: the answer repeats the token"));
    }
    failures.assert_none();
}

#[test]
fn cors_headers_follow_the_configuration() {
    let without = Server::start();
    let with = Server::start_with(&["--cors-origins", "https://a.example,https://b.example"]);
    let any = Server::start_with(&["--cors-origins", "*"]);
    let origin = |server: &Server, origin: &str| {
        let reply = server.raw("GET", "/v2/resources/nothing", &[("origin", origin)], b"");
        reply.header("access-control-allow-origin").map(str::to_owned)
    };
    assert_eq!(origin(&without, "https://a.example"), None);
    assert_eq!(origin(&with, "https://a.example").as_deref(), Some("https://a.example"));
    assert_eq!(origin(&with, "https://b.example").as_deref(), Some("https://b.example"));
    assert_eq!(origin(&with, "https://c.example"), None);
    assert_eq!(origin(&any, "https://c.example").as_deref(), Some("*"));
    let preflight = [
        ("origin", "https://a.example"),
        ("access-control-request-method", "PATCH"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    let reply = with.as_token("").raw("OPTIONS", "/v2/resources/notes/x", &preflight, b"").expect(200);
    for (header, part) in [
        ("access-control-allow-methods", "PATCH"),
        ("access-control-allow-methods", "DELETE"),
        ("access-control-allow-headers", "authorization"),
        ("access-control-allow-headers", "idempotency-key"),
        ("access-control-allow-headers", "if-match"),
        ("access-control-allow-headers", "last-event-id"),
        ("access-control-allow-headers", "content-encoding"),
    ] {
        let sent = reply.header(header).unwrap_or_default().to_lowercase();
        assert!(sent.contains(&part.to_lowercase()), "{header}: {sent}");
    }
    let exposed = with.raw("GET", "/v2/resources/x", &[("origin", "https://a.example")], b"");
    let exposed = exposed.header("access-control-expose-headers").unwrap_or_default().to_lowercase();
    for part in ["etag", "x-request-id", "x-last-change", "content-disposition"] {
        assert!(exposed.contains(part), "{part}: {exposed}");
    }
    // A page can also read errors that are returned before any handler runs.
    assert!(
        with.as_token("")
            .raw("GET", "/nowhere", &[("origin", "https://a.example")], b"")
            .header("access-control-allow-origin")
            .is_some()
    );
    without.as_token("").raw("OPTIONS", "/v2/resources/notes/x", &preflight, b"").expect(405);
}

#[test]
fn health_needs_no_token() {
    let server = Server::start();
    for path in ["/healthz", "/readyz"] {
        server.as_token("").get(path).expect(200);
    }
}

#[test]
fn links_use_the_configured_public_url() {
    let server = Server::start_with(&["--public-url", "https://cms.example.com/api/"]);
    server.blueprint("notes", json!([]));
    let reply = server.post("/v2/resources/notes", &json!({ "attributes": {} })).expect(201);
    let id = reply.data()["id"].as_str().unwrap().to_owned();
    assert_eq!(reply.header("location"), Some(format!("https://cms.example.com/api/v2/resources/notes/{id}").as_str()));
    let links = server.get("/v2/resources/notes").expect(200).json()["links"].take();
    assert_eq!(links["first"], "https://cms.example.com/api/v2/resources/notes?page=1");
    assert_eq!(links["prev"], Value::Null);
}
