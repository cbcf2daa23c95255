//! Revisions of working copies (`API.md` 4.22).

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::{moment, wait_until};
use super::{edit, notes, path, publish, working};
use crate::support::{Reply, Server};

fn start() -> Server {
    let server = Server::start();
    let mut blueprint = notes();
    blueprint["history"] = json!({ "keep": 50, "days": 365 });
    server.post("/v2/blueprints", &blueprint).expect(201);
    server
}

/// Returns the revisions, newest first: number, operation and fields.
fn revisions(server: &Server, id: &str) -> Vec<Value> {
    let data = server.get(&format!("{}/history", path(id))).expect(200).data();
    data.as_array().unwrap().iter().map(|one| json!([one["number"], one["op"], one["fields"]])).collect()
}

#[test]
fn the_changes_of_one_actor_to_one_working_copy_are_one_revision() {
    let server = start();
    let other = server.token(&["view", "preview", "update"]);
    let id = server.create("notes", json!({ "title": "one" }));
    for title in ["two", "three", "three", "four"] {
        edit(&server, &id, json!({ "title": title })).expect(200);
    }
    edit(&server, &id, json!({ "rank": 1 })).expect(200);
    let created = json!([1, "created", ["title"]]);
    assert_eq!(revisions(&server, &id), [json!([2, "edited", ["rank", "title"]]), created.clone()]);
    let body = json!({ "attributes": { "rank": 2 } });
    server.as_token(&other).send("PATCH", &format!("{}?copy=working", path(&id)), Some(&body)).expect(200);
    edit(&server, &id, json!({ "rank": 3 })).expect(200);
    let listed = server.get(&format!("{}/history", path(&id))).expect(200).data();
    let shown: Vec<(&Value, &Value)> =
        listed.as_array().unwrap().iter().map(|one| (&one["number"], &one["by"]["name"])).collect();
    assert_eq!(
        shown,
        [
            (&json!(4), &json!("admin")),
            (&json!(3), &json!("test")),
            (&json!(2), &json!("admin")),
            (&json!(1), &json!("admin"))
        ]
    );
    // Another working copy is another revision.
    publish(&server, &id, &json!({})).expect(200);
    edit(&server, &id, json!({ "rank": 4 })).expect(200);
    server.delete(&format!("{}?copy=working", path(&id))).expect(204);
    edit(&server, &id, json!({ "rank": 5 })).expect(200);
    let newest: Vec<Value> = revisions(&server, &id).into_iter().take(3).collect();
    assert_eq!(
        newest,
        [json!([7, "edited", ["rank"]]), json!([6, "edited", ["rank"]]), json!([5, "updated", ["title", "rank"]])]
    );
}

/// Returns the title of a revision.
fn title(server: &Server, id: &str, number: usize) -> Value {
    server.get(&format!("{}/history/{number}", path(id))).expect(200).data()["attributes"]["title"].take()
}

/// Returns the operations and titles of all revisions, oldest first.
fn told(server: &Server, id: &str) -> Vec<(Value, Value)> {
    let ops: Vec<Value> = revisions(server, id).into_iter().rev().map(|one| one[1].clone()).collect();
    (1..).zip(ops).map(|(number, op)| (op, title(server, id, number))).collect()
}

