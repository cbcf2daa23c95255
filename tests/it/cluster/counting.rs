//! Analytics of a cluster: whatever node a page sends its visitors to, each pageview counts once, and every node
//! reports all of them.

use std::time::Duration;

use serde_json::{Value, json};

use super::node::free_port;
use super::{Cluster, KEY, until};
use crate::support::{ADMIN, Reply, Server, binary, succeed};

const SITE: &str = "a.example";
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";

fn start(cluster: &Cluster, name: &str) -> Server {
    start_at(cluster, name, "127.0.0.1:0")
}

fn start_at(cluster: &Cluster, name: &str, listen: &str) -> Server {
    let sites = format!("--analytics-sites={SITE}");
    let trusted = "--analytics-trusted-proxies=127.0.0.1";
    cluster.start_with(name, &["--cluster-key", KEY, &sites, trusted, "--listen", listen])
}

fn headers(visitor: u8) -> [(&'static str, String); 4] {
    let address = format!("192.0.2.{visitor}");
    [
        ("user-agent", AGENT.to_owned()),
        ("x-forwarded-for", address),
        ("origin", format!("https://{SITE}")),
        ("content-type", "application/json".to_owned()),
    ]
}

fn send_as(server: &Server, visitor: u8, method: &str, path: &str, body: &Value) -> Reply {
    let headers = headers(visitor);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.raw(method, path, &headers, if body.is_null() { String::new() } else { body.to_string() }.as_bytes())
}

fn visit(server: &Server, visitor: u8, page: &str) {
    let event = json!({ "name": "pageview", "url": format!("https://{SITE}/{page}") });
    send_as(server, visitor, "POST", "/v2/analytics/events", &event).expect(202);
}

/// Returns the pageviews and the visitors that a node reports; `None` while it does not reach the one that counts.
fn counted(server: &Server) -> Option<(u64, u64)> {
    let reply = server.get(&format!("/v2/analytics/summary?site={SITE}"));
    if reply.status == 503 {
        assert_eq!(reply.code(), "LOG_UNREACHABLE", "{}", reply.text);
        return None;
    }
    let summary = reply.expect(200).json();
    Some((summary["pageviews"].as_u64().unwrap(), summary["visitors"].as_u64().unwrap()))
}

#[track_caller]
fn until_counted(server: &Server, expected: (u64, u64)) {
    let mut last = None;
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while last != Some(expected) {
        assert!(std::time::Instant::now() < deadline, "{last:?} instead of {expected:?}");
        std::thread::sleep(Duration::from_millis(100));
        last = counted(server);
        assert!(last.is_none_or(|(pageviews, _)| pageviews <= expected.0), "{last:?}: something counted twice");
    }
}

#[track_caller]
fn run(arguments: &[&str]) {
    let ran = std::process::Command::new(binary()).args(arguments).env("BINDERY_CLUSTER_KEY", KEY).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Returns the number of the newest entry in the storage.
fn newest_entry(cluster: &Cluster) -> Option<u64> {
    let entries = std::fs::read_dir(cluster.shared().join("analytics/entries")).ok()?;
    entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok()).max()
}

#[test]
fn every_node_takes_pageviews_and_reports_all_of_them() {
    let cluster = Cluster::create();
    let nodes = [start(&cluster, "a"), start(&cluster, "b"), start(&cluster, "c")];
    until_counted(&nodes[2], (0, 0));
    for number in 0..30 {
        visit(&nodes[number % 3], (number % 7) as u8, &format!("page/{}", number % 5));
    }
    for node in &nodes {
        until_counted(node, (30, 7));
    }
    // Reports of all kinds are the same on all nodes, and refused for the same reasons.
    for path in [
        "pages",
        "timeseries/pageviews",
        "entry-pages",
        "pages/page/1",
        "pages?filter[browser]=Firefox",
        "pages?start=never",
    ] {
        let replies = nodes.each_ref().map(|node| node.get(&format!("/v2/analytics/{path}")));
        assert!(
            replies.iter().all(|reply| (reply.status, &reply.text) == (replies[0].status, &replies[0].text)),
            "{path}"
        );
        assert_eq!(replies[0].status == 200, !path.ends_with("never"), "{path}");
    }
    let reader = nodes[1].token(&["view"]);
    assert_eq!(nodes[2].as_token(&reader).get("/v2/analytics/summary").status, 403);
    assert_eq!(nodes[2].as_token("").get("/v2/analytics/summary").status, 401);
    // An import and a deletion through a node that does not count.
    let line = format!("192.0.2.9 - - [02/Oct/2024:10:00:00 +0000] \"GET /old HTTP/1.1\" 200 1 \"-\" \"{AGENT}\"\n");
    let imported = nodes[1].raw("POST", &format!("/v2/analytics/import?site={SITE}"), &[], line.repeat(3).as_bytes());
    assert_eq!(imported.expect(200).json()["added"], 3);
    let old = |node: &Server| node.get("/v2/analytics/pageviews?start=2024-10-01&end=2024-10-03").expect(200).json();
    assert_eq!(nodes.each_ref().map(|node| old(node)["pageviews"].clone()), [3, 3, 3].map(Value::from));
    let deleted = nodes[2].delete(&format!("/v2/analytics/events?site={SITE}&start=2024-10-02&end=2024-10-02"));
    assert_eq!(deleted.expect(200).json()["deleted"], 3);
    assert_eq!(nodes.each_ref().map(|node| old(node)["pageviews"].clone()), [0, 0, 0].map(Value::from));
    let left = |folder: &str| std::fs::read_dir(cluster.shared().join("analytics").join(folder)).unwrap().count();
    assert_eq!((left("files"), left("entries")), (2, 1), "the storage still has a file of the deleted day");
    let deleted = nodes[1].delete(&format!("/v2/analytics/events?site={SITE}"));
    assert_eq!(deleted.expect(200).json()["deleted"], 30);
    assert_eq!(nodes.each_ref().map(counted), [Some((0, 0)); 3]);
    assert_eq!((left("files"), left("entries")), (2, 1), "the storage still has records of deleted pageviews");
}

#[test]
fn a_search_of_one_node_is_clicked_on_another_one() {
    let cluster = Cluster::create();
    let nodes = [start(&cluster, "a"), start(&cluster, "b"), start(&cluster, "c")];
    super::create_notes(&nodes[0]);
    let body = json!({ "attributes": { "title": "Linen shirts" }, "published_at": "2026-01-01T00:00:00Z" });
    let written = nodes[0].post("/v2/resources/notes", &body).expect(201);
    let id = written.data()["id"].clone();
    for node in &nodes {
        super::read(node, "/v2/resources/notes", &super::number(&written).to_string()).expect(200);
    }
    until("the node has the salt of the day", || {
        let asked = send_as(&nodes[1], 9, "GET", "/v2/resources/notes?q=shirts&track=true", &Value::Null).expect(200);
        asked.json()["meta"]["search_id"].is_string()
    });
    // Questions of fewer than five visitors are not reported, and those of editors not suggested.
    let reader = nodes[0].token(&["view"]);
    for node in &nodes {
        until("the node knows the token", || node.as_token(&reader).get("/v2/resources/notes").status == 200);
    }
    for visitor in 1..=5 {
        let node = usize::from(visitor % 3);
        let headers = headers(visitor);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let asked =
            nodes[node].as_token(&reader).raw("GET", "/v2/resources/notes?q=linen%20shirts&track=true", &headers, b"");
        let search = asked.expect(200).json()["meta"]["search_id"].as_str().unwrap().to_owned();
        let click = format!("/v2/analytics/searches/{search}/click");
        send_as(&nodes[(node + 1) % 3], visitor, "POST", &click, &json!({ "id": id, "position": 1 })).expect(202);
    }
    assert_eq!(send_as(&nodes[2], 1, "POST", "/v2/analytics/searches/x/click", &json!({})).status, 404);
    until("the searches count", || {
        let report = nodes[1].get("/v2/analytics/searches");
        report.status == 200 && report.json()[0]["searches"] == 5
    });
    let row = nodes[1].get("/v2/analytics/searches").expect(200).json()[0].clone();
    assert_eq!((&row["question"], &row["visitors"]), (&json!("linen shirts"), &json!(5)));
    // They are suggested on every node.
    for node in &nodes {
        until("the question is suggested", || {
            let suggested = node.get("/v2/search/suggest?q=line").expect(200).data();
            suggested.as_array().unwrap().iter().any(|one| one["kind"] == "question" && one["text"] == "linen shirts")
        });
    }
}

#[test]
fn a_leader_that_is_killed_counts_what_others_sent_it_once_and_a_stopped_one_hands_over() {
    let cluster = Cluster::create();
    // The leader keeps its address, so the other node does not see that it was restarted.
    let listen = format!("127.0.0.1:{}", free_port());
    let mut a = start_at(&cluster, "a", &listen);
    let b = start(&cluster, "b");
    until_counted(&b, (0, 0));
    for number in 0..20 {
        visit(&b, number % 4, "one");
    }
    until_counted(&b, (20, 4));
    // The storage has none of this, unless ten seconds have passed, and the disk of the leader does not count.
    a.kill();
    visit(&b, 5, "while nobody counts");
    assert_eq!(counted(&b), None);
    let mut a = start_at(&cluster, "a", &listen);
    until_counted(&b, (21, 5));
    until_counted(&a, (21, 5));
    // A pageview that only the leader has, and one that it has not got yet.
    visit(&a, 6, "of the leader");
    visit(&b, 7, "of the other one");
    assert!(a.terminate().success());
    until_counted(&b, (23, 7));
    visit(&b, 7, "again");
    until_counted(&b, (24, 7));
    let a = start(&cluster, "a");
    visit(&a, 1, "one");
    until_counted(&a, (25, 7));
    until_counted(&b, (25, 7));
}

#[test]
fn searches_that_a_leader_took_right_before_it_stopped_count_at_the_next_one() {
    let cluster = Cluster::create();
    let mut a = start(&cluster, "a");
    let b = start(&cluster, "b");
    super::create_notes(&a);
    until_counted(&b, (0, 0));
    until("the node has the salt of the day", || {
        let asked = send_as(&a, 9, "GET", "/v2/resources/notes?q=shirts&track=true", &Value::Null).expect(200);
        asked.json()["meta"]["search_id"].is_string()
    });
    // Questions of fewer than five visitors are not reported.
    for visitor in 1..=5 {
        send_as(&a, visitor, "GET", "/v2/resources/notes?q=linen&track=true", &Value::Null).expect(200);
    }
    assert!(a.terminate().success());
    until("the searches count", || {
        let report = b.get("/v2/analytics/searches");
        report.status == 200 && report.json()[0]["searches"] == 5
    });
}

#[test]
fn analytics_come_with_a_server_into_its_cluster_and_leave_with_it() {
    let cluster = Cluster { temp: tempfile::tempdir().unwrap() };
    std::fs::create_dir(cluster.shared()).unwrap();
    let folder = cluster.folder("a");
    let single = ["--analytics-sites=a.example", "--analytics-trusted-proxies=127.0.0.1"];
    {
        let mut server = Server::start_in(&folder, &single);
        visit(&server, 1, "alone");
        until_counted(&server, (1, 1));
        assert!(server.terminate().success());
    }
    run(&["cluster", "create", "--log", &cluster.address(), "--data", folder.to_str().unwrap()]);
    // Another node may lead first.
    let mut b = start(&cluster, "b");
    until_counted(&b, (1, 1));
    let mut a = start(&cluster, "a");
    until_counted(&a, (1, 1));
    let before = newest_entry(&cluster);
    visit(&b, 2, "together");
    until_counted(&b, (2, 2));
    // A backup of a node that does not count has what is in the storage.
    let backup = cluster.folder("backup");
    until("the leader has written it to the storage", || newest_entry(&cluster) > before);
    run(&["backup", backup.to_str().unwrap(), "--url", b.address(), "--token", ADMIN]);
    assert!(a.terminate().success());
    assert!(b.terminate().success());
    // So has a backup of its folder, which has no copy any more.
    let of_folder = cluster.folder("backup-of-folder");
    let made = std::process::Command::new(binary())
        .args(["backup", of_folder.to_str().unwrap(), "--data", folder.to_str().unwrap()])
        .envs([("BINDERY_LOG", cluster.address().as_str()), ("BINDERY_CLUSTER_KEY", KEY)])
        .env_remove("BINDERY_URL")
        .env_remove("BINDERY_TOKEN")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let left = cluster.command("leave", &folder);
    assert!(left.contains("is a single server now") && !left.contains("could not"), "{left}");
    let server = Server::start_in(&folder, &single);
    until_counted(&server, (2, 2));
    for (backup, restored) in [(backup, "restored"), (of_folder, "restored-of-folder")] {
        let restored = cluster.folder(restored);
        run(&["restore", backup.to_str().unwrap(), "--data", restored.to_str().unwrap()]);
        until_counted(&Server::start_in(&restored, &single), (2, 2));
    }
}

/// Makes a cluster whose only node has counted a pageview and was stopped.
fn stopped_after_a_pageview() -> Cluster {
    let cluster = Cluster::create();
    let mut node = start(&cluster, "a");
    until_counted(&node, (0, 0));
    visit(&node, 1, "page");
    until_counted(&node, (1, 1));
    assert!(node.terminate().success());
    cluster
}

#[test]
fn a_node_that_cannot_take_the_analytics_of_its_cluster_along_stays_a_node() {
    let (cluster, other) = (stopped_after_a_pageview(), stopped_after_a_pageview());
    let [empty, nowhere] = [(); 2].map(|()| Cluster { temp: tempfile::tempdir().unwrap() });
    std::fs::create_dir(empty.shared()).unwrap();
    let folder = cluster.folder("a");
    for (storage, expected) in
        [(&other, "holds the cluster"), (&empty, "there is no cluster at"), (&nowhere, "does not exist")]
    {
        let error = storage.command("leave", &folder);
        assert!(error.contains(expected) && error.contains("the folder is still a node"), "{error}");
    }
    let left = cluster.command("leave", &folder);
    assert!(left.contains("is a single server now"), "{left}");
    let server = Server::start_in(&folder, &["--analytics-sites=a.example"]);
    until_counted(&server, (1, 1));
}

#[test]
fn a_node_leaves_a_cluster_whose_storage_is_gone_without_its_analytics_if_that_is_asked_for() {
    let cluster = stopped_after_a_pageview();
    let folder = cluster.folder("a");
    std::fs::remove_dir_all(cluster.shared()).unwrap();
    let error = cluster.command("leave", &folder);
    assert!(error.contains("does not exist") && error.contains("`--without-storage`"), "{error}");
    let left = succeed(&["cluster", "leave", "--without-storage", "--data", folder.to_str().unwrap()]);
    assert!(left.contains("The analytics of the cluster stay behind") && left.contains("analytics.own-1"), "{left}");
    assert!(left.contains("is a single server now"), "{left}");
    let server = Server::start_in(&folder, &["--analytics-sites=a.example"]);
    until_counted(&server, (0, 0));
}

#[test]
fn commands_refuse_the_analytics_in_the_folder_of_a_node_unless_it_counts_for_itself() {
    let cluster = Cluster::create();
    let folder = cluster.folder("a");
    let log = cluster.folder("access.log");
    let line = format!("192.0.2.9 - - [02/Oct/2024:10:00:00 +0000] \"GET /old HTTP/1.1\" 200 1 \"-\" \"{AGENT}\"\n");
    std::fs::write(&log, line).unwrap();
    let run = |arguments: &[&str], settings: &[(&str, &str)]| {
        let mut command = std::process::Command::new(binary());
        command.arg("analytics").args(arguments).arg("--data").arg(&folder).envs(settings.iter().copied());
        let ran = command.env_remove("BINDERY_URL").env_remove("BINDERY_TOKEN").output().unwrap();
        (ran.status.success(), String::from_utf8(ran.stderr).unwrap())
    };
    let address = cluster.address();
    let import = ["import", log.to_str().unwrap(), "--site", SITE];
    let commands: [&[&str]; 3] = [&import, &["delete", "--site", SITE], &["repair"]];
    let of_log = ("BINDERY_LOG", address.as_str());
    let shared: [&[(&str, &str)]; 2] = [&[], &[of_log, ("BINDERY_CLUSTER_KEY", KEY)]];
    for settings in shared {
        for command in commands {
            let (is_done, error) = run(command, settings);
            assert!(!is_done && error.contains("is a node of a cluster"), "{command:?}: {error}");
            assert_eq!(error.contains("`--url`"), command != ["repair"], "{error}");
        }
    }
    assert!(!folder.join("analytics").exists());
    for command in commands {
        let (is_done, error) = run(command, &[of_log]);
        assert!(is_done, "{command:?}: {error}");
    }
}

#[test]
fn damaged_analytics_of_a_node_are_reported_with_what_helps_in_a_cluster() {
    let cluster = Cluster::create();
    let state = cluster.folder("a").join("analytics/state.json");
    std::fs::create_dir_all(state.parent().unwrap()).unwrap();
    std::fs::write(&state, "damaged").unwrap();
    let mut node = start(&cluster, "a");
    until("it says what helps", || !node.logged("WARN", "after `bindery cluster leave`").is_empty());
    assert!(node.terminate().success());

    std::fs::write(&state, "damaged").unwrap();
    let verified = std::process::Command::new(binary()).args(["verify", "--data"]).arg(cluster.folder("a")).output();
    let printed = String::from_utf8(verified.unwrap().stdout).unwrap();
    assert!(printed.contains("analytics/state.json: its checksum is wrong"), "{printed}");
    assert!(printed.contains("from the storage of the cluster") && !printed.contains("repair"), "{printed}");
}

#[test]
fn verify_finds_nothing_wrong_with_the_analytics_of_a_node_that_counted() {
    let cluster = Cluster::create();
    let listen = format!("127.0.0.1:{}", free_port());
    let mut b = start(&cluster, "b");
    until_counted(&b, (0, 0));
    // The node counts for itself, and then for the cluster: with salts that it does not keep in its folder.
    let mut a = cluster.start_with("a", &["--analytics-sites=a.example", "--listen", &listen]);
    until_counted(&a, (0, 0));
    assert!(a.terminate().success());
    let mut a = start_at(&cluster, "a", &listen);
    assert!(b.terminate().success());
    until_counted(&a, (0, 0));
    assert!(a.terminate().success());
    let folder = cluster.folder("a");
    assert!(folder.join("analytics.own-1").exists() && folder.join("analytics/of-cluster").exists());
    let verified = std::process::Command::new(binary()).args(["verify", "--data"]).arg(&folder).output().unwrap();
    let printed = String::from_utf8_lossy(&verified.stdout) + String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success(), "{printed}");
}

#[test]
fn only_nodes_may_send_batches() {
    let cluster = Cluster::create();
    let node = start(&cluster, "a");
    let batch = json!({ "sender": "x", "number": 1, "now": 0, "items": [] });
    assert_eq!(node.post("/v2/cluster/batches", &batch).outcome(), "403 FORBIDDEN");
    assert_eq!(node.get("/v2/cluster/questions").outcome(), "403 FORBIDDEN");
    assert_eq!(Server::start().post("/v2/cluster/batches", &batch).outcome(), "403 FORBIDDEN");
}
