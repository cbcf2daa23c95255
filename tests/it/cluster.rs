//! Several servers over one log (`API.md` 4.20), in a folder that stands for the bucket. `histories` lets everything
//! fail.

mod azurite;
mod ceph;
mod checker;
mod clocks;
mod counting;
mod editorial;
mod faults;
mod histories;
mod links;
mod node;
mod postgres;
mod promotion;
mod restores;
mod s3;
mod storage;
mod stores;
mod upgrade;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use node::{Client, Node};

use crate::failures::SmallDisk;
use crate::sessions;
use crate::support::{ADMIN, Reply, Server, binary};

const KEY: &str = "a-cluster-key-for-tests-of-32-characters";

/// A cluster whose log is in a folder, with the folders of its nodes.
struct Cluster {
    temp: TempDir,
}

impl Cluster {
    /// Makes a cluster of an empty server, whose folder is `a`.
    fn create() -> Cluster {
        let cluster = Cluster { temp: tempfile::tempdir().unwrap() };
        std::fs::create_dir(cluster.shared()).unwrap();
        let made = cluster.command("create", &cluster.folder("a"));
        assert!(made.starts_with("Created the cluster at file://"), "{made}");
        cluster
    }

    fn shared(&self) -> PathBuf {
        self.temp.path().join("shared")
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn address(&self) -> String {
        format!("file://{}", self.shared().display())
    }

    /// Runs `bindery cluster COMMAND`, which may have flags, on a folder. Returns what it prints, or its error.
    fn command(&self, command: &str, folder: &Path) -> String {
        let ran = Command::new(binary())
            .arg("cluster")
            .args(command.split(' '))
            .args(["--log", &self.address(), "--data"])
            .arg(folder)
            .output()
            .unwrap();
        let printed = if ran.status.success() { ran.stdout } else { ran.stderr };
        String::from_utf8(printed).unwrap()
    }

    /// Runs `bindery cluster restore`. Returns what it prints, or its error.
    fn restore(&self, to: &str) -> String {
        let ran =
            Command::new(binary()).args(["cluster", "restore", "--log", &self.address(), "--to", to]).output().unwrap();
        let printed = if ran.status.success() { ran.stdout } else { ran.stderr };
        String::from_utf8(printed).unwrap()
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        // Links name the server, and the nodes of this cluster are one.
        let own = ["--log", &self.address(), "--public-url", "http://cms.example"].map(str::to_owned);
        own.into_iter().chain(more.iter().map(|&text| text.to_owned())).collect()
    }

    fn start_with(&self, name: &str, more: &[&str]) -> Server {
        self.start_program(&binary(), name, more)
    }

    /// Starts a node with the program at this path.
    fn start_program(&self, program: &Path, name: &str, more: &[&str]) -> Server {
        let arguments = self.arguments(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let server = Server::start_program(program, &self.folder(name), &arguments);
        until("the node is ready", || server.get("/readyz").status == 200);
        server
    }

    fn start(&self, name: &str) -> Server {
        self.start_with(name, &["--cluster-key", KEY])
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 30 seconds: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn create_notes(server: &Server) {
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text", "unique": true }]);
    server.post("/v2/blueprints", &json!({ "name": "Notes", "slug": "notes", "fields": fields })).expect(201);
}

fn create(server: &Server, title: &str) -> Reply {
    server.post("/v2/resources/notes", &json!({ "attributes": { "title": title } }))
}

fn number(reply: &Reply) -> u64 {
    reply.header("bindery-number").unwrap().parse().unwrap()
}

fn read(server: &Server, path: &str, after: &str) -> Reply {
    server.raw("GET", path, &[("bindery-after", after)], b"")
}

fn titles(server: &Server) -> Vec<String> {
    let all = read(server, "/v2/resources/notes?per_page=100&sort=title", "latest").expect(200).data();
    all.as_array().unwrap().iter().map(|note| note["attributes"]["title"].as_str().unwrap().to_owned()).collect()
}

/// Returns the titles, unless the node does not listen or is not ready.
fn titles_if_ready(server: &Server) -> Option<Vec<String>> {
    let ask = |path: &str| {
        let request =
            ureq::get(format!("{}{path}", server.address())).header("authorization", format!("Bearer {ADMIN}"));
        request.call().ok()?.body_mut().read_to_string().ok()
    };
    ask("/readyz")?;
    let list: serde_json::Value = serde_json::from_str(&ask("/v2/resources/notes?sort=title")?).unwrap();
    let title = |note: &serde_json::Value| note["attributes"]["title"].as_str().unwrap().to_owned();
    Some(list["data"].as_array().unwrap().iter().map(title).collect())
}

#[test]
fn what_is_written_on_one_node_is_read_on_all_with_the_same_bytes_and_tags() {
    let cluster = Cluster::create();
    let nodes = [cluster.start("a"), cluster.start("b"), cluster.start("c")];
    create_notes(&nodes[1]);
    for round in 0..6 {
        let written = create(&nodes[round % 3], &format!("note {round}")).expect(201);
        let path = format!("/v2/resources/notes/{}", written.data()["id"].as_str().unwrap());
        for node in &nodes {
            let found = read(node, &path, &number(&written).to_string()).expect(200);
            assert_eq!(found.header("etag"), written.header("etag"), "{round}");
            assert!(number(&found) >= number(&written));
            // Nobody accepts what another node has accepted already, also without any wait.
            let refused = create(node, &format!("note {round}"));
            assert_eq!(refused.outcome(), "422 VALIDATION_FAILED", "{round}");
        }
    }
    for query in ["", "?sort=-title", "?q=note", "?search=te%203", "?filter[title][in]=note%201,note%204&fields=id"] {
        let replies =
            nodes.each_ref().map(|node| read(node, &format!("/v2/resources/notes{query}"), "latest").expect(200));
        for reply in &replies {
            assert_eq!((&reply.text, reply.header("etag")), (&replies[0].text, replies[0].header("etag")), "{query}");
        }
    }
    for (sent, status) in [("0", 200), ("999999", 422), ("latest", 200), ("soon", 422), ("07", 422), ("-1", 422)] {
        assert_eq!(read(&nodes[2], "/v2/resources/notes", sent).status, status, "{sent}");
    }
}

#[test]
fn the_list_of_nodes_names_the_leader_and_each_node() {
    let cluster = Cluster::create();
    let nodes = [cluster.start("a"), cluster.start("b")];
    until("both nodes are listed", || nodes[1].get("/v2/cluster").data()["nodes"].as_array().unwrap().len() == 2);
    let listed = nodes[1].get("/v2/cluster").expect(200).data();
    let names: Vec<_> = listed["nodes"].as_array().unwrap().iter().map(|node| node["node"].clone()).collect();
    assert!(names.contains(&listed["leader"]), "{listed}");
    for key in ["id", "history", "position", "warnings"] {
        assert!(!listed[key].is_null(), "{key}: {listed}");
    }
    for node in listed["nodes"].as_array().unwrap() {
        assert_eq!((&node["ready"], &node["warnings"]), (&json!(true), &json!([])), "{listed}");
    }
    assert_eq!(Server::start().get("/v2/cluster").outcome(), "404 NOT_FOUND");
}

#[test]
fn without_the_leader_the_others_write_within_a_second_and_it_returns() {
    let cluster = Cluster::create();
    let mut leader = cluster.start("a");
    let others = [cluster.start("b"), cluster.start("c")];
    create_notes(&others[0]);
    create(&others[1], "before").expect(201);
    leader.kill();
    let killed = Instant::now();
    until("a write succeeds without the leader", || create(&others[0], "during").status == 201);
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    create(&others[1], "during").expect(422);
    let leader = cluster.start("a");
    assert_eq!(titles(&leader), ["before", "during"]);
    create(&leader, "after").expect(201);
    assert_eq!(titles(&others[0]), ["after", "before", "during"]);
}

#[test]
fn a_leader_that_is_stopped_makes_another_node_the_leader_and_no_write_is_lost_meanwhile() {
    let cluster = Cluster::create();
    let mut leader = cluster.start("a");
    let others = [cluster.start("b"), cluster.start("c")];
    create_notes(&others[0]);
    let leading = |server: &Server| server.get("/v2/cluster").data()["leader"].clone();
    let before = leading(&others[0]);
    until("all nodes are listed", || leader.get("/v2/cluster").data()["nodes"].as_array().unwrap().len() == 3);
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| leader.terminate());
        for number in 0..100 {
            create(&others[number % 2], &format!("note {number:03}")).expect(201);
        }
        assert!(stopped.join().unwrap().success());
    });
    until("both know the new leader", || {
        let known = others.each_ref().map(leading);
        known[0] == known[1] && known[0] != before
    });
    assert_eq!(titles(&others[1]).len(), 100);
    let back = cluster.start("a");
    assert_ne!(leading(&back), before);
}

/// The leader would close a connection that is opened before the body is there.
#[test]
fn a_body_that_comes_slowly_is_forwarded_once_it_is_complete() {
    let cluster = Cluster::create();
    let start = |name| cluster.start_with(name, &["--cluster-key", KEY, "--client-timeout", "1"]);
    let nodes = ["a", "b"].map(start);
    nodes[0].blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    until("the second node forwards", || {
        create(&nodes[1], "note").expect(201);
        let counted = nodes[0].get("/metrics").expect(200).text;
        counted.lines().any(|line| line.contains("POST") && line.contains("/v2/resources/{"))
    });
    let body = json!({ "attributes": { "title": "slow ".repeat(12_500) } }).to_string();
    let mut stream = TcpStream::connect(nodes[1].address().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v2/resources/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // Each piece is as much as a client must send within the timeout.
    for piece in body.as_bytes().chunks(17_000) {
        std::thread::sleep(Duration::from_millis(500));
        stream.write_all(piece).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn verify_finds_nothing_wrong_with_the_folder_of_a_node() {
    let cluster = Cluster::create();
    let mut node = cluster.start("a");
    create_notes(&node);
    create(&node, "one").expect(201);
    assert!(node.terminate().success());
    let output = Command::new(binary()).args(["verify", "--data"]).arg(cluster.folder("a")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
}

/// It has another name then, and answers at the address of the leader that is gone.
#[test]
fn a_leader_that_lost_its_folder_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("shared")).unwrap();
    let log = format!("file://{}", temp.path().join("shared").display());
    let mut nodes = ["a", "b"].map(|name| Node::new(&temp.path().join(name), &log, Vec::new(), &[]));
    nodes.iter_mut().for_each(|node| node.always_fail("watch::suspicious=return(1);watch::gone=return(2)"));
    nodes[0].create_cluster();
    node::start(&nodes);
    let client = Client::new(Duration::from_secs(10));
    let leader = || client.get(&nodes[1], "/v2/cluster", &[]).unwrap().data()["leader"].clone();
    until("the first node leads", || leader() != json!(null));
    let before = leader();
    nodes[0].kill();
    nodes[0].empty();
    nodes[0].start();
    until("another node leads", || leader() != before);
}

#[test]
fn a_blueprint_change_is_carried_through_although_the_node_that_began_it_was_killed() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("shared")).unwrap();
    let log = format!("file://{}", temp.path().join("shared").display());
    let node = |name: &str| Node::new(&temp.path().join(name), &log, Vec::new(), &[]);
    let (mut leader, other) = (node("a"), node("b"));
    leader.always_fail("watch::list=return(1)");
    leader.create_cluster();
    leader.start();
    leader.wait_ready(Duration::from_secs(60)).unwrap();
    let client = Client::new(Duration::from_secs(10));
    until("a node leads", || client.get(&leader, "/v2/cluster", &[]).unwrap().data()["leader"] != json!(null));
    let title = |is_unique: bool| json!([{ "name": "Title", "slug": "title", "type": "text", "unique": is_unique }]);
    client.blueprint(&leader, "notes", title(false));
    client.create(&leader, "notes", &json!({ "title": "x" }), &[]).unwrap().expect(201);
    other.start();
    other.wait_ready(Duration::from_secs(60)).unwrap();
    client.latest(&other, "/v2/resources/notes").unwrap().expect(200);
    other.kill();
    other.start_failing("committer::committed=return(kill)");
    other.wait_ready(Duration::from_secs(60)).unwrap();
    let changed = json!({ "name": "notes", "slug": "notes", "fields": title(true) });
    assert!(client.send(&other, "PUT", "/v2/blueprints/notes", &[], Some(&changed)).is_err(), "the node lives");
    until("the change is in force", || {
        let found = client.get(&leader, "/v2/blueprints/notes", &[]).unwrap().expect(200);
        found.data()["fields"][0]["unique"] == json!(true)
    });
}

#[test]
fn every_node_lists_the_deliveries_of_webhooks_which_the_leader_makes() {
    let cluster = Cluster::create();
    let start = |name| cluster.start_with(name, &["--cluster-key", KEY, "--webhook-private-addresses"]);
    let nodes = ["a", "b"].map(start);
    create_notes(&nodes[0]);
    // Nobody listens there, so the delivery stays.
    let hook = json!({ "name": "hook", "url": "http://127.0.0.1:9/", "events": ["created"] });
    let hook = nodes[1].post("/v2/webhooks", &hook).expect(201).data();
    create(&nodes[1], "note").expect(201);
    let path = format!("/v2/webhooks/{}/deliveries", hook["id"].as_str().unwrap());
    for node in &nodes {
        let listed = || node.get(&path);
        until("the delivery is listed", || listed().status == 200 && listed().data()[0]["op"] == "created");
    }
}

#[test]
fn a_session_that_begins_at_a_follower_behind_a_proxy_with_tls_holds_at_every_node() {
    let cluster = Cluster::create();
    let start = |name| cluster.start_with(name, &["--cluster-key", KEY, "--analytics-trusted-proxies", "127.0.0.1"]);
    let nodes = ["a", "b"].map(start);
    create_notes(&nodes[1]);
    until("both nodes are listed", || nodes[1].get("/v2/cluster").data()["nodes"].as_array().unwrap().len() == 2);
    let secret = sessions::invite(&nodes[1], nodes[1].member("ada", Some("editor")));
    let kind = ("content-type", "application/json");
    let (client, tls) = (("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https"));
    let body = json!({ "token": secret, "password": sessions::PASSWORD }).to_string();
    let signed_in = nodes[1].as_token("").raw("POST", "/v2/invitation", &[kind, client, tls], body.as_bytes());
    let signed_in = signed_in.expect(200);
    let cookie = signed_in.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-bindery_session=") && cookie.contains("; Secure"), "{cookie}");
    let (cookie, data) = (("cookie", cookie.split(';').next().unwrap()), signed_in.data());
    let csrf = ("x-csrf-token", data["csrf"].as_str().unwrap());
    for (number, node) in nodes.iter().enumerate() {
        let after = ("bindery-after", "latest");
        node.as_token("").raw("GET", "/v2/session", &[client, tls, cookie, after], b"").expect(200);
        let note = json!({ "attributes": { "title": format!("by ada {number}") } }).to_string();
        let headers = [kind, client, tls, cookie, csrf];
        node.as_token("").raw("POST", "/v2/resources/notes", &headers, note.as_bytes()).expect(201);
    }
}

#[test]
fn a_log_that_is_away_costs_writes_only_and_nothing_is_lost() {
    let cluster = Cluster::create();
    let nodes =
        [cluster.start_with("a", &["--write-timeout", "1"]), cluster.start_with("b", &["--write-timeout", "1"])];
    create_notes(&nodes[0]);
    create(&nodes[1], "before").expect(201);
    titles(&nodes[0]);
    let away = cluster.folder("away");
    std::fs::rename(cluster.shared(), &away).unwrap();
    for node in &nodes {
        let refused = create(node, "during");
        assert_eq!(refused.outcome(), "503 LOG_UNREACHABLE", "{}", refused.text);
        assert!(refused.header("retry-after").is_some());
        // A refusal needs the log as well: nobody knows whether the title is still taken.
        assert_eq!(create(node, "before").outcome(), "503 LOG_UNREACHABLE");
        assert_eq!(node.get("/v2/resources/notes").expect(200).data().as_array().unwrap().len(), 1);
    }
    until("reads say how far the node is behind", || {
        nodes[1].get("/v2/resources/notes").header("bindery-lag").is_some_and(|lag| lag.parse::<u64>().unwrap() >= 2)
    });
    std::fs::rename(&away, cluster.shared()).unwrap();
    until("writes succeed again", || create(&nodes[1], "after").status == 201);
    for node in &nodes {
        assert_eq!(titles(node), ["after", "before"]);
    }
}

/// A write is decided once everything that others wrote is applied, which takes eight seconds here.
#[test]
fn a_node_that_catches_up_for_long_refuses_writes_that_waited_too_long() {
    let cluster = Cluster::create();
    let leader = cluster.start_with("a", &[]);
    create_notes(&leader);
    drop(cluster.start_with("b", &[]));
    for number in 0..40 {
        create(&leader, &format!("note {number}")).expect(201);
    }
    let arguments = cluster.arguments(&["--write-timeout", "1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let behind = Server::start_failing(&cluster.folder("b"), &arguments, "apply::stored=sleep(200)");
    let refused = create(&behind, "late");
    assert_eq!(refused.outcome(), "503 LOG_UNREACHABLE", "{}", refused.text);
}

#[test]
fn nodes_that_are_killed_and_emptied_have_everything_that_was_acknowledged() {
    let cluster = Cluster::create();
    let mut nodes = [cluster.start("a"), cluster.start("b")];
    create_notes(&nodes[0]);
    let mut expected = Vec::new();
    for round in 0..12 {
        let title = format!("note {round:02}");
        create(&nodes[round % 2], &title).expect(201);
        expected.push(title);
        let other = 1 - round % 2;
        if round % 4 == 3 {
            nodes[other].kill();
            let name = ["a", "b"][other];
            if round == 7 {
                // A node's folder is a copy.
                std::fs::remove_dir_all(cluster.folder(name)).unwrap();
            }
            nodes[other] = cluster.start(name);
        }
    }
    for node in &nodes {
        assert_eq!(titles(node), expected);
    }
    drop(nodes);
    let verified = Command::new(binary()).args(["verify", "--data"]).arg(cluster.folder("b")).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// A transaction of more than 1 MiB has several records.
#[test]
fn a_node_that_is_killed_between_the_records_of_a_transaction_has_all_of_it_after_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("shared")).unwrap();
    let log = format!("file://{}", temp.path().join("shared").display());
    let node = |name: &str| Node::new(&temp.path().join(name), &log, Vec::new(), &["--cluster-key", KEY]);
    let (leader, other) = (node("a"), node("b"));
    let start = |node: &Node, points: &str| {
        node.start_failing(points);
        node.wait_ready(Duration::from_secs(60)).unwrap();
    };
    leader.create_cluster();
    start(&leader, "");
    let client = Client::new(Duration::from_secs(30));
    until("a node leads", || client.get(&leader, "/v2/cluster", &[]).unwrap().data()["leader"] != json!(null));
    client.blueprint(&leader, "notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    start(&other, "");
    client.latest(&other, "/v2/resources/notes").unwrap().expect(200);
    other.kill();
    // The end of the group and the first of its three records are written.
    start(&other, "log::append=2*off->return(kill)");
    let note = json!({ "attributes": { "text": "some words ".repeat(5_800) } });
    let notes = json!({ "resources": vec![note; 40] });
    client.send(&leader, "POST", "/v2/resources/notes/bulk", &[], Some(&notes)).unwrap().expect(201);
    until("the node is killed", || other.has_ended());
    start(&other, "");
    let found = client.latest(&other, "/v2/resources/notes?per_page=100&fields=id").unwrap().expect(200);
    assert_eq!(found.data().as_array().unwrap().len(), 40);
}

/// The threads of a process, each with its name and the function of the kernel in which it waits.
fn threads(process: u32) -> String {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let threads = tasks.map(|task| format!("{} {}", read(&task.path().join("comm")), read(&task.path().join("wchan"))));
    threads.collect::<Vec<_>>().join(", ")
}

/// Puts the program at a path, in the place of what is there, as the upgrade of a package does while it runs.
fn install(program: &Path) {
    let _ = std::fs::remove_file(program);
    if std::fs::hard_link(binary(), program).is_err() {
        std::fs::copy(binary(), program).unwrap();
    }
}

#[test]
fn a_cluster_is_restored_to_a_time_a_number_and_a_backup_while_its_nodes_run() {
    let cluster = Cluster::create();
    // A node that begins again replaces its process, and must be found where it was.
    let listen = ["a", "b"].map(|name| (name, format!("127.0.0.1:{}", node::free_port())));
    let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let nodes = listen.each_ref().map(|(name, at)| {
        let program = programs.path().join(name);
        install(&program);
        cluster.start_program(&program, name, &["--cluster-key", KEY, "--listen", at])
    });
    listen.iter().for_each(|(name, _)| install(&programs.path().join(name)));
    // It is stopped during all of this.
    drop(cluster.start("c"));
    create_notes(&nodes[0]);
    create(&nodes[0], "one").expect(201);
    create(&nodes[1], "two").expect(201);
    // A node that cannot reach the leader in time appends by itself, and a backup has what its node has applied.
    assert_eq!(titles(&nodes[0]), ["one", "two"]);
    let backup = cluster.folder("backup.bindery");
    let made = ["backup", "--url", nodes[0].address(), "--token", ADMIN];
    assert!(Command::new(binary()).args(made).arg(&backup).status().unwrap().success());
    let time = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    std::thread::sleep(Duration::from_millis(20));
    create(&nodes[1], "three").expect(201);
    let old = read(&nodes[1], "/v2/resources/notes", "latest").expect(200);

    let restore = |to: &str, history: u32, expected: &[&str]| {
        let printed = cluster.restore(to);
        assert!(printed.contains(&format!("in its history {history};")), "{printed}");
        for node in &nodes {
            // A node that stops gives running requests 30 seconds.
            let began = Instant::now();
            loop {
                let found = titles_if_ready(node);
                if found.as_ref().is_some_and(|found| found == expected) {
                    break;
                }
                assert!(
                    began.elapsed() < Duration::from_secs(90),
                    "{}\nabove is the log of a node that has not begun again from the state at {to}, in history \
                     {history}: it has {found:?} instead of {expected:?}; its readiness and threads:\n{}\n{}",
                    node.logged("", "").join("\n"),
                    catch_unwind(AssertUnwindSafe(|| node.get("/readyz").text)).unwrap_or_default(),
                    threads(node.process()),
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    };
    restore(&time, 2, &["one", "two"]);
    let kept = number(&create(&nodes[1], "three again").expect(201));
    create(&nodes[0], "four").expect(201);
    // What a client remembers from before is not taken for what is there now.
    let tag = old.header("etag").unwrap();
    nodes[0].raw("GET", "/v2/resources/notes", &[("if-none-match", tag)], b"").expect(200);
    restore(&kept.to_string(), 3, &["one", "three again", "two"]);
    restore(backup.to_str().unwrap(), 4, &["one", "two"]);
    create(&nodes[0], "five").expect(201);
    assert_eq!(titles(&cluster.start("c")), ["five", "one", "two"]);

    for (to, expected) in [
        ("999999", "its log ends with number"),
        ("2001-01-01T00:00:00Z", "nothing that old is kept in its log"),
        ("nothing.backup", "names no file"),
    ] {
        let error = cluster.restore(to);
        assert!(error.contains(expected), "{to}: {error}");
    }
    create(&nodes[1], "six").expect(201);
}

#[test]
fn a_storage_that_was_set_back_gets_from_a_node_what_it_lost() {
    let cluster = Cluster::create();
    let (a, b) = (cluster.folder("a"), cluster.folder("b"));
    let nodes = [cluster.start("a"), cluster.start("b")];
    create_notes(&nodes[0]);
    create(&nodes[0], "one").expect(201);
    titles(&nodes[1]);
    let groups = || {
        let mut groups: Vec<_> = std::fs::read_dir(cluster.shared().join("0001/log")).unwrap().collect();
        groups.sort_by_key(|entry| entry.as_ref().unwrap().path());
        groups.into_iter().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let kept = groups().len();
    drop(nodes);
    let node = cluster.start("a");
    for title in ["two", "three", "four"] {
        create(&node, title).expect(201);
    }
    drop(node);
    let set_back = || groups().into_iter().skip(kept).for_each(|group| std::fs::remove_file(group).unwrap());
    set_back();
    let error = refusal(&a, Some(&cluster.address()));
    assert!(error.contains("run `bindery cluster repair`"), "{error}");
    let repaired = cluster.command("repair", &a);
    assert!(repaired.contains(" records again, from "), "{repaired}");
    assert!(cluster.command("repair", &b).contains("has everything"));
    for name in ["a", "b"] {
        assert_eq!(titles(&cluster.start(name)), ["four", "one", "three", "two"], "{name}");
    }
    // Meanwhile another node went on from the older state.
    set_back();
    std::fs::remove_dir_all(&b).unwrap();
    let node = cluster.start("b");
    create(&node, "five").expect(201);
    drop(node);
    let error = cluster.command("repair", &a);
    assert!(error.contains("have different histories") && error.contains("--new-history"), "{error}");
    let begun = cluster.command("repair --new-history", &a);
    assert!(begun.contains("in its history 2;"), "{begun}");
    for name in ["a", "b"] {
        assert_eq!(titles(&cluster.start(name)), ["four", "one", "three", "two"], "{name}");
    }
}

/// Groups before the lost one show nothing of it, and without a key no hint does.
#[test]
fn a_node_that_starts_or_joins_before_a_lost_group_names_it_is_not_ready_and_appends_nothing() {
    let keys: [&[&str]; 2] = [&["--cluster-key", KEY], &[]];
    for key in keys {
        let cluster = Cluster::create();
        let passed = cluster.start_with("a", key);
        create_notes(&passed);
        drop(cluster.start_with("b", key));
        let mut acknowledged = vec!["1", "2", "3"];
        for title in &acknowledged {
            create(&passed, title).expect(201);
        }
        let groups = std::fs::read_dir(cluster.shared().join("0001/log")).unwrap();
        let mut groups: Vec<_> = groups.map(|entry| entry.unwrap().path()).collect();
        groups.sort();
        let lost = &groups[groups.len() - 2];
        let seq: u64 = lost.file_name().unwrap().to_str().unwrap().parse().unwrap();
        std::fs::remove_file(lost).unwrap();
        for name in ["b", "c"] {
            let arguments = cluster.arguments(key);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let node = Server::start_in(&cluster.folder(name), &arguments);
            // The leader may make it, which has all groups.
            match create(&node, name) {
                reply if reply.status == 201 => acknowledged.push(name),
                reply => assert_eq!(reply.status, 503, "{}", reply.text),
            }
            until("the node names the group", || {
                let ready = node.get("/readyz");
                assert_eq!(ready.status, 503, "{}", ready.text);
                ready.text.contains(&format!("has lost group {seq}, although it has later ones"))
            });
            assert!(!lost.exists(), "{name} has appended behind the group before");
        }
        let found = titles(&passed);
        for title in acknowledged {
            assert!(found.iter().any(|found| found == title), "{title} is lost: {found:?}");
        }
    }
}

/// Returns the error of a server that does not start.
fn refusal(folder: &Path, log: Option<&str>) -> String {
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-filter", "error", "--data"]).arg(folder);
    if let Some(log) = log {
        command.args(["--log", log]);
    }
    let ended = command.env("BINDERY_ADMIN_TOKEN", ADMIN).output().unwrap();
    assert!(!ended.status.success());
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn a_start_that_would_lose_or_mix_content_is_refused_and_says_what_to_do() {
    let (cluster, other) = (Cluster::create(), Cluster::create());
    let node = cluster.start("a");
    create_notes(&node);
    create(&node, "one").expect(201);
    drop(node);
    let (address, elsewhere) = (cluster.address(), other.address());
    let nowhere = format!("file://{}", cluster.folder("nowhere").display());
    let empty = cluster.folder("empty");
    std::fs::create_dir(&empty).unwrap();
    let no_cluster = format!("file://{}", empty.display());
    let a = cluster.folder("a");
    let table: [(&Path, Option<&str>, &str); 5] = [
        (&a, None, "it is a node of a cluster: start it with `--log URL`"),
        (&a, Some(&elsewhere), "holds the cluster"),
        (&cluster.folder("new"), Some(&no_cluster), "`bindery cluster create` makes one"),
        (&cluster.folder("new"), Some(&nowhere), "does not exist"),
        (&cluster.folder("new"), Some("info"), "what is logged is set by `log_filter`"),
    ];
    for (folder, log, expected) in table {
        let error = refusal(folder, log);
        assert!(error.contains(expected), "{folder:?} {log:?}: {error}");
    }
    let copy = cluster.folder("copy");
    Server::start_in(&copy, &[]).get("/healthz").expect(200);
    let error = refusal(&copy, Some(&address));
    assert!(error.contains("holds content and belongs to no cluster"), "{error}");
    let error = cluster.command("create", &copy);
    assert!(error.contains("there is a cluster at"), "{error}");
    // The bucket was set back to an older state.
    let log = cluster.shared().join("0001/log");
    let newest = std::fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let kept = std::fs::read(&newest).unwrap();
    std::fs::remove_file(&newest).unwrap();
    let error = refusal(&a, Some(&address));
    assert!(error.contains("the cluster's log") && error.contains("ends before that"), "{error}");
    std::fs::write(&newest, kept).unwrap();
    assert_eq!(titles(&cluster.start("a")), ["one"]);
    let left = cluster.command("leave", &a);
    assert!(left.contains("is a single server now"), "{left}");
    let single = Server::start_in(&a, &[]);
    assert_eq!(titles(&single), ["one"]);
    create(&single, "two").expect(201);
}

#[test]
fn a_command_that_is_refused_leaves_nothing_in_a_folder_that_can_still_join() {
    let cluster = Cluster::create();
    let folder = cluster.folder("b");
    let refused = |command: &str, expected: &str| {
        let error = cluster.command(command, &folder);
        assert!(error.contains(expected), "{command}: {error}");
    };
    for command in ["repair", "repair --new-history", "leave"] {
        refused(command, "it does not exist");
        assert!(!folder.exists(), "{command}");
    }
    refused("create", "there is a cluster at");
    assert!(!folder.exists());
    std::fs::create_dir(&folder).unwrap();
    for command in ["repair", "repair --new-history", "leave"] {
        refused(command, "is no node of a cluster");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{command}");
    }
    drop(cluster.start("b"));
}

/// The other nodes write without a leader whose disk is full. It refuses what it cannot decide, stops when it is told
/// to, and has everything once there is room.
#[test]
fn a_leader_whose_disk_is_full_keeps_nobody_from_writing() {
    let cluster = Cluster::create();
    let folder = cluster.folder("small");
    let Some(_disk) = SmallDisk::mount(&folder, 150) else { return };
    let mut leader = cluster.start("small");
    let mut former = cluster.start("a");
    create_notes(&former);
    assert!(former.terminate().success());
    let other = cluster.start("b");
    until("the node with the small disk leads", || {
        let listed = leader.get("/v2/cluster").data();
        let of_leader = |node: &&serde_json::Value| node["node"] == listed["leader"];
        let address = listed["nodes"].as_array().unwrap().iter().find(of_leader).map(|node| node["address"].clone());
        address.is_some_and(|address| leader.address().ends_with(address.as_str().unwrap()))
    });
    create(&other, "before").expect(201);
    let filler = folder.join("filler");
    let fill = |server: &Server| {
        let metrics = server.get("/metrics").expect(200).text;
        let free = metrics.lines().find_map(|line| line.strip_prefix("bindery_disk_free_bytes ")).unwrap();
        std::fs::write(&filler, vec![1; free.parse::<usize>().unwrap() - (8 << 20)]).unwrap();
    };
    fill(&leader);
    until("the other node writes", || create(&other, "first").status == 201);
    for number in 0..20 {
        create(&other, &format!("note {number}")).expect(201);
        std::thread::sleep(Duration::from_millis(100));
    }
    let began = Instant::now();
    let refused = read(&leader, "/v2/resources/notes", "latest");
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(create(&leader, "refused").status, 503);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    until("it is not ready", || leader.get("/readyz").status == 503);
    std::fs::remove_file(&filler).unwrap();
    until("it has everything", || titles_if_ready(&leader).is_some_and(|titles| titles.len() == 22));
    fill(&leader);
    until("the other node writes again", || create(&other, "last").status == 201);
    let began = Instant::now();
    assert!(leader.terminate().success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
