//! Bodies that an answer did not wait for are read to their end before it is sent.
//!
//! A connection that is closed on unread bytes may take the answer with it, and one that is kept would be closed under
//! a client that sends its next request. Bodies that are still being read, as an import's are, are left alone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use parking_lot::Mutex;
use tokio_stream::{Stream, StreamExt};

/// How much is read on, and how long, for the sake of the answer.
const DRAIN_BYTES: usize = 1 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// The middleware.
pub(super) async fn drain(request: Request, next: Next) -> Response {
    // A sender that waits for leave to send has sent nothing yet.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let rest = Rest { stream: Arc::new(Mutex::new(Some(body.into_data_stream()))) };
    let mut unread = Rest { stream: Arc::clone(&rest.stream) };
    let response = next.run(Request::from_parts(parts, Body::from_stream(rest))).await;
    if Arc::strong_count(&unread.stream) == 1 {
        // Whatever comes of it, the answer is sent.
        let _ = tokio::time::timeout(DRAIN_TIME, unread.read_on()).await;
    }
    response
}

/// A body that two may hold: who answers, and who drains what was not read. Nothing once it is at its end.
struct Rest {
    stream: Arc<Mutex<Option<BodyDataStream>>>,
}

impl Rest {
    async fn read_on(&mut self) {
        let mut drained = 0;
        while let Some(Ok(bytes)) = self.next().await {
            drained += bytes.len();
            if drained > DRAIN_BYTES {
                return;
            }
        }
    }
}

impl Stream for Rest {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut guard = self.stream.lock();
        let Some(stream) = guard.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(stream).poll_next(context);
        if !matches!(polled, Poll::Pending | Poll::Ready(Some(Ok(_)))) {
            guard.take();
        }
        polled
    }
}
