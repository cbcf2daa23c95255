//! The watch of a node: as the leader it sends hints; otherwise it looks whether there still is a leader, and takes over if
//! there is none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::HOST;
use axum::http::{Method, Request, StatusCode, Uri};
use bindery_content::{NodeStatus, Upkeep};
use hyper_util::rt::TokioIo;

use super::forward::connect;
use super::hints::{Hint, PATH};
use super::key::BINDERY_NODE;
use crate::app::App;

/// The longest time between two hints, and between two looks.
const BEAT: Duration = Duration::from_millis(500);
/// The shortest time between two hints while much is written.
const SHORTEST_BEAT: Duration = Duration::from_millis(5);
/// The time between two looks at the list of nodes.
const LIST_EVERY: Duration = Duration::from_secs(30);
/// The silence after which a node looks whether the leader is alive.
const SUSPICIOUS: Duration = Duration::from_secs(10);
/// The time for which a leader that is suspected must not have said in the storage that it is there.
const GONE: Duration = Duration::from_secs(60);

/// What the watch remembers.
struct Watch {
    app: App,
    upkeep: Upkeep,
    led: bool,
    /// The addresses of the other nodes.
    others: Vec<String>,
    listed: Option<Instant>,
    /// The time since which the leader is suspected, with what it said last.
    suspected: Option<(Instant, u64)>,
    /// The time of the first look.
    began: Instant,
}

/// Watches until the task is aborted. Does nothing on a single server.
pub(crate) async fn run(app: App) {
    let Some(upkeep) = app.content.upkeep().cloned() else { return };
    let began = Instant::now();
    let mut watch = Watch { app, upkeep, led: false, others: Vec::new(), listed: None, suspected: None, began };
    let mut hinted = 0;
    loop {
        let Some(node) = watch.app.content.node() else { return };
        if node.leads != watch.led {
            watch.led = node.leads;
            watch.upkeep.lead(node.leads);
            if node.leads {
                tracing::info!(node = node.node, "this node leads the cluster");
                watch.app.content.resume_changes();
            }
        }
        watch.list().await;
        match (node.leads, &node.leader) {
            (true, _) => {
                hinted = node.standing.position.seq;
                watch.send_hints(&node).await;
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

impl Watch {
    /// Reads the list of nodes now and then.
    async fn list(&mut self) {
        if self.listed.is_some_and(|at| at.elapsed() < LIST_EVERY) {
            return;
        }
        self.listed = Some(Instant::now());
        let upkeep = self.upkeep.clone();
        match tokio::task::spawn_blocking(move || upkeep.nodes()).await {
            Ok(Ok(nodes)) => {
                let own = self.upkeep.node();
                self.others = nodes.into_iter().filter(|node| node.node != own).map(|node| node.address).collect();
            }
            Ok(Err(error)) => tracing::debug!(%error, "the list of nodes could not be read"),
            Err(error) => tracing::error!(%error, "reading the list of nodes panicked"),
        }
    }

    /// Tells all other nodes how far the log is.
    async fn send_hints(&mut self, node: &NodeStatus) {
        for address in self.app.heard.take_strangers() {
            if !self.others.contains(&address) {
                self.others.push(address);
            }
        }
        let Some(leader) = &node.leader else { return };
        let body = hint(node, leader.term);
        let sending: BTreeMap<&String, _> = self
            .others
            .iter()
            .map(|address| (address, self.request(address, Method::POST, PATH, body.clone())))
            .collect();
        let all = sending.into_values().map(|request| tokio::time::timeout(BEAT, request));
        for sent in all.map(tokio::spawn).collect::<Vec<_>>() {
            let _ = sent.await;
        }
    }

    /// Sends a request to another node. Returns the status of its answer.
    fn request(
        &self,
        address: &str,
        method: Method,
        path: &'static str,
        body: Vec<u8>,
    ) -> impl Future<Output = Option<StatusCode>> + Send + 'static {
        let uri = Uri::from_static(path);
        let proof = self.app.cluster_key.as_ref().and_then(|key| key.prove(&method, &uri, "-"));
        let address = address.to_owned();
        async move {
            let stream = connect(&address).await.ok()?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(stream)).await.ok()?;
            let ending = tokio::spawn(connection);
            let mut request = Request::builder().method(method).uri(uri).header(HOST, address);
            if let Some(proof) = proof {
                request = request.header(BINDERY_NODE, proof);
            }
            let response = sender.send_request(request.body(Body::from(body)).ok()?).await.ok()?;
            ending.abort();
            Some(response.status())
        }
    }

    /// Looks whether the leader is there. If it has been silent everywhere for long, this node takes over.
    async fn suspect(&mut self, node: &NodeStatus) {
        let Some(leader) = node.leader.clone() else { return };
        let silence = self.app.heard.since(leader.term).unwrap_or_else(|| self.began.elapsed());
        if !self.app.heard.is_fresh(leader.term) {
            // The leader may not know yet that this node is there.
            self.request(&leader.address, Method::POST, PATH, hint(node, leader.term)).await;
        }
        if silence < SUSPICIOUS {
            self.suspected = None;
            return;
        }
        if self.request(&leader.address, Method::GET, "/healthz", Vec::new()).await == Some(StatusCode::OK) {
            self.suspected = None;
            return;
        }
        let (upkeep, name) = (self.upkeep.clone(), leader.node.clone());
        let Ok(Ok(nodes)) = tokio::task::spawn_blocking(move || upkeep.nodes()).await else { return };
        let said = nodes.into_iter().find(|node| node.node == name).map_or(0, |node| node.at);
        match self.suspected {
            Some((since, before)) if before == said && since.elapsed() >= GONE => {
                tracing::warn!(leader = leader.node, "the leader of the cluster is gone; this node takes over");
                self.take_over().await;
                self.suspected = None;
            }
            Some((_, before)) if before == said => {}
            _ => self.suspected = Some((Instant::now(), said)),
        }
    }

    async fn take_over(&self) {
        if let Err(error) = self.app.content.take_the_lead().await {
            tracing::info!(%error, "this node did not become the leader");
        }
    }
}

fn hint(node: &NodeStatus, term: u64) -> Vec<u8> {
    let (name, address) = (node.node.clone(), node.address.clone());
    let hint = Hint { node: name, address, term, seq: node.standing.position.seq };
    // A structure of texts and numbers is always JSON.
    serde_json::to_vec(&hint).unwrap_or_default()
}
