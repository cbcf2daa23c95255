//! Forwards writes to the leader, as they came, and requests for figures. If the leader cannot be reached, the node
//! writes by itself.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, HeaderName, TRANSFER_ENCODING, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bindery_content::{Leader, NodeStatus};
use bindery_model::error::{Code, Error};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::counting;
use super::key::{BINDERY_NODE, Unproven};
use super::numbers::BINDERY_NUMBER;
use super::peer::Peer;
use crate::app::App;
use crate::error::Failure;
use crate::request::client::Client;
use crate::transport::body::cut_off;

/// The longest time for a connection to the leader.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for the leader's answer once it is not heard any more.
const SILENCE: Duration = Duration::from_secs(2);
/// The wait for an answer after which the node looks whether it reaches the leader.
const PROBED_AFTER: Duration = Duration::from_secs(1);
/// The time for the leader's answer once it is not reached any more, although it is heard.
const UNREACHED: Duration = Duration::from_secs(3);
/// The longest body, in bytes, that is kept until the leader has answered: if it leads no longer, this node needs it.
const KEPT_BODY: usize = 64 << 10;
/// The longest wait until this node has what the leader answered.
const CATCH_UP: Duration = Duration::from_secs(2);

/// The beginning of the paths of analytics.
const ANALYTICS: &str = "/v2/analytics/";
/// The beginning of the paths that nodes use among themselves.
pub(crate) const BETWEEN_NODES: &str = "/v2/cluster/";

/// Headers that concern one connection only.
const OF_CONNECTION: [HeaderName; 4] = [CONNECTION, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// The client whose request another node forwarded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForwardedFor {
    pub(crate) address: IpAddr,
    pub(crate) has_tls: bool,
}

/// The beginning of the text of a client that uses TLS.
const TLS: &str = "tls:";

impl ForwardedFor {
    fn parse(text: &str) -> Option<ForwardedFor> {
        let with_tls = text.strip_prefix(TLS);
        Some(ForwardedFor { address: with_tls.unwrap_or(text).parse().ok()?, has_tls: with_tls.is_some() })
    }

    fn to_text(self) -> String {
        format!("{}{}", if self.has_tls { TLS } else { "" }, self.address)
    }
}

/// What becomes of a request.
pub(crate) enum Forwarding {
    /// It was forwarded, and this is the leader's answer; or it is refused.
    Answered(Response),
    /// This node handles it.
    Here(Request),
}

/// Forwards a request to the leader, if it is for the leader and another node leads.
pub(crate) async fn forward(app: &App, request: Request) -> Forwarding {
    let Some(node) = app.content.node() else { return Forwarding::Here(request) };
    let is_for_leader = is_for_leader(app, request.method(), request.uri().path());
    if is_for_leader && request.headers().contains_key(BINDERY_NODE) {
        return accept_forwarded(app, &node, request);
    }
    let (Some(leader), Some(key)) = (node.leader.clone(), app.cluster_key.as_ref()) else {
        return Forwarding::Here(request);
    };
    if !is_for_leader || node.leads || !app.heard.is_reliable(leader.term) {
        return Forwarding::Here(request);
    }
    if request.uri().path().starts_with(ANALYTICS) {
        counting::send_collected(app).await;
    }
    // A short body is read first: a client may send it slowly, and the leader closes a connection that sends no head.
    let (mut request, kept) = match Kept::of(request).await {
        Ok(both) => both,
        Err(refused) => return Forwarding::Answered(refused),
    };
    let Ok(stream) = connect(&leader.address).await else {
        app.heard.forget();
        return Forwarding::Here(request);
    };
    let Client { address, has_tls, .. } = Client::of(request.extensions(), request.headers(), &app.config.analytics);
    let client = ForwardedFor { address, has_tls }.to_text();
    let Some(proof) = key.prove(request.method(), request.uri(), &client) else {
        return Forwarding::Here(request);
    };
    OF_CONNECTION.iter().for_each(|name| drop(request.headers_mut().remove(name)));
    request.headers_mut().insert(BINDERY_NODE, proof);
    if let (false, Ok(host)) = (request.headers().contains_key(HOST), HeaderValue::from_str(&leader.address)) {
        request.headers_mut().insert(HOST, host);
    }
    let Some(response) = send(app, &leader, stream, request).await else {
        // The next request must not end like this one: the hints that still come show only that the leader reaches this
        // node. A body that is passed on as it comes may also have ended early because of its client.
        if kept.is_some() {
            app.heard.avoid();
        }
        return Forwarding::Answered(outcome_unknown().into_response());
    };
    if response.status() != StatusCode::MISDIRECTED_REQUEST {
        return Forwarding::Answered(response);
    }
    // Another node leads since a moment ago, or has another time. Nothing was applied.
    app.heard.forget();
    match kept {
        Some(kept) => Forwarding::Here(kept.request()),
        None => {
            let message = "another server leads the cluster since a moment ago, or its clock differs; nothing was applied; try again";
            Forwarding::Answered(Failure::from(Error::new(Code::LogUnreachable, message)).into_response())
        }
    }
}

