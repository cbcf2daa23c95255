//! Compressed answers and bodies, and `Cache-Control` (`API.md` 1.10).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::{ADMIN, Failures, Server};

fn with_notes(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    server
}

/// Returns the headers and bytes of an answer, as they were sent.
fn get(server: &Server, path: &str, accepted: &str) -> (ureq::http::HeaderMap, Vec<u8>) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request = agent.get(format!("{}{path}", server.address())).header("authorization", format!("Bearer {ADMIN}"));
    let mut answer = request.header("accept-encoding", accepted).call().unwrap();
    let mut bytes = Vec::new();
    answer.body_mut().as_reader().read_to_end(&mut bytes).unwrap();
    (answer.headers().clone(), bytes)
}

fn unpack(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    match encoding {
        "gzip" => drop(GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap()),
        "br" => drop(brotli::Decompressor::new(bytes, 4096).read_to_end(&mut unpacked).unwrap()),
        _ => unpacked = zstd::stream::decode_all(bytes).unwrap(),
    }
    unpacked
}

#[test]
fn answers_say_the_same_in_every_encoding() {
    let server = with_notes(&[]);
    let bulk = json!({ "resources": vec![json!({ "attributes": { "title": "word ".repeat(60) } }); 100] });
    (0..8).for_each(|_| drop(server.post("/v2/resources/notes/bulk", &bulk).expect(201)));
    for path in [
        "/v2/resources/notes?per_page=100&sort=id",
        "/v2/resources/notes/export?sort=id",
        "/v2/changes?since=0",
        "/v2/openapi.json",
        "/docs/swagger-ui-bundle.js",
    ] {
        let (headers, plain) = get(&server, path, "identity");
        assert!(!headers.contains_key("content-encoding"), "{path}");
        for encoding in ["gzip", "br", "zstd", "gzip"] {
            let (sent, packed) = get(&server, path, encoding);
            assert_eq!(sent["content-encoding"], encoding, "{path}");
            assert!(sent.get_all("vary").iter().any(|vary| vary == "Accept-Encoding"), "{path}");
            assert_eq!(sent.get("etag"), headers.get("etag"));
            assert!(packed.len() < plain.len() / 2, "{path}: {} of {}", packed.len(), plain.len());
            assert!(unpack(encoding, &packed) == plain, "{path} in {encoding}");
        }
    }
    for path in ["/v2/resources/notes?per_page=1&fields=id", "/healthz", "/v2/backup"] {
        assert!(!get(&server, path, "zstd, br, gzip").0.contains_key("content-encoding"), "{path}");
    }
}

#[test]
fn head_states_only_a_length_that_get_has() {
    let server = with_notes(&[]);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for (path, accepted, has_length, varies) in [
        ("/v2/openapi.json", "identity", true, true),
        ("/v2/openapi.json", "gzip", false, true),
        ("/healthz", "gzip", true, false),
    ] {
        let request =
            agent.head(format!("{}{path}", server.address())).header("authorization", format!("Bearer {ADMIN}"));
        let answer = request.header("accept-encoding", accepted).call().unwrap();
        let vary = answer.headers().get_all("vary").iter().any(|vary| vary == "Accept-Encoding");
        assert_eq!((answer.headers().contains_key("content-length"), vary), (has_length, varies), "{path} {accepted}");
    }
}

#[test]
fn each_client_gets_its_own_answer_in_every_encoding() {
    let server = with_notes(&[]);
    let id = server.create("notes", json!({ "title": "word ".repeat(400) }));
    let ada = server.member("ada", Some("editor"));
    let invitation = server.post(&format!("/v2/members/{ada}/invitations"), &json!({})).expect(201).data();
    let secret = invitation["url"].as_str().unwrap().split_once('#').unwrap().1;
    let accepted = json!({ "token": secret, "password": "correct horse battery staple" });
    let session = server.as_token("").send("POST", "/v2/invitation", Some(&accepted)).expect(200);
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let csrf = session.data()["csrf"].as_str().unwrap().to_owned();
    let bearer = |abilities: &[&str]| vec![("authorization", format!("Bearer {}", server.token(abilities)))];
    let clients = [
        ("update only", bearer(&["update"])),
        ("site", bearer(&["view"])),
        ("preview", bearer(&["view", "preview", "update"])),
        ("editor", vec![("cookie", cookie), ("x-csrf-token", csrf)]),
        ("admin", vec![("authorization", format!("Bearer {ADMIN}"))]),
    ];
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let ask = |method: &str, client: &[(&str, String)], encoding: &str| {
        let address = format!("{}/v2/resources/notes/{id}", server.address());
        let mut request = ureq::http::Request::builder().method(method).uri(address);
        for (name, value) in client {
            request = request.header(*name, value);
        }
        request = request.header("accept-encoding", encoding).header("content-type", "application/json");
        let body = if method == "PATCH" { "{\"attributes\": {}}" } else { "" };
        let mut answer = agent.run(request.body(body).unwrap()).unwrap();
        let mut bytes = Vec::new();
        answer.body_mut().as_reader().read_to_end(&mut bytes).unwrap();
        let packed = answer.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        (answer.status().as_u16(), packed.map_or(bytes.clone(), |packed| unpack(&packed, &bytes)))
    };
    let mut failures = Failures::default();
    // The requests are made twice, so that each client also comes after all others.
    for round in 0..2 {
        for (who, client) in &clients {
            for method in ["PATCH", "GET"] {
                let plain = ask(method, client, "identity");
                for encoding in ["gzip", "br", "zstd"] {
                    let (status, bytes) = ask(method, client, encoding);
                    failures.check(plain == (status, bytes.clone()), || {
                        let texts = [&plain.1, &bytes].map(|bytes| String::from_utf8_lossy(bytes).replace("word ", ""));
                        format!("{round}: {method} by {who} in {encoding}: {texts:?}")
                    });
                }
            }
        }
    }
    failures.assert_none();
}

