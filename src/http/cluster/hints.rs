//! Hints: the leader tells the other nodes that it is there, and how far the log is, so that they need not ask the storage
//! all the time. A hint that is lost or wrong makes something slower, nothing else.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::IntoResponse;
use bindery_model::error::{Code, Error};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::Answer;

/// The path to which hints are sent.
pub(crate) const PATH: &str = "/v2/cluster/hint";

/// The time after which the leader is not counted on any more.
const FRESH: Duration = Duration::from_secs(1);

/// What the leader says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hint {
    /// The leader.
    pub(crate) node: String,
    pub(crate) term: u64,
    /// The sequence number of the last group.
    pub(crate) seq: u64,
}

/// What a node has heard from the leader.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<Option<(Instant, u64)>>);

impl Heard {
    /// Notes a sign of the leader of a term.
    pub(crate) fn note(&self, term: u64) {
        let mut heard = self.0.lock();
        if heard.is_none_or(|(_, before)| before <= term) {
            *heard = Some((Instant::now(), term));
        }
    }

    /// Returns the time since the leader of this term, or a later one, was heard; `None` if it never was.
    pub(crate) fn since(&self, term: u64) -> Option<Duration> {
        self.0.lock().filter(|(_, heard)| *heard >= term).map(|(at, _)| at.elapsed())
    }

    /// Returns whether the leader can be counted on: it was heard a moment ago.
    pub(crate) fn is_fresh(&self, term: u64) -> bool {
        self.since(term).is_some_and(|since| since <= FRESH)
    }

    /// Forgets the leader: it has said that it cannot write.
    pub(crate) fn forget(&self) {
        *self.0.lock() = None;
    }
}

/// `POST /v2/cluster/hint`: only from nodes of the cluster.
pub(crate) async fn receive(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let known = app.cluster_key.as_ref().and_then(|key| key.check(&headers, &method, &uri));
    if known.is_none() {
        return Err(Error::new(Code::Forbidden, "only the nodes of this server's cluster may send this").into());
    }
    let hint: Hint = serde_json::from_slice(&body)
        .map_err(|error| Error::new(Code::MalformedJson, format!("the hint cannot be read: {error}")))?;
    if let Some((upkeep, node)) = app.content.upkeep().zip(app.content.node())
        && hint.node != node.node
    {
        app.heard.note(hint.term);
        upkeep.hint(hint.seq);
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
