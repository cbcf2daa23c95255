//! Restores of a cluster: to a time, and while clients write, with the command killed between its steps and run again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, Utc};
use serde_json::json;
use tempfile::TempDir;

use super::node::{Client, Node, number_of};
use super::s3::S3;
use super::upgrade::upgrade;
use super::{Cluster, KEY, create, create_notes, number, titles, until};
use crate::support::Server;

const ADDRESS: &str = "s3://bucket/prefix";
/// The steps before the next history exists: the command is killed at each of them in turn, then runs to its end.
const STEPS_BEFORE: [&str; 5] =
    ["start::epoch", "start::epoch_begun", "history::replayed", "history::prepared", "history::sealed"];
/// The step behind which only the message is missing.
const LAST_STEP: &str = "history::begun";
const CLIENTS: u64 = 4;
/// The time in which clients write before something happens.
const SHORTLY: Duration = Duration::from_millis(400);
/// The writes that must be acknowledged after the restore.
const ENOUGH: usize = 10;
/// The length of a time without its offset from UTC.
const TIME_DIGITS: usize = "2026-11-25T14:30:00.000".len();

/// A note that a client sent.
#[derive(Debug)]
struct Sent {
    owner: u64,
    called: Instant,
    /// The time of the acknowledgement, and its number.
    acknowledged: Option<(Instant, u64)>,
}

struct World {
    temp: TempDir,
    s3: S3,
    nodes: Vec<Node>,
    sent: Mutex<Vec<Sent>>,
    next: AtomicU64,
    is_over: AtomicBool,
}

