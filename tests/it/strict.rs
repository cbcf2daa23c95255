//! `strict=true` (`API.md` 4.2.4) on every endpoint with reads.

use serde_json::json;

use crate::support::{Failures, Server};

#[test]
fn a_strict_read_has_no_parameter_that_its_endpoint_does_not_know() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let id = server.create("notes", json!({ "title": "x" }));
    let member = server.member("ada", None);
    let reports = [
        "summary",
        "live",
        "visitors",
        "visitors/trends",
        "sessions",
        "sessions/average-duration",
        "pageviews",
        "pages",
        "pages/a/b",
        "referrers",
        "referrers/trends",
        "demographics/devices",
        "demographics/browsers",
        "demographics/countries",
        "timeseries/visitors",
        "timeseries/pageviews",
        "timeseries/sessions",
        "entry-pages",
        "utm/source",
        "searches",
        "searches/without-clicks",
        "custom-events",
        "custom-events/a/b",
        "script.js",
    ];
    let mut paths: Vec<String> = reports.iter().map(|report| format!("/v2/analytics/{report}")).collect();
    paths.extend([
        "/v2/resources/notes".to_owned(),
        format!("/v2/resources/notes/{id}"),
        "/v2/resources/notes/export".to_owned(),
        "/v2/blueprints".to_owned(),
        "/v2/blueprints/notes".to_owned(),
        "/v2/tokens".to_owned(),
        "/v2/members".to_owned(),
        format!("/v2/members/{member}"),
        "/v2/backup".to_owned(),
        "/healthz".to_owned(),
        "/readyz".to_owned(),
        "/metrics".to_owned(),
        "/v2/openapi.json".to_owned(),
        format!("/v2/resources/notes/{id}/referrers"),
        format!("/v2/resources/notes/{id}/neighbors"),
    ]);
    let mut failures = Failures::default();
    for path in &paths {
        for (query, status) in [
            ("nonsense=1", 200),
            ("pretty=true", 200),
            ("strict=true", 200),
            ("strict=0&nonsense=1", 200),
            ("strict=1&nonsense=1", 422),
            ("strict=1&pretty=true", 422),
        ] {
            // A backup is not text.
            if status == 200 && path == "/v2/backup" {
                continue;
            }
            let sent = format!("{path}?{query}");
            let reply = server.raw("GET", &sent, &[], b"");
            failures.check_eq(&sent, reply.status, status);
            if status == 422 {
                failures.check_eq(&sent, reply.code(), "INVALID_PARAMETER".to_owned());
                let message = reply.message();
                let (_, name) = query.split_once('&').unwrap();
                let expected = format!("`{}` is not a parameter of this endpoint", name.split_once('=').unwrap().0);
                failures.check(message.starts_with(&expected), || message.clone());
            }
        }
    }
    failures.assert_none();
    // The order of checks: an unknown blueprint comes before the parameters, and those before an unknown resource.
    for (path, code) in [
        ("/v2/resources/nothing?strict=1&x=1", "NOT_FOUND"),
        ("/v2/blueprints/nothing?strict=1&x=1", "NOT_FOUND"),
        ("/v2/members/99?strict=1&x=1", "INVALID_PARAMETER"),
        ("/v2/resources/notes/nothing?strict=1&x=1", "INVALID_PARAMETER"),
    ] {
        assert_eq!(server.get(path).code(), code, "{path}");
    }
    let view = server.token(&["view"]);
    assert_eq!(server.as_token(&view).get("/v2/members/99?strict=1&x=1").code(), "FORBIDDEN");
}

#[test]
fn a_strict_list_has_no_value_that_is_ignored() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    for (query, expected) in [
        ("filter[published]=maybe", "422 INVALID_FILTER"),
        ("filter[published]=true", "200"),
        ("search=", "422 INVALID_PARAMETER"),
        ("variant=de", "422 INVALID_PARAMETER"),
        ("pgae=1", "422 INVALID_PARAMETER"),
    ] {
        for endpoint in ["notes", "notes/export"] {
            let path = format!("/v2/resources/{endpoint}?{query}");
            assert_eq!(server.get(&path).outcome(), "200", "{path}");
            assert_eq!(server.get(&format!("{path}&strict=true")).outcome(), expected, "{path}");
        }
    }
    let reply = server.get("/v2/resources/notes?strict=true&pgae=2");
    assert!(reply.message().contains("did you mean `page`?"), "{}", reply.message());
}

#[test]
fn a_strict_search_over_all_blueprints_has_no_parameter_that_is_ignored() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let mut failures = Failures::default();
    for (query, ignored) in [
        ("search=x&q=y&typos=false&q_match=all", None),
        ("q=x&per_page=2&page=1&weights=notes:2&track=true", None),
        ("q=x&limit=2", None),
        ("q=x&group=true&limit=2&q_mode=exact", None),
        ("search=x&limit=2&group=true", None),
        ("search=x&typos=false", Some("typos")),
        ("search=x&q_mode=exact", Some("q_mode")),
        ("search=x&q_match=all", Some("q_match")),
        ("q=x&q_mode=exact&q_match=all", Some("q_match")),
        ("search=x&q=", Some("q")),
        ("search=&q=x", Some("search")),
        ("search=x&weights=notes:2", Some("weights")),
        ("q=x&group=true&page=1", Some("page")),
        ("q=x&group=true&per_page=2", Some("per_page")),
        ("q=x&group=true&track=true", Some("track")),
        ("q=x&limit=2&per_page=2", Some("limit")),
    ] {
        let path = format!("/v2/search?{query}");
        failures.check_eq(&path, server.get(&path).status, 200);
        let strict = server.get(&format!("{path}&strict=true"));
        match ignored {
            None => failures.check_eq(&path, strict.status, 200),
            Some(name) => {
                let expected = format!("`{name}` has no effect: ");
                failures.check(strict.status == 422 && strict.message().starts_with(&expected), || strict.text.clone());
            }
        }
    }
    failures.assert_none();
}
