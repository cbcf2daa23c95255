//! Working copies, history and the trash on several nodes: every node answers the same, whichever was written to, and a
//! planned publication happens once, also if the node that leads stops before its moment. What one node has written,
//! another one does not call missing.

use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use serde_json::{Value, json};

use super::{Cluster, read, until};
use crate::sessions;
use crate::support::{Reply, Server};

const NOTES: &str = "/v2/resources/notes";

fn define(server: &Server) {
    let body = json!({ "name": "Notes", "slug": "notes", "working_copy": true, "history": { "keep": 50, "days": 365 },
        "trash": { "days": 30 }, "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
}

fn edit(server: &Server, id: &str, title: &str) -> Reply {
    let body = json!({ "attributes": { "title": title } });
    server.patch(&format!("{NOTES}/{id}?copy=working"), &body).expect(200)
}

/// Returns everything about the resources that a node answers, with the tags.
fn answers(server: &Server, ids: &[String]) -> Vec<(Option<String>, Value)> {
    let mut paths = vec![
        NOTES.to_owned(),
        format!("{NOTES}?copy=working&sort=title&facets=title"),
        format!("{NOTES}?copy=working&filter[working_copy]=true"),
        "/v2/trash".to_owned(),
        "/v2/changes?since=0".to_owned(),
    ];
    for id in ids {
        paths.extend([format!("{NOTES}/{id}?copy=working"), format!("{NOTES}/{id}/history")]);
        paths.extend((1..6).map(|number| format!("{NOTES}/{id}/history/{number}?compare=live")));
    }
    let ask = |path: &String| {
        let reply = read(server, path, "latest");
        let lines: Vec<Value> = reply.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (reply.header("etag").map(str::to_owned), json!([reply.status, lines]))
    };
    paths.iter().map(ask).collect()
}

#[test]
fn nodes_agree_on_working_copies_histories_and_the_trash_whichever_is_written_to() {
    let cluster = Cluster::create();
    let nodes = [cluster.start("a"), cluster.start("b"), cluster.start("c")];
    define(&nodes[0]);
    let ids: Vec<String> = (0..3).map(|n| nodes[n].create("notes", json!({ "title": format!("t{n}") }))).collect();
    for (at, id) in ids.iter().enumerate() {
        edit(&nodes[(at + 1) % 3], id, "edited");
        edit(&nodes[(at + 2) % 3], id, "edited again");
    }
    nodes[1].post(&format!("{NOTES}/{}/publish", ids[0]), &json!({})).expect(200);
    nodes[2].delete(&format!("{NOTES}/{}", ids[1])).expect(204);
    nodes[0].delete(&format!("{NOTES}/{}?copy=working", ids[2])).expect(204);
    nodes[1].post(&format!("{NOTES}/{}/history/2/restore", ids[2]), &json!({})).expect(200);
    let expected = answers(&nodes[0], &ids);
    assert_eq!(answers(&nodes[1], &ids), expected);
    assert_eq!(answers(&nodes[2], &ids), expected);
    nodes[0].post(&format!("/v2/trash/{}/restore", ids[1]), &json!({})).expect(200);
    let expected = answers(&nodes[1], &ids);
    assert_eq!(answers(&nodes[0], &ids), expected);
    assert_eq!(answers(&nodes[2], &ids), expected);
}

#[test]
fn a_planned_publication_happens_once_although_the_leader_stops() {
    let cluster = Cluster::create();
    let (mut leader, follower) = (cluster.start("a"), cluster.start("b"));
    define(&leader);
    let id = leader.create("notes", json!({ "title": "one" }));
    edit(&follower, &id, "two");
    let moment = Utc::now() + Duration::from_secs(2);
    let at = moment.to_rfc3339_opts(SecondsFormat::Millis, true);
    follower.post(&format!("{NOTES}/{id}/publish"), &json!({ "at": at })).expect(200);
    assert!(leader.terminate().success());
    let title =
        |server: &Server| read(server, &format!("{NOTES}/{id}"), "0").json()["data"]["attributes"]["title"].clone();
    assert_eq!(title(&follower), "one");
    until("the working copy is published", || title(&follower) == "two");
    assert!(Utc::now() >= moment, "published before its moment");
    drop(leader);
    let leader = cluster.start("a");
    let revisions = read(&leader, &format!("{NOTES}/{id}/history"), "latest").expect(200).data();
    let ops: Vec<&Value> = revisions.as_array().unwrap().iter().map(|revision| &revision["op"]).collect();
    assert_eq!(ops, ["updated", "edited", "created"]);
}

/// Nodes without a key forward nothing, and look only twice a second for what others wrote.
fn nodes_without_key(cluster: &Cluster) -> [Server; 2] {
    ["a", "b"].map(|name| cluster.start_with(name, &["--webhook-private-addresses"]))
}

#[test]
fn a_node_changes_at_once_what_another_one_has_just_made() {
    let cluster = Cluster::create();
    let [a, b] = nodes_without_key(&cluster);
    let made = |path: &str, body: &Value| {
        let id = a.post(path, body).expect(201).data()["id"].clone();
        format!("{path}/{}", id.as_str().map_or_else(|| id.to_string(), str::to_owned))
    };
    let hook = json!({ "name": "hook", "url": "http://127.0.0.1:9/", "events": ["created"] });
    b.patch(&made("/v2/webhooks", &hook), &json!({ "active": false })).expect(200);
    b.post(&format!("{}/test", made("/v2/webhooks", &hook)), &json!({})).expect(200);
    b.delete(&made("/v2/webhooks", &hook)).expect(204);
    let words = json!({ "words": ["gpu", "graphics card"] });
    b.patch(&made("/v2/search/synonyms", &words), &json!({ "words": ["gpu", "display adapter"] })).expect(200);
    let member = json!({ "name": "ada", "email": "ada@example.org", "role": "editor" });
    b.patch(&made("/v2/members", &member), &json!({ "name": "Ada" })).expect(200);
    let secret = sessions::invite(&a, a.member("bob", Some("editor")));
    sessions::accept(&b, &json!({ "token": secret, "password": sessions::PASSWORD })).expect(200);
}

#[test]
fn a_node_restores_and_publishes_at_once_what_another_one_has_just_written() {
    let cluster = Cluster::create();
    let [a, b] = nodes_without_key(&cluster);
    let mut notes = json!({ "name": "Notes", "slug": "notes", "history": { "keep": 50, "days": 365 },
        "variants": [{ "name": "English", "slug": "en", "default": true }],
        "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
    a.post("/v2/blueprints", &notes).expect(201);
    let note = format!("{NOTES}/{}", a.create("notes", json!({ "title": "one" })));
    let change = |title: &str| a.patch(&note, &json!({ "attributes": { "title": title } })).expect(200);
    read(&b, &note, "latest").expect(200);
    change("two");
    change("three");
    let restored = b.post(&format!("{note}/history/2/restore"), &json!({})).expect(200);
    assert_eq!(restored.data()["attributes"]["title"], "two");

    let text = json!({ "name": "Text", "slug": "text", "type": "text" });
    notes["fields"].as_array_mut().unwrap().push(text);
    a.put("/v2/blueprints/notes", &notes).expect(200);
    b.post(&format!("{note}/history/1/restore"), &json!({ "fields": ["title", "text"] })).expect(200);

    notes["working_copy"] = json!(true);
    a.put("/v2/blueprints/notes", &notes).expect(200);
    a.patch(&format!("{note}?copy=working"), &json!({ "attributes": { "title": "four" } })).expect(200);
    let published = b.post(&format!("{note}/publish"), &json!({})).expect(200);
    assert_eq!(published.data()["attributes"]["title"], "four");

    notes["variants"].as_array_mut().unwrap().push(json!({ "name": "Deutsch", "slug": "de" }));
    a.put("/v2/blueprints/notes", &notes).expect(200);
    // Its one item fails by itself: the new variant has no working copy.
    let body = json!({ "ids": [note.rsplit('/').next().unwrap()], "variants": ["de"] });
    b.post(&format!("{NOTES}/bulk-publish?copy=working"), &body).expect(207);
}
