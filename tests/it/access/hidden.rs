//! The facts that writes reveal to a token about resources that it may not see (`API.md` 5.7).

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server};

const MISSING: &str = "0192b3c4-0000-7000-8000-000000000000";
const DATE: &str = "2026-01-01T00:00:00Z";

/// Creates a draft and returns its id.
#[track_caller]
fn draft(server: &Server, blueprint: &str, attributes: Value) -> String {
    let reply = server.post(&format!("/v2/resources/{blueprint}"), &json!({ "attributes": attributes })).expect(201);
    reply.data()["id"].as_str().unwrap().to_owned()
}

/// Creates a token that is limited to one blueprint.
#[track_caller]
fn limited(server: &Server, abilities: &[&str], blueprint: &str) -> String {
    let body = json!({ "name": "limited", "abilities": abilities, "blueprints": [blueprint] });
    server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
}

fn notes(server: &Server) {
    server.blueprint(
        "notes",
        json!([
            { "name": "Title", "slug": "title", "type": "text" },
            { "name": "Body", "slug": "body", "type": "text" },
            { "name": "Count", "slug": "count", "type": "number" },
        ]),
    );
}

#[test]
fn the_answer_to_an_update_shows_the_whole_resource_also_to_a_token_that_may_not_read_it() {
    let server = Server::start();
    notes(&server);
    let values = json!({ "title": "t", "body": "b", "count": 3 });
    let (d, p) = (draft(&server, "notes", values.clone()), server.create("notes", values));
    let (update, view) = (server.token(&["update"]), server.token(&["view", "update"]));
    let publish = server.token(&["update", "publish"]);
    let mut failures = Failures::default();
    for (token, method, id, body) in [
        (&update, "PATCH", &d, json!({})),
        (&update, "PATCH", &p, json!({})),
        (&view, "PATCH", &d, json!({})),
        (&view, "PATCH", &d, json!({ "attributes": {} })),
        (&view, "PATCH", &d, json!({ "attributes": { "count": 3 } })),
        (&view, "PATCH", &d, json!({ "attributes": { "count": 4 } })),
        (&update, "PATCH", &p, json!({ "attributes": { "count": 4 } })),
        (&publish, "PATCH", &d, json!({ "published_at": DATE })),
        (&publish, "PATCH", &d, json!({ "published_at": null })),
        (&update, "PUT", &d, json!({ "attributes": { "title": "x" } })),
    ] {
        let path = format!("/v2/resources/notes/{id}");
        let reply = server.as_token(token).send(method, &path, Some(&body)).expect(200);
        let read = server.get(&path).expect(200);
        let case = format!("{method} {body}");
        failures.check_eq(&case, reply.text.as_str(), read.text.as_str());
        // The tag is the tag of the resource, for `If-Match`.
        failures.check_eq(&case, reply.header("etag"), read.header("etag"));
    }
    failures.assert_none();
}

#[test]
fn the_error_of_a_unique_value_names_its_holder_only_to_tokens_that_may_see_it() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "S", "slug": "s", "type": "slug", "unique": true }]));
    let d = draft(&server, "notes", json!({ "s": "draft" }));
    let p = server.create("notes", json!({ "s": "published" }));
    let mut failures = Failures::default();
    for (abilities, names_draft, names_published) in [
        (["create", "update"].as_slice(), false, false),
        (&["create", "update", "view"], false, true),
        (&["create", "update", "publish", "delete", "view"], false, true),
        (&["create", "update", "preview"], true, true),
        (&["create", "update", "manage"], true, true),
    ] {
        let token = server.token(abilities);
        for (value, id, is_named) in [("draft", &d, names_draft), ("published", &p, names_published)] {
            let attributes = json!({ "attributes": { "s": value } });
            let other = format!("/v2/resources/notes/{}", if id == &d { &p } else { &d });
            let bulk = json!({ "resources": [attributes] });
            for (method, path, body) in [
                ("POST", "/v2/resources/notes", attributes.clone()),
                ("PATCH", other.as_str(), attributes.clone()),
                ("PUT", other.as_str(), attributes.clone()),
                ("POST", "/v2/resources/notes/bulk", bulk),
            ] {
                let reply = server.as_token(&token).send(method, path, Some(&body));
                let case = format!("{method} {body} with {abilities:?}: {}", reply.text);
                failures.check(matches!(reply.status, 422 | 207), || case.clone());
                failures.check_eq(&case, reply.text.contains(id.as_str()), is_named);
                failures.check(is_named || reply.text.contains("must be unique: another resource holds"), || case);
            }
        }
    }
    failures.assert_none();
}

