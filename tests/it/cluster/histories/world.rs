//! What a history consists of: the storage, the nodes, the resources, and the ledger of all operations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::super::checker::{ClaimOperation, Event, RegisterOperation};
use super::super::links::Links;
use super::super::node::{Client, Node, number_of};
use super::super::storage::{Kind, Storage};
use super::WORKERS;

const NODES: usize = 3;
/// The registers of all clients. Only the first [`LASTING`] are never deleted.
pub(super) const REGISTERS: usize = 6;
pub(super) const LASTING: usize = 3;
/// The unique values that clients compete for.
pub(super) const CLAIMS: usize = 5;

/// In half of the histories a leader is gone after a few seconds, nodes write bases all the time, the leader removes
/// groups and bases soon, and a node that was away for so long begins from a base.
const HURRY: &str = "watch::suspicious=return(1);watch::gone=return(2);checkpoint::is_due=1%return;checkpoint::base_is_due=return;\
                     upkeep::kept_for=return(4)";

/// One history.
pub(super) struct World {
    pub(super) storage: Storage,
    pub(super) seed: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Links,
    /// True if nodes have a key, with which they forward writes and send hints.
    pub(super) forwards: bool,
    /// The ids of the registers.
    pub(super) registers: Vec<String>,
    /// The ids of the counters, one for each client.
    pub(super) counters: Vec<String>,
    /// The number of the last record that the start has written.
    pub(super) created: u64,
    /// What reads send as `Bindery-After` that must see everything.
    pub(super) latest: &'static str,
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
    /// Starts a cluster without faults, and creates what clients write. `None` if what its storage needs is not there.
    pub(super) fn start(kind: &Kind, seed: u64) -> Option<World> {
        let (storage, temp) = (Storage::start(kind, seed, NODES)?, tempfile::tempdir().unwrap());
        let mut arguments = vec!["--write-timeout", "3"];
        let forwards = seed % 2 == 1;
        if forwards {
            arguments.extend(["--cluster-key", "a-key-of-the-cluster-with-32-characters"]);
        }
        let node = |index: usize| {
            let folder = temp.path().join(format!("node{index}"));
            Node::new(&folder, &storage.address(index), storage.environment(index), &arguments)
        };
        let mut nodes: Vec<Node> = (0..NODES).map(node).collect();
        if seed % 4 >= 2 {
            nodes.iter_mut().for_each(|node| node.always_fail(HURRY));
        }
        let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
        let links = Links::start(&ports, &nodes.iter().map(Node::process).collect::<Vec<_>>());
        nodes.iter_mut().enumerate().for_each(|(index, node)| node.reach_at(&links.address(index)));
        nodes[0].create_cluster();
        nodes.iter().for_each(Node::start);
        nodes.iter().for_each(|node| node.wait_ready(Duration::from_secs(60)).unwrap());
        let client = Client::new(Duration::from_secs(30));
        create_blueprints(&client, &nodes[0]);
        let mut created = 0;
        let mut create = || {
            let attributes = json!({ "value": 0, "title": "register" });
            let reply = client.create(&nodes[0], "registers", &attributes, &[]).unwrap().expect(201);
            created = number_of(&reply).unwrap();
            reply.data()["id"].as_str().unwrap().to_owned()
        };
        let registers: Vec<String> = (0..REGISTERS).map(|_| create()).collect();
        let counters = (0..WORKERS).map(|_| create()).collect();
        let ledger =
            Ledger { registers: vec![Vec::new(); REGISTERS], claims: vec![Vec::new(); CLAIMS], ..Ledger::default() };
        let (ledger, is_over) = (Mutex::new(ledger), AtomicBool::new(false));
        let (began, latest) = (Instant::now(), "latest");
        Some(World {
            storage,
            seed,
            nodes,
            links,
            forwards,
            registers,
            counters,
            created,
            latest,
            ledger,
            began,
            is_over,
            temp,
        })
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

    /// Returns the node that leads, if a node answers that soon.
    pub(super) fn leader(&self) -> Option<usize> {
        let client = Client::new(Duration::from_millis(300));
        self.nodes.iter().find_map(|node| {
            let listed = client.get(node, "/v2/cluster", &[]).ok()?.data();
            let leads = |listed_node: &&serde_json::Value| listed_node["node"] == listed["leader"];
            let leader = listed["nodes"].as_array()?.iter().find(leads)?;
            (0..NODES).find(|&index| leader["address"] == self.links.address(index))
        })
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

fn create_blueprints(client: &Client, node: &Node) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let unique = json!({ "name": "key", "slug": "key", "type": "text", "unique": true });
    client.blueprint(node, "registers", json!([field("title", "text"), field("value", "number")]));
    client.blueprint(node, "claims", json!([unique, field("owner", "number")]));
    let kind = json!({ "name": "kind", "slug": "kind", "type": "enum", "settings": { "values": ["a", "b", "c"] } });
    client.blueprint(node, "notes", json!([field("title", "text"), field("owner", "number"), kind]));
}
