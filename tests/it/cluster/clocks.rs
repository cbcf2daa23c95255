//! The time of a node: its clock, held near that of the storage.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::node::{Client, Node};
use super::s3::S3;
use super::{KEY, until};

#[test]
fn nodes_with_a_wrong_clock_go_by_that_of_the_storage_and_say_so() {
    for (seconds, which) in [(3_600, "behind"), (-3_600, "ahead of")] {
        let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(7));
        s3.set_clock_ahead(seconds);
        let nodes = ["a", "b"].map(|name| {
            let environment = s3.environment(name);
            Node::new(&temp.path().join(name), "s3://bucket/prefix", environment, &["--cluster-key", KEY])
        });
        nodes[0].create_cluster();
        for node in &nodes {
            node.start();
            node.wait_ready(Duration::from_secs(30)).unwrap();
        }
        let client = Client::new(Duration::from_secs(10));
        let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
        let blueprint = json!({ "name": "Notes", "slug": "notes", "scheduled": true, "fields": fields });
        assert_eq!(client.send(&nodes[1], "POST", "/v2/blueprints", &[], Some(&blueprint)).unwrap().status, 201);
        for node in &nodes {
            let note = json!({ "attributes": { "title": "x" } });
            let written = client.send(node, "POST", "/v2/resources/notes", &[], Some(&note)).unwrap().expect(201);
            let at: DateTime<Utc> = written.data()["created_at"].as_str().unwrap().parse().unwrap();
            let off = at - Utc::now() - TimeDelta::seconds(seconds);
            assert!(off.abs() < TimeDelta::seconds(10), "{off} from the storage's time");
        }
        // A publication in half an hour by the clock of the node is due now, or not for an hour and a half.
        let due = (Utc::now() + TimeDelta::minutes(30)).to_rfc3339();
        let note = json!({ "attributes": { "title": "due" }, "published_at": due });
        let due = client.send(&nodes[1], "POST", "/v2/resources/notes", &[], Some(&note)).unwrap().expect(201);
        let path = format!("/v2/resources/notes/{}", due.data()["id"].as_str().unwrap());
        let token = json!({ "name": "reader", "abilities": ["view"] });
        let token = client.send(&nodes[0], "POST", "/v2/tokens", &[], Some(&token)).unwrap().expect(201);
        let read = ureq::get(format!("http://127.0.0.1:{}{path}", nodes[0].port))
            .config()
            .http_status_as_error(false)
            .build()
            .header("authorization", format!("Bearer {}", token.data()["secret"].as_str().unwrap()))
            .header("bindery-after", super::number(&token).to_string())
            .call()
            .unwrap();
        assert_eq!(read.status().as_u16(), if seconds > 0 { 200 } else { 404 });
        let expected =
            format!("its clock is {} seconds {which} that of the storage, by which it goes; set it with NTP", 3_600);
        until("the warning is there", || {
            let listed = client.get(&nodes[0], "/v2/cluster", &[]).unwrap().expect(200).data();
            let warnings = listed["nodes"].as_array().unwrap().iter().map(|node| &node["warnings"]);
            // A second may pass between the answer of the storage and the look at the clock.
            let near = expected.replace("3600", "3599");
            warnings.clone().count() == 2
                && warnings
                    .into_iter()
                    .all(|texts| texts.as_array().unwrap().iter().any(|text| *text == expected || *text == near))
        });
    }
}

#[test]
fn a_node_that_starts_without_the_storage_keeps_the_time_of_a_wrong_clock_to_itself() {
    let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(8));
    let node = Node::new(&temp.path().join("a"), "s3://bucket/prefix", s3.environment("a"), &["--cluster-key", KEY]);
    node.create_cluster();
    node.start();
    node.wait_ready(Duration::from_secs(30)).unwrap();
    let client = Client::new(Duration::from_secs(10));
    client.blueprint(&node, "notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    until("the node leads", || client.get(&node, "/v2/cluster", &[]).unwrap().data()["leader"] != json!(null));
    node.kill();
    s3.faults().cut_off(None, Duration::from_secs(600));
    node.start_failing("clock::ahead=return(3600)");
    until("the node is open", || client.get(&node, "/v2/blueprints", &[]).is_ok_and(|reply| reply.status == 200));
    s3.faults().heal();
    node.wait_ready(Duration::from_secs(30)).unwrap();
    let written = client.create(&node, "notes", &json!({ "title": "x" }), &[]).unwrap().expect(201);
    let at: DateTime<Utc> = written.data()["created_at"].as_str().unwrap().parse().unwrap();
    let off = at - Utc::now();
    assert!(off.abs() < TimeDelta::seconds(10), "{off} from the storage's time");
}
