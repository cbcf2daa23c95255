//! Connections of HTTP/2 without TLS: accepting streams, sending their answers as far as the client lets them, and
//! closing what keeps the server waiting. Must not know what a request asks for.
//!
//! A stream has a task and a place of its own, so one that is slow is reset and the others go on. Nothing of an answer is
//! handed to the protocol before the client has made room for it: what it does not read stays with the stream's task,
//! where the time is measured and the bytes are charged.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::{Method, Request};
use h2::server::{Builder, Connection as Protocol, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Interval, MissedTickBehavior};

use super::connection::{Connection, Running};
use super::connections::{Place, StreamPlace};
use super::frame::{Framed, is_probe};
use super::http2_message as message;
use super::refusal::{self, MAX_HEAD_BYTES};
use super::socket::Socket;
use super::transfer::AnswerBody;

/// How many requests may run at once on a connection.
const MAX_STREAMS: usize = 64;

/// How much a client may send before a handler has read it: of a body, and of all bodies of the connection.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;

/// How much of an answer may wait for the socket.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// How many streams a client may reset before they were even looked at, and how many that are being answered beyond as
/// many as it let be answered. Clients give up requests now and then; one that does little else makes the server work for
/// nothing.
const MAX_UNSEEN_RESETS: usize = 20;
const MAX_RESETS: usize = 100;

/// How many of the client's errors are answered with a reset before the connection is closed.
const MAX_ERRORS: usize = 256;

/// A client that was sent this many pings, `client_timeout` apart, and from which nothing has come, is gone.
const MAX_SILENT_PINGS: u32 = 3;

/// Serves the streams of a connection until either side closes it.
pub(super) async fn run(place: Place, socket: Socket, router: Framed) {
    let place = Arc::new(place);
    let shaken = tokio::select! {
        biased;
        shaken = builder().handshake(socket) => shaken,
        () = place.signalled() => return,
    };
    let ended = match shaken {
        Ok(protocol) => serve(&place, protocol, &router).await,
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %place.peer, %error, "a connection failed");
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(MAX_STREAMS as u32)
        // Heads up to twice the limit are read, so that their streams get an answer with an error object.
        .max_header_list_size(2 * MAX_HEAD_BYTES as u32)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(MAX_UNSEEN_RESETS)
        .max_local_error_reset_streams(Some(MAX_ERRORS));
    builder
}

async fn serve(place: &Arc<Place>, mut protocol: Protocol<Socket, Bytes>, router: &Framed) -> Result<(), h2::Error> {
    let client_timeout = place.limits().client_timeout;
    let mut pings = Pings::new(protocol.ping_pong(), client_timeout);
    let slots = Arc::new(Semaphore::new(MAX_STREAMS));
    let tally = Arc::new(Tally::default());
    loop {
        tokio::select! {
            biased;
            () = place.signalled() => {
                if place.is_cut() {
                    return Ok(());
                }
                protocol.graceful_shutdown();
            }
            accepted = accept(&mut protocol, &slots) => {
                let Some((request, mut respond, slot)) = accepted? else { return Ok(()) };
                if tally.is_abusive() {
                    tracing::debug!(peer = %place.peer, "closing a connection: the client resets too many streams");
                    protocol.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                    continue;
                }
                let Some((stream, running)) = place.begin_stream(is_probe(request.uri().path())) else {
                    // The client knows by this that nothing has happened, and may repeat the request.
                    respond.send_reset(Reason::REFUSED_STREAM);
                    continue;
                };
                let (router, tally) = (router.clone(), Arc::clone(&tally));
                tokio::spawn(async move {
                    let _slot = slot;
                    tally.note(answer(&stream, running, request, respond, router, client_timeout).await);
                });
            }
            () = pings.unanswered(place) => return Ok(()),
        }
    }
}

type Accepted = (Request<RecvStream>, SendResponse<Bytes>, OwnedSemaphorePermit);

/// The next stream, once fewer than [`MAX_STREAMS`] have a task: one that the client has reset no longer counts for the
/// protocol, but its task may still be computing. `None` once the connection is closed.
async fn accept(protocol: &mut Protocol<Socket, Bytes>, slots: &Arc<Semaphore>) -> Result<Option<Accepted>, h2::Error> {
    let slot = tokio::select! {
        biased;
        slot = Arc::clone(slots).acquire_owned() => slot,
        closed = poll_fn(|context| protocol.poll_closed(context)) => return closed.map(|()| None),
    };
    let (Ok(slot), Some(accepted)) = (slot, protocol.accept().await) else { return Ok(None) };
    let (request, respond) = accepted?;
    Ok(Some((request, respond, slot)))
}

/// What became of the streams of a connection.
#[derive(Default)]
struct Tally {
    answered: AtomicUsize,
    reset: AtomicUsize,
}

impl Tally {
    fn is_abusive(&self) -> bool {
        self.reset.load(Ordering::Relaxed) > MAX_RESETS + self.answered.load(Ordering::Relaxed)
    }

    fn note(&self, end: End) {
        match end {
            End::Answered => self.answered.fetch_add(1, Ordering::Relaxed),
            End::Reset => self.reset.fetch_add(1, Ordering::Relaxed),
            End::Failed | End::Cut => 0,
        };
    }
}

