//! The change feed (`API.md` 6.1): its contents, its visibility, and the ways to read it.

mod lasting;
mod waiting;

use serde_json::{Value, json};

use crate::support::{Reply, Server};

/// Returns the operation and the id of each change in an answer.
fn ops(reply: &Reply) -> Vec<(String, String)> {
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    reply.lines().iter().map(|line| (text(line, "op"), text(line, "id"))).collect()
}

fn last_change(reply: &Reply) -> u64 {
    reply.header("x-last-change").unwrap().parse().unwrap()
}

fn with_notes() -> Server {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    server
}

fn draft(server: &Server, blueprint: &str) -> String {
    let body = json!({ "attributes": {} });
    server.post(&format!("/v2/resources/{blueprint}"), &body).expect(201).data()["id"].as_str().unwrap().to_owned()
}

#[test]
fn each_write_is_one_change_and_a_site_sees_those_that_concern_it() {
    let server = with_notes();
    let path = |id: &str| format!("/v2/resources/notes/{id}");
    let a = draft(&server, "notes");
    server.patch(&path(&a), &json!({ "attributes": { "title": "1" } })).expect(200);
    // This request changes nothing, so the feed must not contain it.
    server.patch(&path(&a), &json!({ "attributes": { "title": "1" } })).expect(200);
    server.patch(&path(&a), &json!({ "published_at": "2026-01-01T00:00:00Z" })).expect(200);
    server.patch(&path(&a), &json!({ "published_at": "2026-01-02T00:00:00Z" })).expect(200);
    let b = server.create("notes", json!({}));
    server.patch(&path(&a), &json!({ "published_at": null, "attributes": { "title": "2" } })).expect(200);
    server.delete(&path(&a)).expect(204);
    server.delete(&path(&b)).expect(204);
    let bulk = json!({ "resources": [{ "attributes": {} }, { "attributes": { "no": 1 } }, { "attributes": {} }] });
    let created = server.post("/v2/resources/notes/bulk", &bulk).expect(207).data()["created"].clone();
    let id = |n: usize| created[n]["id"].as_str().unwrap().to_owned();
    server.post("/v2/resources/notes/bulk-publish", &json!({ "ids": [id(0)] })).expect(200);

    let seen = |of: &[(&str, &str)]| of.iter().map(|(op, id)| ((*op).into(), (*id).into())).collect::<Vec<_>>();
    let all = server.get("/v2/changes?since=0").expect(200);
    let (c, d) = (id(0), id(1));
    let expected = [
        ("created", &*a),
        ("updated", &a),
        ("published", &a),
        ("updated", &a),
        ("created", &b),
        ("unpublished", &a),
        ("deleted", &a),
        ("deleted", &b),
        ("created", &c),
        ("created", &d),
        ("published", &c),
    ];
    assert_eq!(ops(&all), seen(&expected));
    let numbers: Vec<u64> = all.lines().iter().map(|line| line["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=11).collect::<Vec<_>>());
    assert_eq!((last_change(&all), all.header("content-type")), (11, Some("application/x-ndjson")));
    assert_eq!(all.lines()[0]["blueprint"], "notes");
    assert!(all.lines()[0]["at"].as_str().unwrap().ends_with("+00:00"));

    let site = server.as_token(&server.token(&["view"])).get("/v2/changes?since=0").expect(200);
    let expected =
        [("published", &*a), ("updated", &a), ("created", &b), ("unpublished", &a), ("deleted", &b), ("published", &c)];
    assert_eq!(ops(&site), seen(&expected));
    assert_eq!(last_change(&site), 11);
    let blind = server.token(&["create"]);
    for query in ["", "?since=x", "?limit=0", "?wait=61"] {
        let reply = server.as_token(&blind).get(&format!("/v2/changes{query}"));
        assert_eq!(reply.outcome(), "403 FORBIDDEN", "{query}");
    }
}

#[test]
fn a_token_sees_the_changes_of_its_blueprints_only() {
    let server = with_notes();
    server.blueprint("other", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    draft(&server, "notes");
    let other = draft(&server, "other");
    draft(&server, "notes");
    let limited = json!({ "name": "l", "abilities": ["preview"], "blueprints": ["other"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let reply = server.as_token(&limited).get("/v2/changes?since=0").expect(200);
    assert_eq!((ops(&reply), last_change(&reply)), (vec![("created".into(), other)], 3));
}

#[test]
fn what_a_write_does_to_other_resources_is_in_the_feed() {
    let server = with_notes();
    let to = json!({ "blueprint": "notes", "on_delete": "nullify" });
    server.blueprint("links", json!([{ "name": "To", "slug": "to", "type": "reference", "settings": to }]));
    let site = json!({ "name": "Site", "slug": "site", "kind": "singular_resource", "fields": [] });
    server.post("/v2/blueprints", &site).expect(201);
    let site = server.ids("site")[0].clone();
    let note = draft(&server, "notes");
    let link = server.create("links", json!({ "to": note }));
    server.delete(&format!("/v2/resources/notes/{note}")).expect(204);
    server.delete("/v2/blueprints/links?force=true").expect(204);
    let import = format!(
        "{}\n{}\n",
        json!({ "key": "k", "attributes": {} }),
        json!({ "key": "k", "attributes": { "title": "t" } })
    );
    let ndjson = [("content-type", "application/x-ndjson")];
    let imported = server.raw("POST", "/v2/resources/notes/import", &ndjson, import.as_bytes()).expect(200);
    let imported = imported.lines()[0]["id"].as_str().unwrap().to_owned();
    let found = ops(&server.get("/v2/changes").expect(200));
    let mut expected: Vec<(String, String)> = [
        ("created", &site),
        ("created", &note),
        ("created", &link),
        ("updated", &link),
        ("deleted", &note),
        ("deleted", &link),
        ("created", &imported),
        ("updated", &imported),
    ]
    .map(|(op, id)| (op.to_owned(), id.clone()))
    .to_vec();
    // Within one transaction, any order is right.
    let mut sorted = found.clone();
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
}

#[test]
fn a_feed_is_read_in_pieces_from_any_number_on() {
    let server = with_notes();
    let ids: Vec<String> = (0..25).map(|_| draft(&server, "notes")).collect();
    let (mut since, mut seen) = (0, Vec::new());
    loop {
        let piece = server.get(&format!("/v2/changes?since={since}&limit=7")).expect(200);
        if piece.lines().is_empty() {
            break;
        }
        seen.extend(ops(&piece).into_iter().map(|(_, id)| id));
        assert_eq!(piece.lines().last().unwrap()["number"], last_change(&piece));
        since = last_change(&piece);
    }
    assert_eq!(seen, ids);
    assert_eq!(last_change(&server.get("/v2/changes?since=now").expect(200)), 25);
    assert_eq!(server.get("/v2/changes?since=25").expect(200).text, "");
    for (query, expected) in [
        ("since=26", "410 GONE"),
        ("since=9999999999999999999999", "410 GONE"),
        ("since=-1", "422 INVALID_PARAMETER"),
        ("limit=0", "422 INVALID_PARAMETER"),
        ("limit=10001", "422 INVALID_PARAMETER"),
        ("wait=61", "422 INVALID_PARAMETER"),
        ("wait=x", "422 INVALID_PARAMETER"),
        ("strict=true&after=1", "422 INVALID_PARAMETER"),
        ("strict=true&since=1&limit=10000&wait=0", "200"),
    ] {
        assert_eq!(server.get(&format!("/v2/changes?{query}")).outcome(), expected, "{query}");
    }
    assert_eq!(last_change(&server.get("/v2/changes?since=26")), 25, "the number to go on from");
}
