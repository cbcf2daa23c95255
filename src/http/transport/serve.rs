//! The listener: accepts and serves connections, and stops gracefully. Must not know the meaning of requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::MissedTickBehavior;

use crate::frame::HttpService;
use crate::transport::connection::RunningRequest;
use crate::transport::connections::{Admission, ConnectionSlot, Connections, Limits};
use crate::transport::refusal;
use crate::transport::socket::Socket;
use crate::transport::transfer::{AnswerBody, BodyKind, RequestBody};

/// The interval of checking connections.
const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

/// The number of connections that may wait in the system's queue. If it is full, the system drops further ones, and
/// clients try again only after a second. The system's own limit (`somaxconn`) may be lower.
const BACKLOG: u32 = 4096;

/// The interval of looking for a place when there is none.
const ADMISSION_INTERVAL: Duration = Duration::from_millis(10);

/// The pause in accepting after the system refused a connection for lack of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(500);

/// The size of the system's send buffer of a connection: enough for some megabytes a second to another continent.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// The number of connections without a place that may be open, until it is known whether they are probes, and until
/// they have their answer. A new one replaces the oldest.
const MAX_REFUSED: usize = 32;
const REFUSING_TIME: Duration = Duration::from_secs(1);

/// The number of bytes read at once from a connection without a place. The usual head of a probe fits.
const EARLY_BYTES: usize = 2 << 10;

/// The beginnings of probe requests.
const PROBES: [&[u8]; 4] = [b"GET /healthz", b"GET /readyz", b"HEAD /healthz", b"HEAD /readyz"];

/// Listens on an address.
///
/// # Errors
/// The errors of the system: the address is in use, or not one of this machine.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Without this, the port could not be used again until the system forgets the connections of the previous server.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `stop` completes. Then it accepts no more connections. Running requests get `stop_timeout` to finish,
/// and clients that send or read nothing get a few seconds.
pub async fn serve(
    listener: TcpListener,
    service: HttpService,
    stop: impl Future<Output = ()> + Send + 'static,
    limits: Limits,
) {
    // Connections inherit this size. By default the system may take some megabytes for each client that does not read.
    if let Err(error) = SockRef::from(&listener).set_send_buffer_size(SEND_BUFFER_BYTES) {
        tracing::debug!(%error, "the size of send buffers could not be set");
    }
    let connections = Connections::new(limits);
    let mut stop = pin!(stop);
    let mut refused = VecDeque::new();
    let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = ticks.tick() => connections.sweep(Instant::now()),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => accept(&connections, stream, peer, &service, &mut refused).await,
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted; accepting again in a moment");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    tracing::info!("stopping: waiting for running requests");
    connections.stop();
    if tokio::time::timeout(limits.stop_timeout, finish(&connections, &mut ticks)).await.is_err() {
        tracing::warn!(stop_timeout = ?limits.stop_timeout, "dropping requests that are still running");
        connections.cut_all();
        // A task is dropped the next time it waits, so this takes no time unless a handler computes.
        let _ = tokio::time::timeout(Duration::from_secs(1), connections.all_closed()).await;
    }
}

/// Completes when no connection is left.
async fn finish(connections: &Connections, ticks: &mut tokio::time::Interval) {
    let mut closed = pin!(connections.all_closed());
    loop {
        tokio::select! {
            () = &mut closed => return,
            _ = ticks.tick() => connections.sweep(Instant::now()),
        }
    }
}

/// Is true if accepting failed because of this connection only, so that the next one may be accepted at once.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

async fn accept(
    connections: &Arc<Connections>,
    stream: TcpStream,
    peer: SocketAddr,
    service: &HttpService,
    refused: &mut VecDeque<AbortHandle>,
) {
    // Responses are small and clients wait for them, so the system must not hold them back to send them with the next
    // one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    // While this waits, other connections wait in the system's queue.
    let admission = loop {
        match connections.admit(peer) {
            Admission::Later => tokio::time::sleep(ADMISSION_INTERVAL).await,
            admission => break admission,
        }
    };
    match admission {
        Admission::Now(place) => {
            let socket = Socket::new(stream, Arc::clone(&place));
            tokio::spawn(run(place, socket, service.clone(), ConnectionUse::Often));
        }
        Admission::Later | Admission::Refused => {
            refused.retain(|task| !task.is_finished());
            if refused.len() >= MAX_REFUSED
                && let Some(oldest) = refused.pop_front()
            {
                oldest.abort();
            }
            let (connections, service) = (Arc::clone(connections), service.clone());
            let task = tokio::spawn(async move {
                let _ = tokio::time::timeout(REFUSING_TIME, refuse(stream, peer, &connections, service)).await;
            });
            refused.push_back(task.abort_handle());
        }
    }
}

/// Answers a connection that has no place: a probe as usual, all others with an error.
async fn refuse(
    mut stream: TcpStream,
    peer: SocketAddr,
    connections: &Arc<Connections>,
    service: HttpService,
) -> io::Result<()> {
    let mut early = Vec::with_capacity(EARLY_BYTES);
    loop {
        let may_probe = |probe: &&[u8]| {
            let compared = early.len().min(probe.len());
            early[..compared] == probe[..compared]
        };
        let Some(probe) = PROBES.iter().find(|probe| may_probe(probe)) else { break };
        if let Some(next) = early.get(probe.len()) {
            if ![b' ', b'?'].contains(next) {
                break;
            }
            let place = connections.admit_probe(peer);
            let socket = Socket::with_early(stream, Arc::clone(&place), early);
            run(place, socket, service, ConnectionUse::Once).await;
            return Ok(());
        }
        if stream.read_buf(&mut early).await? == 0 {
            break;
        }
    }
    stream.write_all(&refusal::no_place()).await?;
    stream.shutdown().await?;
    // Closing a socket with unread bytes would reset it.
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}

/// The number of requests that a connection may send.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionUse {
    Once,
    Often,
}

/// Serves the requests of a connection until either side closes it.
async fn run(place: ConnectionSlot, socket: Socket, service: HttpService, connects: ConnectionUse) {
    let client_timeout = place.limits().client_timeout;
    let connection = Arc::clone(&place);
    let service = service_fn(move |request: Request<Incoming>| {
        let running = RunningRequest::begin(&connection);
        let kind = BodyKind::of_path(request.uri().path());
        let mut request = request.map(|body| match body.is_end_stream() {
            true => Body::empty(),
            false => Body::new(RequestBody::new(body, Arc::clone(&connection), client_timeout, kind)),
        });
        request.extensions_mut().insert(Arc::clone(&connection));
        let (service, connection) = (service.clone(), Arc::clone(&connection));
        async move {
            let mut response: Response<Body> = service.answer(request).await;
            if connects == ConnectionUse::Once {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| AnswerBody::new(body, connection, running)))
        }
    });
    let mut parser = http1::Builder::new();
    // Not hyper's own timer: it would also close idle connections, which `Connections::sweep` treats differently.
    parser.header_read_timeout(None).max_buf_size(refusal::MAX_HEAD_BYTES);
    parser.max_header_size(refusal::MAX_HEAD_BYTES);
    let mut serving = pin!(parser.serve_connection(TokioIo::new(socket), service));
    loop {
        // The connection is polled first, because it is woken for each request, and the signal at most twice.
        tokio::select! {
            biased;
            result = serving.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(peer = %place.peer, %error, "a connection failed");
                }
                return;
            }
            () = place.signalled() => {
                if place.is_cut() {
                    return;
                }
                if place.is_stopping() {
                    serving.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Completes at `SIGTERM` or `SIGINT`.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