/// How a stream ended.
#[derive(Clone, Copy)]
enum End {
    Answered,
    /// By the client.
    Reset,
    /// The body of the answer failed.
    Failed,
    /// The client kept the server waiting, or the server stops.
    Cut,
}

/// Answers the request of a stream.
async fn answer(
    stream: &StreamPlace,
    running: Running,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    router: Framed,
    client_timeout: Duration,
) -> End {
    let (is_head, expects) = (request.method() == Method::HEAD, message::expects_to_continue(&request));
    let (request, _charge) = match message::request(request, stream, client_timeout) {
        Some((request, charge)) => (Some(request), charge),
        None => (None, Default::default()),
    };
    let answering = async {
        match request {
            Some(request) => router.answer(request).await,
            None => refusal::large_head_of_stream(),
        }
    };
    if expects && message::send_continue(&mut respond).is_err() {
        return End::Reset;
    }
    let response = tokio::select! {
        biased;
        _ = poll_fn(|context| respond.poll_reset(context)) => return End::Reset,
        () = cut(stream) => {
            respond.send_reset(Reason::CANCEL);
            return End::Cut;
        }
        response = answering => response.map(|body| AnswerBody::new(body, Arc::clone(stream), running)),
    };
    let (head, body) = message::answer(response, is_head);
    let Ok(mut sender) = respond.send_response(head, body.is_none()) else { return End::Reset };
    let Some(body) = body else { return End::Answered };
    let end = tokio::select! {
        biased;
        () = cut(stream) => End::Cut,
        end = send(&mut sender, body, stream) => end,
    };
    match end {
        // Drops what the protocol still has of the answer.
        End::Cut => sender.send_reset(Reason::CANCEL),
        End::Failed => sender.send_reset(Reason::INTERNAL_ERROR),
        End::Answered | End::Reset => {}
    }
    end
}

/// Completes when the stream is to be given up.
async fn cut(stream: &Connection) {
    while !stream.is_cut() {
        stream.signalled().await;
    }
}

/// Sends the body of an answer, each piece once the client has made room for it.
async fn send(sender: &mut SendStream<Bytes>, body: AnswerBody, stream: &Connection) -> End {
    let mut body = pin!(body);
    loop {
        let frame = poll_fn(|context| {
            if sender.poll_reset(context).is_ready() {
                return Poll::Ready(Err(End::Reset));
            }
            let polled = body.as_mut().poll_frame(context);
            if polled.is_pending() {
                // Now the client waits for the server.
                stream.flushed();
            }
            polled.map(Ok)
        });
        let mut data = match frame.await {
            Err(end) => return end,
            Ok(Some(Err(_))) => return End::Failed,
            Ok(None) => Bytes::new(),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.is_empty() && !body.is_end_stream() => continue,
                Ok(data) => data,
                Err(_) => continue,
            },
        };
        let is_last = data.is_empty() || body.is_end_stream();
        if data.is_empty() && sender.send_data(Bytes::new(), true).is_err() {
            return End::Reset;
        }
        while !data.is_empty() {
            let Some(room) = room(sender, data.len().min(SEND_BUFFER_BYTES), stream).await else { return End::Reset };
            let piece = data.split_to(room.min(data.len()));
            stream.wrote(piece.len());
            if sender.send_data(piece, is_last && data.is_empty()).is_err() {
                return End::Reset;
            }
        }
        if is_last {
            return End::Answered;
        }
    }
}

/// How many bytes may be sent now; `None` if the stream is closed.
async fn room(sender: &mut SendStream<Bytes>, wanted: usize, stream: &Connection) -> Option<usize> {
    sender.reserve_capacity(wanted);
    poll_fn(|context| {
        // Room that was there before is not reported again, so it is looked at first.
        while sender.capacity() == 0 {
            match sender.poll_capacity(context) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(None),
                Poll::Pending => {
                    stream.write_blocked();
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Some(sender.capacity()))
    })
    .await
}

/// Finds out whether a client is still there that lets the server wait for nothing, as one that waits for changes.
struct Pings {
    ping_pong: Option<PingPong>,
    ticks: Interval,
    silent: u32,
}

impl Pings {
    fn new(ping_pong: Option<PingPong>, interval: Duration) -> Pings {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Pings { ping_pong, ticks, silent: 0 }
    }

    /// Completes when nothing has come from the client for a while.
    async fn unanswered(&mut self, connection: &Connection) {
        loop {
            self.ticks.tick().await;
            self.silent = if connection.is_heard() { 0 } else { self.silent + 1 };
            if self.silent > MAX_SILENT_PINGS {
                tracing::debug!(peer = %connection.peer, "closing a connection: the client does not answer pings");
                return;
            }
            if let Some(ping_pong) = &mut self.ping_pong {
                poll_fn(|context| Poll::Ready(ping_pong.poll_pong(context).is_ready())).await;
                // It fails while the one before is unanswered, which says enough.
                let _ = ping_pong.send_ping(Ping::opaque());
            }
        }
    }
}
