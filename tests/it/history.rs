//! The history of resources (`API.md` 4.22).

mod random;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Failures, Reply, Server};

fn field(slug: &str, kind: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind })
}

/// Returns the definition of notes.
fn notes(keep: u64) -> Value {
    json!({ "name": "Notes", "slug": "notes", "history": { "keep": keep, "days": 365 },
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": [field("title", "text"), field("body", "rich-text"), field("note", "text")] })
}

fn define(server: &Server, keep: u64) {
    server.post("/v2/blueprints", &notes(keep)).expect(201);
}

fn path(id: &str) -> String {
    format!("/v2/resources/notes/{id}")
}

fn change(server: &Server, id: &str, attributes: Value) {
    server.patch(&path(id), &json!({ "attributes": attributes })).expect(200);
}

/// Returns the revisions of a resource, newest first: number, operation and fields.
fn revisions(server: &Server, id: &str, query: &str) -> Vec<(u64, String, Value)> {
    let data = server.get(&format!("{}/history{query}", path(id))).expect(200).data();
    let shown =
        |one: &Value| (one["number"].as_u64().unwrap(), one["op"].as_str().unwrap().to_owned(), one["fields"].clone());
    data.as_array().unwrap().iter().map(shown).collect()
}

fn revision(server: &Server, id: &str, number: u64, query: &str) -> Reply {
    server.get(&format!("{}/history/{number}{query}", path(id)))
}

fn restore(server: &Server, id: &str, number: u64, body: &Value) -> Reply {
    server.post(&format!("{}/history/{number}/restore", path(id)), body)
}

#[test]
fn each_write_of_a_copy_and_each_publication_is_a_revision() {
    let mut server = Server::start();
    define(&server, 50);
    let body = json!({ "attributes": { "title": "one", "body": "<p>a</p>" } });
    let id = server.post("/v2/resources/notes", &body).expect(201).data()["id"].as_str().unwrap().to_owned();
    let id = id.as_str();
    assert_eq!(revisions(&server, id, ""), [(1, "created".to_owned(), json!(["title", "body"]))]);
    let first = server.find(&format!("notes/{id}"));
    assert_eq!(revision(&server, id, 1, "").expect(200).data(), first);
    change(&server, id, json!({ "title": "two" }));
    let second = server.find(&format!("notes/{id}"));
    // A write that changes nothing is none.
    change(&server, id, json!({ "title": "two" }));
    server.patch(&path(id), &json!({ "published_at": "2026-01-01T00:00:00Z" })).expect(200);
    server.patch(&format!("{}?variant=de", path(id)), &json!({ "attributes": { "title": "zwei" } })).expect(200);
    server.patch(&path(id), &json!({ "attributes": { "note": "n" }, "published_at": null })).expect(200);
    let expected = [
        (4, "unpublished".to_owned(), json!(["note"])),
        (3, "published".to_owned(), json!([])),
        (2, "updated".to_owned(), json!(["title"])),
        (1, "created".to_owned(), json!(["title", "body"])),
    ];
    assert_eq!(revisions(&server, id, ""), expected);
    let german = [(2, "unpublished".to_owned(), json!([])), (1, "updated".to_owned(), json!(["title"]))];
    assert_eq!(revisions(&server, id, "?variant=de"), german);
    let shown = server.get(&format!("{}/history?limit=1", path(id))).expect(200).data()[0].clone();
    assert_eq!(shown["by"], json!({ "type": "token", "id": "admin", "name": "admin" }));
    assert_eq!(shown["variant"], "en");
    server.kill_and_restart();
    assert_eq!(revisions(&server, id, ""), expected);
    assert_eq!(revision(&server, id, 1, "").expect(200).data()["attributes"], first["attributes"]);
    assert_eq!(revision(&server, id, 2, "").expect(200).data()["attributes"], second["attributes"]);
    assert_eq!(revision(&server, id, 2, "").data()["published_at"], Value::Null);
    assert_eq!(revision(&server, id, 3, "").data()["published_at"], "2026-01-01T00:00:00.000+00:00");
    let compared = revision(&server, id, 1, "?compare=live").expect(200).json();
    let changes = json!({ "title": { "from": "one", "to": "two" }, "note": { "from": null, "to": "n" } });
    assert_eq!(compared["changes"], changes);
    assert_eq!(compared["data"], revision(&server, id, 1, "").data());
    assert_eq!(revision(&server, id, 3, "?compare=2").json()["changes"], json!({}));
    assert_eq!(revision(&server, id, 2, "").json().get("changes"), None);
}

#[test]
fn values_of_a_revision_come_back_and_it_never_publishes() {
    let server = Server::start();
    define(&server, 50);
    let id = server.create("notes", json!({ "title": "one", "note": "first" }));
    change(&server, &id, json!({ "title": "two", "note": "second" }));
    let restored = restore(&server, &id, 1, &json!({ "fields": ["note"] })).expect(200);
    assert_eq!(restored.data(), server.find(&format!("notes/{id}")));
    assert_eq!(restored.header("etag"), server.get(&path(&id)).header("etag"));
    let attributes = &restored.data()["attributes"];
    assert_eq!((&attributes["title"], &attributes["note"]), (&json!("two"), &json!("first")));
    assert_eq!(revisions(&server, &id, "")[0], (3, "restored".to_owned(), json!(["note"])));
    for body in [json!({}), json!({ "fields": null })] {
        change(&server, &id, json!({ "title": "again" }));
        assert_eq!(restore(&server, &id, 1, &body).expect(200).data()["attributes"]["title"], "one");
    }
    server.patch(&path(&id), &json!({ "published_at": null })).expect(200);
    assert_eq!(restore(&server, &id, 2, &json!({})).expect(200).data()["published_at"], Value::Null);
    let mut failures = Failures::default();
    for (number, body, outcome) in [
        ("99", json!({}), "404 NOT_FOUND"),
        ("0", json!({}), "404 NOT_FOUND"),
        ("01", json!({}), "404 NOT_FOUND"),
        ("1", json!({ "fields": "title" }), "422 VALIDATION_FAILED"),
        ("1", json!({ "fields": [1] }), "422 VALIDATION_FAILED"),
        ("1", json!({ "fields": ["nothing"] }), "422 VALIDATION_FAILED"),
        ("1", json!({ "field": ["title"] }), "422 VALIDATION_FAILED"),
        ("1", json!([]), "422 VALIDATION_FAILED"),
    ] {
        let reply = server.post(&format!("{}/history/{number}/restore", path(&id)), &body);
        failures.check_eq(&format!("{number} {body}"), reply.outcome().as_str(), outcome);
    }
    for (rest, outcome) in [
        ("/history?limit=0", "422 INVALID_PARAMETER"),
        ("/history?limit=101", "422 INVALID_PARAMETER"),
        ("/history?cursor=x", "422 INVALID_PARAMETER"),
        ("/history?cursor=zzzzzzzz", "422 INVALID_PARAMETER"),
        ("/history?cursor=00000000", "200"),
        ("/history?cursor=ffffffff", "200"),
        ("/history?variant=fr", "422 INVALID_VARIANT"),
        ("/history?strict=1&page=1", "422 INVALID_PARAMETER"),
        ("/history/1?compare=dead", "422 INVALID_PARAMETER"),
        ("/history/1?compare=working", "422 INVALID_PARAMETER"),
        ("/history/1?compare=99", "404 NOT_FOUND"),
        ("/history/99999999999", "404 NOT_FOUND"),
        ("/history/-1", "404 NOT_FOUND"),
    ] {
        let reply = server.get(&format!("{}{rest}", path(&id)));
        failures.check_eq(rest, reply.outcome().as_str(), outcome);
    }
    failures.assert_none();
}

/// `API.md` 1.7. A blueprint without a history is reported in the place of the parameters.
#[test]
fn parameters_of_a_history_come_before_an_unknown_resource() {
    let server = Server::start();
    define(&server, 50);
    server.blueprint("plain", json!([field("title", "text")]));
    let [id, plain] = ["notes", "plain"].map(|blueprint| server.create(blueprint, json!({ "title": "one" })));
    let unknown = "0199a0b6-0000-7000-8000-000000000000";
    let mut failures = Failures::default();
    for (method, rest, outcome) in [
        ("GET", format!("notes/{unknown}/history"), "404 NOT_FOUND"),
        ("GET", format!("notes/{unknown}/history?variant=fr"), "422 INVALID_VARIANT"),
        ("GET", format!("notes/{unknown}/history?limit=0"), "422 INVALID_PARAMETER"),
        ("GET", format!("notes/{unknown}/history?cursor=x"), "422 INVALID_PARAMETER"),
        ("GET", format!("notes/{unknown}/history?strict=1&page=1"), "422 INVALID_PARAMETER"),
        ("GET", format!("plain/{unknown}/history"), "422 INVALID_PARAMETER"),
        ("GET", format!("notes/{unknown}/history/1"), "404 NOT_FOUND"),
        ("GET", format!("notes/{unknown}/history/1?compare=dead"), "422 INVALID_PARAMETER"),
        ("GET", format!("notes/{id}/history/x?compare=dead"), "422 INVALID_PARAMETER"),
        ("GET", format!("notes/{id}/history/x?strict=1&limit=1"), "422 INVALID_PARAMETER"),
        ("GET", format!("plain/{unknown}/history/1"), "422 INVALID_PARAMETER"),
        ("POST", format!("plain/{unknown}/history/1/restore"), "422 INVALID_PARAMETER"),
        ("DELETE", format!("notes/{unknown}/history"), "404 NOT_FOUND"),
        ("DELETE", format!("notes/{unknown}/history?variant=fr"), "422 INVALID_VARIANT"),
        ("DELETE", format!("notes/{id}/history?variant=fr"), "422 INVALID_VARIANT"),
        ("DELETE", format!("plain/{plain}/history"), "422 INVALID_PARAMETER"),
        ("DELETE", format!("plain/{unknown}/history"), "422 INVALID_PARAMETER"),
    ] {
        let reply = server.send(method, &format!("/v2/resources/{rest}"), None);
        failures.check_eq(&format!("{method} {rest}"), reply.outcome().as_str(), outcome);
    }
    failures.assert_none();
}

#[test]
fn a_history_has_pages_keeps_the_newest_and_can_be_removed() {
    let server = Server::start();
    define(&server, 20);
    let id = server.create("notes", json!({ "title": "0" }));
    for n in 1..60 {
        change(&server, &id, json!({ "title": n.to_string() }));
    }
    let mut seen = Vec::new();
    let mut next = Some(format!("{}/history?limit=7", path(&id)));
    while let Some(url) = next {
        let page = server.get(&url).expect(200).json();
        seen.extend(page["data"].as_array().unwrap().iter().map(|one| one["number"].as_u64().unwrap()));
        next = page["links"]["next"].as_str().map(|link| link[link.find("/v2/").unwrap()..].to_owned());
    }
    assert_eq!(seen, (41..=60).rev().collect::<Vec<u64>>());
    for number in [41, 50, 59, 60] {
        let title = revision(&server, &id, number, "").expect(200).data()["attributes"]["title"].clone();
        assert_eq!(title, (number - 1).to_string());
    }
    assert_eq!(revision(&server, &id, 40, "").outcome(), "404 NOT_FOUND");
    // Another setting counts at once.
    server.put("/v2/blueprints/notes", &notes(3)).expect(200);
    assert_eq!(revisions(&server, &id, "").len(), 3);
    // The revisions of all variants go, also if one is named.
    for title in ["eins", "zwei"] {
        server.patch(&format!("{}?variant=de", path(&id)), &json!({ "attributes": { "title": title } })).expect(200);
    }
    assert_eq!(revisions(&server, &id, "?variant=de").len(), 2);
    let history = format!("{}/history", path(&id));
    server.delete(&format!("{history}?variant=de")).expect(204);
    assert_eq!(revisions(&server, &id, "?variant=de").len(), 1);
    let left = revisions(&server, &id, "");
    assert_eq!(left.iter().map(|(_, op, _)| op.as_str()).collect::<Vec<_>>(), ["updated"], "{left:?}");
    change(&server, &id, json!({ "title": "after" }));
    assert_eq!(revisions(&server, &id, "").len(), 2);
    assert_eq!(revision(&server, &id, left[0].0, "").expect(200).data()["attributes"]["title"], "59");
    // Without the setting there is no history, and it begins anew when it is set again.
    let mut off = notes(3);
    off["history"] = Value::Null;
    server.put("/v2/blueprints/notes", &off).expect(200);
    assert_eq!(server.get(&history).outcome(), "422 INVALID_PARAMETER");
    change(&server, &id, json!({ "title": "unseen" }));
    server.put("/v2/blueprints/notes", &notes(3)).expect(200);
    assert_eq!(revisions(&server, &id, "").len(), 1);
    change(&server, &id, json!({ "title": "seen" }));
    let numbers: Vec<u64> = revisions(&server, &id, "").iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers.len(), 2);
    assert_eq!(revision(&server, &id, numbers[1], "").expect(200).data()["attributes"]["title"], "unseen");
}

#[test]
fn todays_rights_and_todays_fields_count() {
    let server = Server::start();
    define(&server, 50);
    let id = server.create("notes", json!({ "title": "one", "note": "secret", "body": "<p>b</p>" }));
    change(&server, &id, json!({ "title": "two", "note": "n" }));
    let mut failures = Failures::default();
    let history = format!("{}/history", path(&id));
    for (abilities, read, restored, removed) in [
        (&["view"][..], 403, 403, 403),
        (&["view", "update", "publish"], 403, 200, 403),
        (&["preview"], 200, 403, 403),
        (&["preview", "update"], 200, 403, 403),
        (&["preview", "update", "publish"], 200, 200, 403),
        (&["manage"], 403, 403, 204),
    ] {
        change(&server, &id, json!({ "title": format!("{abilities:?}"), "note": "n" }));
        let secret = server.token(abilities);
        let client = server.as_token(&secret);
        failures.check_eq(&format!("{abilities:?}"), client.get(&history).status, read);
        let newest = revisions(&server, &id, "")[0].0;
        failures.check_eq(&format!("{abilities:?}"), client.get(&format!("{history}/{newest}")).status, read);
        let reply = client.send("POST", &format!("{history}/{}/restore", newest - 1), Some(&json!({})));
        failures.check_eq(&format!("{abilities:?} restore"), reply.status, restored);
        failures.check_eq(&format!("{abilities:?} delete"), client.send("DELETE", &history, None).status, removed);
    }
    failures.assert_none();
    // A removed field does not come back, not even under its slug; a value of another type is null.
    change(&server, &id, json!({ "title": "x", "note": "secret" }));
    change(&server, &id, json!({ "title": "y", "note": "other" }));
    let numbers: Vec<u64> = revisions(&server, &id, "").iter().map(|(number, ..)| *number).collect();
    let edit = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut body = notes(50);
        edit(body["fields"].as_array_mut().unwrap());
        server.put("/v2/blueprints/notes", &body).expect(200);
    };
    edit(&|fields| drop(fields.pop()));
    edit(&|_| ());
    for number in &numbers {
        assert_eq!(revision(&server, &id, *number, "").expect(200).data()["attributes"]["note"], Value::Null);
    }
    assert_eq!(revisions(&server, &id, "")[0].2, json!(["title"]));
    change(&server, &id, json!({ "note": "https://example.org/" }));
    edit(&|fields| fields[2]["type"] = json!("link"));
    change(&server, &id, json!({ "title": "z" }));
    let old = revision(&server, &id, numbers[0] + 1, "").expect(200).data();
    assert_eq!(old["attributes"]["note"], "https://example.org/");
}

