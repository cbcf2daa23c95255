//! The parts of the dashboard (`API.md` 4.15 to 4.17): its files, the status of the server, a search over everything.

use serde_json::json;

use crate::support::{Failures, Reply, Server};

fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Reply {
    server.as_token("").raw("GET", path, headers, b"")
}

#[test]
fn screens_show_the_index_and_unknown_files_are_missing() {
    let server = Server::start();
    let index = get(&server, "/admin", &[]).expect(200);
    assert!(index.text.starts_with("<!doctype html>") || index.text.starts_with("<!DOCTYPE html>"), "{}", index.text);
    let mut failures = Failures::default();
    for (path, status) in [
        ("/admin/", 200),
        ("/admin/index.html", 200),
        ("/admin/content/articles?sort=-title", 200),
        ("/admin/admin", 200),
        ("/admin/invitation", 200),
        ("/admin/..%2f..%2fCargo", 404),
        ("/admin/missing.js", 404),
        ("/admin/assets/missing-12345678.css", 404),
        ("/admin/../Cargo.toml", 404),
        ("/admin/..%2fCargo.toml", 404),
        ("/administration", 404),
    ] {
        let reply = get(&server, path, &[]);
        failures.check_eq(path, reply.status, status);
        failures.check(status != 200 || reply.text == index.text, || format!("{path}: not the index"));
    }
    failures.assert_none();
    assert_eq!(server.as_token("").send("POST", "/admin", None).expect(405).header("allow"), Some("GET,HEAD"));
}

#[test]
fn the_index_is_revalidated_and_loads_nothing_from_elsewhere() {
    let server = Server::start();
    let index = get(&server, "/admin", &[]).expect(200);
    let policy = index.header("content-security-policy").unwrap();
    for directive in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.split("; ").any(|found| found == directive), "{directive}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    // Pictures in the content may be loaded from anywhere, other files only from the server.
    let from_elsewhere = policy.split("; ").filter(|directive| directive.contains("http"));
    let from_elsewhere: Vec<&str> = from_elsewhere.filter_map(|directive| directive.split(' ').next()).collect();
    assert_eq!(from_elsewhere, ["img-src", "media-src"]);
    let header = |name: &str| index.header(name).unwrap_or_default();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    let tag = header("etag");
    let known = get(&server, "/admin/any/screen", &[("if-none-match", tag)]).expect(304);
    assert_eq!((known.text.as_str(), known.header("etag")), ("", Some(tag)));
    get(&server, "/admin", &[("if-none-match", "\"other\"")]).expect(200);
}

#[test]
fn a_client_that_accepts_gzip_gets_less_and_another_tag() {
    let server = Server::start();
    let plain = get(&server, "/admin", &[("accept-encoding", "gzip;q=0, br")]).expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    // The client of the tests does not decompress, so a compressed answer is not text.
    let head = server.as_token("").raw("HEAD", "/admin", &[("accept-encoding", "br, gzip")], b"").expect(200);
    assert_eq!((head.header("content-encoding"), head.header("vary")), (Some("gzip"), Some("Accept-Encoding")));
    assert_ne!(head.header("etag"), plain.header("etag"));
}