/// Ends a round when dropped, also by a panic: the clients would not end otherwise.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    fn start() -> World {
        let (temp, s3) = (tempfile::tempdir().unwrap(), S3::start(5));
        let node = |name: &str| {
            let arguments = ["--cluster-key", KEY, "--write-timeout", "3"];
            Node::new(&temp.path().join(name), ADDRESS, s3.environment(name), &arguments)
        };
        let nodes: Vec<Node> = ["a", "b"].map(node).into();
        nodes[0].create_cluster();
        for node in &nodes {
            node.start();
            node.wait_ready(Duration::from_secs(60)).unwrap();
        }
        let fields = json!([{ "name": "Owner", "slug": "owner", "type": "number" }]);
        Client::new(Duration::from_secs(30)).blueprint(&nodes[0], "notes", fields);
        let (sent, next, is_over) = (Mutex::default(), AtomicU64::new(1), AtomicBool::new(false));
        World { temp, s3, nodes, sent, next, is_over }
    }

    /// Creates notes on all nodes until the round is over.
    fn write(&self) {
        let client = Client::new(Duration::from_secs(4));
        while !self.is_over.load(Ordering::SeqCst) {
            let owner = self.next.fetch_add(1, Ordering::SeqCst);
            let called = Instant::now();
            let node = &self.nodes[owner as usize % self.nodes.len()];
            let acknowledged = match client.create(node, "notes", &json!({ "owner": owner }), &[]) {
                Ok(reply) if reply.status == 201 => Some((Instant::now(), number_of(&reply).unwrap())),
                Ok(reply) => {
                    assert_eq!(reply.status, 503, "{}", reply.text);
                    None
                }
                Err(_) => None,
            };
            self.sent.lock().unwrap().push(Sent { owner, called, acknowledged });
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn acknowledged_since(&self, since: Instant) -> usize {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|sent| sent.called > since && sent.acknowledged.is_some()).count()
    }

    /// Runs `cluster restore`, which is killed at a step unless that is empty. Returns what it prints if it succeeds,
    /// or its error.
    fn restore(&self, to: u64, step: &str) -> Result<String, String> {
        let points = if step.is_empty() { String::new() } else { format!("{step}=return(kill)") };
        let scratch: PathBuf = self.temp.path().join("scratch");
        std::fs::create_dir_all(&scratch).unwrap();
        let output = Command::new(crate::support::binary())
            .args(["cluster", "restore", "--log", ADDRESS, "--to", &to.to_string(), "--temporary"])
            .arg(scratch)
            .envs(self.s3.environment("restore"))
            .env("FAILPOINTS", points)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Returns the owners of all notes on a node.
    fn owners(&self, node: &Node) -> Vec<u64> {
        let client = Client::new(Duration::from_secs(20));
        let mut path = "/v2/resources/notes?per_page=100&sort=owner&cursor=".to_owned();
        let mut owners = Vec::new();
        loop {
            let body = client.latest(node, &path).unwrap().expect(200).json();
            let owner = |note: &serde_json::Value| note["attributes"]["owner"].as_f64().unwrap() as u64;
            owners.extend(body["data"].as_array().unwrap().iter().map(owner));
            let Some(next) = body["links"]["next"].as_str() else { return owners };
            path = format!("/v2/{}", next.split_once("/v2/").unwrap().1);
        }
    }

    /// Lets clients write, and restores the cluster meanwhile to the number of a write that was acknowledged a moment
    /// before. `run` runs the command and returns when the history began: between these times. Checks that exactly the
    /// right notes are there.
    fn round(&self, run: impl FnOnce(u64) -> (Instant, Instant)) {
        let before: BTreeSet<u64> = match self.next.load(Ordering::SeqCst) {
            1 => BTreeSet::new(),
            _ => self.owners(&self.nodes[0]).into_iter().collect(),
        };
        self.sent.lock().unwrap().clear();
        self.is_over.store(false, Ordering::SeqCst);
        let (number, moment, (began, restored)) = std::thread::scope(|scope| {
            (0..CLIENTS).for_each(|_| drop(scope.spawn(|| self.write())));
            let _end = End(&self.is_over);
            let start = Instant::now();
            until("notes are created", || self.acknowledged_since(start) >= ENOUGH);
            let numbers = |sent: &Sent| sent.acknowledged.map(|(_, number)| number);
            let number = self.sent.lock().unwrap().iter().filter_map(numbers).max().unwrap();
            let moment = Instant::now();
            std::thread::sleep(SHORTLY);
            let times = run(number);
            let deadline = Instant::now() + Duration::from_secs(90);
            while self.acknowledged_since(times.1) < ENOUGH && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
            (number, moment, times)
        });
        for node in &self.nodes {
            node.wait_ready(Duration::from_secs(60)).unwrap();
        }
        assert!(self.acknowledged_since(restored) >= ENOUGH, "the nodes do not accept writes again");
        let found = self.owners(&self.nodes[0]);
        assert_eq!(found, self.owners(&self.nodes[1]), "the nodes differ");
        let owners: BTreeSet<u64> = found.iter().copied().collect();
        assert_eq!(owners.len(), found.len(), "notes exist twice");
        assert!(owners.is_superset(&before), "lost from before: {:?}", before.difference(&owners));
        for sent in self.sent.lock().unwrap().iter() {
            let Some((at, its)) = sent.acknowledged else { continue };
            let exists = owners.contains(&sent.owner);
            // A write that was acknowledged while the history began belongs to one of the two.
            if its <= number && at <= moment || sent.called > restored {
                assert!(exists, "lost: {sent:?}; restored to {number}, from {began:?} to {restored:?}");
            } else if sent.called > moment && at < began {
                assert!(!exists, "not undone: {sent:?}; restored to {number} of {moment:?}");
            }
        }
    }
}

#[test]
fn a_restore_under_load_that_is_killed_at_each_step_and_run_again_loses_nothing() {
    let world = World::start();
    world.round(|number| {
        for step in STEPS_BEFORE {
            let killed = world.restore(number, step);
            assert!(killed.is_err(), "not killed at {step}: {killed:?}");
            let since = Instant::now();
            if step != "history::sealed" {
                until("writes go on", || world.acknowledged_since(since) > 0);
                continue;
            }
            std::thread::sleep(SHORTLY);
            assert_eq!(world.acknowledged_since(since), 0, "written behind the seal");
            let client = Client::new(Duration::from_secs(5));
            for node in &world.nodes {
                client.get(node, "/v2/resources/notes", &[]).unwrap().expect(200);
            }
        }
        let began = Instant::now();
        let printed = world.restore(number, "").unwrap();
        assert!(printed.contains("in its history 2;"), "{printed}");
        (began, Instant::now())
    });
    world.round(|number| {
        let began = Instant::now();
        let killed = world.restore(number, LAST_STEP);
        assert!(killed.is_err(), "{killed:?}");
        let restored = Instant::now();
        // The history has begun, and has nothing older.
        let error = world.restore(number, "").unwrap_err();
        assert!(error.contains("began with a restore, perhaps an earlier run of this command"), "{error}");
        (began, restored)
    });
}

/// Starts the only node of a cluster, and waits until it leads: to lead is a transaction, too.
fn start_leader(cluster: &Cluster) -> Server {
    let node = cluster.start("a");
    until("the node leads", || node.get("/v2/cluster").data()["leader"] != json!(null));
    node
}

/// Returns the time, after which nothing is written in the same millisecond.
fn now() -> String {
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    std::thread::sleep(Duration::from_millis(20));
    now
}

#[test]
fn a_restore_to_a_time_undoes_later_changes_of_every_kind() {
    let cluster = Cluster::create();
    let mut node = start_leader(&cluster);
    let field = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    node.blueprint("posts", json!([field("title"), field("body")]));
    node.blueprint("other", json!([field("title")]));
    node.create("posts", json!({ "title": "one", "body": "text" }));
    let member = node.member("ada", Some("editor"));
    let token = json!({ "name": "reader", "abilities": ["view"] });
    let token = node.post("/v2/tokens", &token).expect(201);
    let (kept, token) = (number(&token), token.data());
    let time = now();
    // None of them changes a resource.
    let without = json!({ "name": "posts", "slug": "posts", "fields": [field("title")] });
    node.put("/v2/blueprints/posts?force=true", &without).expect(200);
    node.delete("/v2/blueprints/other").expect(204);
    node.delete(&format!("/v2/members/{member}")).expect(204);
    node.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
    assert!(node.terminate().success());

    let printed = cluster.restore(&time);
    let expected = format!(" is restored to number {kept} of history 1 (last change at ");
    let (_, last_change) = printed.split_once(&expected).expect(&printed);
    assert!(last_change[..TIME_DIGITS] <= time[..TIME_DIGITS], "{printed}");
    assert!(last_change.contains("), in its history 2;"), "{printed}");
    let node = cluster.start("a");
    let posts = node.get("/v2/resources/posts").expect(200).data();
    assert_eq!(posts[0]["attributes"], json!({ "title": "one", "body": "text" }));
    node.get("/v2/blueprints/other").expect(200);
    node.get(&format!("/v2/members/{member}")).expect(200);
    node.as_token(token["secret"].as_str().unwrap()).get("/v2/resources/posts").expect(200);
}

#[test]
fn a_time_before_the_first_change_of_a_cluster_or_before_its_restore_is_refused() {
    let cluster = Cluster::create();
    let mut node = cluster.start("a");
    create_notes(&node);
    create(&node, "one").expect(201);
    let time = now();
    create(&node, "two").expect(201);
    assert!(node.terminate().success());
    let refusal = |to: &str, expected: &[&str]| {
        let error = cluster.restore(to);
        for expected in ["nothing that old is kept in its log; the oldest state"].iter().chain(expected) {
            assert!(error.contains(expected), "{to}: {error}");
        }
    };
    refusal("0", &[]);
    refusal("2020-01-01T00:00:00Z", &["the earliest time is "]);
    let mut node = cluster.start("a");
    assert_eq!(titles(&node), ["one", "two"]);
    assert!(node.terminate().success());

    assert!(cluster.restore(&time).contains(", in its history 2;"));
    // The state of now is not that of this time any more, although nothing in it is later.
    refusal(&time, &["the earliest time is ", "; history 2 began with a restore"]);
    assert_eq!(titles(&cluster.start("a")), ["one"]);
    let restored = cluster.restore(&now());
    assert!(restored.contains(", in its history 3;"), "{restored}");
}

#[test]
fn what_has_no_time_is_restored_with_a_change_behind_it_and_counted_without_one() {
    let cluster = Cluster::create();
    let mut node = start_leader(&cluster);
    create_notes(&node);
    create(&node, "one").expect(201);
    assert!(upgrade(&cluster).0);
    let kept = number(&create(&node, "two").expect(201));
    assert!(upgrade(&cluster).0);
    assert!(node.terminate().success());

    let printed = cluster.restore(&now());
    assert!(printed.contains(&format!(" is restored to number {kept} of history 1 ")), "{printed}");
    assert!(printed.contains("transactions without a time that followed: 1,"), "{printed}");
    assert_eq!(titles(&cluster.start("a")), ["one", "two"]);
}
