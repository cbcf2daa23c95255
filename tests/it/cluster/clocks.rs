//! The time of a node: its clock, held near that of the storage.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::node::{Client, Node};
use super::s3::S3;
use super::{KEY, until};
use crate::sessions;
use crate::support::{Server, run_in};
use crate::webhooks::Receiving;

/// The address of the cluster of these tests.
const LOG: &str = "s3://bucket/prefix";
const DAY: i64 = 24 * 3_600;

#[test]
fn nodes_with_a_wrong_clock_go_by_that_of_the_storage_and_say_so() {
    for (seconds, which) in [(3_600, "behind"), (-3_600, "ahead of")] {
        let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(7));
        s3.set_clock_ahead(seconds);
        let nodes = ["a", "b"].map(|name| {
            let environment = s3.environment(name);
            Node::new(&temp.path().join(name), LOG, environment, &["--cluster-key", KEY])
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

/// Makes a cluster and starts its node.
fn only_node(folder: &Path, s3: &S3) -> Server {
    let environment = s3.environment("a");
    Node::new(folder, LOG, environment.clone(), &[]).create_cluster();
    let variables: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let server = Server::start_in_environment(folder, &["--log", LOG, "--webhook-private-addresses"], &variables);
    until("the node is ready", || server.get("/readyz").status == 200);
    server
}

fn seconds_of(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<DateTime<Utc>>().unwrap().timestamp()
}

#[test]
fn webhooks_cookies_and_histories_go_by_the_clock_of_the_storage() {
    let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(7));
    s3.set_clock_ahead(3_600);
    let server = only_node(&temp.path().join("a"), &s3);
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let history = json!({ "keep": 50, "days": 1 });
    let blueprint = json!({ "name": "Notes", "slug": "notes", "history": history, "fields": fields });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let receiving = Receiving::accepting();
    let hook = json!({ "name": "hook", "url": receiving.url, "events": ["created"] });
    let hook = server.post("/v2/webhooks", &hook).expect(201).data();
    let path = format!("/v2/webhooks/{}", hook["id"].as_str().unwrap());
    let id = server.create("notes", json!({ "title": "one" }));
    let is_of_storage = |seconds: i64| (seconds - Utc::now().timestamp() - 3_600).abs() < 10;

    let message = receiving.next();
    assert!(is_of_storage(message.headers["webhook-timestamp"].parse().unwrap()), "{message:?}");
    let deliveries = || server.get(&format!("{path}/deliveries")).expect(200).data();
    until("the delivery is listed", || deliveries()[0] != Value::Null);
    assert!(is_of_storage(seconds_of(&deliveries()[0]["at"])), "{}", deliveries());
    server.post(&format!("{path}/test"), &json!({})).expect(200);
    let test = receiving.next();
    assert!(is_of_storage(test.headers["webhook-timestamp"].parse().unwrap()), "{test:?}");
    assert!(is_of_storage(seconds_of(&test.json()["at"])), "{test:?}");

    let secret = sessions::invite(&server, server.member("ada", Some("editor")));
    let signed_in = sessions::accept(&server, &json!({ "token": secret, "password": sessions::PASSWORD })).expect(200);
    let cookie = signed_in.header("set-cookie").unwrap();
    let lasts: i64 = cookie.split("; Max-Age=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    assert!((lasts - 30 * DAY).abs() < 10, "{cookie}");

    let note = format!("/v2/resources/notes/{id}");
    server.patch(&note, &json!({ "attributes": { "title": "two" } })).expect(200);
    let revisions = || server.get(&format!("{note}/history")).expect(200).data().as_array().unwrap().len();
    assert_eq!(revisions(), 2);
    s3.set_clock_ahead(3_600 + 2 * DAY);
    until("the node has heard of it", || {
        let written = server.post("/v2/resources/notes", &json!({ "attributes": {} })).expect(201).data();
        seconds_of(&written["created_at"]) > Utc::now().timestamp() + DAY
    });
    assert_eq!(revisions(), 1);
}

#[test]
fn an_upgrade_knows_by_the_clock_of_the_storage_which_nodes_are_gone() {
    let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(7));
    s3.set_clock_ahead(3_600);
    let _server = only_node(&temp.path().join("a"), &s3);
    let environment = s3.environment("command");
    let own = || s3.contents("bucket/prefix/nodes/");
    until("the node is listed", || !own().is_empty());
    let mut older: Value = serde_json::from_slice(&own()[0]).unwrap();
    (older["node"], older["reads_format"]) = (json!("older"), json!(0));
    let mut upgrade_with_older_node_seen = |seconds_ago: i64| {
        let at = (Utc::now() + TimeDelta::seconds(3_600 - seconds_ago)).timestamp_millis();
        older["at"] = json!(at);
        s3.put("bucket/prefix/nodes/older.json", older.to_string().as_bytes());
        run_in(&environment, &["cluster", "upgrade", "--log", LOG])
    };
    let (code, printed) = upgrade_with_older_node_seen(9 * 60);
    assert!(code != Some(0) && printed.contains("nothing was changed: older"), "{printed}");
    let (code, printed) = upgrade_with_older_node_seen(11 * 60);
    assert!(code == Some(0) && printed.contains("may write format"), "{printed}");
}
