//! Analytics between the nodes of a cluster: each sends what it collected to the leader, which counts (API.md 4.20.14).

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{Method, StatusCode};
use bindery_content::Leader;
use bindery_model::error::Error;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::key::FromNode;
use super::peer::Peer;
use crate::answer::respond;
use crate::app::App;
use crate::error::Answer;

/// The path to which batches are sent.
pub(crate) const BATCHES: &str = "/v2/cluster/batches";
/// The path of the questions that the leader suggests.
pub(crate) const QUESTIONS: &str = "/v2/cluster/questions";

/// The time between two batches, and between two looks at what is due.
const BEAT: Duration = Duration::from_secs(1);
/// The shortest time between two requests for questions.
const QUESTIONS_EVERY: Duration = Duration::from_secs(10);
/// The longest wait until the leader has counted a batch.
const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that a node which stops waits for the next leader to count what it collected.
const HANDING_OVER: Duration = Duration::from_secs(5);
/// The longest wait before a report until the leader has counted what this node collected.
const SENDING: Duration = Duration::from_secs(1);

/// The answer to a batch.
#[derive(Debug, Serialize, Deserialize)]
struct Counted {
    counted: u64,
    confirmed: u64,
}

/// `POST /v2/cluster/batches`: only from nodes of the cluster.
pub(crate) async fn receive(_: FromNode, State(app): State<App>, body: Bytes) -> Answer {
    let analytics = app.analytics.clone();
    let received = tokio::task::spawn_blocking(move || analytics.receive(&body)).await.map_err(Error::internal)??;
    json(&Counted { counted: received.counted, confirmed: received.confirmed })
}

/// `GET /v2/cluster/questions`: only for nodes of the cluster.
pub(crate) async fn questions(_: FromNode, State(app): State<App>) -> Answer {
    app.analytics.counting()?;
    json(&app.analytics.asked_before().as_deref())
}

fn json(body: &impl Serialize) -> Answer {
    let body = serde_json::to_string(body).map_err(Error::internal)?;
    Ok(respond::json(StatusCode::OK, body))
}

/// Counts for the cluster while this node leads, and sends what it collected to the leader otherwise, until the task is
/// aborted. Does nothing on a single server, and in a cluster without a key.
pub(crate) async fn run(app: App) {
    if !app.analytics.is_shared() {
        return;
    }
    tokio::join!(tend(app.clone()), send(app));
}

async fn tend(app: App) {
    loop {
        let leads = app.content.node().is_some_and(|node| node.leads);
        let analytics = app.analytics.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || analytics.tend(leads)).await {
            tracing::error!(%error, "the analytics of the cluster panicked");
        }
        tokio::time::sleep(BEAT).await;
    }
}

async fn send(app: App) {
    let mut asked: Option<Instant> = None;
    loop {
        tokio::time::sleep(BEAT).await;
        let Some(leader) = other_leader(&app) else { continue };
        let mut courier = app.courier.lock().await;
        courier.send_all(&app, &leader).await;
        if app.analytics.wants_questions() && asked.is_none_or(|at| at.elapsed() >= QUESTIONS_EVERY) {
            let answer = courier.peer(&app, &leader).send(Method::GET, QUESTIONS, Bytes::new()).await;
            let list = answer.filter(|(status, _)| *status == StatusCode::OK);
            // The leader makes its first list when it is asked for it, and has none at that moment.
            if let Some(list) = list.and_then(|(_, body)| serde_json::from_slice::<Option<_>>(&body).ok()?) {
                app.analytics.set_asked_before(list);
                asked = Some(Instant::now());
            }
        }
    }
}

/// Sends what this node collected to the leader, so that a report includes it. Takes a second at most.
pub(crate) async fn send_collected(app: &App) {
    let sending = async {
        match other_leader(app) {
            Some(leader) => app.courier.lock().await.send_all(app, &leader).await,
            None => true,
        }
    };
    // If that fails, it is sent a moment later, and the report lacks it.
    let _ = tokio::time::timeout(SENDING, sending).await;
}

/// Ends to count, because this node stops. Takes some seconds at most: if the storage is away, the next leader goes on
/// from what it has.
pub(crate) async fn stop(app: &App) {
    let analytics = app.analytics.clone();
    let stopping = tokio::task::spawn_blocking(move || analytics.stop_counting());
    match tokio::time::timeout(HANDING_OVER, stopping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the analytics of the cluster panicked"),
        Err(_) => tracing::warn!("the last pageviews could not be written to the storage of the cluster in time"),
    }
}

/// Waits until the leader has counted what this node collected, for some seconds at most.
pub(crate) async fn hand_over(app: &App) {
    let handing_over = async {
        while let Some(leader) = other_leader(app)
            && !app.courier.lock().await.send_all(app, &leader).await
        {
            tokio::time::sleep(BEAT / 10).await;
        }
    };
    if app.analytics.is_shared() && tokio::time::timeout(HANDING_OVER, handing_over).await.is_err() {
        tracing::warn!("pageviews of the last seconds were not counted: no other node took them");
    }
}

fn other_leader(app: &App) -> Option<std::sync::Arc<Leader>> {
    let node = app.content.node()?;
    node.leader.filter(|_| !node.leads)
}

/// Sends batches to one leader after another.
#[derive(Default)]
pub(crate) struct Courier {
    peer: Option<Peer>,
    term: u64,
    /// The last batch that this leader has counted.
    counted: u64,
}

impl Courier {
    fn peer(&mut self, app: &App, leader: &Leader) -> &mut Peer {
        if self.term != leader.term || self.peer.as_ref().is_none_or(|peer| peer.address() != leader.address) {
            // It goes on from the storage, and may not have what the one before it counted last.
            *self = Courier { peer: None, term: leader.term, counted: 0 };
        }
        self.peer.get_or_insert_with(|| Peer::new(app, &leader.address).patient(BATCH_TIMEOUT))
    }

    /// Sends all batches that the leader has not counted. Returns whether it has counted all now.
    async fn send_all(&mut self, app: &App, leader: &Leader) -> bool {
        self.peer(app, leader);
        while let Some((number, body)) = app.analytics.next_batch(self.counted) {
            match self.send_one(app, leader, body).await {
                Some(counted) if counted >= number => {}
                _ => return false,
            }
        }
        match app.analytics.question() {
            Some(body) => self.send_one(app, leader, body).await.is_some(),
            None => true,
        }
    }

    /// Sends one body. Returns the last batch that the leader has counted; `None` if it did not answer, or does not
    /// count.
    async fn send_one(&mut self, app: &App, leader: &Leader, body: Bytes) -> Option<u64> {
        let (status, answer) = self.peer(app, leader).send(Method::POST, BATCHES, body).await?;
        if status != StatusCode::OK {
            return None;
        }
        let Counted { counted, confirmed } = serde_json::from_slice(&answer).ok()?;
        // It is less than before if the leader was restarted: then the batches are sent again.
        self.counted = counted;
        app.analytics.confirm(confirmed);
        Some(counted)
    }
}
