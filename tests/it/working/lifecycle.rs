//! The ends of working copies: publishing with its checks and conflicts, drafts, discarding, the trash, bulk
//! requests, changes of the blueprint, and a second server.

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::moment;
use super::{edit, field, live_answers, notes, path, publish, start, working};
use crate::support::{Failures, Server};

#[test]
fn publishing_has_all_checks_of_a_put_and_the_answer_to_a_write_names_the_problems() {
    let server = start();
    let taken = server.create("notes", json!({ "title": "taken", "code": "c" }));
    let id = server.create("notes", json!({ "title": "one" }));
    let missing = "01900000-0000-7000-8000-000000000000";
    let reply = edit(&server, &id, json!({ "title": null, "code": "c", "see": missing, "rank": 1 })).expect(200);
    let not_ready = reply.json()["meta"]["not_ready"].clone();
    let slugs: Vec<&String> = not_ready.as_object().unwrap().keys().collect();
    assert_eq!(slugs, ["title", "code", "see"]);
    assert!(not_ready["code"].as_str().unwrap().contains(&taken), "{not_ready}");
    let live = server.find(&format!("notes/{id}"));
    let refused = publish(&server, &id, &json!({ "force": true }));
    assert_eq!(
        (refused.outcome().as_str(), refused.error_keys()),
        ("422 VALIDATION_FAILED", vec!["title", "code", "see"].into_iter().map(str::to_owned).collect::<Vec<_>>())
    );
    assert_eq!(server.find(&format!("notes/{id}")), live);
    let reply = edit(&server, &id, json!({ "title": "ok", "code": "d", "see": taken })).expect(200);
    assert_eq!(reply.json().get("meta"), None);
    publish(&server, &id, &json!({})).expect(200);
    // The unique value is claimed from now on.
    let other = json!({ "attributes": { "title": "x", "code": "d" } });
    assert_eq!(server.post("/v2/resources/notes", &other).outcome(), "422 VALIDATION_FAILED");
}

#[test]
fn a_field_that_both_copies_changed_is_a_conflict_unless_it_is_forced() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one", "rank": 1, "body": "<p>b</p>" }));
    edit(&server, &id, json!({ "title": "working", "rank": 5 })).expect(200);
    server.patch(&path(&id), &json!({ "attributes": { "body": "<p>live</p>" } })).expect(200);
    assert_eq!(working(&server, &id)["working_copy"]["conflicts"], json!([]));
    assert_eq!(working(&server, &id)["attributes"]["body"], "<p>live</p>");
    server.patch(&path(&id), &json!({ "attributes": { "title": "live", "rank": 5 } })).expect(200);
    assert_eq!(working(&server, &id)["working_copy"]["conflicts"], json!(["title"]));
    let refused = publish(&server, &id, &json!({}));
    assert_eq!((refused.outcome().as_str(), refused.error_keys()), ("409 CONFLICT", vec!["title".to_owned()]));
    let bulk = server.post("/v2/resources/notes/bulk-publish?copy=working", &json!({ "ids": [id] })).expect(207);
    assert_eq!(bulk.data()["failed"][0]["errors"]["code"], "CONFLICT");
    let published = publish(&server, &id, &json!({ "force": true })).expect(200).data();
    assert_eq!(published["attributes"]["title"], "working");
    assert_eq!(published["attributes"]["body"], "<p>live</p>");
}

