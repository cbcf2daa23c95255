//! Working copies, history and the trash on several nodes: every node answers the same, whichever was written to, and a
//! planned publication happens once, also if the node that leads stops before its moment.

use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use serde_json::{Value, json};

use super::{Cluster, read, until};
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
