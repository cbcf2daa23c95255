//! Create, full and partial update, delete, and the states (`API.md` 3 and 4.4).

mod kinds;

use serde_json::{Value, json};

use crate::support::{Failures, Server};

const DATE: &str = "2026-03-01T10:00:00.000+00:00";
const OTHER: &str = "2026-04-01T10:00:00.000+00:00";

fn notes(server: &Server) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("notes", json!([field("title", "text"), field("count", "number"), field("place", "address")]));
}

#[test]
fn changing_the_state_requires_publish() {
    let server = Server::start();
    notes(&server);
    let create = server.token(&["create"]);
    let update = server.token(&["update"]);
    let publish = server.token(&["publish"]);
    let both = server.token(&["update", "publish"]);
    let attributes = json!({ "title": "x" });
    let mut failures = Failures::default();
    // Each case: the name, `published_at` before, the method, the token, the body, the outcome, and `published_at`
    // afterwards.
    let (draft, published) = (Value::Null, json!(DATE));
    for (name, before, method, token, body, outcome, after) in [
        ("patch publishes", &draft, "PATCH", &both, json!({ "published_at": DATE }), "200", &published),
        ("patch unpublishes", &published, "PATCH", &both, json!({ "published_at": null }), "200", &draft),
        ("patch moves the date", &draft, "PATCH", &both, json!({ "published_at": OTHER }), "200", &json!(OTHER)),
        (
            "patch with a date, without publish",
            &draft,
            "PATCH",
            &update,
            json!({ "published_at": DATE }),
            "403 FORBIDDEN",
            &draft,
        ),
        (
            "patch with null, without publish",
            &draft,
            "PATCH",
            &update,
            json!({ "published_at": null }),
            "403 FORBIDDEN",
            &draft,
        ),
        (
            "patch with the same date, without publish",
            &published,
            "PATCH",
            &update,
            json!({ "published_at": DATE }),
            "403 FORBIDDEN",
            &published,
        ),
        ("patch without update", &draft, "PATCH", &publish, json!({ "published_at": DATE }), "403 FORBIDDEN", &draft),
        ("patch of attributes", &published, "PATCH", &update, json!({ "attributes": attributes }), "200", &published),
        ("patch of nothing", &published, "PATCH", &update, json!({}), "200", &published),
        ("put keeps the state", &published, "PUT", &update, json!({ "attributes": attributes }), "200", &published),
        ("put keeps the draft", &draft, "PUT", &update, json!({ "attributes": attributes }), "200", &draft),
        (
            "put moves the date",
            &published,
            "PUT",
            &update,
            json!({ "attributes": attributes, "published_at": OTHER }),
            "200",
            &json!(OTHER),
        ),
        (
            "put publishes",
            &draft,
            "PUT",
            &update,
            json!({ "attributes": attributes, "published_at": DATE }),
            "403 FORBIDDEN",
            &draft,
        ),
        (
            "put unpublishes",
            &published,
            "PUT",
            &update,
            json!({ "attributes": attributes, "published_at": null }),
            "403 FORBIDDEN",
            &published,
        ),
        (
            "put publishes with publish",
            &draft,
            "PUT",
            &both,
            json!({ "attributes": attributes, "published_at": DATE }),
            "200",
            &published,
        ),
        (
            "put unpublishes with publish",
            &published,
            "PUT",
            &both,
            json!({ "attributes": attributes, "published_at": null }),
            "200",
            &draft,
        ),
        (
            "put of a draft with null",
            &draft,
            "PUT",
            &update,
            json!({ "attributes": attributes, "published_at": null }),
            "200",
            &draft,
        ),
        (
            "invalid attributes are reported before the missing ability",
            &draft,
            "PUT",
            &update,
            json!({ "attributes": { "title": 1 }, "published_at": DATE }),
            "422 VALIDATION_FAILED",
            &draft,
        ),
    ] {
        let body_before = json!({ "attributes": {}, "published_at": before });
        let id = server.post("/v2/resources/notes", &body_before).expect(201).data()["id"].as_str().unwrap().to_owned();
        let path = format!("/v2/resources/notes/{id}");
        let reply = server.as_token(token).send(method, &path, Some(&body));
        failures.check_eq(name, reply.outcome(), outcome.to_owned());
        failures.check_eq(name, &server.get(&path).expect(200).data()["published_at"], after);
    }
    for (name, body, after) in [
        ("create without a date", json!({ "attributes": {} }), &draft),
        ("create with null", json!({ "attributes": {}, "published_at": null }), &draft),
        ("create with a date", json!({ "attributes": {}, "published_at": DATE }), &published),
        (
            "create in the future",
            json!({ "attributes": {}, "published_at": "2999-01-01" }),
            &json!("2999-01-01T00:00:00.000+00:00"),
        ),
    ] {
        let reply = server.as_token(&create).send("POST", "/v2/resources/notes", Some(&body));
        failures.check_eq(name, reply.outcome(), "201".to_owned());
        failures.check_eq(name, &reply.data()["published_at"], after);
    }
    failures.assert_none();
}