/// Returns the answer with the id that was sent left out.
fn without(reply: &Reply, id: &str) -> (u16, String) {
    (reply.status, reply.text.replace(id, "ID"))
}

#[test]
fn a_relation_to_what_the_token_must_not_know_of_is_answered_like_one_to_nothing() {
    let server = Server::start();
    server.blueprint("secrets", json!([]));
    let relation = |slug: &str, kind: &str, to: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": to } });
    server.blueprint(
        "notes",
        json!([relation("see", "references", "notes"), relation("secret", "reference", "secrets")]),
    );
    let (d, p) = (draft(&server, "notes", json!({})), server.create("notes", json!({})));
    let secret = server.create("secrets", json!({}));
    let hidden = draft(&server, "secrets", json!({}));
    let token = |abilities: &[&str]| server.token(abilities);
    let within = |abilities: &[&str]| limited(&server, abilities, "notes");
    let everything = ["preview", "create", "update", "delete", "publish"];
    let mut failures = Failures::default();
    // Each case: whether the token may relate to a draft, to a published resource, and to both in the other blueprint.
    for (name, token, of_draft, of_published, of_secret, of_hidden) in [
        ("create", token(&["create"]), false, true, true, false),
        ("create, view", token(&["create", "view"]), false, true, true, false),
        // These tokens can find out which drafts exist, because they may write to them.
        ("create, update", token(&["create", "update"]), true, true, true, true),
        ("create, delete", token(&["create", "delete"]), true, true, true, true),
        ("create, publish", token(&["create", "publish"]), true, true, true, true),
        ("create, preview", token(&["create", "preview"]), true, true, true, true),
        ("create, manage", token(&["create", "manage"]), true, true, true, true),
        ("limited: create, view", within(&["create", "view"]), false, true, false, false),
        ("limited: everything", within(&everything), true, true, false, false),
    ] {
        let create = |attributes: Value| {
            let body = json!({ "attributes": attributes });
            server.as_token(&token).send("POST", "/v2/resources/notes", Some(&body))
        };
        for (id, is_known, of_notes) in
            [(&d, of_draft, true), (&p, of_published, true), (&secret, of_secret, false), (&hidden, of_hidden, false)]
        {
            let attributes = |id: &str| if of_notes { json!({ "see": [id] }) } else { json!({ "secret": id }) };
            let (found, missing) = (create(attributes(id)), create(attributes(MISSING)));
            let case = format!("{name}, {}: {}", attributes(id), found.text);
            failures.check_eq(&case, missing.outcome(), "422 VALIDATION_FAILED".to_owned());
            match is_known {
                true => failures.check_eq(&case, found.status, 201),
                false => failures.check_eq(&case, without(&found, id), without(&missing, MISSING)),
            }
        }
    }
    // The key of an import may look like an id, and is a name only for imports.
    let key = "7487f04f-8fae-486d-a506-564a075a1ef1";
    let line = json!({ "key": key, "attributes": {} }).to_string();
    let headers = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/secrets/import", &headers, line.as_bytes()).expect(200);
    for token in [token(&["create", "view"]), within(&everything)] {
        let create = |target: &str| {
            let body = json!({ "attributes": { "secret": target } });
            server.as_token(&token).send("POST", "/v2/resources/notes", Some(&body))
        };
        let (found, missing) = (create(key), create(MISSING));
        failures.check_eq("a key", without(&found, key), without(&missing, MISSING));
    }
    // The values of a field can be sent back, whatever they refer to.
    let holder = server.create("notes", json!({ "see": [d], "secret": hidden }));
    let update = within(&["view", "update"]);
    let body = json!({ "attributes": { "see": [d], "secret": hidden } });
    let reply = server.as_token(&update).send("PATCH", &format!("/v2/resources/notes/{holder}"), Some(&body));
    failures.check_eq("sent back", reply.status, 200);
    failures.assert_none();
}

#[test]
fn the_error_of_a_user_value_does_not_tell_members_from_numbers() {
    let server = Server::start();
    server.blueprint(
        "notes",
        json!([{ "name": "Who", "slug": "who", "type": "user", "settings": { "role": "editor" } }]),
    );
    let (ada, editor) = (server.member("ada", Some("author")), server.member("bob", Some("editor")));
    let token = server.token(&["create"]);
    let create = |who: u64| {
        let body = json!({ "attributes": { "who": who } });
        server.as_token(&token).send("POST", "/v2/resources/notes", Some(&body))
    };
    create(editor).expect(201);
    let (other, nobody) = (create(ada).expect(422), create(99).expect(422));
    assert_eq!(other.text.replace(&format!("id {ada} "), "id N "), nobody.text.replace("id 99 ", "id N "));
}