#[test]
fn a_history_comes_back_from_the_trash_and_goes_with_the_resource() {
    let server = Server::start();
    let mut body = notes(50);
    body["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.create("notes", json!({ "title": "one" }));
    change(&server, &id, json!({ "title": "two" }));
    server.delete(&path(&id)).expect(204);
    assert_eq!(server.get(&format!("{}/history", path(&id))).outcome(), "404 NOT_FOUND");
    server.raw("POST", &format!("/v2/trash/{id}/restore"), &[], b"").expect(200);
    let ops: Vec<String> = revisions(&server, &id, "").into_iter().map(|(_, op, _)| op).collect();
    assert_eq!(ops, ["restored", "deleted", "updated", "created"]);
    assert_eq!(revision(&server, &id, 1, "").expect(200).data()["attributes"]["title"], "one");
    assert_eq!(revision(&server, &id, 2, "").expect(200).data()["attributes"]["title"], "two");
    server.delete(&path(&id)).expect(204);
    server.delete(&format!("/v2/trash/{id}")).expect(204);
    // An import creates another resource with the same id.
    let headers = [("content-type", "application/x-ndjson")];
    let line = json!({ "id": id, "attributes": { "title": "new" } }).to_string();
    server.raw("POST", "/v2/resources/notes/import", &headers, line.as_bytes()).expect(200);
    let ops: Vec<String> = revisions(&server, &id, "").into_iter().map(|(_, op, _)| op).collect();
    assert_eq!(ops, ["created"]);
    for number in 1..8 {
        let reply = revision(&server, &id, number, "");
        assert!(reply.status == 404 || reply.data()["attributes"]["title"] == "new", "{}", reply.text);
    }
}

#[test]
fn a_variant_without_values_has_its_history_after_the_trash() {
    let server = Server::start();
    let mut definition = notes(50);
    definition["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &definition).expect(201);
    let id = server.create("notes", json!({ "title": "one" }));
    let german = format!("{}?variant=de", path(&id));
    for title in [json!("zwei"), Value::Null] {
        server.patch(&german, &json!({ "attributes": { "title": title } })).expect(200);
    }
    server.delete(&path(&id)).expect(204);
    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
    let ops: Vec<String> = revisions(&server, &id, "?variant=de").into_iter().map(|(_, op, _)| op).collect();
    assert_eq!(ops, ["restored", "deleted", "updated", "updated"]);
    for (number, title) in [(1, json!("zwei")), (2, Value::Null), (3, Value::Null), (4, Value::Null)] {
        let shown = revision(&server, &id, number, "?variant=de").expect(200).data();
        assert_eq!(shown["attributes"]["title"], title, "{number}");
    }
}

#[test]
fn two_writes_of_one_request_are_one_revision_and_leave_the_versions_before_it_readable() {
    let mut server = Server::start();
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let settings = json!({ "blueprint": "authors", "on_delete": "nullify" });
    let body = json!({ "name": "Books", "slug": "books", "history": { "keep": 50, "days": 365 }, "fields": [
        { "name": "Title", "slug": "title", "type": "text" },
        { "name": "Authors", "slug": "authors", "type": "references", "settings": settings },
    ] });
    server.post("/v2/blueprints", &body).expect(201);
    let authors = ["a", "b", "c"].map(|name| server.create("authors", json!({ "name": name })));
    let id = server.create("books", json!({ "title": "first", "authors": authors }));
    let path = format!("/v2/resources/books/{id}");
    server.patch(&path, &json!({ "attributes": { "title": "second" } })).expect(200);
    server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": [authors[0], authors[1]] }))).expect(200);
    let updates = json!({ "updates": [
        { "id": id, "attributes": { "title": "third" } },
        { "id": id, "attributes": { "title": "fourth" } },
    ] });
    server.send("PATCH", "/v2/resources/books/bulk", Some(&updates)).expect(200);
    server.kill_and_restart();
    let listed = server.get(&format!("{path}/history")).expect(200).data();
    let told: Vec<Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|one| {
            let revision = server.get(&format!("{path}/history/{}", one["number"])).expect(200).data();
            json!([one["op"], one["fields"], revision["attributes"]["title"], revision["attributes"]["authors"]])
        })
        .collect();
    let expected = [
        json!(["created", ["title", "authors"], "first", authors]),
        json!(["updated", ["title"], "second", authors]),
        json!(["updated", ["authors"], "second", [authors[2]]]),
        json!(["updated", ["title"], "fourth", [authors[2]]]),
    ];
    assert_eq!(told, expected);
}

/// A value that the field does not permit any more is what the revision had, and cannot be written again.
#[test]
fn a_narrowed_field_takes_nothing_from_revisions() {
    let server = Server::start();
    let define = |kinds: Value, money: Value, more: Option<&str>| {
        let mut fields = vec![
            json!({ "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": kinds } }),
            json!({ "name": "kinds", "slug": "kinds", "type": "multi-enum", "settings": { "values": kinds } }),
            json!({ "name": "price", "slug": "price", "type": "money", "settings": { "currencies": money } }),
        ];
        fields.extend(more.map(|slug| field(slug, "text")));
        json!({ "name": "Notes", "slug": "notes", "history": { "keep": 50, "days": 365 }, "fields": fields })
    };
    server.post("/v2/blueprints", &define(json!(["a", "b"]), json!(["EUR", "USD"]), None)).expect(201);
    let before = json!({ "kind": "b", "kinds": ["b"], "price": { "amount": 1, "currency": "USD" } });
    let after = json!({ "kind": "a", "kinds": ["a"], "price": { "amount": 2, "currency": "EUR" } });
    let id = server.create("notes", before.clone());
    change(&server, &id, after.clone());
    for more in [None, Some("later"), None] {
        server.put("/v2/blueprints/notes", &define(json!(["a"]), json!(["EUR"]), more)).expect(200);
        let mut shown = revision(&server, &id, 1, "").expect(200).data()["attributes"].take();
        shown.as_object_mut().unwrap().remove("later");
        assert_eq!(shown, before, "{more:?}");
        assert_eq!(restore(&server, &id, 1, &json!({})).expect(422).error_keys(), ["kind", "kinds", "price"]);
    }
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"], after);
}

