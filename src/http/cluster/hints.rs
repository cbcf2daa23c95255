//! Hints: the leader tells the other nodes that it is there, and how far the log is, so that they need not ask the
//! storage all the time. A hint that is lost or wrong makes something slower, nothing else.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use bindery_model::error::{Code, Error};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::key::FromNode;
use crate::app::App;
use crate::error::Answer;

/// The path to which hints are sent.
pub(crate) const PATH: &str = "/v2/cluster/hint";

/// The time after which the leader is not counted on any more.
const FRESH: Duration = Duration::from_secs(1);

/// The time for which a leader is not counted on that did not answer.
const AVOIDED: Duration = Duration::from_secs(5);

/// The nodes that are greeted at a time.
const MAX_STRANGERS: usize = 100;

/// What a node says: the leader to all others, and a node that does not hear the leader to the leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hint {
    /// The node that says it.
    pub(crate) node: String,
    /// Where it is reached.
    pub(crate) address: String,
    /// The term of the leader.
    pub(crate) term: u64,
    /// The sequence number of the last group.
    pub(crate) seq: u64,
    /// The history of the cluster that the node follows; empty from a node of an older version.
    #[serde(default)]
    pub(crate) history: String,
}

/// What a node has heard from the leader.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    leader: Mutex<Option<(Instant, u64)>>,
    /// Until this time the leader is not counted on, although it is heard.
    avoided: Mutex<Option<Instant>>,
    /// The addresses of nodes that did not hear this one, which leads.
    strangers: Mutex<BTreeSet<String>>,
}

impl Heard {
    /// Notes a sign of the leader of a term.
    pub(crate) fn note(&self, term: u64) {
        let mut heard = self.leader.lock();
        if heard.is_none_or(|(_, before)| before <= term) {
            *heard = Some((Instant::now(), term));
        }
    }

    /// Returns the time since the leader of this term, or a later one, was heard; `None` if it never was.
    pub(crate) fn since(&self, term: u64) -> Option<Duration> {
        self.leader.lock().filter(|(_, heard)| *heard >= term).map(|(at, _)| at.elapsed())
    }

    /// Returns whether the leader was heard a moment ago.
    pub(crate) fn is_fresh(&self, term: u64) -> bool {
        self.since(term).is_some_and(|since| since <= FRESH)
    }

    /// Returns whether the leader can be counted on: it was heard a moment ago, and requests reach it as far as is
    /// known.
    pub(crate) fn is_reliable(&self, term: u64) -> bool {
        self.is_fresh(term) && self.avoided.lock().is_none_or(|end| end <= Instant::now())
    }

    /// Does not count on the leader for a while, also if it is heard: a request did not reach it, or its answer did not
    /// come.
    pub(crate) fn avoid(&self) {
        *self.avoided.lock() = Some(Instant::now() + AVOIDED);
    }

    /// Notes the address of a node that does not hear this one.
    fn greet(&self, address: String) {
        let mut strangers = self.strangers.lock();
        if strangers.len() < MAX_STRANGERS && address.len() < 256 {
            strangers.insert(address);
        }
    }

    /// Takes the addresses of the nodes that did not hear this one.
    pub(crate) fn take_strangers(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.strangers.lock())
    }

    /// Forgets the leader: it has said that it cannot write.
    pub(crate) fn forget(&self) {
        *self.leader.lock() = None;
    }
}

/// `POST /v2/cluster/hint`: only from nodes of the cluster.
pub(crate) async fn receive(_: FromNode, State(app): State<App>, body: Bytes) -> Answer {
    let hint: Hint = serde_json::from_slice(&body)
        .map_err(|error| Error::new(Code::MalformedJson, format!("the hint cannot be read: {error}")))?;
    if let Some((upkeep, node)) = app.content.upkeep().zip(app.content.node())
        && hint.node != node.node
    {
        if !hint.history.is_empty() && hint.history != node.history {
            // One of the two histories has ended. If it is this node's, the next group is the seal.
            upkeep.hint(node.standing.position.seq + 1);
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        let is_of_leader =
            node.leader.as_ref().is_none_or(|leader| leader.node == hint.node || hint.term > leader.term);
        match is_of_leader {
            true => {
                app.heard.note(hint.term);
                // Only the leader knows where the log ends. From another node this would hide that one is cut off from
                // it.
                upkeep.hint(hint.seq);
            }
            false if node.leads => app.heard.greet(hint.address),
            false => {}
        }
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