#[test]
fn a_body_may_be_compressed_and_is_bounded_as_it_is_unpacked() {
    let server = with_notes(&["--max-body-bytes", "100000"]);
    let pack = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let send = |path: &str, kind: &str, encoding: &str, body: &[u8]| {
        server.raw("POST", path, &[("content-type", kind), ("content-encoding", encoding)], body)
    };
    let (path, kind) = ("/v2/resources/notes", "application/json");
    let body = json!({ "attributes": { "title": "packed" } }).to_string();
    let created = send(path, kind, "gzip", &pack(&body)).expect(201).data();
    assert_eq!(created["attributes"]["title"], "packed");
    let in_parts = [pack(&body[..10]), pack(&body[10..])].concat();
    let created = send(path, kind, "gzip", &in_parts).expect(201).data();
    assert_eq!(created["attributes"]["title"], "packed", "a file of several members");
    let large = json!({ "attributes": { "title": "x".repeat(200_000) } }).to_string();
    for (encoding, body, expected) in [
        ("gzip", body.as_bytes().to_vec(), "400 MALFORMED_JSON"),
        ("gzip", pack(&body)[..20].to_vec(), "400 MALFORMED_JSON"),
        ("gzip", pack(&large), "413 PAYLOAD_TOO_LARGE"),
        ("br", pack(&body), "415 UNSUPPORTED_MEDIA_TYPE"),
        ("identity", body.as_bytes().to_vec(), "201"),
    ] {
        assert_eq!(send(path, kind, encoding, &body).outcome(), expected, "{encoding}");
    }
    let lines: String =
        (0..500).map(|n| json!({ "key": format!("{n}"), "attributes": { "title": "t" } }).to_string() + "\n").collect();
    let imported = send("/v2/resources/notes/import", "application/x-ndjson", "gzip", &pack(&lines)).expect(200);
    assert_eq!(imported.lines().iter().filter(|line| line["op"] == "created").count(), 500);
    let (one, other) = lines.split_at(lines.len() / 2);
    let in_parts = [pack(one), pack(other)].concat();
    let imported = send("/v2/resources/notes/import", "application/x-ndjson", "gzip", &in_parts).expect(200);
    assert_eq!(imported.lines().iter().filter(|line| line["op"] == "updated").count(), 500);
}

#[test]
fn answers_with_a_tag_say_how_long_they_may_be_kept_and_exports_name_a_file() {
    for (arguments, expected) in
        [(&[][..], "private, no-cache"), (&["--cache-control", "public, max-age=5"], "public, max-age=5")]
    {
        let server = with_notes(arguments);
        let id = server.create("notes", json!({}));
        let resource = format!("/v2/resources/notes/{id}");
        for path in ["/v2/resources/notes", &resource, "/docs"] {
            for _ in 0..2 {
                assert_eq!(server.get(path).expect(200).header("cache-control"), Some(expected), "{path}");
            }
        }
        assert_eq!(server.get("/v2/members").expect(200).header("cache-control"), None);
    }
    let server = with_notes(&[]);
    let export = server.get("/v2/resources/notes/export?format=csv").expect(200);
    assert_eq!(export.header("content-disposition"), Some("attachment; filename=\"notes.csv\""));
}

#[test]
fn the_viewer_needs_no_other_host() {
    let server = with_notes(&[]);
    let page = server.as_token("").get("/docs").expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!page.text.contains("http:") && !page.text.contains("https:"), "{}", page.text);
    for name in page.text.split(['"', '>']).filter(|part| part.starts_with("/docs/")) {
        let file = server.as_token("").get(name).expect(200);
        assert!(file.text.len() > 500, "{name}");
        assert_eq!(
            server.as_token("").raw("GET", name, &[("if-none-match", file.header("etag").unwrap())], b"").status,
            304
        );
    }
    assert_eq!(server.as_token("").get("/docs/other.js").outcome(), "404 NOT_FOUND");
}
