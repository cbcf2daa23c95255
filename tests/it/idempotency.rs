//! `Idempotency-Key`: a retried request is not executed twice (`API.md` 4.13).

use serde_json::{Value, json};

use crate::support::{ADMIN, Client, Reply, Server};

const NOTES: &str = "/v2/resources/notes";

fn notes() -> Server {
    let server = Server::start();
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text", "required": true, "unique": true }]);
    server.blueprint("notes", fields);
    server
}

fn send(client: &Client<'_>, path: &str, key: &str, body: &Value) -> Reply {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.raw("POST", path, &headers, body.to_string().as_bytes())
}

fn total(server: &Server, path: &str) -> usize {
    let json = server.get(path).expect(200).json();
    json["meta"]["total"].as_u64().map_or_else(|| json["data"].as_array().unwrap().len(), |total| total as usize)
}

/// Returns the status, the body and the headers that a retry must repeat.
fn parts(reply: &Reply) -> (u16, String, [Option<String>; 3]) {
    let headers = ["etag", "location", "content-type"].map(|name| reply.header(name).map(str::to_owned));
    (reply.status, reply.text.clone(), headers)
}

#[test]
fn a_retried_request_gets_the_same_answer_even_after_a_restart() {
    let mut server = notes();
    let id = server.create("notes", json!({ "title": "there" }));
    let member = json!({ "name": "Ada", "email": "ada@example.org" });
    let blueprint = json!({ "name": "More", "slug": "more", "fields": [] });
    let cases = [
        (NOTES.to_owned(), json!({ "attributes": { "title": "a" } }), 201),
        (format!("{NOTES}?variant=x"), json!({ "attributes": { "title": "b" } }), 201),
        (format!("{NOTES}/bulk"), json!({ "resources": [{ "attributes": { "title": "c" } }] }), 201),
        (format!("{NOTES}/bulk"), json!({ "resources": [{ "attributes": { "title": "d" } }, {}] }), 207),
        (format!("{NOTES}/bulk"), json!({ "resources": [{}] }), 207),
        (format!("{NOTES}/bulk-publish"), json!({ "ids": [id] }), 200),
        (format!("{NOTES}/bulk-unpublish"), json!({ "ids": [id] }), 200),
        ("/v2/members".to_owned(), member, 201),
        ("/v2/blueprints".to_owned(), blueprint, 201),
    ];
    let client = server.as_token(ADMIN);
    let first: Vec<Reply> = cases
        .iter()
        .enumerate()
        .map(|(n, (path, body, status))| send(&client, path, &format!("key-{n}"), body).expect(*status))
        .collect();
    // The stored answer is returned as it was; it is not computed again from the current state.
    let created = first[0].data()["id"].as_str().unwrap().to_owned();
    server.patch(&format!("{NOTES}/{created}"), &json!({ "attributes": { "title": "changed" } })).expect(200);
    server.delete(&format!("{NOTES}/{created}")).expect(204);
    let counts = (total(&server, NOTES), total(&server, "/v2/members"), total(&server, "/v2/blueprints"));
    for round in 0..2 {
        let client = server.as_token(ADMIN);
        for (n, (path, body, _)) in cases.iter().enumerate() {
            // The server has another address after a restart, but the stored answer keeps its `Location`.
            let again = send(&client, path, &format!("key-{n}"), body);
            assert_eq!(parts(&again), parts(&first[n]), "round {round}, {path}");
        }
        assert_eq!(counts, (total(&server, NOTES), total(&server, "/v2/members"), total(&server, "/v2/blueprints")));
        if round == 0 {
            server.kill_and_restart();
        }
    }
}

