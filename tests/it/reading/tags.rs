//! Entity tags of resources and lists (`API.md` 4.2, 4.3, 4.4).

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::notes;
use crate::support::{ADMIN, Failures, Server};

const LIST: &str = "/v2/resources/notes";

/// Returns the head of the answer to a `GET` as the admin with this `Host`.
fn head_with_host(server: &Server, path: &str, host: &str) -> String {
    let mut connection = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split("\r\n\r\n").next().unwrap().to_lowercase()
}

fn line<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find(|line| line.starts_with(name)).unwrap_or_default()
}

#[test]
fn the_tag_of_a_list_and_vary_mind_the_host_that_links_are_made_from() {
    let server = Server::start();
    notes(&server, 2);
    let heads = ["a.example", "b.example", "a.example"].map(|host| head_with_host(&server, LIST, host));
    assert_eq!(line(&heads[0], "vary:"), "vary: authorization, host");
    assert_eq!(line(&heads[0], "etag:"), line(&heads[2], "etag:"));
    assert_ne!(line(&heads[0], "etag:"), line(&heads[1], "etag:"));

    let server = Server::start_with(&["--public-url", "https://cms.example"]);
    let id = notes(&server, 2).remove(0);
    let heads = ["a.example", "b.example"].map(|host| head_with_host(&server, LIST, host));
    assert_eq!(line(&heads[0], "vary:"), "vary: authorization");
    assert_eq!(line(&heads[0], "etag:"), line(&heads[1], "etag:"));
    assert_eq!(line(&head_with_host(&server, &format!("{LIST}/{id}"), "x"), "vary:"), "vary: authorization");
}

#[test]
fn the_tag_of_a_list_of_published_resources_changes_with_those_only_and_tells_no_number() {
    let server = Server::start();
    let ids = notes(&server, 2);
    let view = server.token(&["view"]);
    let tag = |token: &str| server.as_token(token).get(LIST).expect(200).header("etag").unwrap().to_owned();
    let published = json!("2026-01-01T00:00:00Z");
    let body = |published_at: &serde_json::Value| json!({ "attributes": { "count": 1 }, "published_at": published_at });
    let drafts: Vec<String> = (0..2)
        .map(|_| server.post(LIST, &body(&json!(null))).expect(201).data()["id"].as_str().unwrap().to_owned())
        .collect();
    let path = |id: &str| format!("{LIST}/{id}");
    let patch = |id: &str, body: serde_json::Value| drop(server.patch(&path(id), &body).expect(200));
    let bulk = |what: &str, ids: serde_json::Value| drop(server.post(&format!("{LIST}/{what}"), &ids).expect(200));
    // Each step: its effect, and whether a token with `view` may see a part of it.
    let steps: [(&str, bool, &dyn Fn()); 10] = [
        ("create a draft", false, &|| drop(server.post(LIST, &body(&json!(null))).expect(201))),
        ("change a draft", false, &|| patch(&drafts[0], json!({ "attributes": { "count": 9 } }))),
        ("withdraw a draft", false, &|| bulk("bulk-unpublish", json!({ "ids": [drafts[0]] }))),
        ("delete a draft", false, &|| drop(server.delete(&path(&drafts[1])).expect(204))),
        ("publish a draft", true, &|| bulk("bulk-publish", json!({ "ids": [drafts[0]] }))),
        ("change what is published", true, &|| patch(&ids[0], json!({ "attributes": { "count": 9 } }))),
        ("create what is published", true, &|| drop(server.post(LIST, &body(&published)).expect(201))),
        ("withdraw", true, &|| patch(&ids[0], json!({ "published_at": null }))),
        ("change what was withdrawn", false, &|| patch(&ids[0], json!({ "attributes": { "count": 3 } }))),
        ("delete what is published", true, &|| drop(server.delete(&path(&ids[1])).expect(204))),
    ];
    let mut failures = Failures::default();
    let mut seen = HashSet::from([tag(&view), tag(ADMIN)]);
    for (name, is_seen, step) in steps {
        let before = tag(&view);
        step();
        failures.check_eq(name, tag(&view) != before, is_seen);
        failures.check_eq(name, seen.insert(tag(&view)), is_seen);
        // With `preview`, every step changes the tag except the one that changes nothing.
        failures.check_eq(name, seen.insert(tag(ADMIN)), name != "withdraw a draft");
    }
    for tag in &seen {
        let digits = tag.trim_matches('"');
        let is_opaque = digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit());
        failures.check(is_opaque, || tag.clone());
    }
    failures.assert_none();
}

