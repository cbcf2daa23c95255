//! Planned publications of working copies.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{edit, notes, path, publish, start, working};
use crate::support::Server;

/// Returns the moment that is so far away, as a text.
pub(super) fn moment(ahead: Duration) -> String {
    let at = std::time::SystemTime::now() + ahead;
    let millis = at.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let at = chrono::DateTime::from_timestamp_millis(i64::try_from(millis).unwrap()).unwrap();
    at.format("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}

pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ops(server: &Server) -> Vec<String> {
    let changes = server.get("/v2/changes?since=0").expect(200).lines();
    changes.iter().map(|change| change["op"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_planned_publication_happens_once_at_its_moment_also_if_the_server_was_down() {
    let mut server = start();
    let ids: Vec<String> = (0..2).map(|n| server.create("notes", json!({ "title": format!("n{n}") }))).collect();
    let at = moment(Duration::from_secs(2));
    for id in &ids {
        edit(&server, id, json!({ "title": format!("new {id}") })).expect(200);
        let live = server.find(&format!("notes/{id}"));
        assert_eq!(publish(&server, id, &json!({ "at": at })).expect(200).data(), live);
        assert_eq!(working(&server, id)["working_copy"]["publish_at"], json!(at));
    }
    // Until then nothing can change it.
    let id = &ids[0];
    for attributes in [json!({ "rank": 1 }), json!({ "rank": "no number" }), json!({ "unknown": 1 })] {
        assert_eq!(edit(&server, id, attributes.clone()).outcome(), "409 CONFLICT", "{attributes}");
    }
    let url = format!("{}?copy=working", path(id));
    for body in [json!({ "attributes": 1 }), json!({}), json!([])] {
        assert_eq!(server.patch(&url, &body).outcome(), "409 CONFLICT", "{body}");
        assert_eq!(server.put(&url, &body).outcome(), "409 CONFLICT", "{body}");
    }
    assert_eq!(server.delete(&url).outcome(), "409 CONFLICT");
    assert_eq!(publish(&server, id, &json!({})).outcome(), "409 CONFLICT");
    // A later moment would not be a conflict.
    assert_eq!(publish(&server, id, &json!({ "at": "later" })).outcome(), "422 VALIDATION_FAILED");
    publish(&server, id, &json!({ "at": null })).expect(200);
    assert_eq!(working(&server, id)["working_copy"]["publish_at"], Value::Null);
    edit(&server, id, json!({ "rank": 1 })).expect(200);
    publish(&server, id, &json!({ "at": at })).expect(200);
    server.kill();
    std::thread::sleep(Duration::from_millis(2_200));
    server.restart();
    for id in &ids {
        assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], json!(format!("new {id}")));
        assert_eq!(working(&server, id)["working_copy"], Value::Null);
    }
    let updated = ops(&server).iter().filter(|op| *op == "updated").count();
    server.kill_and_restart();
    assert_eq!(updated, 2);
    assert_eq!(ops(&server).iter().filter(|op| *op == "updated").count(), 2);
    // And while it runs.
    edit(&server, id, json!({ "title": "third" })).expect(200);
    publish(&server, id, &json!({ "at": moment(Duration::from_millis(700)) })).expect(200);
    assert_ne!(server.find(&format!("notes/{id}"))["attributes"]["title"], "third");
    wait_until("it is published", || server.find(&format!("notes/{id}"))["attributes"]["title"] == "third");
    // A moment that is over is now.
    edit(&server, id, json!({ "title": "fourth" })).expect(200);
    publish(&server, id, &json!({ "at": "2020-01-01T00:00:00Z" })).expect(200);
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], "fourth");
}

#[test]
fn a_planned_publication_that_fails_is_shown_at_the_resource_and_in_the_feed() {
    let server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    edit(&server, &id, json!({ "title": "two" })).expect(200);
    let at = moment(Duration::from_millis(600));
    publish(&server, &id, &json!({ "at": at })).expect(200);
    server.patch(&path(&id), &json!({ "attributes": { "title": "live" } })).expect(200);
    wait_until("it fails", || working(&server, &id)["working_copy"]["publish_failed"].is_object());
    let copy = working(&server, &id)["working_copy"].clone();
    assert_eq!((&copy["publish_at"], &copy["publish_failed"]["at"]), (&Value::Null, &json!(at)));
    assert_eq!(copy["publish_failed"]["errors"]["code"], "CONFLICT");
    assert_eq!(copy["publish_failed"]["errors"]["fields"].as_object().unwrap().keys().collect::<Vec<_>>(), ["title"]);
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["title"], "live");
    assert_eq!(ops(&server), ["created", "edited", "edited", "updated", "publish_failed"]);
    let viewer = server.token(&["view"]);
    let seen = server.as_token(&viewer).get("/v2/changes?since=0").expect(200).lines();
    let seen: Vec<&str> = seen.iter().map(|change| change["op"].as_str().unwrap()).collect();
    assert_eq!(seen, ["created", "updated"]);
    // It can be published, forced, at another moment.
    publish(&server, &id, &json!({ "at": moment(Duration::from_millis(300)), "force": true })).expect(200);
    assert_eq!(working(&server, &id)["working_copy"].get("publish_failed"), None);
    wait_until("it is published", || server.find(&format!("notes/{id}"))["attributes"]["title"] == "two");
}