#[test]
fn a_conflict_is_stored_and_other_errors_are_not() {
    let server = notes();
    let singular = json!({ "name": "Home", "slug": "home", "kind": "singular_resource", "fields": [] });
    server.post("/v2/blueprints", &singular).expect(201);
    let client = server.as_token(ADMIN);
    let body = json!({ "attributes": {} });
    let first = send(&client, "/v2/resources/home", "k", &body).expect(409);
    assert_eq!(parts(&send(&client, "/v2/resources/home", "k", &body)), parts(&first));
    assert_eq!(send(&client, NOTES, "k", &body).expect(422).code(), "IDEMPOTENCY_KEY_REUSED");

    let existing = server.create("notes", json!({ "title": "taken" }));
    let body = json!({ "attributes": { "title": "taken" } });
    assert_eq!(send(&client, NOTES, "v", &body).expect(422).code(), "VALIDATION_FAILED");
    server.delete(&format!("{NOTES}/{existing}")).expect(204);
    send(&client, NOTES, "v", &body).expect(201);
    send(&client, "/v2/resources/none", "n", &body).expect(404);
    server.blueprint("none", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    send(&client, "/v2/resources/none", "n", &body).expect(201);
}

#[test]
fn a_key_reused_for_another_request_is_rejected_before_other_errors() {
    let server = notes();
    let client = server.as_token(ADMIN);
    let body = json!({ "attributes": { "title": "a" } });
    send(&client, NOTES, "k", &body).expect(201);
    let spaced = format!(" {body}");
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let others = [
        client.raw("POST", NOTES, &headers, spaced.as_bytes()),
        client.raw("POST", NOTES, &headers, b"{"),
        client.raw("POST", NOTES, &headers[1..], b"{"),
        send(&client, &format!("{NOTES}?x=1"), "k", &body),
        send(&client, &format!("{NOTES}?variant=none"), "k", &body),
        send(&client, "/v2/resources/none", "k", &body),
        send(&client, &format!("{NOTES}/bulk"), "k", &body),
        send(&client, "/v2/members", "k", &body),
    ];
    for (n, reply) in others.into_iter().enumerate() {
        assert_eq!(reply.expect(422).code(), "IDEMPOTENCY_KEY_REUSED", "case {n}");
    }
    let large = vec![b' '; 11 << 20];
    assert_eq!(client.raw("POST", NOTES, &headers, &large).expect(422).code(), "IDEMPOTENCY_KEY_REUSED");
    let fresh = [("content-type", "application/json"), ("idempotency-key", "fresh")];
    assert_eq!(client.raw("POST", NOTES, &fresh, &large).expect(413).code(), "PAYLOAD_TOO_LARGE");
    // Abilities are checked first, and each token has its own keys.
    let viewer = server.token(&["view"]);
    assert_eq!(send(&server.as_token(&viewer), NOTES, "k", &json!({})).expect(403).code(), "FORBIDDEN");
    let creator = server.token(&["create"]);
    let other = json!({ "attributes": { "title": "b" } });
    send(&server.as_token(&creator), NOTES, "k", &other).expect(201);
    // The check also precedes the error that the token has no such blueprint.
    let token = json!({ "name": "limited", "abilities": ["create"], "blueprints": ["notes"] });
    let limited = server.post("/v2/tokens", &token).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let limited = server.as_token(&limited);
    send(&limited, NOTES, "k", &json!({ "attributes": { "title": "c" } })).expect(201);
    assert_eq!(send(&limited, "/v2/resources/none", "k", &other).expect(422).code(), "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(total(&server, NOTES), 3);
}

#[test]
fn a_malformed_key_is_rejected_and_other_endpoints_ignore_keys() {
    let server = notes();
    let client = server.as_token(ADMIN);
    let body = json!({ "attributes": { "title": "a" } });
    let (long, view) = ("k".repeat(256), server.token(&["view"]));
    for key in ["", "a b", "sch\u{f6}n", "a\tb", &long] {
        for path in [
            NOTES,
            "/v2/resources/none",
            "/v2/members",
            "/v2/resources/notes/bulk",
            "/v2/webhooks/none/test",
            "/v2/search/rules/preview",
            "/v2/analytics/import?site=example.org",
        ] {
            assert_eq!(send(&client, path, key, &body).expect(422).code(), "INVALID_PARAMETER", "{key:?} {path}");
            assert_eq!(send(&server.as_token(&view), path, key, &body).status, 403, "{key:?} {path}");
        }
    }
    send(&client, NOTES, &"k".repeat(255), &body).expect(201);
    send(&client, NOTES, "!~", &json!({ "attributes": { "title": "b" } })).expect(201);
    let token = json!({ "name": "t", "abilities": ["view"] });
    let secrets = [0, 1].map(|_| send(&client, "/v2/tokens", "same", &token).expect(201).data()["secret"].take());
    assert_ne!(secrets[0], secrets[1]);
    send(&client, "/v2/tokens", "not a key", &token).expect(201);
    let id = server.create("notes", json!({ "title": "c" }));
    let headers = [("content-type", "application/json"), ("idempotency-key", "!~")];
    let body = json!({ "attributes": { "title": "d" } }).to_string();
    assert_eq!(client.raw("PATCH", &format!("{NOTES}/{id}"), &headers, body.as_bytes()).status, 200);
}

#[test]
fn an_import_with_a_key_runs_once_and_in_one_transaction() {
    let mut server = notes();
    let lines = "{\"attributes\":{\"title\":\"a\"}}\n\n{\"attributes\":{\"title\":\"a\"}}\n{\"key\":\"k\",\"attributes\":{\"title\":\"b\"}}\n7\n";
    let headers = [("content-type", "application/x-ndjson"), ("idempotency-key", "import")];
    let path = format!("{NOTES}/import");
    let first = server.raw("POST", &path, &headers, lines.as_bytes()).expect(200);
    let answers = first.lines();
    let ops: Vec<&Value> = answers.iter().map(|answer| &answer["op"]).collect();
    assert_eq!(ops, [&json!("created"), &Value::Null, &json!("created"), &Value::Null]);
    assert_eq!(first.header("content-type"), Some("application/x-ndjson"));
    for _ in 0..2 {
        assert_eq!(parts(&server.raw("POST", &path, &headers, lines.as_bytes())), parts(&first));
        assert_eq!(total(&server, NOTES), 2);
        server.kill_and_restart();
    }
    assert_eq!(server.raw("POST", &path, &headers, b"").expect(422).code(), "IDEMPOTENCY_KEY_REUSED");
    let fresh = [("content-type", "application/json"), ("idempotency-key", "relations")];
    let fields = json!([{ "name": "Next", "slug": "next", "type": "reference", "settings": { "blueprint": "chain" } }]);
    server.blueprint("chain", fields);
    let lines = r#"{"key":"1","attributes":{"next":"2"}}
        {"key":"2","attributes":{"next":"1"}}
        {"key":"3","attributes":{"next":"none"}}"#;
    let reply = server.raw("POST", "/v2/resources/chain/import", &fresh, lines.as_bytes()).expect(200);
    let failed: Vec<bool> = reply.text.lines().map(|line| line.contains("\"errors\"")).collect();
    assert_eq!(failed, [false, false, true]);
    assert_eq!(total(&server, "/v2/resources/chain?filter[next][null]=false"), 2);
}

#[test]
fn publications_and_restorations_are_carried_out_once() {
    let server = Server::start();
    let blueprint = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "trash": { "days": 10 },
        "history": { "keep": 10, "days": 10 }, "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let client = server.as_token(ADMIN);
    let [id, deleted] = ["one", "deleted"].map(|title| server.create("notes", json!({ "title": title })));
    let working = format!("{NOTES}/{id}?copy=working");
    server.patch(&working, &json!({ "attributes": { "title": "two" } })).expect(200);
    server.delete(&format!("{NOTES}/{deleted}")).expect(204);
    let paths = [
        format!("{NOTES}/{id}/publish"),
        format!("{NOTES}/{id}/history/1/restore"),
        format!("/v2/trash/{deleted}/restore"),
    ];
    let request = |path: &String| send(&client, path, path, &json!({}));
    let first = paths.each_ref().map(|path| {
        assert_eq!(send(&client, path, "no key", &json!({})).expect(422).code(), "INVALID_PARAMETER", "{path}");
        request(path).expect(200)
    });
    server.patch(&working, &json!({ "attributes": { "title": "three" } })).expect(200);
    for (path, first) in paths.iter().zip(&first) {
        assert_eq!(parts(&request(path)), parts(first), "{path}");
        assert_eq!(send(&client, path, path, &json!([])).expect(422).code(), "IDEMPOTENCY_KEY_REUSED", "{path}");
    }
    let titles =
        ["", "?copy=working"].map(|copy| server.find(&format!("notes/{id}{copy}"))["attributes"]["title"].take());
    assert_eq!(titles, [json!("two"), json!("three")]);
}
