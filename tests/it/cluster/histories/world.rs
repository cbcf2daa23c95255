//! What a history consists of: the storage, the nodes, the resources, and the ledger of all operations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::super::checker::{ClaimOperation, Event, RegisterOperation};
use super::super::node::{Client, Node};
use super::super::s3::S3;
use super::WORKERS;

const NODES: usize = 3;
/// The registers of all clients. Only the first [`LASTING`] are never deleted.
pub(super) const REGISTERS: usize = 6;
pub(super) const LASTING: usize = 3;
/// The unique values that clients compete for.
pub(super) const CLAIMS: usize = 5;

/// One history.
pub(super) struct World {
    pub(super) s3: S3,
    pub(super) seed: u64,
    pub(super) nodes: Vec<Node>,
    /// The ids of the registers.
    pub(super) registers: Vec<String>,
    /// The ids of the counters, one for each client.
    pub(super) counters: Vec<String>,
    ledger: Mutex<Ledger>,
    began: Instant,
    is_over: AtomicBool,
    temp: TempDir,
}

/// All operations, with their outcomes.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) registers: Vec<Vec<Event<RegisterOperation>>>,
    pub(super) claims: Vec<Vec<Event<ClaimOperation>>>,
    /// The ids of created resources, by owner; the notes that were sent and perhaps not created have none.
    pub(super) notes: BTreeMap<u64, Option<String>>,
    /// The ids of claims, by owner.
    pub(super) owners: BTreeMap<u64, String>,
    pub(super) writes: u64,
    pub(super) unknown: u64,
    pub(super) not_applied: u64,
    pub(super) reads: u64,
    /// What was done to nodes, and how often.
    pub(super) done: BTreeMap<&'static str, u64>,
    pub(super) errors: Vec<String>,
}

impl World {
    /// Starts a cluster without faults, and creates what clients write.
    pub(super) fn start(seed: u64) -> World {
        let (s3, temp) = (S3::start(seed), tempfile::tempdir().unwrap());
        let mut arguments = vec!["--write-timeout", "3"];
        if seed % 2 == 1 {
            arguments.extend(["--cluster-key", "a-key-of-the-cluster-with-32-characters"]);
        }
        let node = |index: usize| {
            let folder = temp.path().join(format!("node{index}"));
            Node::new(&folder, "s3://bucket/some/prefix", s3.environment(&access_key(index)), &arguments)
        };
        let nodes: Vec<Node> = (0..NODES).map(node).collect();
        nodes[0].create_cluster();
        nodes.iter().for_each(Node::start);
        nodes.iter().for_each(|node| node.wait_ready(Duration::from_secs(60)).unwrap());
        let client = Client::new(Duration::from_secs(30));
        create_blueprints(&client, &nodes[0]);
        let create = |value: u64| {
            let attributes = json!({ "value": value, "title": "register" });
            let reply = client.create(&nodes[0], "registers", &attributes, &[]).unwrap().expect(201);
            reply.data()["id"].as_str().unwrap().to_owned()
        };
        let registers: Vec<String> = (0..REGISTERS).map(|_| create(0)).collect();
        let counters = (0..WORKERS).map(|_| create(0)).collect();
        let ledger = Ledger {
            registers: vec![Vec::new(); REGISTERS],
            claims: vec![Vec::new(); CLAIMS],
            ..Ledger::default()
        };
        let (ledger, is_over) = (Mutex::new(ledger), AtomicBool::new(false));
        World { s3, seed, nodes, registers, counters, ledger, began: Instant::now(), is_over, temp }
    }

    /// Returns the nanoseconds since the beginning.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what no server may do.
    pub(super) fn error(&self, text: String) {
        let at = self.began.elapsed().as_secs_f64();
        self.ledger().errors.push(format!("at {at:.3} s: {text}"));
    }

    /// Tells the clients to stop.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Keeps the folders and logs of the nodes. Returns where they are.
    pub(super) fn keep(mut self) -> PathBuf {
        self.nodes.iter().for_each(Node::kill);
        self.temp.disable_cleanup(true);
        self.temp.path().to_owned()
    }
}

/// Returns the access key by which the storage knows a node.
pub(super) fn access_key(index: usize) -> String {
    format!("NODE{index}")
}

fn create_blueprints(client: &Client, node: &Node) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let unique = json!({ "name": "key", "slug": "key", "type": "text", "unique": true });
    client.blueprint(node, "registers", json!([field("title", "text"), field("value", "number")]));
    client.blueprint(node, "claims", json!([unique, field("owner", "number")]));
    let kind = json!({ "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": ["a", "b", "c"] } });
    client.blueprint(node, "notes", json!([field("title", "text"), field("owner", "number"), kind]));
}
