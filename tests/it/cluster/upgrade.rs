//! The nodes of a cluster write a newer format once all of them read it.

use serde_json::{Value, json};

use super::{Cluster, create, create_notes, titles, until};
use crate::support::binary;

/// Runs `bindery cluster upgrade`. Returns whether it succeeded, and what it printed.
pub(super) fn upgrade(cluster: &Cluster) -> (bool, String) {
    let ran = std::process::Command::new(binary())
        .args(["cluster", "upgrade", "--log", &cluster.address()])
        .output()
        .unwrap();
    let printed = if ran.status.success() { ran.stdout } else { ran.stderr };
    (ran.status.success(), String::from_utf8(printed).unwrap())
}

#[test]
fn a_cluster_is_upgraded_once_all_its_nodes_read_the_new_format() {
    let cluster = Cluster::create();
    let mut nodes = [cluster.start("a"), cluster.start("b")];
    create_notes(&nodes[0]);
    create(&nodes[1], "before").expect(201);
    let listed = || std::fs::read_dir(cluster.shared().join("nodes")).unwrap().map(|entry| entry.unwrap().path());
    until("both nodes are listed", || listed().count() == 2);
    let number = |server: &crate::support::Server| {
        server.get("/v2/resources/notes").header("bindery-number").unwrap().parse::<u64>().unwrap()
    };

    // A node of a version that reads less.
    let mut older: Value = serde_json::from_slice(&std::fs::read(listed().next().unwrap()).unwrap()).unwrap();
    (older["node"], older["version"], older["reads_format"]) = (json!("older"), json!("0.0.9"), json!(0));
    let file = cluster.shared().join("nodes/older.json");
    let write = |node: &Value| std::fs::write(&file, node.to_string()).unwrap();
    write(&older);
    let (succeeded, error) = upgrade(&cluster);
    let named = format!(
        "these nodes do not read format 1, so nothing was changed: older (version 0.0.9, at {})",
        older["address"].as_str().unwrap()
    );
    assert!(!succeeded && error.contains(&named), "{error}");

    // It was stopped long ago.
    older["at"] = json!(older["at"].as_u64().unwrap() - 11 * 60_000);
    write(&older);
    let before = number(&nodes[0]);
    let (succeeded, printed) = upgrade(&cluster);
    let (_, rest) = printed.split_once("may write format 1 from number ").expect(&printed);
    let upgraded: u64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(succeeded && upgraded > before, "{printed}");
    create(&nodes[0], "after").expect(201);
    until("both nodes go on", || {
        nodes.iter().all(|node| number(node) > upgraded && titles(node) == ["after", "before"])
    });
    for (node, name) in nodes.iter_mut().zip(["a", "b"]) {
        node.kill();
        *node = cluster.start(name);
    }
    until("both nodes start again", || nodes.iter().all(|node| titles(node) == ["after", "before"]));
    assert!(upgrade(&cluster).0, "it may be repeated");
}