#[test]
fn entity_tags_make_requests_conditional() {
    let server = Server::start();
    let ids = notes(&server, 2);
    let path = format!("/v2/resources/notes/{}", ids[0]);
    let reply = server.get(&path).expect(200);
    let tag = reply.header("etag").unwrap().to_owned();
    assert_eq!(reply.header("vary").map(str::to_lowercase).as_deref(), Some("authorization"));
    let weak = format!("W/{tag}");
    let (two, spaced) = (format!("\"x\", {tag}"), format!(" {tag} "));
    let bare = tag.trim_matches('"').to_owned();
    let mut failures = Failures::default();
    for (sent, status) in [
        (tag.as_str(), 304),
        (weak.as_str(), 304),
        (two.as_str(), 304),
        ("*", 304),
        (spaced.as_str(), 304),
        ("\"x\"", 200),
        (bare.as_str(), 200),
        ("", 200),
    ] {
        let reply = server.raw("GET", &path, &[("if-none-match", sent)], b"");
        failures.check_eq(sent, reply.status, status);
        failures.check_eq(sent, reply.header("etag"), Some(tag.as_str()));
        failures.check_eq(sent, reply.text.is_empty(), status == 304);
    }
    let json_type = ("content-type", "application/json");
    for (sent, status) in [
        (tag.as_str(), 200),
        ("*", 200),
        (two.as_str(), 200),
        (weak.as_str(), 412),
        ("\"x\"", 412),
        (bare.as_str(), 412),
        ("x", 412),
    ] {
        for method in ["PATCH", "PUT"] {
            let body = server.get(&path).data().to_string();
            let reply = server.raw(method, &path, &[("if-match", sent), json_type], body.as_bytes());
            failures.check_eq(&format!("{method} {sent}"), reply.status, status);
        }
    }
    // A write changes the tag, and every kind of write rejects the old one.
    let changed = server.patch(&path, &json!({ "attributes": { "count": 7 } })).expect(200);
    let new = changed.header("etag").unwrap().to_owned();
    failures.check(new != tag, || "a change did not change the tag".to_owned());
    for (method, body) in [("PATCH", "{\"attributes\":{\"count\":8}}"), ("PUT", "{\"attributes\":{}}"), ("DELETE", "")]
    {
        let headers = if body.is_empty() {
            vec![("if-match", tag.as_str())]
        } else {
            vec![("if-match", tag.as_str()), json_type]
        };
        failures.check_eq(
            method,
            server.raw(method, &path, &headers, body.as_bytes()).outcome(),
            "412 PRECONDITION_FAILED".to_owned(),
        );
    }
    failures.check_eq("the old tag", server.raw("GET", &path, &[("if-none-match", &tag)], b"").status, 200);
    failures.check_eq("the new tag", server.raw("GET", &path, &[("if-none-match", &new)], b"").status, 304);
    // The tag also changes with the blueprint.
    let mut blueprint = server.get("/v2/blueprints/notes").data();
    blueprint["fields"].as_array_mut().unwrap().push(json!({ "name": "More", "slug": "more", "type": "text" }));
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    let after = server.raw("GET", &path, &[("if-none-match", &new)], b"");
    failures.check_eq("read with the tag from before the blueprint changed", after.status, 200);
    failures.check_eq(
        "delete with the tag from before the blueprint changed",
        server.raw("DELETE", &path, &[("if-match", &new)], b"").status,
        412,
    );
    let newest = after.header("etag").unwrap().to_owned();
    failures.check_eq("delete", server.raw("DELETE", &path, &[("if-match", &newest)], b"").status, 204);
    failures.assert_none();
}

#[test]
fn the_tag_of_a_list_changes_with_every_write_that_may_change_the_list() {
    let server = Server::start();
    let ids = notes(&server, 2);
    server.blueprint("others", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let view = server.token(&["view"]);
    let path = "/v2/resources/notes?filter[count][gte]=0";
    let tag = |token: &str| server.as_token(token).get(path).expect(200).header("etag").unwrap().to_owned();
    let mut last = tag(ADMIN);
    assert_eq!(tag(ADMIN), last);
    assert_ne!(tag(&view), last, "the tag depends on whether the token can see drafts");
    let unchanged = server.raw("GET", path, &[("if-none-match", &last)], b"").expect(304);
    assert_eq!((unchanged.text.as_str(), unchanged.header("etag")), ("", Some(last.as_str())));
    assert!(unchanged.header("vary").is_some());
    let one = format!("/v2/resources/notes/{}", ids[0]);
    let steps: [(&str, &dyn Fn()); 5] = [
        ("create", &|| drop(server.create("notes", json!({ "count": 3 })))),
        ("change", &|| drop(server.patch(&one, &json!({ "attributes": { "count": 5 } })).expect(200))),
        ("unpublish", &|| drop(server.patch(&one, &json!({ "published_at": null })).expect(200))),
        ("delete", &|| drop(server.delete(&one).expect(204))),
        ("blueprint", &|| {
            let mut blueprint = server.get("/v2/blueprints/notes").data();
            blueprint["fields"].as_array_mut().unwrap().pop();
            server.put("/v2/blueprints/notes", &blueprint).expect(200);
        }),
    ];
    for (name, step) in steps {
        step();
        let now = tag(ADMIN);
        assert_ne!(now, last, "{name}");
        server.raw("GET", path, &[("if-none-match", &last)], b"").expect(200);
        last = now;
    }
    // An invalid parameter never gets a 304.
    server.raw("GET", "/v2/resources/notes?page=0", &[("if-none-match", &last)], b"").expect(422);
}

#[test]
fn the_tag_of_a_page_stays_through_writes_that_leave_the_page_as_it_is() {
    let server = Server::start();
    let ids = notes(&server, 3);
    let patch = |id: &str, count: u32| {
        server.patch(&format!("{LIST}/{id}"), &json!({ "attributes": { "count": count } })).expect(200);
    };
    ids.iter().zip([1, 1, 5]).for_each(|(id, count)| patch(id, count));
    let ones = format!("{LIST}?filter[count]=1&sort=created_at&per_page=1");
    let tag = || server.get(&ones).expect(200).header("etag").unwrap().to_owned();
    let before = tag();
    let is_known = |tag: &str| server.raw("GET", &ones, &[("if-none-match", tag)], b"").status == 304;
    // A change that the filter leaves out, and one on another page.
    patch(&ids[2], 6);
    assert!(is_known(&before));
    patch(&ids[1], 1);
    assert!(is_known(&before));
    assert_eq!(tag(), before);
    // The total.
    patch(&ids[2], 1);
    let more = tag();
    assert_ne!(more, before);
    assert!(!is_known(&before) && is_known(&more));
    // The page.
    server.patch(&format!("{LIST}/{}", ids[0]), &json!({ "attributes": { "count": 1, "title": "new" } })).expect(200);
    assert!(!is_known(&more));
}
