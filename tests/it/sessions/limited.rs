//! Members who are limited to blueprints (`API.md` 4.10): they see no others.

use serde_json::{Value, json};

use super::{Browser, Failures, PASSWORD, Server, accept, browser, invite};

/// Starts a server with two blueprints.
fn world() -> Server {
    let server = Server::start();
    for slug in ["notes", "secrets"] {
        server.blueprint(slug, json!([{ "name": "T", "slug": "t", "type": "text" }]));
    }
    server
}

/// Makes a member with this role, limited to `notes`, signed in.
fn limited<'a>(server: &'a Server, name: &str, role: &str) -> Browser<'a> {
    let body = json!({ "name": name, "email": format!("{name}@example.org"), "role": role, "blueprints": ["notes"] });
    let id = server.post("/v2/members", &body).expect(201).data()["id"].as_u64().unwrap();
    browser(server, accept(server, &json!({ "token": invite(server, id), "password": PASSWORD })))
}

#[test]
fn for_a_limited_member_other_blueprints_do_not_exist() {
    let server = world();
    let (secret, note) = (server.create("secrets", json!({ "t": "alpha" })), server.create("notes", json!({})));
    let note_json = json!({ "attributes": {} });
    let mut failures = Failures::default();
    for role in ["editor", "author", "viewer"] {
        let ada = limited(&server, role, role);
        let writes = role != "viewer";
        for (method, path, body, status) in [
            ("GET", "/v2/resources/notes".to_owned(), None, 200),
            ("GET", format!("/v2/resources/notes/{note}"), None, 200),
            ("GET", "/v2/blueprints/notes".to_owned(), None, 200),
            ("GET", "/v2/resources/secrets".to_owned(), None, 404),
            ("GET", "/v2/resources/secrets/export".to_owned(), None, 404),
            ("GET", format!("/v2/resources/secrets/{secret}"), None, 404),
            ("GET", "/v2/blueprints/secrets".to_owned(), None, 404),
            ("POST", "/v2/resources/secrets".to_owned(), Some(&note_json), if writes { 404 } else { 403 }),
            ("PATCH", format!("/v2/resources/secrets/{secret}"), Some(&note_json), if writes { 404 } else { 403 }),
            ("DELETE", format!("/v2/resources/secrets/{secret}"), None, if writes { 404 } else { 403 }),
        ] {
            failures.check_eq(&format!("{role} {method} {path}"), ada.send(method, &path, body).status, status);
        }
        let listed = ada.get("/v2/blueprints").expect(200).data();
        failures.check_eq("blueprints", listed.as_array().unwrap().len(), 1);
        failures.check_eq("found", ada.get("/v2/search?search=alpha").expect(200).data(), json!([]));
        let changes = ada.get("/v2/changes?since=0").expect(200).text;
        failures.check(changes.contains("notes") && !changes.contains("secrets"), || changes.clone());
        let described = ada.get("/v2/openapi.json").expect(200).text;
        failures.check(described.contains("notes.write") && !described.contains("secrets.write"), || role.to_owned());
        failures.check_eq("session", ada.get("/v2/session").expect(200).data()["blueprints"].clone(), json!(["notes"]));
        failures.check(!ada.get("/v2/members").expect(200).text.contains("blueprints"), || role.to_owned());
    }
    failures.assert_none();
}

#[test]
fn a_limit_of_a_member_counts_at_once_also_for_answers_that_are_kept() {
    let server = world();
    let ada = limited(&server, "ada", "editor");
    let path = format!("/v2/members/{}", ada.member);
    let limit = |blueprints: Value| server.patch(&path, &json!({ "blueprints": blueprints })).expect(200).data();
    let create = || {
        let headers = [("x-csrf-token", ada.csrf.as_str()), ("idempotency-key", "one")];
        ada.raw("POST", "/v2/resources/secrets", &headers, Some(&json!({ "attributes": { "t": "own" } })))
    };
    assert_eq!(limit(Value::Null)["blueprints"], Value::Null);
    ada.get("/v2/resources/secrets").expect(200);
    let created = create().expect(201).text;
    assert_eq!(create().expect(201).text, created);
    assert_eq!(limit(json!(["notes"]))["blueprints"], json!(["notes"]));
    ada.get("/v2/resources/secrets").expect(404);
    create().expect(404);
    // An empty list is a limit, too.
    limit(json!([]));
    ada.get("/v2/resources/notes").expect(404);
    assert_eq!(ada.get("/v2/blueprints").expect(200).data(), json!([]));
    limit(json!(["notes", "secrets"]));
    assert_eq!(create().expect(201).text, created, "the answer is still kept");
    // Other addresses name no blueprint.
    let bin = json!({ "name": "Bin", "slug": "bin", "trash": { "days": 10 }, "fields": [] });
    server.post("/v2/blueprints", &bin).expect(201);
    let id = server.create("bin", json!({}));
    server.delete(&format!("/v2/resources/bin/{id}")).expect(204);
    let restore = format!("/v2/trash/{id}/restore");
    let view = json!({ "blueprint": "bin", "name": "all", "query": "" });
    for (path, body, status, hidden) in [(restore.as_str(), json!({}), 200, 404), ("/v2/views", view, 201, 422)] {
        let headers = [("x-csrf-token", ada.csrf.as_str()), ("idempotency-key", path)];
        let send = || ada.raw("POST", path, &headers, Some(&body));
        limit(Value::Null);
        let first = send().expect(status).text;
        assert_eq!(send().expect(status).text, first, "{path}");
        limit(json!(["notes", "secrets"]));
        send().expect(hidden);
    }
    // A blueprint that was deleted in the meantime can be sent back.
    server.delete("/v2/blueprints/secrets?force=true").expect(204);
    server.patch(&path, &json!({ "name": "Ada", "blueprints": ["notes", "secrets"] })).expect(200);
}