#[test]
fn a_history_that_is_switched_off_is_removed_and_does_not_come_back() {
    let server = Server::start();
    define(&server, 50);
    let id = server.create("notes", json!({ "title": "0" }));
    (1..8).for_each(|number| change(&server, &id, json!({ "title": number.to_string() })));
    let put = |history: &Value| {
        let mut body = notes(50);
        body["history"] = history.clone();
        server.put("/v2/blueprints/notes", &body).expect(200);
    };
    // The removal takes some milliseconds, or a few seconds on a busy machine. Without it, all revisions come back each
    // time.
    let kept_after = |history: Value, most: usize| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            put(&history);
            std::thread::sleep(Duration::from_millis(500));
            put(&json!({ "keep": 50, "days": 365 }));
            let kept: Vec<u64> = revisions(&server, &id, "").into_iter().map(|(number, ..)| number).collect();
            if kept.len() <= most {
                return kept;
            }
            assert!(Instant::now() < deadline, "{history} keeps {kept:?}");
        }
    };
    assert_eq!(kept_after(json!({ "keep": 2, "days": 365 }), 2), [8, 7]);
    kept_after(Value::Null, 1);
    change(&server, &id, json!({ "title": "new" }));
    let titles = revisions(&server, &id, "").into_iter().map(|(number, ..)| {
        revision(&server, &id, number, "").data()["attributes"]["title"].as_str().unwrap().to_owned()
    });
    assert!(titles.clone().all(|title| title == "new" || title == "7"), "{:?}", titles.collect::<Vec<_>>());
}

