//! The watch of a node: as the leader it sends hints; otherwise it looks whether there still is a leader, and takes
//! over if there is none.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use bindery_content::{NodeRecord, NodeStatus, Upkeep};
use bindery_disk::failure;
use bindery_model::time::Millis;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::counting;
use super::hints::{Hint, PATH};
use super::peer::Peer;
use crate::app::App;

/// The longest time between two hints, and between two looks.
const BEAT: Duration = Duration::from_millis(500);
/// The shortest time between two hints while much is written.
const SHORTEST_BEAT: Duration = Duration::from_millis(5);
/// The time between two looks at the list of nodes, and between two looks for blueprint changes that are under way.
const LIST_EVERY: Duration = Duration::from_secs(30);
/// The silence after which a node looks whether the leader is alive.
const SUSPICIOUS: Duration = Duration::from_secs(10);
/// The time for which a leader that is suspected must not have said in the storage that it is there.
const GONE: Duration = Duration::from_secs(60);

/// The lag from which a leader says nothing, and the time for which it may be stuck before it says nothing.
const LONGEST_LAG: Duration = Duration::from_secs(2);
/// The age of its last sign of life from which a node is left alone, in milliseconds.
const LISTED_FOR: u64 = 600_000;

/// The longest time that a leader which stops takes to make another node the leader.
const HANDING_OVER: Duration = Duration::from_secs(5);
/// The time for which such a leader goes on to answer, for requests that were on their way when the other nodes heard
/// of the new leader: if they found a closed connection, nobody would know what became of them.
const ON_THE_WAY: Duration = Duration::from_secs(1);

/// How often a node asks the storage for new groups while the leader tells it of each.
const POLL_WITH_HINTS: Duration = Duration::from_secs(10);
/// The pause between two questions of the leader. It knows of its own groups, but not of those that others append while
/// they do not hear it.
const POLL_OF_LEADER: Duration = Duration::from_secs(1);
/// How often a node asks that hears no leader.
const POLL: Duration = Duration::from_millis(500);

/// What the watch remembers.
struct Watch {
    app: App,
    upkeep: Upkeep,
    led: bool,
    /// The addresses of the other nodes.
    others: Vec<String>,
    /// While this node leads: the newest hint, and the tasks that send it, by address.
    hints: watch::Sender<Vec<u8>>,
    peers: BTreeMap<String, JoinHandle<()>>,
    listed: Option<Instant>,
    /// The reading of the list of nodes, while it is under way: hints must not wait for the storage.
    listing: Option<JoinHandle<Result<Vec<NodeRecord>, String>>>,
    /// The time since which the leader is suspected, with what it said last.
    suspected: Option<(Instant, u64)>,
    /// The time of the first look.
    began: Instant,
}

/// Watches until the task is aborted. Does nothing on a single server.
pub(crate) async fn run(app: App) {
    let Some(upkeep) = app.content.upkeep().cloned() else { return };
    let began = Instant::now();
    let (hints, _) = watch::channel(Vec::new());
    let (others, peers) = (Vec::new(), BTreeMap::new());
    let mut watch =
        Watch { app, upkeep, led: false, others, hints, peers, listed: None, listing: None, suspected: None, began };
    let mut hinted = 0;
    loop {
        let Some(node) = watch.app.content.node() else { return };
        if node.leads != watch.led {
            watch.led = node.leads;
            watch.upkeep.lead(node.leads);
            watch.peers.values().for_each(JoinHandle::abort);
            watch.peers.clear();
            if node.leads {
                tracing::info!(node = node.node, "this node leads the cluster");
                watch.app.content.resume_changes();
            }
        }
        watch.list().await;
        watch.upkeep.poll_every(match &node.leader {
            Some(_) if node.leads => POLL_OF_LEADER,
            Some(leader) if watch.app.heard.is_fresh(leader.term) => POLL_WITH_HINTS,
            _ => POLL,
        });
        match (node.leads, &node.leader) {
            // A leader that cannot reach the storage does not know how far the log is: the others ask themselves.
            (true, _) if node.standing.lag >= LONGEST_LAG => {}
            // The others write by themselves then.
            (true, _) if node.stuck_for >= LONGEST_LAG => {
                tracing::warn!(
                    seconds = node.stuck_for.as_secs(),
                    "a write does not end, so the other nodes write without this one"
                );
            }
            (true, _) if !watch.app.content.is_writable() => {
                tracing::debug!("this node cannot write, so the other nodes write without it");
            }
            // It was restarted at another address, where nobody would look for it.
            (true, Some(leader)) if leader.address != node.address => watch.take_over().await,
            (true, _) => {
                hinted = node.standing.position.seq;
                watch.send_hints(&node);
            }
            (false, None) => watch.take_over().await,
            (false, Some(_)) => watch.suspect(&node).await,
        }
        let beat = Instant::now();
        while beat.elapsed() < BEAT {
            tokio::time::sleep(SHORTEST_BEAT).await;
            if watch.led && watch.upkeep.status().get().position.seq > hinted {
                break;
            }
        }
    }
}

