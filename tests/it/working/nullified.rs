//! Working copies that refer to deleted resources, by relations with `nullify` (`API.md` 2.4.9).

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::{moment, wait_until};
use crate::support::Server;

fn start() -> Server {
    let server = Server::start();
    let authors = json!({ "name": "Authors", "slug": "authors", "fields": [super::field("name", "text")],
        "trash": { "days": 30 } });
    server.post("/v2/blueprints", &authors).expect(201);
    let relation = |slug: &str, kind: &str, on_delete: &str| {
        let settings = json!({ "blueprint": "authors", "on_delete": on_delete });
        json!({ "name": slug, "slug": slug, "type": kind, "settings": settings })
    };
    let articles = json!({ "name": "Articles", "slug": "articles", "working_copy": true, "trash": { "days": 30 },
        "history": { "keep": 50, "days": 365 },
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": [
            super::field("title", "text"),
            relation("author", "reference", "nullify"),
            relation("authors", "references", "nullify"),
            relation("kept", "reference", "keep"),
        ] });
    server.post("/v2/blueprints", &articles).expect(201);
    server
}

fn path(id: &str) -> String {
    format!("/v2/resources/articles/{id}")
}

fn edit(server: &Server, id: &str, variant: &str, attributes: Value) -> Value {
    let body = json!({ "attributes": attributes });
    server.patch(&format!("{}?copy=working&variant={variant}", path(id)), &body).expect(200).json()
}

fn working(server: &Server, id: &str, variant: &str) -> Value {
    server.get(&format!("{}?copy=working&variant={variant}", path(id))).expect(200).data()
}

fn delete_author(server: &Server, id: &str) {
    server.delete(&format!("/v2/resources/authors/{id}")).expect(204);
}

fn authors(server: &Server) -> [String; 3] {
    ["a", "b", "c"].map(|name| server.create("authors", json!({ "name": name })))
}