#[test]
fn a_kept_conflict_of_the_trash_is_hidden_with_its_blueprint() {
    let server = world();
    let ada = limited(&server, "ada", "editor");
    let member = format!("/v2/members/{}", ada.member);
    let limit = |blueprints: Value| server.patch(&member, &json!({ "blueprints": blueprints })).expect(200);
    let fields = json!([{ "name": "S", "slug": "s", "type": "slug", "unique": true }]);
    let bin = json!({ "name": "Bin", "slug": "bin", "trash": { "days": 10 }, "fields": fields });
    server.post("/v2/blueprints", &bin).expect(201);
    let id = server.create("bin", json!({ "s": "same" }));
    server.delete(&format!("/v2/resources/bin/{id}")).expect(204);
    let other = server.create("bin", json!({ "s": "same" }));
    let path = format!("/v2/trash/{id}/restore");
    let restore = || {
        let headers = [("x-csrf-token", ada.csrf.as_str()), ("idempotency-key", "one")];
        ada.raw("POST", &path, &headers, Some(&json!({})))
    };
    limit(json!(["notes", "bin"]));
    let refused = restore().expect(409).text;
    server.delete(&format!("/v2/resources/bin/{other}")).expect(204);
    for sees in [json!(["bin"]), Value::Null] {
        limit(sees);
        assert_eq!(restore().expect(409).text, refused, "the answer is still kept");
    }
    limit(json!(["notes"]));
    restore().expect(404);
}

#[test]
fn limits_of_members_are_checked_and_outlive_a_kill() {
    let mut server = world();
    let owner = json!({ "name": "o", "email": "o@example.org", "role": "owner" });
    let o = server.post("/v2/members", &owner).expect(201).data();
    assert_eq!(o["blueprints"], Value::Null);
    let ada = limited(&server, "ada", "editor").member;
    let mut failures = Failures::default();
    let body = |role: &str, blueprints: Value| json!({ "name": "x", "email": "x@y.org", "role": role, "blueprints": blueprints });
    let (o, ada) = (format!("/v2/members/{}", o["id"]), format!("/v2/members/{ada}"));
    for (method, path, body) in [
        ("POST", "/v2/members", body("editor", json!(["nothing"]))),
        ("POST", "/v2/members", body("editor", json!("notes"))),
        ("POST", "/v2/members", body("editor", json!([1]))),
        ("POST", "/v2/members", body("owner", json!(["notes"]))),
        ("POST", "/v2/members", body("owner", json!([]))),
        ("PATCH", &o, json!({ "blueprints": ["notes"] })),
        ("PATCH", &ada, json!({ "role": "owner" })),
        ("PATCH", &ada, json!({ "blueprints": ["notes", "nothing"] })),
    ] {
        let reply = server.send(method, path, Some(&body));
        failures.check_eq(&body.to_string(), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        failures.check_eq(&body.to_string(), reply.error_keys(), vec!["blueprints".to_owned()]);
    }
    server.patch(&ada, &json!({ "role": "owner", "blueprints": null })).expect(200);
    server.patch(&ada, &json!({ "role": "viewer", "blueprints": ["secrets"] })).expect(200);
    server.kill_and_restart();
    failures.check_eq("kept", server.get(&ada).expect(200).data()["blueprints"].clone(), json!(["secrets"]));
    failures.assert_none();
}

#[test]
fn a_role_without_rights_is_accepted_with_a_warning() {
    let server = world();
    let body = json!({ "name": "x", "email": "x@example.org", "role": "translator" });
    let made = server.post("/v2/members", &body).expect(201).json();
    let warnings = made["meta"]["warnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains("`translator`"), "{made}");
    let path = format!("/v2/members/{}", made["data"]["id"]);
    assert_eq!(server.get(&path).expect(200).json()["meta"], Value::Null);
    for (role, warns) in [(json!("editor"), false), (json!("Editor"), true), (Value::Null, false)] {
        let changed = server.patch(&path, &json!({ "role": role })).expect(200).json();
        assert_eq!(!changed["meta"]["warnings"].is_null(), warns, "{changed}");
    }
}