/// Makes another node the leader, if this one leads and stops now: the node that was furthest, of those that answer.
/// Otherwise the others would notice only after a minute. What it counted is in the storage before, and how far its
/// webhooks are is in the log, so that the next leader finds both. Takes some seconds at most.
pub(crate) async fn hand_over(app: &App) {
    let leads = || app.content.node().is_some_and(|node| node.leads);
    let led = leads();
    counting::stop(app).await;
    if led && tokio::time::timeout(HANDING_OVER, app.webhooks.stop()).await.is_err() {
        tracing::warn!("how far webhooks are delivered could not be saved in time; some deliveries are repeated");
    }
    if tokio::time::timeout(HANDING_OVER, try_hand_over(app)).await.is_err() {
        tracing::warn!("no other node could be made the leader in time; one takes over by itself");
    }
    counting::hand_over(app).await;
    if led && !leads() {
        tokio::time::sleep(ON_THE_WAY).await;
    }
}

async fn try_hand_over(app: &App) {
    let Some(own) = app.content.node().filter(|own| own.leads) else { return };
    let Some(upkeep) = app.content.upkeep().cloned() else { return };
    let Ok(Ok(listed)) = tokio::task::spawn_blocking(move || upkeep.nodes()).await else { return };
    let mut others: Vec<NodeRecord> = others(listed, &own.node, app.content.clock_time()).collect();
    others.sort_by_key(|other| Reverse(other.position.seq));
    for other in &others {
        if Peer::new(app, &other.address).status(Method::GET, "/readyz", Vec::new()).await != Some(StatusCode::OK) {
            continue;
        }
        match app.content.hand_over_to(other.node.clone(), other.address.clone()).await {
            Ok(()) => tracing::info!(leader = other.node, "this node stops and made another one the leader"),
            Err(error) => tracing::info!(%error, "this node stops and could not make another one the leader"),
        }
        break;
    }
    // While they hear a leader, nodes rarely look for themselves.
    let Some(now) = app.content.node() else { return };
    let term = own.leader.as_ref().map_or(0, |leader| leader.term);
    for other in others {
        Peer::new(app, &other.address).send(Method::POST, PATH, hint(&now, term)).await;
    }
}

/// Returns the other nodes that were there a while ago.
fn others(nodes: Vec<NodeRecord>, own: &str, now: Millis) -> impl Iterator<Item = NodeRecord> {
    let now = now.cast_unsigned();
    nodes.into_iter().filter(move |node| node.node != own && now.saturating_sub(node.at) < LISTED_FOR)
}

