//! Answers to the lines of a body that is still arriving. Must not know their content.
//!
//! Most clients read nothing before they have sent everything, and many proxies stop passing on the request once the
//! response has begun. So answers wait in memory until the whole body was read. The response begins earlier if too many
//! answers wait, or if the client pauses, since it may be waiting for them. Such a client may leave some answers unread
//! if it continues to send.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::transport::budget::Charge;

/// The number of bytes of answers that may wait for the client. At this limit, no more of the body is read until it
/// reads some.
const MAX_WAITING_BYTES: u32 = 16 << 20;

/// The pause of a client after which the response begins.
const PAUSE: Duration = Duration::from_secs(1);

/// The end into which answers are written.
pub(crate) struct Answers {
    /// The channel that begins the response; `None` once the response has begun.
    begin: Option<oneshot::Sender<()>>,
    pieces: mpsc::UnboundedSender<Bytes>,
    room: Arc<Semaphore>,
    charge: Charge,
}

/// The end that becomes the response.
pub(crate) struct AnswersReceiver {
    begun: oneshot::Receiver<()>,
    pieces: mpsc::UnboundedReceiver<Bytes>,
}

/// Creates both ends. Waiting answers are charged to the account of `charge`.
pub(crate) fn answers(charge: Charge) -> (Answers, AnswersReceiver) {
    let (begin, begun) = oneshot::channel();
    let (pieces, received) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_WAITING_BYTES as usize));
    (Answers { begin: Some(begin), pieces, room, charge }, AnswersReceiver { begun, pieces: received })
}

impl Answers {
    /// Begins the response, if it has not begun.
    pub(crate) fn begin(&mut self) {
        if let Some(begin) = self.begin.take() {
            let _ = begin.send(());
        }
    }

    /// Waits for more of the body. If that takes longer than [`PAUSE`], the response begins, and this returns `None`.
    pub(crate) async fn unless_silent<T>(&mut self, next: impl Future<Output = T>) -> Option<T> {
        let arrived = tokio::time::timeout(PAUSE, next).await.ok();
        if arrived.is_none() {
            self.begin();
        }
        arrived
    }

    /// Adds lines. Waits until there is room for them; if the client no longer reads, they are dropped.
    pub(crate) async fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX).min(MAX_WAITING_BYTES);
        let is_full = self.room.available_permits() < bytes as usize;
        let mut charge = self.charge.another();
        if is_full || !charge.try_set(text.len()) {
            self.begin();
            charge.add(text.len());
        }
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(bytes) => room,
            () = self.pieces.closed() => return,
        };
        if let Ok(room) = room {
            let _ = self.pieces.send(charge.attach(LinesPiece { text, _room: room }));
        }
    }
}

impl AnswersReceiver {
    /// Returns the body of the response, once it is to begin.
    pub(crate) async fn body(self) -> Body {
        // An error means that the sender is dropped: no more answers follow, so the response may begin too.
        let _ = self.begun.await;
        Body::from_stream(UnboundedReceiverStream::new(self.pieces).map(Ok::<Bytes, io::Error>))
    }
}

/// Lines that wait to be sent. Their room is free again once they were handed over or dropped.
struct LinesPiece {
    text: String,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for LinesPiece {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