#[test]
fn a_deleted_resource_leaves_working_copies_too_and_the_site_sees_nothing_of_it() {
    let mut server = start();
    let [a, b, c] = authors(&server);
    let id = server.create("articles", json!({ "title": "t", "author": a, "authors": [a, b], "kept": null }));
    edit(&server, &id, "en", json!({ "title": "edited", "author": c, "authors": [a, c, b], "kept": c }));
    edit(&server, &id, "de", json!({ "author": c }));
    let tags = |server: &Server| {
        ["", "?copy=working"]
            .map(|query| server.get(&format!("{}{query}", path(&id))).header("etag").unwrap().to_owned())
    };
    let (live, before) = (server.find(&format!("articles/{id}")), tags(&server));
    delete_author(&server, &c);
    let after = tags(&server);
    assert_eq!((server.find(&format!("articles/{id}")), &after[0]), (live, &before[0]));
    assert_ne!(after[1], before[1]);
    let check = |server: &Server| {
        let shown = working(server, &id, "en");
        // `keep` keeps the id in a working copy, too.
        let expected = json!({ "title": "edited", "author": null, "authors": [a, b], "kept": c });
        assert_eq!(shown["attributes"], expected);
        assert_eq!(shown["working_copy"]["conflicts"], json!([]));
        // Nothing is left that the German copy changes.
        assert_eq!(working(server, &id, "de")["working_copy"], Value::Null);
        let found = |filter: &str| server.ids(&format!("articles?copy=working&{filter}"));
        assert_eq!(found(&format!("filter[author]={c}")), Vec::<String>::new());
        assert_eq!(found("filter[author][null]=true"), std::slice::from_ref(&id));
    };
    check(&server);
    let last = server.get("/v2/changes?since=0").expect(200).lines();
    let ops: Vec<&str> = last.iter().filter(|one| one["id"] == *id).map(|one| one["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["created", "edited", "edited", "edited"]);
    server.restart_without_index();
    check(&server);
    // The relation that keeps the id says so before, and nothing else is in the way.
    let not_ready = edit(&server, &id, "en", json!({ "title": "again" }))["meta"]["not_ready"].take();
    assert_eq!(not_ready.as_object().unwrap().keys().collect::<Vec<_>>(), ["kept"]);
    edit(&server, &id, "en", json!({ "kept": null }));
    let published = server.post(&format!("{}/publish", path(&id)), &json!({})).expect(200).data();
    assert_eq!(published["attributes"], json!({ "title": "again", "author": null, "authors": [a, b], "kept": null }));
    // Nobody may take the revision of the deletion for a part of what was edited before.
    let listed = server.get(&format!("{}/history", path(&id))).expect(200).data();
    let ops: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["updated", "edited", "edited", "created"]);
    let of = |number: usize| server.get(&format!("{}/history/{number}", path(&id))).expect(200).data();
    assert_eq!(of(2)["attributes"]["author"], json!(c));
}

#[test]
fn a_deletion_that_changes_the_live_copy_is_no_conflict_for_who_edits_the_same_field() {
    let server = start();
    let [a, b, c] = authors(&server);
    let id = server.create("articles", json!({ "title": "t", "author": a, "authors": [a, b] }));
    edit(&server, &id, "en", json!({ "author": b, "authors": [a, b, c] }));
    delete_author(&server, &a);
    let live = server.find(&format!("articles/{id}"));
    assert_eq!(live["attributes"], json!({ "title": "t", "author": null, "authors": [b], "kept": null }));
    let shown = working(&server, &id, "en");
    assert_eq!(shown["attributes"], json!({ "title": "t", "author": b, "authors": [b, c], "kept": null }));
    assert_eq!(shown["working_copy"]["conflicts"], json!([]));
    // A change that somebody makes is one.
    server.patch(&path(&id), &json!({ "attributes": { "author": c } })).expect(200);
    assert_eq!(working(&server, &id, "en")["working_copy"]["conflicts"], json!(["author"]));
    // Several deletions of one request.
    server.send("DELETE", "/v2/resources/authors/bulk", Some(&json!({ "ids": [b, c] }))).expect(200);
    let live = server.find(&format!("articles/{id}"));
    assert_eq!(live["attributes"], json!({ "title": "t", "author": null, "authors": [], "kept": null }));
    let shown = working(&server, &id, "en");
    assert_eq!((&shown["attributes"], &shown["working_copy"]), (&live["attributes"], &Value::Null));
    // Two deletions of one request are two writes of one version, on which others depend.
    let listed = server.get(&format!("{}/history", path(&id))).expect(200).data();
    let read = |one: &Value| server.get(&format!("{}/history/{}", path(&id), one["number"])).expect(200).data();
    let authors: Vec<Value> =
        listed.as_array().unwrap().iter().rev().map(|one| read(one)["attributes"]["authors"].take()).collect();
    assert_eq!(authors[..2], [json!([a, b]), json!([a, b, c])]);
    assert_eq!(authors.last(), Some(&json!([])));
}

#[test]
fn a_planned_publication_does_not_fail_because_something_was_deleted() {
    let server = start();
    let [_, b, c] = authors(&server);
    let other = server.create("articles", json!({ "title": "other" }));
    let id = server.create("articles", json!({ "title": "t" }));
    edit(&server, &id, "en", json!({ "title": "planned", "author": c }));
    edit(&server, &other, "en", json!({ "authors": [b, c] }));
    let at = moment(Duration::from_secs(3));
    for id in [&id, &other] {
        server.post(&format!("{}/publish", path(id)), &json!({ "at": at })).expect(200);
    }
    delete_author(&server, &b);
    delete_author(&server, &c);
    assert_eq!(working(&server, &other, "en")["working_copy"]["publish_at"], json!(at));
    wait_until("the publication", || server.find(&format!("articles/{id}"))["attributes"]["title"] == "planned");
    for id in [&id, &other] {
        wait_until("the end of the working copy", || working(&server, id, "en")["working_copy"].is_null());
    }
    let live = server.find(&format!("articles/{id}"));
    assert_eq!(live["attributes"], json!({ "title": "planned", "author": null, "authors": null, "kept": null }));
    let ops = server.get("/v2/changes?since=0").expect(200).lines();
    assert!(ops.iter().all(|change| change["op"] != "publish_failed"));
}

#[test]
fn a_working_copy_that_was_in_the_trash_comes_back_without_what_was_deleted_meanwhile() {
    let server = start();
    let [a, b, c] = authors(&server);
    let id = server.create("articles", json!({ "title": "t", "author": a, "authors": [a] }));
    edit(&server, &id, "en", json!({ "title": "edited", "author": b, "authors": [a, b, c], "kept": c }));
    edit(&server, &id, "de", json!({ "author": c }));
    server.delete(&path(&id)).expect(204);
    delete_author(&server, &a);
    delete_author(&server, &c);
    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
    let live = server.find(&format!("articles/{id}"));
    assert_eq!(live["attributes"], json!({ "title": "t", "author": null, "authors": [], "kept": null }));
    let shown = working(&server, &id, "en");
    assert_eq!(shown["attributes"], json!({ "title": "edited", "author": b, "authors": [b], "kept": c }));
    assert_eq!(shown["working_copy"]["conflicts"], json!([]));
    assert_eq!(working(&server, &id, "de")["working_copy"], Value::Null);
}

#[test]
fn who_may_write_only_drafts_may_delete_what_only_a_working_copy_of_the_site_refers_to() {
    let server = start();
    let author = crate::sessions::member(&server, "ada", "author");
    let [a, b, _] = authors(&server);
    for id in [&a, &b] {
        server.patch(&format!("/v2/resources/authors/{id}"), &json!({ "published_at": null })).expect(200);
    }
    let id = server.create("articles", json!({ "title": "t", "author": a }));
    edit(&server, &id, "en", json!({ "author": b }));
    let delete = |id: &str| author.send("DELETE", &format!("/v2/resources/authors/{id}"), None);
    assert_eq!(delete(&a).outcome(), "403 FORBIDDEN");
    delete(&b).expect(204);
    assert_eq!(working(&server, &id, "en")["attributes"]["author"], Value::Null);
}

#[test]
fn a_planned_working_copy_that_a_deletion_has_emptied_goes_with_its_plan() {
    let server = start();
    let [_, _, c] = authors(&server);
    let id = server.create("articles", json!({ "title": "t" }));
    edit(&server, &id, "en", json!({ "author": c }));
    let plan = |at: Value| server.post(&format!("{}/publish", path(&id)), &json!({ "at": at })).expect(200);
    plan(json!(moment(Duration::from_secs(3_600))));
    delete_author(&server, &c);
    assert!(working(&server, &id, "en")["working_copy"]["publish_at"].is_string());
    plan(Value::Null);
    assert_eq!(working(&server, &id, "en")["working_copy"], Value::Null);
    assert_eq!(server.ids("articles?copy=working&filter[working_copy]=true"), Vec::<String>::new());
}