impl Watch {
    /// Reads the list of nodes now and then, in the background. A leader also runs the blueprint changes that are under
    /// way: the node that began one may have been killed.
    async fn list(&mut self) {
        let every = failure::time("watch::list", LIST_EVERY);
        if self.listing.is_none() && self.listed.is_none_or(|at| at.elapsed() >= every) {
            self.listed = Some(Instant::now());
            if self.led {
                self.app.content.resume_changes();
            }
            let upkeep = self.upkeep.clone();
            self.listing = Some(tokio::task::spawn_blocking(move || upkeep.nodes().map_err(|error| error.to_string())));
        }
        let Some(read) = self.listing.take_if(|listing| listing.is_finished()) else { return };
        match read.await {
            Ok(Ok(nodes)) => {
                let own = self.upkeep.node();
                self.others = others(nodes, own, self.app.content.clock_time()).map(|node| node.address).collect();
            }
            Ok(Err(error)) => tracing::debug!(%error, "the list of nodes could not be read"),
            Err(error) => tracing::error!(%error, "reading the list of nodes panicked"),
        }
    }

    /// Tells all other nodes how far the log is. A node that is slow gets the newest hint only, and delays no other.
    fn send_hints(&mut self, node: &NodeStatus) {
        let Some(leader) = &node.leader else { return };
        for address in self.app.heard.take_strangers() {
            if !self.others.contains(&address) {
                self.others.push(address);
            }
        }
        let (others, app) = (&self.others, &self.app);
        self.peers.retain(|address, task| others.contains(address) && !task.is_finished());
        for address in others {
            if !self.peers.contains_key(address) {
                let peer = Peer::new(app, address);
                self.peers.insert(address.clone(), tokio::spawn(send_all(peer, self.hints.subscribe())));
            }
        }
        self.hints.send_replace(hint(node, leader.term));
    }

    /// Looks whether the leader is there. If it has been silent everywhere for long, this node takes over.
    async fn suspect(&mut self, node: &NodeStatus) {
        let Some(leader) = node.leader.clone() else { return };
        let silence = self.app.heard.since(leader.term).unwrap_or_else(|| self.began.elapsed());
        if !self.app.heard.is_fresh(leader.term) {
            // The leader may not know yet that this node is there.
            Peer::new(&self.app, &leader.address).send(Method::POST, PATH, hint(node, leader.term)).await;
        }
        if silence < failure::time("watch::suspicious", SUSPICIOUS) {
            self.suspected = None;
            return;
        }
        // A node that lost its folder has another name than before, and its old one may lead: who answers there now is
        // this node.
        let is_elsewhere = leader.address != node.address;
        if is_elsewhere && self.is_alive(&leader.address).await {
            self.suspected = None;
            return;
        }
        let (upkeep, name) = (self.upkeep.clone(), leader.node.clone());
        let Ok(Ok(nodes)) = tokio::task::spawn_blocking(move || upkeep.nodes()).await else { return };
        let said = nodes.into_iter().find(|node| node.node == name).map_or(0, |node| node.at);
        match self.suspected {
            Some((since, before)) if before == said && since.elapsed() >= failure::time("watch::gone", GONE) => {
                tracing::warn!(leader = leader.node, "the leader of the cluster is gone; this node takes over");
                self.take_over().await;
                self.suspected = None;
            }
            Some((_, before)) if before == said => {}
            _ => self.suspected = Some((Instant::now(), said)),
        }
    }

    async fn is_alive(&self, address: &str) -> bool {
        Peer::new(&self.app, address).status(Method::GET, "/healthz", Vec::new()).await == Some(StatusCode::OK)
    }

    async fn take_over(&self) {
        if let Err(error) = self.app.content.take_the_lead().await {
            tracing::info!(%error, "this node did not become the leader");
        }
    }
}

/// Sends the newest hint whenever there is one, until the task is aborted.
async fn send_all(mut peer: Peer, mut hints: watch::Receiver<Vec<u8>>) {
    while hints.changed().await.is_ok() {
        let hint = hints.borrow_and_update().clone();
        // If it does not arrive, the next one goes on a new connection.
        peer.send(Method::POST, PATH, hint).await;
    }
}

fn hint(node: &NodeStatus, term: u64) -> Vec<u8> {
    let (name, address, history) = (node.node.clone(), node.address.clone(), node.history.clone());
    let hint = Hint { node: name, address, term, seq: node.standing.position.seq, history };
    // A structure of texts and numbers is always JSON.
    serde_json::to_vec(&hint).unwrap_or_default()
}