#[test]
fn published_at_accepts_many_formats_and_returns_one() {
    let server = Server::start();
    notes(&server);
    let mut failures = Failures::default();
    for (sent, answered) in [
        ("2026-11-20T20:42:31.123+00:00", Some("2026-11-20T20:42:31.123+00:00")),
        ("2026-11-20T20:42:31Z", Some("2026-11-20T20:42:31.000+00:00")),
        ("2026-11-20t20:42:31z", Some("2026-11-20T20:42:31.000+00:00")),
        ("2026-11-20T20:42:31.9999Z", Some("2026-11-20T20:42:31.999+00:00")),
        ("2026-11-20T20:42:31.123456789Z", Some("2026-11-20T20:42:31.123+00:00")),
        ("2026-11-20T20:42+02", Some("2026-11-20T18:42:00.000+00:00")),
        ("2026-11-20T20:42:31+0230", Some("2026-11-20T18:12:31.000+00:00")),
        ("2026-11-20T20:42", Some("2026-11-20T20:42:00.000+00:00")),
        ("2026-11-20", Some("2026-11-20T00:00:00.000+00:00")),
        ("2026-11-20 20:42:31Z", None),
        ("2026-11-20T20:42:60Z", None),
        ("2026-02-30", None),
        ("", None),
        ("now", None),
        ("1795207351", None),
    ] {
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": {}, "published_at": sent }));
        match answered {
            Some(answered) => {
                failures.check_eq(sent, reply.outcome(), "201".to_owned());
                failures.check(reply.status != 201 || reply.data()["published_at"] == answered, || {
                    format!("{sent}: {}", reply.text)
                });
            }
            None => {
                failures.check_eq(sent, reply.outcome(), "422 VALIDATION_FAILED".to_owned());
                failures.check_eq(sent, reply.error_keys(), vec!["published_at".to_owned()]);
            }
        }
    }
    for sent in [json!(5), json!(true), json!({})] {
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": {}, "published_at": sent }));
        failures.check_eq(&sent.to_string(), reply.error_keys(), vec!["published_at".to_owned()]);
    }
    failures.assert_none();
}

#[test]
fn a_resource_is_created_read_and_deleted() {
    let server = Server::start();
    notes(&server);
    let reply = server.post("/v2/resources/notes", &json!({ "attributes": { "count": 1, "title": "a" } })).expect(201);
    let data = reply.data();
    let id = data["id"].as_str().unwrap();
    let keys: Vec<&String> = data.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "type", "published_at", "created_at", "updated_at", "attributes", "relationships"]);
    assert_eq!(data["type"], "resource");
    assert_eq!(data["relationships"], json!({ "blueprint": { "data": { "id": "notes", "type": "blueprint" } } }));
    // The answer has all fields, in the order of the blueprint. A field is null if it was never set.
    assert_eq!(data["attributes"].to_string(), r#"{"title":"a","count":1,"place":null}"#);
    assert_eq!(data["created_at"], data["updated_at"]);
    let location = reply.header("location").unwrap();
    assert_eq!(location, format!("{}/v2/resources/notes/{id}", server.address()));
    let get = server.get(location.strip_prefix(server.address()).unwrap()).expect(200);
    assert_eq!(get.data(), data);
    assert_eq!(get.header("etag"), reply.header("etag"));
    assert_eq!(get.header("content-type"), Some("application/json"));

    let path = format!("/v2/resources/notes/{id}");
    let gone = server.delete(&path).expect(204);
    assert_eq!(gone.text, "");
    server.get(&path).expect(404);
    server.delete(&path).expect(404);
    server.patch(&path, &json!({})).expect(404);
    assert!(server.ids("notes").is_empty());
}