#[test]
fn what_was_published_discarded_or_left_to_another_actor_stays_as_it_was_when_the_same_actor_edits_again() {
    let server = start();
    let other = server.token(&["view", "preview", "update"]);
    let write = |id: &str, title: &str| drop(edit(&server, id, json!({ "title": title })).expect(200));
    let by_other = |id: &str, title: &str| {
        let body = json!({ "attributes": { "title": title } });
        server.as_token(&other).send("PATCH", &format!("{}?copy=working", path(id)), Some(&body)).expect(200);
    };
    let discard = |id: &str| drop(server.delete(&format!("{}?copy=working", path(id))).expect(204));
    let publish = |id: &str, body: Value| drop(publish(&server, id, &body).expect(200));
    let patch = |id: &str, title: &str| {
        server.patch(&path(id), &json!({ "attributes": { "title": title } })).expect(200);
    };
    type Steps<'a> = &'a dyn Fn(&str);
    type Case<'a> = (&'a str, Steps<'a>, &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 6] = [
        (
            "edit, publish, edit",
            &|id| {
                write(id, "x");
                publish(id, json!({}));
                write(id, "y");
            },
            &[("edited", "x"), ("updated", "x"), ("edited", "y")],
        ),
        (
            "edits of two actors in turns",
            &|id| {
                write(id, "x");
                by_other(id, "y");
                write(id, "z");
            },
            &[("edited", "x"), ("edited", "y"), ("edited", "z")],
        ),
        (
            "edit, discard, edit",
            &|id| {
                write(id, "x");
                discard(id);
                write(id, "y");
            },
            &[("edited", "x"), ("edited", "y")],
        ),
        (
            "edits around a write of the live copy",
            &|id| {
                write(id, "x");
                patch(id, "live");
                write(id, "y");
            },
            &[("edited", "x"), ("updated", "live"), ("edited", "y")],
        ),
        (
            "a conflict, and publishing over it",
            &|id| {
                write(id, "x");
                patch(id, "live");
                assert_eq!(super::publish(&server, id, &json!({})).outcome(), "409 CONFLICT");
                publish(id, json!({ "force": true }));
                write(id, "y");
            },
            &[("edited", "x"), ("updated", "live"), ("updated", "x"), ("edited", "y")],
        ),
        (
            "edit, restore, edit",
            &|id| {
                write(id, "x");
                server.post(&format!("{}/history/1/restore", path(id)), &json!({ "fields": ["title"] })).expect(200);
                write(id, "y");
            },
            &[("edited", "x"), ("restored", "first"), ("edited", "y")],
        ),
    ];
    let mut failures = crate::support::Failures::default();
    for (what, steps, expected) in cases {
        let id = server.create("notes", json!({ "title": "first" }));
        steps(&id);
        let expected: Vec<(Value, Value)> = std::iter::once(("created", "first"))
            .chain(expected.iter().copied())
            .map(|(op, title)| (json!(op), json!(title)))
            .collect();
        failures.check_eq(what, told(&server, &id), expected);
    }
    failures.assert_none();
}

#[test]
fn what_was_published_over_or_discarded_comes_back_from_its_revision() {
    let mut server = start();
    let id = server.create("notes", json!({ "title": "one", "body": "<p>a</p>" }));
    edit(&server, &id, json!({ "title": "discarded", "rank": 7 })).expect(200);
    server.delete(&format!("{}?copy=working", path(&id))).expect(204);
    server.patch(&path(&id), &json!({ "attributes": { "body": "<p>b</p>" } })).expect(200);
    server.kill_and_restart();
    let shown = server.get(&format!("{}/history/2?compare=live", path(&id))).expect(200).json();
    let attributes = &shown["data"]["attributes"];
    // The fields that were not changed in it are those of the live copy of that moment.
    assert_eq!((&attributes["title"], &attributes["body"]), (&json!("discarded"), &json!("<p>a</p>")));
    assert_eq!(shown["data"].get("working_copy"), None);
    assert_eq!(
        shown["changes"],
        json!({
            "title": { "from": "discarded", "to": "one" },
            "body": { "from": "<p>a</p>", "to": "<p>b</p>" },
            "rank": { "from": 7, "to": null }
        })
    );
    let body = json!({ "fields": ["title", "rank"] });
    server.post(&format!("{}/history/2/restore", path(&id)), &body).expect(200);
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], "one");
    let copy = working(&server, &id);
    assert_eq!((&copy["attributes"]["title"], &copy["attributes"]["rank"]), (&json!("discarded"), &json!(7)));
    assert_eq!(revisions(&server, &id)[0], json!([4, "restored", ["title", "rank"]]));
    server.delete(&format!("{}/history", path(&id))).expect(204);
    assert_eq!(revisions(&server, &id).len(), 1);
    assert_eq!(working(&server, &id)["attributes"]["title"], "discarded");
}

