//! Requests to another node of the cluster, on a connection that is kept.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{Method, Request, StatusCode, Uri};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;

use super::forward::connect;
use super::key::{BINDERY_NODE, ClusterKey};
use crate::app::App;

/// The longest wait for an answer, unless the caller says otherwise.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest answer, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Another node.
pub(super) struct Peer {
    address: String,
    key: Option<ClusterKey>,
    timeout: Duration,
    /// A connection that is open.
    sender: Option<SendRequest<Body>>,
}

impl Peer {
    pub(super) fn new(app: &App, address: &str) -> Peer {
        Peer { address: address.to_owned(), key: app.cluster_key.clone(), timeout: ANSWER_TIMEOUT, sender: None }
    }

    /// Waits this long for answers.
    pub(super) fn patient(self, timeout: Duration) -> Peer {
        Peer { timeout, ..self }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request with a body in JSON, if it has one. Returns the status and the body of its answer; `None` if
    /// none came in time.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &'static str,
        body: impl Into<Bytes>,
    ) -> Option<(StatusCode, Bytes)> {
        tokio::time::timeout(self.timeout, self.try_send(method, path, body.into())).await.ok()?
    }

    /// Like [`Peer::send`], for the status only.
    pub(super) async fn status(
        &mut self,
        method: Method,
        path: &'static str,
        body: impl Into<Bytes>,
    ) -> Option<StatusCode> {
        self.send(method, path, body).await.map(|(status, _)| status)
    }

    async fn try_send(&mut self, method: Method, path: &'static str, body: Bytes) -> Option<(StatusCode, Bytes)> {
        let mut sender = match self.sender.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => {
                let stream = connect(&self.address).await.ok()?;
                let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
                tokio::spawn(connection);
                sender
            }
        };
        sender.ready().await.ok()?;
        let uri = Uri::from_static(path);
        let proof = self.key.as_ref().and_then(|key| key.prove(&method, &uri, "-"));
        let mut request = Request::builder().method(method).uri(uri).header(HOST, &self.address);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(proof) = proof {
            request = request.header(BINDERY_NODE, proof);
        }
        let response = sender.send_request(request.body(Body::from(body)).ok()?).await.ok()?;
        let status = response.status();
        // The connection can be used again once the body is read.
        let body = axum::body::to_bytes(Body::new(response.into_body()), MAX_ANSWER).await.ok()?;
        self.sender = Some(sender);
        Some((status, body))
    }
}
