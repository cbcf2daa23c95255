//! Reads the rest of a request body that a handler left unread, before the response is sent.
//!
//! If a connection is closed while its client still sends, the client may never see the response. A kept-alive
//! connection would be closed just when the client sends its next request. Owns the limits of this reading; must not
//! know why the handler stopped. If a task still reads the body, as in a streamed import, it is left to that task.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::response::Response;
use parking_lot::Mutex;
use tokio_stream::{Stream, StreamExt};

/// The number of bytes of a body that are drained: enough for any body near the usual limits, and bounded so that a
/// client cannot send forever.
const MAX_BYTES: usize = 64 << 20;
const MAX_TIME: Duration = Duration::from_secs(5);

/// Answers a request with `next`, and drains the rest of its body. Every request with a body that a handler may refuse
/// unread must pass through this.
pub(crate) async fn drain<F: Future<Output = Response>>(request: Request, next: impl FnOnce(Request) -> F) -> Response {
    // A client that sent `Expect: 100-continue` has not sent its body yet.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return next(request).await;
    }
    let (parts, body) = request.into_parts();
    let for_handler = SharedBody(Arc::new(Mutex::new(Some(body.into_data_stream()))));
    let mut unread = for_handler.clone();
    let response = next(Request::from_parts(parts, Body::from_stream(for_handler))).await;
    if Arc::strong_count(&unread.0) == 1 {
        // The response is sent even if the rest does not arrive.
        let _ = tokio::time::timeout(MAX_TIME, unread.drain()).await;
    }
    response
}

/// A body that the handler reads and the middleware drains afterwards. `None` after its end or an error.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Option<BodyDataStream>>>);

impl SharedBody {
    async fn drain(&mut self) {
        let mut drained = 0;
        while let Some(Ok(bytes)) = self.next().await {
            drained += bytes.len();
            if drained > MAX_BYTES {
                return;
            }
        }
    }
}

impl Stream for SharedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut guard = self.0.lock();
        let Some(stream) = guard.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(stream).poll_next(context);
        if !matches!(polled, Poll::Pending | Poll::Ready(Some(Ok(_)))) {
            guard.take();
        }
        polled
    }
}
