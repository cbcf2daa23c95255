//! Two nodes over stores that others make, without faults: Ceph, and the emulator of Azure Blob Storage.
//! `cluster create` and the first start of each node check a store with races on new names.

use serde_json::json;

use super::azurite::{self, Azurite};
use super::ceph::{self, Ceph};
use super::node::{Client, Node, create_cluster, start};
use super::{KEY, s3};

/// Part of a test that has started Ceph.
pub(super) fn share_a_log_in_ceph(ceph: &Ceph) {
    let log = format!("s3://{}/{}", ceph::BUCKET, ceph.new_prefix());
    share_a_log(&log, &s3::environment(ceph.port(), ceph::ACCESS_KEYS[0]));
}

#[test]
fn two_nodes_share_a_log_in_azure_blob_storage() {
    let Some(azurite) = Azurite::start() else { return };
    share_a_log(&format!("az://{}/some/prefix", azurite::CONTAINER), &azurite.environment());
}

fn share_a_log(log: &str, environment: &[(String, String)]) {
    let temp = tempfile::tempdir().unwrap();
    let nodes = create_cluster(temp.path(), log, environment, &["--cluster-key", KEY]);
    let stranger = Node::new(&temp.path().join("stranger"), log, environment.to_vec(), &[]);
    let error = stranger.try_create_cluster().unwrap_err();
    assert!(error.contains("already"), "{error}");

    let client = Client::new(std::time::Duration::from_secs(30));
    client.blueprint(&nodes[0], "notes", json!([{ "name": "title", "slug": "title", "type": "text", "unique": true }]));
    let create = |node: &Node, title: &str| client.create(node, "notes", &json!({ "title": title }), &[]).unwrap();
    let mut expected: Vec<String> = (0..20).map(|number| format!("note {number:02}")).collect();
    for (number, title) in expected.iter().enumerate() {
        create(&nodes[number % 2], title).expect(201);
        create(&nodes[(number + 1) % 2], title).expect(422);
    }
    for lost in [1, 0] {
        let (lost, other) = (&nodes[lost], &nodes[1 - lost]);
        lost.kill();
        lost.empty();
        let during = format!("written while {} was away", lost.port);
        create(other, &during).expect(201);
        expected.push(during);
        start(std::slice::from_ref(lost));
        let after = format!("written by {}", lost.port);
        create(lost, &after).expect(201);
        expected.push(after);
        expected.sort();
        assert_eq!((client.titles(lost).unwrap(), client.titles(other).unwrap()), (expected.clone(), expected.clone()));
    }
    let lists = nodes.each_ref().map(|node| client.latest(node, "/v2/resources/notes").unwrap().expect(200));
    assert_eq!((&lists[0].text, lists[0].header("etag")), (&lists[1].text, lists[1].header("etag")));
}