#[test]
fn one_search_finds_what_the_token_sees_in_all_blueprints() {
    let server = Server::start();
    let titled = |slug: &str| {
        let body = json!({ "name": slug, "slug": slug, "record_title": "title",
            "fields": [{ "name": "Title", "type": "text" }, { "name": "Body", "type": "rich-text" }] });
        server.post("/v2/blueprints", &body).expect(201);
    };
    ["articles", "pages"].into_iter().for_each(titled);
    server.blueprint("untitled", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    for number in 0..7 {
        server.create("articles", json!({ "title": format!("Kernel {number}"), "body": "<p>x</p>" }));
    }
    server.create("pages", json!({ "title": "About", "body": "<p>The KERNEL &amp; more</p>" }));
    server.create("untitled", json!({ "text": "kernel" }));
    // The blueprint has no field in which `q` can find something.
    server.blueprint("numbers", json!([{ "name": "Number", "slug": "number", "type": "number" }]));
    server.create("numbers", json!({ "number": 1 }));
    let hidden = json!({ "attributes": { "title": "A kernel that is a draft" } });
    server.post("/v2/resources/pages", &hidden).expect(201);
    let search =
        |token: &str, query: &str| server.as_token(token).get(&format!("/v2/search?{query}")).expect(200).json();
    let totals = |answer: &serde_json::Value| -> Vec<(String, u64, usize)> {
        let found = answer["data"].as_array().unwrap().iter();
        let row = |one: &serde_json::Value| {
            let shown = one["resources"].as_array().unwrap().len();
            (one["blueprint"].as_str().unwrap().to_owned(), one["total"].as_u64().unwrap(), shown)
        };
        found.map(row).collect()
    };
    let all = search(server.secret(), "search=kernel");
    let expected = [("articles", 7, 5), ("pages", 2, 2), ("untitled", 1, 1)];
    assert_eq!(totals(&all), expected.map(|(slug, total, shown)| (slug.to_owned(), total, shown)));
    assert_eq!(all["meta"]["total"], 10);
    let first = &all["data"][0]["resources"][0];
    assert_eq!(first["attributes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["title"]);
    assert_eq!(first["relationships"]["blueprint"]["data"]["id"], "articles");
    assert_eq!(totals(&search(server.secret(), "search=%26%20more&limit=1")), [("pages".to_owned(), 1, 1)]);
    let words = [("articles", 7, 1), ("pages", 2, 1), ("untitled", 1, 1)];
    assert_eq!(
        totals(&search(server.secret(), "q=krenel&limit=1&group=true")),
        words.map(|(slug, total, shown)| (slug.to_owned(), total, shown))
    );
    assert_eq!(totals(&search(server.secret(), "q=krenel&typos=false&group=true")), []);
    assert_eq!(totals(&search(server.secret(), "q=kernel&search=%26&group=true")), [("pages".to_owned(), 1, 1)]);
    assert_eq!(search(server.secret(), "search=nothing"), json!({ "data": [], "meta": { "total": 0 } }));

    let limited = json!({ "name": "l", "abilities": ["view"], "blueprints": ["pages"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    assert_eq!(totals(&search(&limited, "search=kernel")), [("pages".to_owned(), 1, 1)]);
    let mut failures = Failures::default();
    for (token, query, outcome) in [
        (server.secret(), "", "422 INVALID_PARAMETER"),
        (server.secret(), "search=", "422 INVALID_PARAMETER"),
        (server.secret(), "q=%2C", "422 INVALID_PARAMETER"),
        (server.secret(), "q=kernel&typos=maybe", "422 INVALID_PARAMETER"),
        (server.secret(), "search=a&search=b", "422 INVALID_PARAMETER"),
        (server.secret(), "search=a&limit=0", "422 INVALID_PARAMETER"),
        (server.secret(), "search=a&limit=21", "422 INVALID_PARAMETER"),
        (server.secret(), "search=a&serch=b&strict=true", "422 INVALID_PARAMETER"),
        (server.secret(), "search=a&serch=b", "200"),
        (&server.token(&["create", "manage"]), "search=a", "403 FORBIDDEN"),
        ("", "search=a", "401 UNAUTHENTICATED"),
    ] {
        let reply = server.as_token(token).get(&format!("/v2/search?{query}"));
        failures.check_eq(query, reply.outcome(), outcome.to_owned());
    }
    failures.assert_none();
}

#[test]
fn the_status_says_what_there_is() {
    let server = Server::start();
    server.blueprint("notes", json!([]));
    server.create("notes", json!({}));
    server.member("ada", None);
    let status = server.get("/v2/status").expect(200).data();
    assert_eq!(status["blueprints"], json!([{ "id": "notes", "resources": 1 }]));
    assert_eq!((&status["members"], &status["tokens"], &status["writable"]), (&json!(1), &json!(0), &json!(true)));
    assert_eq!((&status["version"], &status["analytics"]["open"]), (&json!(env!("CARGO_PKG_VERSION")), &json!(true)));
    for part in ["log", "store", "base", "index", "analytics"] {
        assert!(status["bytes"][part].is_u64(), "{status}");
    }
    assert!(status["bytes"]["log"].as_u64() > Some(0) && status["process"]["threads"].as_u64() > Some(1), "{status}");
    let before = status["number"].as_u64();
    server.create("notes", json!({}));
    assert!(server.get("/v2/status").expect(200).data()["number"].as_u64() > before);
    server.as_token(&server.token(&["preview", "analytics:view"])).get("/v2/status").expect(403);
}