/// Imports a resource under an id.
fn import(server: &Server, id: &str, attributes: Value) {
    let headers = [("content-type", "application/x-ndjson")];
    let line = json!({ "id": id, "attributes": attributes }).to_string();
    server.raw("POST", "/v2/resources/notes/import", &headers, line.as_bytes()).expect(200);
}

#[test]
fn a_resource_that_is_imported_again_has_a_history_of_its_own_which_stays_when_the_trash_is_emptied() {
    let server = Server::start();
    let mut body = notes(50);
    body["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &body).expect(201);
    // The former resource is a draft without values, like the one that is imported.
    let created = server.post("/v2/resources/notes", &json!({ "attributes": {} })).expect(201).data();
    let id = created["id"].as_str().unwrap();
    for date in [json!("2026-01-01T00:00:00Z"), Value::Null] {
        server.patch(&path(id), &json!({ "published_at": date })).expect(200);
    }
    server.delete(&path(id)).expect(204);
    import(&server, id, json!({}));
    let ops = || revisions(&server, id, "").into_iter().map(|(_, op, _)| op).collect::<Vec<String>>();
    assert_eq!(ops(), ["created"]);
    change(&server, id, json!({ "title": "one" }));
    change(&server, id, json!({ "title": "two" }));
    assert_eq!(ops(), ["updated", "updated", "created"]);
    server.delete(&format!("/v2/trash/{id}")).expect(204);
    assert_eq!(ops(), ["updated", "updated", "created"]);
}