#[test]
fn a_field_that_is_removed_does_not_come_back_from_a_working_copy() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    edit(&server, &id, json!({ "rank": 7, "title": "two" })).expect(200);
    let mut blueprint = notes();
    blueprint["history"] = json!({ "keep": 50, "days": 365 });
    let fields = blueprint["fields"].as_array_mut().unwrap();
    fields.retain(|field| field["slug"] != "rank");
    server.put("/v2/blueprints/notes?force=true", &blueprint).expect(200);
    let shown = server.get(&format!("{}/history/2", path(&id))).expect(200).data();
    assert_eq!(shown["attributes"], json!({ "title": "two", "code": null, "body": null, "see": null }));
    blueprint["fields"].as_array_mut().unwrap().push(super::field("rank", "number"));
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    let shown = server.get(&format!("{}/history/2", path(&id))).expect(200).data();
    assert_eq!(shown["attributes"]["rank"], Value::Null);
    assert_eq!(revisions(&server, &id)[0], json!([2, "edited", ["title"]]));
}

#[test]
fn a_revision_of_a_working_copy_keeps_the_value_of_a_field_that_gets_another_type() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one", "rank": 5 }));
    edit(&server, &id, json!({ "rank": 7 })).expect(200);
    // The next revision has the value, too, but did not change it. The one after it has the live value again.
    let other = server.token(&["view", "preview", "update"]);
    let url = format!("{}?copy=working", path(&id));
    let body = json!({ "attributes": { "title": "two" } });
    server.as_token(&other).send("PATCH", &url, Some(&body)).expect(200);
    edit(&server, &id, json!({ "rank": 5 })).expect(200);
    let mut blueprint = notes();
    blueprint["history"] = json!({ "keep": 50, "days": 365 });
    let fields = blueprint["fields"].as_array_mut().unwrap();
    *fields.iter_mut().find(|one| one["slug"] == "rank").unwrap() = super::field("rank", "duration");
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    for (number, rank) in [(2, 7), (3, 7), (4, 5)] {
        let shown = server.get(&format!("{}/history/{number}?compare=1", path(&id))).expect(200).json();
        assert_eq!(shown["data"]["attributes"]["rank"], rank, "{number}");
        let change = if rank == 5 { Value::Null } else { json!({ "from": 7, "to": 5 }) };
        assert_eq!(shown["changes"]["rank"], change, "{number}");
    }
    let body = json!({ "fields": ["rank"] });
    server.post(&format!("{}/history/2/restore", path(&id)), &body).expect(200);
    assert_eq!(working(&server, &id)["attributes"]["rank"], 7);
}

#[test]
fn the_answer_to_a_restoration_shows_what_was_written_also_to_a_token_that_may_not_read_it() {
    let server = start();
    let body = json!({ "attributes": { "title": "draft" } });
    let id = server.post("/v2/resources/notes", &body).expect(201).data()["id"].as_str().unwrap().to_owned();
    let published = json!({ "attributes": { "title": "public" }, "published_at": "2026-01-01T00:00:00Z" });
    server.patch(&path(&id), &published).expect(200);
    edit(&server, &id, json!({ "title": "edit", "rank": 7 })).expect(200);
    let blind = server.token(&["update"]);
    for (fields, title) in [(json!([]), "edit"), (json!(["rank"]), "edit"), (Value::Null, "draft")] {
        let (url, body) = (format!("{}/history/1/restore", path(&id)), json!({ "fields": fields }));
        let shown = server.as_token(&blind).send("POST", &url, Some(&body)).expect(200).data();
        assert_eq!(shown, working(&server, &id), "{fields}");
        assert_eq!(shown["attributes"]["title"], title, "{fields}");
    }
}