#[test]
fn drafts_are_written_in_place_unless_they_have_a_working_copy() {
    let server = start();
    let draft = server.post("/v2/resources/notes", &json!({ "attributes": { "title": "draft" } })).expect(201).data();
    let id = draft["id"].as_str().unwrap();
    let written = edit(&server, id, json!({ "title": "changed" })).expect(200).data();
    assert_eq!((&written["working_copy"], &written["attributes"]["title"]), (&Value::Null, &json!("changed")));
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], "changed");
    // In place, all checks of a write hold.
    assert_eq!(edit(&server, id, json!({ "title": null })).outcome(), "422 VALIDATION_FAILED");
    // Only working copies can be planned.
    for at in [json!(moment(Duration::from_secs(3_600))), Value::Null] {
        assert_eq!(publish(&server, id, &json!({ "at": at })).outcome(), "404 NOT_FOUND", "{at}");
    }
    let published = publish(&server, id, &json!({})).expect(200).data();
    assert!(published["published_at"].is_string());
    edit(&server, id, json!({ "title": "working" })).expect(200);
    server.patch(&path(id), &json!({ "published_at": null })).expect(200);
    let written = edit(&server, id, json!({ "rank": 4 })).expect(200).data();
    assert!(written["working_copy"].is_object());
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], "changed");
    let date = "2026-02-03T04:05:06.000+00:00";
    let published = publish(&server, id, &json!({ "published_at": date })).expect(200).data();
    assert_eq!((&published["published_at"], &published["attributes"]["rank"]), (&json!(date), &json!(4)));
    let changes = server.get("/v2/changes?since=0").expect(200).lines();
    let ops: Vec<&str> = changes.iter().map(|change| change["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["created", "updated", "published", "edited", "unpublished", "edited", "published"]);
}

#[test]
fn a_put_holds_what_differs_and_values_of_the_live_copy_are_no_changes() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one", "rank": 1, "code": "c" }));
    let url = format!("{}?copy=working", path(&id));
    let put = |attributes: Value| server.put(&url, &json!({ "attributes": attributes })).expect(200).data();
    let same = put(json!({ "title": "one", "rank": 1, "code": "c" }));
    assert_eq!(same["working_copy"], Value::Null);
    let changed = put(json!({ "title": "two", "rank": 1 }));
    let expected = json!({ "title": "two", "code": null, "body": null, "rank": 1, "see": null });
    assert_eq!(changed["attributes"], expected);
    // The rank is not changed, so it follows the live copy.
    server.patch(&path(&id), &json!({ "attributes": { "rank": 8 } })).expect(200);
    assert_eq!(working(&server, &id)["attributes"]["rank"], 8);
    let gone = put(json!({ "title": "one", "rank": 8, "code": "c" }));
    assert_eq!(gone["working_copy"], Value::Null);
    assert_eq!(server.ids("notes?copy=working&filter[working_copy]=true"), Vec::<String>::new());
}

#[test]
fn discarding_removes_one_variant_and_the_resource_stays() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    let german = format!("{}?copy=working&variant=de", path(&id));
    edit(&server, &id, json!({ "title": "two" })).expect(200);
    server.patch(&german, &json!({ "attributes": { "title": "zwei" } })).expect(200);
    let live = server.get(&path(&id)).header("etag").map(str::to_owned);
    server.delete(&german).expect(204);
    assert_eq!(server.delete(&german).outcome(), "404 NOT_FOUND");
    assert_eq!(server.get(&german).expect(200).data()["attributes"]["title"], Value::Null);
    assert_eq!(working(&server, &id)["attributes"]["title"], "two");
    assert_eq!(server.get(&path(&id)).header("etag").map(str::to_owned), live);
    server.patch(&german, &json!({ "attributes": { "title": "drei" } })).expect(200);
    let published = publish(&server, &id, &json!({ "variants": ["de"] })).expect(200).data();
    assert_eq!(published["attributes"]["title"], "one");
    assert_eq!(server.get(&format!("{}?variant=de", path(&id))).data()["attributes"]["title"], "drei");
    assert_eq!(working(&server, &id)["attributes"]["title"], "two");
    server.delete(&path(&id)).expect(204);
    assert_eq!(server.get(&format!("{}?copy=working", path(&id))).status, 404);
    assert_eq!(server.ids("notes?copy=working"), Vec::<String>::new());
}

