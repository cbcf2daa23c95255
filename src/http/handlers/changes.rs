//! The change feed: as lines, at once or by long polling, and as server-sent events (`API.md` 6.1). Must not know which
//! changes a token sees.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bindery_content::{Change, Changes};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_model::time::format_millis;
use bindery_query::ChangeParams;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use crate::answer::respond::VARY_BY_TOKEN_AND_FORMAT;
use crate::error::{Answer, Failure};
use crate::request::client::Client;
use crate::request::head::{Call, access_of_sender};
use crate::transport::connection::Connection;
use crate::transport::slots::{Owner, RequestSlot};
use crate::transport::stream::{PieceSender, streamed};

/// The header with the number from which a client continues.
pub(crate) const X_LAST_CHANGE: HeaderName = HeaderName::from_static("x-last-change");
/// The header with which a browser continues a stream of changes.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EVENT_STREAM: &str = "text/event-stream";

/// The time after a check of a waiting client in which it is not checked again. So a thousand clients cost little while
/// much is written. The first change after a quiet time is still answered at once.
const PAUSE: Duration = Duration::from_millis(100);

/// The time without events after which a stream sends a comment, which keeps proxies from closing it.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The position of a client in the feed.
struct Position {
    call: Call,
    extensions: Extensions,
    headers: HeaderMap,
    since: u64,
    limit: usize,
}

pub(crate) async fn changes(call: Call, extensions: Extensions, headers: HeaderMap) -> Answer {
    // Checked before the parameters, and before a slot for a waiting client is taken (`API.md` 1.7).
    call.access.require(&[Ability::View])?;
    let is_stream = accepts_events(&headers);
    let id = headers.get(LAST_EVENT_ID).filter(|id| is_stream && !id.is_empty());
    let id = id.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let params = ChangeParams::parse(&call.query, id.as_deref())?;
    let waits = is_stream || !params.wait.is_zero();
    let watch = if waits { watch(&call, &extensions, &headers)? } else { None };
    let last = call.app.content.watch_changes().borrow().last;
    let mut position = Position { call, extensions, headers, since: params.since.unwrap_or(last), limit: params.limit };
    let first = match position.advance().await {
        Ok(first) => first,
        Err(error) if error.code == Code::Gone => return Ok(with_number(Failure::from(error).into_response(), last)),
        Err(error) => return Err(error.into()),
    };
    if is_stream {
        return Ok(events(position, first, watch));
    }
    let found = match first.is_empty() {
        true => position.wait(Instant::now() + params.wait).await?,
        false => first,
    };
    let body: String = found.iter().map(|change| line(change) + "\n").collect();
    let headers = [(CONTENT_TYPE, "application/x-ndjson"), (VARY, VARY_BY_TOKEN_AND_FORMAT)];
    Ok(with_number((StatusCode::OK, headers, body).into_response(), position.since))
}

/// Counts a waiting request; `None` without a server, as in tests.
fn watch(call: &Call, extensions: &Extensions, headers: &HeaderMap) -> Result<Option<RequestSlot>, Error> {
    let Some(connection) = extensions.get::<Arc<Connection>>() else { return Ok(None) };
    let address = Client::of(extensions, headers, &call.app.config.analytics).address;
    connection.watchers.take([Owner::at(address), Owner::Sender(call.access.actor.clone())]).map(Some)
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|range| range.split(';').next().is_some_and(|kind| kind.trim() == EVENT_STREAM))
}

fn with_number(mut response: Response, number: u64) -> Response {
    response.headers_mut().insert(X_LAST_CHANGE, HeaderValue::from(number));
    response
}

/// Returns a change as JSON.
pub(crate) fn line(change: &Change) -> String {
    let Change { number, at, op, blueprint, id } = change;
    json!({ "number": number, "at": format_millis(*at), "op": op.as_str(), "blueprint": &**blueprint, "id": id.to_string() })
        .to_string()
}

impl Position {
    /// Returns the next changes that the token sees, and moves the position behind them.
    async fn advance(&mut self) -> Result<Vec<Change>, Error> {
        let Call { app, access, .. } = &self.call;
        let Changes { found, through } = app.content.changes(access, self.since, self.limit).await?;
        self.since = through;
        Ok(found)
    }

    /// Looks up the access that the sender has now.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`, `FORBIDDEN` if the token was revoked, the session has ended, or the member has no rights
    /// left.
    fn look_again(&mut self) -> Result<(), Failure> {
        self.call.access = access_of_sender(&self.call.app, &Method::GET, &self.extensions, &self.headers)?;
        Ok(())
    }

    /// Returns the next changes as soon as there are some; none at the deadline or if the server stops. Fails if the
    /// token was revoked meanwhile.
    async fn wait(&mut self, deadline: Instant) -> Result<Vec<Change>, Failure> {
        let mut end = self.call.app.content.watch_changes();
        while Instant::now() < deadline {
            let seen = *end.borrow_and_update();
            let found = self.advance().await?;
            if !found.is_empty() || seen.is_stopping {
                return Ok(found);
            }
            if !matches!(timeout_at(deadline, end.changed()).await, Ok(Ok(()))) {
                break;
            }
            self.look_again()?;
            let found = self.advance().await?;
            if !found.is_empty() {
                return Ok(found);
            }
            sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now()))).await;
        }
        Ok(Vec::new())
    }
}

/// Returns a stream of changes that ends when its client leaves, the token or session becomes invalid, or the server
/// stops.
fn events(position: Position, first: Vec<Change>, watch: Option<RequestSlot>) -> Response {
    let (pieces, body) = streamed();
    tokio::spawn(async move {
        let _watch = watch;
        send_events(position, first, pieces).await;
    });
    let headers = [(CONTENT_TYPE, EVENT_STREAM), (CACHE_CONTROL, "no-store"), (VARY, VARY_BY_TOKEN_AND_FORMAT)];
    (StatusCode::OK, headers, body).into_response()
}

async fn send_events(mut position: Position, first: Vec<Change>, pieces: PieceSender) {
    let mut end = position.call.app.content.watch_changes();
    let mut found = first;
    // A comment is due at once: it tells the client that the stream is open.
    let mut comment_due = Instant::now();
    loop {
        let mut text = String::new();
        for change in &found {
            text.push_str(&format!("id: {}\ndata: {}\n\n", change.number, line(change)));
        }
        if Instant::now() >= comment_due {
            // The id without data is no event. It makes the client go on from here when it connects again. Otherwise a
            // client that sees few changes would go on from one that may no longer be kept.
            text.push_str(&format!(":\nid: {}\n\n", position.since));
        }
        if !text.is_empty() {
            if !send(&pieces, text).await {
                return;
            }
            comment_due = Instant::now() + COMMENT_INTERVAL;
        }
        sleep(PAUSE).await;
        let seen = *end.borrow_and_update();
        if position.since >= seen.last {
            if seen.is_stopping {
                return;
            }
            tokio::select! {
                () = pieces.closed() => return,
                // Either a change or the due comment ends the wait.
                _ = timeout_at(comment_due, end.changed()) => {}
            }
        }
        if position.look_again().is_err() {
            return;
        }
        // If the client is behind the oldest kept change, the stream ends. When it connects again, it gets the error.
        let Ok(next) = position.advance().await else { return };
        found = next;
    }
}

async fn send(pieces: &PieceSender, text: String) -> bool {
    let piece: io::Result<Bytes> = Ok(Bytes::from(text));
    pieces.send(piece).await.is_ok()
}