/// Returns whether the leader handles a request: all writes, the deliveries of webhooks, which it makes, and in a
/// cluster that counts together everything about analytics but what pages send.
fn is_for_leader(app: &App, method: &Method, path: &str) -> bool {
    let is_write = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    match path.strip_prefix(ANALYTICS) {
        Some("script.js") => false,
        Some(of) => {
            let is_sent_by_page = method == Method::POST && (of == "events" || of.ends_with("/click"));
            app.analytics.is_shared() && method != Method::OPTIONS && !is_sent_by_page
        }
        None if is_write => path.starts_with("/v2/") && !path.starts_with(BETWEEN_NODES),
        None => path.starts_with("/v2/webhooks/") && path.ends_with("/deliveries"),
    }
}

/// A request that can be handled once more, because its body is short.
struct Kept {
    head: Parts,
    body: Bytes,
}

impl Kept {
    /// Returns the request to forward, and the same request if its body is short enough to be kept.
    async fn of(request: Request) -> Result<(Request, Option<Kept>), Response> {
        if request.body().size_hint().upper().is_none_or(|bytes| bytes > KEPT_BODY as u64) {
            return Ok((request, None));
        }
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, KEPT_BODY)
            .await
            .map_err(|error| Failure::from(cut_off(&error)).into_response())?;
        let kept = Kept { head: head.clone(), body: body.clone() };
        Ok((Request::from_parts(head, Body::from(body)), Some(kept)))
    }

    /// Returns the request as it came.
    fn request(self) -> Request {
        Request::from_parts(self.head, Body::from(self.body))
    }
}

/// Accepts a request that another node forwarded, if this node leads.
fn accept_forwarded(app: &App, node: &NodeStatus, mut request: Request) -> Forwarding {
    let key = app.cluster_key.as_ref();
    let proven = key.map(|key| key.check(request.headers(), request.method(), request.uri()));
    let client = match proven {
        Some(Ok(client)) => Some(client),
        // The client is not to blame for the clocks of the nodes: the other node writes by itself.
        Some(Err(Unproven::OtherTime)) => None,
        Some(Err(Unproven::Forged)) | None => {
            let message = "the header `Bindery-Node` does not come from a node of this cluster; check `cluster_key`";
            return Forwarding::Answered(Failure::from(Error::new(Code::Forbidden, message)).into_response());
        }
    };
    let Some(client) = client.filter(|_| node.leads) else {
        let name = node.leader.as_ref().map_or("nobody", |leader| leader.node.as_str());
        let mut response = (StatusCode::MISDIRECTED_REQUEST, format!("{name} leads\n")).into_response();
        if let Ok(name) = HeaderValue::from_str(name) {
            response.headers_mut().insert("bindery-leader", name);
        }
        return Forwarding::Answered(response);
    };
    request.headers_mut().remove(BINDERY_NODE);
    if let Some(client) = ForwardedFor::parse(&client) {
        request.extensions_mut().insert(client);
    }
    Forwarding::Here(request)
}

pub(super) async fn connect(address: &str) -> std::io::Result<TcpStream> {
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a request to the leader and returns its answer, once this node has what was written. `None` if the answer did
/// not come: then nobody knows what became of the request.
async fn send(app: &App, leader: &Arc<Leader>, stream: TcpStream, request: Request) -> Option<Response> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the leader ended");
        }
    });
    let response = tokio::select! {
        response = sender.send_request(request) => response.ok()?,
        () = lost(app, leader) => return None,
    };
    let (mut parts, body) = response.into_parts();
    OF_CONNECTION.iter().for_each(|name| drop(parts.headers.remove(name)));
    wait_for(app, &parts.headers).await;
    if parts.status == StatusCode::SERVICE_UNAVAILABLE {
        // It may have said that it cannot reach the log. Perhaps this node can.
        app.heard.forget();
    }
    Some(Response::from_parts(parts, Body::new(body)))
}

/// Returns once the leader is not heard any more, or not reached any more. Otherwise an answer may take as long as it
/// wants.
async fn lost(app: &App, leader: &Leader) {
    let mut peer = Peer::new(app, &leader.address);
    let (mut heard, mut reached) = (Instant::now(), Instant::now());
    while heard.elapsed() <= SILENCE && reached.elapsed() <= UNREACHED {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if app.heard.is_fresh(leader.term) {
            heard = Instant::now();
        }
        // Hints show only that the leader reaches this node.
        if reached.elapsed() > PROBED_AFTER
            && peer.status(Method::GET, "/healthz", Vec::new()).await == Some(StatusCode::OK)
        {
            reached = Instant::now();
        }
    }
}

/// Waits until this node has applied the number of an answer, for a moment at most.
async fn wait_for(app: &App, headers: &HeaderMap) {
    let number = headers.get(BINDERY_NUMBER).and_then(|number| number.to_str().ok()?.parse::<u64>().ok());
    let Some(number) = number else { return };
    if let Some(upkeep) = app.content.upkeep().filter(|_| app.content.number() < number) {
        // The answer tells of a group before the leader's hint does.
        upkeep.hint(upkeep.status().get().position.seq + 1);
    }
    let deadline = Instant::now() + CATCH_UP;
    while app.content.number() < number && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn outcome_unknown() -> Failure {
    let text = "the leading server of the cluster did not answer, so it is not known whether this was applied; repeat the request \
                with the same `Idempotency-Key`, or read what is stored before you send it again";
    Error::new(Code::OutcomeUnknown, text).into()
}
