//! `pretty=true`: indented answers (`API.md` 1.11).

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::support::{ADMIN, Failures, Server};

fn with_notes() -> (Server, String) {
    let server = Server::start();
    let fields = json!([
        { "name": "Title", "slug": "title", "type": "text" },
        { "name": "Page", "slug": "page", "type": "html-page" },
    ]);
    server.blueprint("notes", fields);
    let id = server.create("notes", json!({ "title": "a \"quoted\" {title}, [1] \\ ü" }));
    (server, id)
}

fn indented(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn every_json_answer_is_indented_if_it_is_asked_for() {
    let (server, id) = with_notes();
    let mut failures = Failures::default();
    for (path, status) in [
        ("/v2/resources/notes?facets=title", 200),
        (&format!("/v2/resources/notes/{id}"), 200),
        (&format!("/v2/resources/notes/{id}/neighbors"), 200),
        (&format!("/v2/resources/notes/{id}/referrers"), 200),
        ("/v2/resources/notes/export", 200),
        ("/v2/blueprints", 200),
        ("/v2/tokens", 200),
        ("/v2/analytics/summary", 200),
        ("/v2/analytics/pages", 200),
        ("/v2/search?search=a", 200),
        ("/v2/status", 200),
        ("/v2/openapi.json", 200),
        ("/v2/nowhere", 404),
        ("/v2/resources/nothing", 404),
        ("/v2/resources/notes?page=0", 422),
    ] {
        let with = |parameter: &str| format!("{path}{}{parameter}", if path.contains('?') { '&' } else { '?' });
        let compact = server.get(path);
        failures.check_eq(path, compact.status, status);
        for parameter in ["pretty=true", "pretty=1&strict=true", "%70retty=true"] {
            let pretty = server.get(&with(parameter));
            failures.check_eq(path, pretty.status, status);
            failures.check(pretty.text == indented(&pretty.text), || format!("{path}: {}", pretty.text));
            if path != "/v2/status" && status == 200 {
                failures.check_eq(path, pretty.json().get("data").cloned(), compact.json().get("data").cloned());
            }
        }
        let plain = server.get(&with("pretty=false"));
        failures.check(!plain.text.contains("\n  "), || format!("{path}: {}", plain.text));
    }
    for path in
        ["/v2/resources/notes/export?format=ndjson", "/v2/resources/notes/export?format=csv", "/v2/changes?since=0"]
    {
        failures.check_eq(path, server.get(&format!("{path}&pretty=true")).text, server.get(path).text);
    }
    let reply = server.as_token("unknown").get("/v2/resources/notes?pretty=true");
    failures.check_eq("without a token", (reply.status, reply.text.clone()), (401, indented(&reply.text)));
    failures.assert_none();
}

#[test]
fn writes_answer_indented_and_another_value_writes_nothing() {
    let (server, id) = with_notes();
    let body = json!({ "attributes": { "title": "x" } });
    let created = server.post("/v2/resources/notes?pretty=true", &body).expect(201);
    assert_eq!(created.text, indented(&created.text));
    let one = format!("/v2/resources/notes/{id}");
    for (method, path, body) in [
        ("POST", "/v2/resources/notes", &body),
        ("PATCH", one.as_str(), &body),
        ("DELETE", one.as_str(), &json!(null)),
        ("POST", "/v2/resources/notes/bulk", &json!({ "resources": [body] })),
        ("POST", "/v2/members", &json!({ "name": "Ada", "email": "ada@example.com" })),
        ("GET", "/v2/resources/notes", &json!(null)),
        ("GET", "/v2/members", &json!(null)),
        ("GET", "/v2/analytics/live", &json!(null)),
    ] {
        let body = (!body.is_null()).then_some(body);
        for value in ["maybe", "", "true&pretty=true"] {
            let reply = server.send(method, &format!("{path}?pretty={value}"), body);
            assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{method} {path}?pretty={value}");
        }
    }
    assert_eq!(server.get("/v2/resources/notes").json()["meta"]["total"], 2);
    assert_eq!(server.get("/v2/members").data(), json!([]));
}

#[test]
fn an_indented_answer_has_its_own_tag_and_length() {
    let (server, id) = with_notes();
    for path in ["/v2/resources/notes".to_owned(), format!("/v2/resources/notes/{id}")] {
        let pretty = format!("{path}?pretty=true");
        // Twice: the second time they are kept.
        for _ in 0..2 {
            let (compact, indented) = (server.get(&path).expect(200), server.get(&pretty).expect(200));
            let (tag, own) = (compact.header("etag").unwrap(), indented.header("etag").unwrap());
            assert_eq!(own.trim_matches('"'), format!("{}-pretty", tag.trim_matches('"')));
            assert_eq!(indented.header("content-length"), Some(indented.text.len().to_string().as_str()));
            for (named, status) in [(own, 304), (tag, 200), ("*", 304), (&format!("\"x\", W/{own}"), 304)] {
                let reply = server.raw("GET", &pretty, &[("if-none-match", named)], b"").expect(status);
                assert_eq!(reply.header("etag"), Some(own), "{path} {named}");
            }
            server.raw("GET", &path, &[("if-none-match", own)], b"").expect(200);
            let head = server.raw("HEAD", &pretty, &[], b"").expect(200);
            assert_eq!(head.header("content-length"), indented.header("content-length"), "{path}");
            assert_eq!(head.text, "");
        }
    }
    let path = format!("/v2/resources/notes/{id}");
    let tag = server.get(&format!("{path}?pretty=true")).header("etag").unwrap().to_owned();
    let change = json!({ "attributes": { "title": "y" } }).to_string();
    let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
    server.raw("PATCH", &path, &headers, change.as_bytes()).expect(200);
    server.raw("PATCH", &path, &headers, change.as_bytes()).expect(412);
}

#[test]
fn nested_and_compressed_answers_are_indented_too() {
    let (server, id) = with_notes();
    let nested = (0..50).fold(json!([0, 0]), |inner, _| json!([inner]));
    let blocks = vec![json!({ "name": "b", "values": vec![nested; 40] }); 40];
    let body = json!({ "attributes": { "page": { "html": "", "css": "", "blocks": blocks } } });
    let path = format!("/v2/resources/notes/{id}");
    server.patch(&path, &body).expect(200);
    for path in [path, "/v2/resources/notes".to_owned(), "/v2/resources/notes/export".to_owned()] {
        let pretty = server.get(&format!("{path}?pretty=true")).expect(200);
        assert!(pretty.text == indented(&pretty.text), "{path}");
        assert!(pretty.text.len() > 20 * server.get(&path).text.len(), "{path}");
        let url = format!("{}{path}?pretty=true", server.address());
        let request = ureq::get(&url).header("authorization", format!("Bearer {ADMIN}"));
        let mut answer = request.header("accept-encoding", "gzip").call().unwrap();
        assert_eq!(answer.headers()["content-encoding"], "gzip");
        let (mut packed, mut text) = (Vec::new(), String::new());
        answer.body_mut().as_reader().read_to_end(&mut packed).unwrap();
        GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        assert!(text == pretty.text, "{path} in gzip");
    }
}