#[test]
fn a_revision_is_compared_with_the_working_copy() {
    let server = Server::start();
    let mut definition = super::notes();
    definition["history"] = json!({ "keep": 10, "days": 10 });
    server.post("/v2/blueprints", &definition).expect(201);
    let id = server.create("notes", json!({ "title": "one", "rank": 1 }));
    let compared = |with: &str| server.get(&format!("{}/history/1?compare={with}", path(&id))).expect(200).json();
    assert_eq!(compared("working")["changes"], json!({}), "without a working copy, it has the live values");
    edit(&server, &id, json!({ "title": "two" })).expect(200);
    server.patch(&path(&id), &json!({ "attributes": { "rank": 2 } })).expect(200);
    let rank = json!({ "from": 1, "to": 2 });
    assert_eq!(compared("live")["changes"], json!({ "rank": rank }));
    assert_eq!(compared("working")["changes"], json!({ "title": { "from": "one", "to": "two" }, "rank": rank }));
    definition["slug"] = json!("plain");
    definition["working_copy"] = json!(false);
    definition["fields"][4]["settings"]["blueprint"] = json!("plain");
    server.post("/v2/blueprints", &definition).expect(201);
    let id = server.create("plain", json!({ "title": "one" }));
    let refused = server.get(&format!("/v2/resources/plain/{id}/history/1?compare=working"));
    assert_eq!(refused.outcome(), "422 INVALID_PARAMETER");
}

#[test]
fn bulk_requests_write_and_publish_working_copies() {
    let server = start();
    let ids: Vec<String> = (0..3).map(|n| server.create("notes", json!({ "title": format!("n{n}") }))).collect();
    let update = |id: &str, title: &str| json!({ "id": id, "attributes": { "title": title } });
    let body = json!({ "updates": [
        update(&ids[0], "a"), update(&ids[0], "n0"), update(&ids[0], "b"),
        update(&ids[1], "c"), update(&ids[1], "n1"),
        { "id": ids[2], "published_at": null },
    ] });
    let reply = server.send("PATCH", "/v2/resources/notes/bulk?copy=working", Some(&body)).expect(207);
    assert_eq!(reply.data()["failed"][0]["index"], 5);
    assert_eq!(reply.json()["meta"].get("not_ready"), None);
    let missing = "01900000-0000-7000-8000-000000000000";
    let body = json!({ "updates": [
        { "id": ids[0], "attributes": { "rank": 1 } }, { "id": ids[1], "attributes": { "see": missing } },
    ] });
    let update = |token: &str, body: &Value| {
        server.as_token(token).send("PATCH", "/v2/resources/notes/bulk?copy=working", Some(body)).expect(200)
    };
    let not_ready = update(server.secret(), &body).json()["meta"]["not_ready"].take();
    assert_eq!(not_ready.as_object().unwrap().keys().collect::<Vec<_>>(), ["1"]);
    assert!(not_ready["1"]["see"].as_str().unwrap().contains(missing), "{not_ready}");
    // A token without `preview` learns why only of what it sends.
    let blind = server.token(&["view", "update"]);
    assert_eq!(update(&blind, &body).json()["meta"]["not_ready"], not_ready);
    let reply = update(&blind, &json!({ "updates": [{ "id": ids[1], "attributes": { "rank": 1 } }] }));
    let see = &reply.json()["meta"]["not_ready"]["0"]["see"];
    assert!(see.is_string() && !reply.text.contains(missing), "{}", reply.text);
    server.delete(&format!("{}?copy=working", path(&ids[1]))).expect(204);
    assert_eq!(working(&server, &ids[0])["attributes"]["title"], "b");
    assert_eq!(working(&server, &ids[1])["working_copy"], Value::Null);
    assert_eq!(server.ids("notes?sort=title").len(), 3);
    let body = json!({ "ids": [ids[0], ids[1]] });
    let reply = server.post("/v2/resources/notes/bulk-publish?copy=working", &body).expect(207);
    assert_eq!(reply.data()["published"][0]["id"], json!(ids[0]));
    assert_eq!(reply.data()["failed"][0]["errors"]["code"], "NOT_FOUND");
    assert_eq!(server.find(&format!("notes/{}", ids[0]))["attributes"]["title"], "b");
    // Each is planned, and taken back, like one of them.
    for id in &ids {
        edit(&server, id, json!({ "rank": 9 })).expect(200);
    }
    server.patch(&path(&ids[2]), &json!({ "attributes": { "rank": 8 } })).expect(200);
    let bulk = |body: Value| {
        let reply = server.post("/v2/resources/notes/bulk-publish?copy=working", &body);
        (reply.status, reply.json()["data"]["failed"].as_array().map(Vec::len))
    };
    assert_eq!(bulk(json!({ "ids": ids, "at": "2126-01-01T00:00:00Z" })), (200, Some(0)));
    assert_eq!(working(&server, &ids[1])["working_copy"]["publish_at"], "2126-01-01T00:00:00.000+00:00");
    assert_eq!(bulk(json!({ "ids": ids })), (207, Some(3)));
    assert_eq!(bulk(json!({ "ids": ids, "at": null })), (200, Some(0)));
    assert_eq!(bulk(json!({ "ids": ids, "variants": ["de"] })), (207, Some(3)));
    assert_eq!(bulk(json!({ "ids": ids, "variants": null })), (207, Some(1)));
    assert_eq!(bulk(json!({ "ids": [ids[2]], "force": true })), (200, Some(0)));
    for body in [json!({ "force": 1 }), json!({ "at": "soon" }), json!({ "variants": ["fr"] }), json!({ "when": 1 })] {
        let mut body = body;
        body["ids"] = json!(ids);
        let reply = server.post("/v2/resources/notes/bulk-publish?copy=working", &body);
        assert_eq!(reply.outcome(), "422 VALIDATION_FAILED", "{body}");
    }
    let body = json!({ "ids": ids, "at": "2126-01-01T00:00:00Z" });
    assert_eq!(server.post("/v2/resources/notes/bulk-publish", &body).outcome(), "422 VALIDATION_FAILED");
    for (method, url) in [("POST", "bulk-unpublish"), ("DELETE", "bulk")] {
        let reply =
            server.send(method, &format!("/v2/resources/notes/{url}?copy=working"), Some(&json!({ "ids": ids })));
        assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{method} {url}");
    }
}