#[test]
fn what_a_working_copy_lacks_is_told_only_to_those_who_see_its_values() {
    let server = Server::start();
    let with = |values: Value| {
        json!({ "name": "Notes", "slug": "notes", "working_copy": true, "fields": [
            { "name": "title", "slug": "title", "type": "text" },
            { "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": values } },
        ] })
    };
    server.post("/v2/blueprints", &with(json!(["open", "SECRET"]))).expect(201);
    let id = server.create("notes", json!({ "title": "one", "kind": "open" }));
    edit(&server, &id, json!({ "kind": "SECRET" })).expect(200);
    server.put("/v2/blueprints/notes", &with(json!(["open"]))).expect(200);
    let body = json!({ "attributes": { "title": "two" } });
    let write = |token: &str| {
        server.as_token(token).send("PATCH", &format!("{}?copy=working", path(&id)), Some(&body)).expect(200)
    };
    let reply = write(&server.token(&["view", "update"]));
    let not_ready = reply.json()["meta"]["not_ready"]["kind"].to_string();
    assert!(not_ready.contains("only tokens with `preview` see why"), "{not_ready}");
    let reply = write(&server.token(&["view", "preview", "update"]));
    assert_eq!(reply.json()["meta"]["not_ready"]["kind"], "must be one of `open`, not `SECRET`");
}

#[test]
fn errors_about_values_that_a_token_does_not_see_say_only_which_fields_they_concern() {
    let server = Server::start();
    let with = |values: Value| {
        json!({ "name": "Notes", "slug": "notes", "working_copy": true, "trash": { "days": 30 },
            "history": { "keep": 50, "days": 365 }, "fields": [
                { "name": "title", "slug": "title", "type": "text" },
                { "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": values } },
            ] })
    };
    server.post("/v2/blueprints", &with(json!(["open", "SECRET"]))).expect(201);
    let deleted = server.create("notes", json!({ "title": "one", "kind": "SECRET" }));
    server.delete(&path(&deleted)).expect(204);
    let id = server.create("notes", json!({ "title": "one", "kind": "open" }));
    edit(&server, &id, json!({ "kind": "SECRET" })).expect(200);
    server.put("/v2/blueprints/notes", &with(json!(["open"]))).expect(200);
    let abilities = ["view", "update", "publish", "delete"];
    let blind = server.token(&abilities);
    let seeing = server.token(&[&abilities[..], &["preview"]].concat());
    let check = |what: &str, request: &dyn Fn(&str) -> Reply| {
        let [hidden, shown] = [&blind, &seeing].map(|token| request(token).text);
        assert!(
            !hidden.contains("SECRET") && hidden.contains("only tokens with `preview` see why"),
            "{what}: {hidden}"
        );
        assert!(shown.contains("must be one of `open`, not `SECRET`"), "{what}: {shown}");
    };
    let post = |token: &str, path: &str, body: &Value| server.as_token(token).send("POST", path, Some(body));
    let bulk = json!({ "ids": [id] });
    check("publish", &|token| post(token, &format!("{}/publish", path(&id)), &json!({})).expect(422));
    check("bulk", &|token| post(token, "/v2/resources/notes/bulk-publish?copy=working", &bulk).expect(207));
    check("revision", &|token| post(token, &format!("{}/history/2/restore", path(&id)), &json!({})).expect(422));
    check("trash", &|token| post(token, &format!("/v2/trash/{deleted}/restore"), &json!({})).expect(422));
    server.post(&format!("{}/publish", path(&id)), &json!({ "at": moment(Duration::from_secs(1)) })).expect(200);
    wait_until("the failure", || working(&server, &id)["working_copy"]["publish_failed"].is_object());
    let same = json!({ "attributes": { "title": "one" } });
    check("publish_failed", &|token| {
        let reply =
            server.as_token(token).send("PATCH", &format!("{}?copy=working", path(&id)), Some(&same)).expect(200);
        let failed = &reply.json()["data"]["working_copy"]["publish_failed"]["errors"];
        assert_eq!(failed["code"], "VALIDATION_FAILED");
        Reply { text: failed.to_string(), ..reply }
    });
}