#[test]
fn ids_and_dates_ascend() {
    let server = Server::start();
    notes(&server);
    let made: Vec<Value> = (0..50)
        .map(|n| server.post("/v2/resources/notes", &json!({ "attributes": { "count": n } })).expect(201).data())
        .collect();
    for pair in made.windows(2) {
        assert!(pair[0]["id"].as_str() < pair[1]["id"].as_str());
        assert!(pair[0]["created_at"].as_str() <= pair[1]["created_at"].as_str());
    }
    let id = made[0]["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15], id), (36, "7", id.to_lowercase().as_str()));
    let mut last = made[0]["updated_at"].as_str().unwrap().to_owned();
    for n in 100..130 {
        let body = json!({ "attributes": { "count": n } });
        let updated = server.patch(&format!("/v2/resources/notes/{id}"), &body).expect(200).data();
        assert!(updated["updated_at"].as_str().unwrap() > last.as_str());
        last = updated["updated_at"].as_str().unwrap().to_owned();
        assert_eq!(updated["created_at"], made[0]["created_at"]);
    }
}

#[test]
fn put_replaces_patch_merges_and_only_changes_move_updated_at() {
    let server = Server::start();
    notes(&server);
    let place = json!({ "street": "s", "postal_code": "p", "city": "c", "country": "d" });
    let id = server.create("notes", json!({ "title": "a", "count": 1, "place": place }));
    let path = format!("/v2/resources/notes/{id}");
    let mut failures = Failures::default();
    let full = |title: Value, count: Value, place: Value| json!({ "title": title, "count": count, "place": place });
    for (name, method, attributes, after, changes) in [
        ("patch of one field", "PATCH", json!({ "count": 2 }), full(json!("a"), json!(2), place.clone()), true),
        ("patch with the same value", "PATCH", json!({ "count": 2 }), full(json!("a"), json!(2), place.clone()), false),
        (
            "patch with 2.0 instead of 2",
            "PATCH",
            json!({ "count": 2.0 }),
            full(json!("a"), json!(2), place.clone()),
            false,
        ),
        ("patch of no field", "PATCH", json!({}), full(json!("a"), json!(2), place.clone()), false),
        ("patch to null", "PATCH", json!({ "title": null }), full(Value::Null, json!(2), place.clone()), true),
        (
            "objects are replaced as a whole",
            "PATCH",
            json!({ "place": { "city": "x" } }),
            full(Value::Null, json!(2), json!({ "street": null, "postal_code": null, "city": "x", "country": null })),
            true,
        ),
        ("put", "PUT", json!({ "title": "b" }), full(json!("b"), Value::Null, Value::Null), true),
        (
            "put with the same values",
            "PUT",
            json!({ "title": "b", "count": null }),
            full(json!("b"), Value::Null, Value::Null),
            false,
        ),
        ("put of no field", "PUT", json!({}), full(Value::Null, Value::Null, Value::Null), true),
    ] {
        let before = server.get(&path).expect(200);
        let reply = server.send(method, &path, Some(&json!({ "attributes": attributes })));
        failures.check_eq(name, reply.outcome(), "200".to_owned());
        failures.check_eq(name, &reply.data()["attributes"], &after);
        let (was, is) = (before.data()["updated_at"].clone(), reply.data()["updated_at"].clone());
        failures.check_eq(name, was != is, changes);
        failures.check_eq(name, before.header("etag") != reply.header("etag"), changes);
        failures.check_eq(name, server.get(&path).text, reply.text);
    }
    failures.assert_none();
}

#[test]
fn a_body_that_was_read_can_be_sent_back() {
    let server = Server::start();
    notes(&server);
    let id = server.create("notes", json!({ "title": "a" }));
    let member = server.member("ada", None);
    let read = server.find(&format!("notes/{id}"));
    let one_member = format!("/v2/members/{member}");
    let blueprint = "/v2/blueprints/notes".to_owned();
    let token = server.post("/v2/tokens", &json!({ "name": "t", "abilities": ["view"] })).expect(201).data();
    let mut failures = Failures::default();
    for (method, path, body, status) in [
        ("PUT", format!("/v2/resources/notes/{id}"), read.clone(), 200),
        ("PATCH", format!("/v2/resources/notes/{id}"), read.clone(), 200),
        ("POST", "/v2/resources/notes".to_owned(), read.clone(), 201),
        ("POST", "/v2/resources/notes/bulk".to_owned(), json!({ "resources": [read] }), 201),
        ("PATCH", "/v2/resources/notes/bulk".to_owned(), json!({ "updates": [read] }), 200),
        ("PUT", blueprint.clone(), server.get(&blueprint).data(), 200),
        ("PATCH", one_member.clone(), server.get(&one_member).data(), 200),
        ("POST", "/v2/tokens".to_owned(), token, 201),
    ] {
        let reply = server.send(method, &path, Some(&body));
        failures.check(reply.status == status, || format!("{method} {path}: {} {}", reply.status, reply.text));
    }
    failures.check_eq("unchanged", server.find(&format!("notes/{id}")), read);
    failures.assert_none();
}

#[test]
fn unknown_keys_are_rejected_and_keys_of_the_server_ignored() {
    let server = Server::start();
    notes(&server);
    let id = server.create("notes", json!({ "title": "a" }));
    let one = format!("/v2/resources/notes/{id}");
    let list = "/v2/resources/notes".to_owned();
    let ignored = json!({ "attributes": {}, "id": "x", "type": 5, "created_at": "never", "updated_at": null, "relationships": [] });
    let mut failures = Failures::default();
    for (method, path, body, keys) in [
        ("POST", &list, ignored.clone(), vec![]),
        ("PUT", &one, ignored.clone(), vec![]),
        ("PATCH", &one, ignored, vec![]),
        ("POST", &list, json!({}), vec!["attributes"]),
        ("POST", &list, json!({ "attributes": null }), vec!["attributes"]),
        ("POST", &list, json!({ "attributes": [] }), vec!["attributes"]),
        (
            "POST",
            &list,
            json!({ "attributes": "x", "more": 1, "published_at": 2 }),
            vec!["more", "published_at", "attributes"],
        ),
        ("PUT", &one, json!({}), vec!["attributes"]),
        ("PUT", &one, json!({ "published_at": DATE }), vec!["attributes"]),
        ("PATCH", &one, json!({ "attributes": null }), vec!["attributes"]),
        ("PATCH", &one, json!({ "attributes": "x" }), vec!["attributes"]),
        ("POST", &list, json!({ "attributes": {}, "title": "x" }), vec!["title"]),
        ("PUT", &one, json!({ "attributes": {}, "is_singular": 1, "status": "draft" }), vec!["is_singular", "status"]),
        ("PATCH", &one, json!({ "attributes": { "titel": "x", "title": "y" } }), vec!["titel"]),
    ] {
        let reply = server.send(method, path, Some(&body));
        let case = format!("{method} {body}");
        failures.check((reply.status == 422) != keys.is_empty(), || format!("{case}: {}", reply.text));
        if reply.status == 422 {
            failures.check_eq(&case, reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
        }
    }
    // If `attributes` is not an object, that is the only error: missing required fields are not reported.
    server.blueprint("strict", json!([{ "name": "T", "slug": "t", "type": "text", "required": true }]));
    let id_of_strict = server.create("strict", json!({ "t": "x" }));
    for attributes in [json!([]), json!("x"), json!(null)] {
        for (method, path) in [("POST", "strict".to_owned()), ("PUT", format!("strict/{id_of_strict}"))] {
            let body = json!({ "attributes": attributes });
            let reply = server.send(method, &format!("/v2/resources/{path}"), Some(&body));
            failures.check_eq(&format!("{method} {body}"), reply.error_keys(), vec!["attributes".to_owned()]);
        }
    }
    for body in [json!([]), json!("x"), json!(null), json!(1), json!(true)] {
        for (method, path) in [("POST", &list), ("PUT", &one), ("PATCH", &one)] {
            let reply = server.send(method, path, Some(&body));
            failures.check_eq(&format!("{method} {body}"), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        }
    }
    assert_eq!(
        server.find(&format!("notes/{id}"))["attributes"]["title"],
        Value::Null,
        "the update with the ignored keys replaced all attributes"
    );
    failures.assert_none();
}