#[test]
fn a_planned_publication_of_a_deleted_resource_is_forgotten() {
    let mut server = start();
    let id = server.create("notes", json!({ "title": "one" }));
    edit(&server, &id, json!({ "title": "two" })).expect(200);
    publish(&server, &id, &json!({ "at": moment(Duration::from_millis(300)) })).expect(200);
    server.delete(&path(&id)).expect(204);
    std::thread::sleep(Duration::from_millis(400));
    server.create("notes", json!({ "title": "three" }));
    assert_eq!(ops(&server).last().map(String::as_str), Some("created"));
    server.kill_and_restart();
    assert_eq!(server.ids("notes").len(), 1);
}

#[test]
fn plans_of_two_tokens_for_one_moment_succeed_or_fail_independently_and_have_their_own_authors_and_dates() {
    let server = Server::start();
    let mut blueprint = notes();
    blueprint["history"] = json!({ "keep": 50, "days": 365 });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let other = server.token(&["view", "preview", "update", "publish"]);
    let edit_german = |id: &str, attributes: Value| {
        let url = format!("{}?copy=working&variant=de", path(id));
        server.as_token(&other).send("PATCH", &url, Some(&json!({ "attributes": attributes }))).expect(200);
    };
    let plan_german = |id: &str, plan: Value| {
        server.as_token(&other).send("POST", &format!("{}/publish", path(id)), Some(&plan)).expect(200);
    };
    let failing = server.create("notes", json!({ "title": "one" }));
    let both = server.create("notes", json!({ "title": "one" }));
    edit(&server, &failing, json!({ "title": "two" })).expect(200);
    edit(&server, &both, json!({ "title": "two" })).expect(200);
    // The required title is missing.
    edit_german(&failing, json!({ "rank": 2 }));
    edit_german(&both, json!({ "title": "zwei" }));
    let at = moment(Duration::from_secs(2));
    plan_german(&failing, json!({ "variants": ["de"], "at": at }));
    publish(&server, &failing, &json!({ "variants": ["en"], "at": at })).expect(200);
    let (early, late) = ("2020-03-03T00:00:00Z", "2020-04-04T00:00:00Z");
    plan_german(&both, json!({ "variants": ["de"], "at": at, "published_at": late }));
    publish(&server, &both, &json!({ "variants": ["en"], "at": at, "published_at": early })).expect(200);

    let german = |id: &str| server.get(&format!("{}?copy=working&variant=de", path(id))).expect(200).data();
    wait_until("the plan for `de` fails", || german(&failing)["working_copy"]["publish_failed"].is_object());
    wait_until("the plan for `de` is carried out", || german(&both)["working_copy"].is_null());
    let failed = german(&failing)["working_copy"]["publish_failed"].clone();
    assert_eq!((&failed["at"], &failed["errors"]["code"]), (&json!(at), &json!("VALIDATION_FAILED")));
    wait_until("the plan for `en` is carried out", || working(&server, &failing)["working_copy"].is_null());
    assert_eq!(server.find(&format!("notes/{failing}"))["attributes"]["title"], "two");

    // Each plan is a revision of its variant, by who made the plan and with its date.
    for (variant, by, date) in [("en", "admin", "2020-03-03"), ("de", "test", "2020-04-04")] {
        let history = format!("{}/history", path(&both));
        let listed = server.get(&format!("{history}?variant={variant}")).expect(200).data();
        let is_publication = |one: &&Value| one["op"] == "updated" && one["fields"] == json!(["title"]);
        let publication = listed.as_array().unwrap().iter().find(is_publication).unwrap();
        assert_eq!(publication["by"]["name"], by, "{variant}");
        let shown = server.get(&format!("{history}/{}?variant={variant}", publication["number"])).expect(200).data();
        assert!(shown["published_at"].as_str().unwrap().starts_with(date), "{variant}: {shown}");
    }
    let failures = ops(&server).iter().filter(|op| *op == "publish_failed").count();
    assert_eq!(failures, 1);
}

#[test]
fn publications_of_one_moment_become_durable_together() {
    let server = start();
    let new = json!({ "attributes": { "title": "old" }, "published_at": "2026-01-01T00:00:00Z" });
    let created = server.post("/v2/resources/notes/bulk", &json!({ "resources": vec![new; 80] })).expect(201).data();
    let ids: Vec<&Value> = created["created"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    let updates: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "attributes": { "title": "new" } })).collect();
    let updates = json!({ "updates": updates });
    server.send("PATCH", "/v2/resources/notes/bulk?copy=working", Some(&updates)).expect(200);
    let plan = json!({ "ids": ids, "at": moment(Duration::from_secs(1)) });
    server.post("/v2/resources/notes/bulk-publish?copy=working", &plan).expect(200);
    let n_groups = || {
        let metrics = server.get("/metrics").expect(200).text;
        let count = metrics.lines().find_map(|line| line.strip_prefix("bindery_write_groups_total "));
        count.unwrap().parse::<f64>().unwrap()
    };
    let before = n_groups();
    wait_until("they are published", || {
        server.get("/v2/resources/notes?filter[title]=new&per_page=1").expect(200).json()["meta"]["total"] == 80
    });
    assert!(n_groups() - before < 20.0, "{} groups", n_groups() - before);
}