#[test]
fn working_copies_come_back_from_the_trash_and_survive_changes_of_the_blueprint() {
    let mut server = Server::start();
    let mut definition = notes();
    definition["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &definition).expect(201);
    let id = server.create("notes", json!({ "title": "one", "rank": 1, "code": "c" }));
    edit(&server, &id, json!({ "title": "two", "rank": 2, "code": "d" })).expect(200);
    server.delete(&path(&id)).expect(204);
    assert_eq!(server.ids("notes?copy=working"), Vec::<String>::new());
    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
    assert_eq!(working(&server, &id)["attributes"]["title"], "two");
    assert_eq!(server.ids("notes?copy=working&filter[title]=two"), [id.as_str()]);
    server.kill_and_restart();
    assert_eq!(server.ids("notes?copy=working&filter[title]=two"), [id.as_str()]);
    // A field of another type follows the live copy; a new one is null; a removed one is gone.
    let fields = definition["fields"].as_array_mut().unwrap();
    fields.retain(|field| field["slug"] != "code");
    fields.iter_mut().find(|field| field["slug"] == "rank").unwrap()["type"] = json!("text");
    fields.push(field("extra", "text"));
    // Numbers are not texts, so they go first.
    server.patch(&path(&id), &json!({ "attributes": { "rank": null } })).expect(200);
    server.put("/v2/blueprints/notes", &definition).expect(200);
    let shown = working(&server, &id);
    let expected = json!({ "title": "two", "body": null, "rank": null, "see": null, "extra": null });
    assert_eq!(shown["attributes"], expected);
    assert_eq!(server.ids("notes?copy=working&filter[rank][null]=true&filter[title]=two"), [id.as_str()]);
    edit(&server, &id, json!({ "rank": "high", "extra": "x" })).expect(200);
    assert_eq!(server.ids("notes?copy=working&filter[rank]=high"), [id.as_str()]);
    assert_eq!(server.ids("notes?filter[rank]=high"), Vec::<String>::new());
    publish(&server, &id, &json!({})).expect(200);
    assert_eq!(server.ids("notes?filter[rank]=high"), [id.as_str()]);
    server.delete(&path(&id)).expect(204);
    server.delete(&format!("/v2/trash/{id}")).expect(204);
    assert!(server.terminate().success());
}

#[test]
fn a_working_copy_goes_with_the_only_field_that_was_changed_in_it() {
    for kind in [Some("duration"), None] {
        let mut server = start();
        let [emptied, kept, planned] =
            ["a", "b", "c"].map(|title| server.create("notes", json!({ "title": title, "rank": 5 })));
        for id in [&emptied, &kept, &planned] {
            edit(&server, id, json!({ "rank": 7 })).expect(200);
        }
        edit(&server, &kept, json!({ "body": "<p>b</p>" })).expect(200);
        publish(&server, &planned, &json!({ "at": moment(Duration::from_secs(3_600)) })).expect(200);
        let live = server.find(&format!("notes/{emptied}"));
        let mut definition = notes();
        let fields = definition["fields"].as_array_mut().unwrap();
        match kind {
            Some(kind) => *fields.iter_mut().find(|one| one["slug"] == "rank").unwrap() = field("rank", kind),
            None => fields.retain(|one| one["slug"] != "rank"),
        }
        server.put("/v2/blueprints/notes", &definition).expect(200);
        let changes = server.get("/v2/changes?since=0").expect(200).lines();
        let last = changes.last().unwrap();
        assert_eq!((&last["op"], &last["id"]), (&json!("edited"), &json!(emptied)), "{kind:?}");
        let restarts: [fn(&mut Server); 3] = [|_| (), Server::kill_and_restart, Server::restart_without_index];
        for restart in restarts {
            restart(&mut server);
            assert_eq!(working(&server, &emptied)["working_copy"], Value::Null, "{kind:?}");
            let edited = server.ids("notes?copy=working&filter[working_copy]=true&sort=title");
            assert_eq!(edited, [kept.as_str(), planned.as_str()], "{kind:?}");
        }
        assert_eq!(publish(&server, &emptied, &json!({})).outcome(), "404 NOT_FOUND");
        assert_eq!(server.find(&format!("notes/{emptied}"))["updated_at"], live["updated_at"]);
        // A plan stays until it is taken back.
        publish(&server, &planned, &json!({ "at": null })).expect(200);
        assert_eq!(working(&server, &planned)["working_copy"], Value::Null);
        server.delete(&format!("{}?copy=working", path(&kept))).expect(204);
        definition["working_copy"] = json!(false);
        server.put("/v2/blueprints/notes", &definition).expect(200);
    }
}

#[test]
fn a_server_that_never_had_the_working_copies_answers_readers_in_the_same_way() {
    let first = start();
    let ids: Vec<String> = (0..6).map(|n| server_note(&first, n)).collect();
    let viewer = first.token(&["view"]);
    let folder = tempfile::tempdir().unwrap();
    let (backup, restored) = (folder.path().join("backup"), folder.path().join("data"));
    for arguments in [
        vec!["backup", backup.to_str().unwrap(), "--url", first.address(), "--token", first.secret()],
        vec!["restore", backup.to_str().unwrap(), "--data", restored.to_str().unwrap()],
    ] {
        let run = std::process::Command::new(crate::support::binary()).args(arguments).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let second = Server::start_in(&restored, &[]);
    let bodies = |server: &Server| {
        let answers = live_answers(server, &viewer, &ids[0]);
        // Cursors belong to one server.
        let texts = answers.into_iter().map(|(text, _)| text);
        texts.filter(|text| !text.contains("cursor=")).collect::<Vec<_>>()
    };
    let before = bodies(&first);
    assert_eq!(bodies(&second), before);
    for (n, id) in ids.iter().enumerate() {
        edit(&first, id, json!({ "title": format!("edited {n}"), "rank": 100 - n, "see": ids[0] })).expect(200);
    }
    assert_eq!(bodies(&first), bodies(&second));
    let mut failures = Failures::default();
    for id in &ids {
        first.delete(&format!("{}?copy=working", path(id))).expect(204);
    }
    failures.check_eq("after discarding", bodies(&first), before);
    failures.assert_none();
}

fn server_note(server: &Server, n: usize) -> String {
    server.create("notes", json!({ "title": format!("note {n}"), "rank": n, "body": "<p>the text</p>" }))
}

#[test]
fn one_search_over_all_blueprints_finds_working_copies_where_there_are_any() {
    let server = start();
    server
        .post("/v2/blueprints", &json!({ "name": "Plain", "slug": "plain", "fields": [field("title", "text")] }))
        .expect(201);
    let id = server.create("notes", json!({ "title": "before" }));
    server.create("plain", json!({ "title": "after all" }));
    edit(&server, &id, json!({ "title": "after" })).expect(200);
    let found = |query: &str| {
        let found = server.get(&format!("/v2/search?{query}")).expect(200).data();
        found.as_array().unwrap().iter().map(|one| one["blueprint"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("search=after"), ["plain"]);
    assert_eq!(found("search=after&copy=live"), ["plain"]);
    assert_eq!(found("search=after&copy=working"), ["notes", "plain"]);
    assert_eq!(found("q=before&copy=working"), Vec::<String>::new());
    let viewer = server.token(&["view"]);
    assert_eq!(server.as_token(&viewer).get("/v2/search?q=after&copy=working").outcome(), "403 FORBIDDEN");
    assert_eq!(server.get("/v2/search?q=after&copy=both").outcome(), "422 INVALID_PARAMETER");
}

#[test]
fn what_only_working_copies_hold_is_not_removed_without_force() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    let in_german = format!("{}?copy=working&variant=de", path(&id));
    server.patch(&in_german, &json!({ "attributes": { "title": "nur hier" } })).expect(200);
    edit(&server, &id, json!({ "rank": 5 })).expect(200);
    let mut one_language = notes();
    one_language["variants"].as_array_mut().unwrap().pop();
    let put = |body: &Value, query: &str| server.put(&format!("/v2/blueprints/notes{query}"), body);
    assert_eq!(put(&one_language, "").expect(409).json()["errors"]["ids"], json!([id]));
    let plan = put(&one_language, "?dry_run=true&force=true").expect(200).data();
    assert_eq!(plan["loses"], json!({ "title": 1 }), "{plan}");
    let mut without_rank = notes();
    without_rank["fields"].as_array_mut().unwrap().retain(|field| field["slug"] != "rank");
    let plan = put(&without_rank, "?dry_run=true").expect(200).data();
    assert_eq!(plan["loses"], json!({ "rank": 1 }), "{plan}");
    let found = server.get(&in_german).expect(200).data();
    assert_eq!(found["attributes"]["title"], "nur hier");
    put(&one_language, "?force=true").expect(200);
}

#[test]
fn what_was_read_with_working_copies_can_be_sent_back_and_imported() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    edit(&server, &id, json!({ "title": "two" })).expect(200);
    let query = "copy=working&all_variants=true&format=ndjson&q=two&highlight=title";
    let export = server.get(&format!("/v2/resources/notes/export?{query}")).expect(200).text;
    assert!(export.contains("\"working_copy\":{") && export.contains("\"highlights\":{"), "{export}");
    let list = format!("/v2/resources/notes?{}", query.replace("&all_variants=true&format=ndjson", ""));
    let mut read = server.get(&list).expect(200).data()[0].take();
    server.put(&path(&id), &read).expect(200);
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"], read["attributes"]);
    read.as_object_mut().unwrap().remove("published_at");
    server.put(&format!("{}?copy=working", path(&id)), &read).expect(200);
    let types = [("content-type", "application/x-ndjson")];
    let imported = server.raw("POST", "/v2/resources/notes/import", &types, export.as_bytes()).expect(200).lines();
    assert_eq!((imported.len(), &imported[0]["op"], &imported[0]["id"]), (1, &json!("updated"), &json!(id)));
}
