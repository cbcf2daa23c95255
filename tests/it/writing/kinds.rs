//! Unique fields, singular and read-only blueprints (`API.md` 2.3 and 2.4).

use serde_json::{Value, json};

use super::DATE;
use crate::support::{Failures, Server};

#[test]
fn unique_values_are_enforced_per_variant() {
    let server = Server::start();
    let unique = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind, "unique": true });
    let body = json!({
        "name": "Pages", "slug": "pages",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }],
        "fields": [unique("slug", "slug"), unique("number", "number"), unique("title", "text")],
    });
    server.post("/v2/blueprints", &body).expect(201);
    let first = server.create("pages", json!({ "slug": "a", "number": 1, "title": "" }));
    let mut failures = Failures::default();
    for (attributes, query, keys) in [
        (json!({ "slug": "a" }), "", vec!["slug"]),
        (json!({ "slug": "A" }), "", vec![]),
        (json!({ "number": 1.0 }), "", vec!["number"]),
        (json!({ "slug": "a", "number": 1 }), "", vec!["slug", "number"]),
        (json!({ "slug": "a" }), "?variant=de", vec![]),
        (json!({ "slug": "a" }), "?variant=de", vec!["slug"]),
        (json!({ "title": "" }), "", vec![]),
        (json!({ "title": null }), "", vec![]),
    ] {
        let reply = server.post(&format!("/v2/resources/pages{query}"), &json!({ "attributes": attributes }));
        let case = format!("{attributes} {query}");
        failures.check_eq(&case, reply.status, if keys.is_empty() { 201 } else { 422 });
        failures.check_eq(&case, reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    // A resource may keep its own value. Another resource may use the value after it was changed or its resource was
    // deleted.
    let path = format!("/v2/resources/pages/{first}");
    server.patch(&path, &json!({ "attributes": { "slug": "a", "title": "t" } })).expect(200);
    let second = server.create("pages", json!({ "slug": "b" }));
    let second_path = format!("/v2/resources/pages/{second}");
    server.patch(&second_path, &json!({ "attributes": { "slug": "a" } })).expect(422);
    server.patch(&path, &json!({ "attributes": { "slug": "c" } })).expect(200);
    server.patch(&second_path, &json!({ "attributes": { "slug": "a" } })).expect(200);
    server.delete(&second_path).expect(204);
    server.patch(&path, &json!({ "attributes": { "slug": "a" } })).expect(200);
    failures.assert_none();
}

#[test]
fn a_singular_resource_cannot_be_created_or_deleted() {
    let server = Server::start();
    let body = json!({
        "name": "Settings", "slug": "settings", "kind": "singular_resource",
        "fields": [{ "name": "Title", "slug": "title", "type": "text", "required": true }],
    });
    let blueprint = server.post("/v2/blueprints", &body).expect(201).data();
    assert_eq!((&blueprint["is_singular"], &blueprint["is_readonly"]), (&json!(true), &json!(false)));
    let list = server.get("/v2/resources/settings").expect(200).json();
    assert_eq!(list["meta"]["total"], 1);
    assert!(list["data"][0]["published_at"].is_string(), "the resource is created as published");
    assert_eq!(list["data"][0]["attributes"], json!({ "title": null }));
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v2/resources/settings/{id}");
    let mut failures = Failures::default();
    for (method, path, body, outcome) in [
        ("POST", "/v2/resources/settings", Some(json!({ "attributes": { "title": "x" } })), "409 SINGULAR_RESOURCE"),
        ("POST", "/v2/resources/settings", Some(json!({ "attributes": { "title": 1 } })), "409 SINGULAR_RESOURCE"),
        ("DELETE", &path, None, "409 SINGULAR_RESOURCE"),
        ("PATCH", &path, Some(json!({ "published_at": null })), "200"),
        ("PUT", &path, Some(json!({ "attributes": { "title": "x" } })), "200"),
    ] {
        let reply = server.send(method, path, body.as_ref());
        failures.check_eq(&format!("{method} {body:?}"), reply.outcome(), outcome.to_owned());
    }
    let view = server.token(&["view"]);
    for path in [path.as_str(), "/v2/resources/settings", "/v2/resources/settings/export"] {
        let reply = server.as_token(&view).get(path).expect(200);
        failures.check(reply.text.contains("\"title\":\"x\""), || {
            format!("a reader without preview cannot see the draft at {path}")
        });
    }
    let filtered = server.get("/v2/resources/settings?filter[title]=y").expect(200).json();
    failures.check_eq("filters apply to singular resources", &filtered["meta"]["total"], &json!(0));
    failures.assert_none();
}

#[test]
fn a_read_only_blueprint_accepts_every_write_of_the_api() {
    let server = Server::start();
    let body = json!({ "name": "Messages", "slug": "messages", "kind": "readonly_resource",
        "fields": [{ "name": "Text", "slug": "text", "type": "text" }] });
    let blueprint = server.post("/v2/blueprints", &body).expect(201).data();
    assert_eq!((&blueprint["is_singular"], &blueprint["is_readonly"]), (&json!(false), &json!(true)));
    let id = server.create("messages", json!({ "text": "a" }));
    let path = format!("/v2/resources/messages/{id}");
    server.patch(&path, &json!({ "attributes": { "text": "b" }, "published_at": null })).expect(200);
    server.put(&path, &json!({ "attributes": { "text": "c" }, "published_at": DATE })).expect(200);
    server.delete(&path).expect(204);
}

#[test]
fn bulk_items_see_the_unique_values_that_earlier_items_left() {
    let server = Server::start();
    server.blueprint("pages", json!([{ "name": "Slug", "slug": "slug", "type": "slug", "unique": true }]));
    let create = |slugs: &[&str]| {
        let resources: Vec<Value> = slugs.iter().map(|slug| json!({ "attributes": { "slug": slug } })).collect();
        server.post("/v2/resources/pages/bulk", &json!({ "resources": resources }))
    };
    let made = create(&["a", "b", "a", "c"]).expect(207).json();
    assert_eq!(made["data"]["failed"][0]["index"], 2, "{made}");
    assert_eq!((&made["meta"]["created"], &made["meta"]["failed"]), (&json!(3), &json!(1)));
    let ids: Vec<&str> =
        made["data"]["created"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    let update = |changes: &[(&str, &str)]| {
        let updates: Vec<Value> =
            changes.iter().map(|(id, slug)| json!({ "id": id, "attributes": { "slug": slug } })).collect();
        let reply = server.patch("/v2/resources/pages/bulk", &json!({ "updates": updates })).json();
        let failed = reply["data"]["failed"].as_array().unwrap().iter();
        failed.map(|failed| failed["index"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    let [a, b, c] = [ids[0], ids[1], ids[2]];
    let mut failures = Failures::default();
    for (changes, failed) in [
        (vec![(a, "b"), (b, "a")], vec![0, 1]),
        (vec![(a, "x"), (b, "a"), (a, "b")], vec![]),
        (vec![(a, "a"), (b, "y"), (a, "a")], vec![0]),
        (vec![(c, "z"), (c, "c"), (b, "z")], vec![]),
    ] {
        failures.check_eq(&format!("{changes:?}"), update(&changes), failed);
    }
    // The value of a deleted resource can be used again, even by a draft.
    server.send("DELETE", "/v2/resources/pages/bulk", Some(&json!({ "ids": [a] }))).expect(200);
    failures.check_eq("after it is deleted", create(&["a"]).status, 201);
    failures.check_eq("created twice", create(&["a"]).status, 207);
    failures.assert_none();
}
