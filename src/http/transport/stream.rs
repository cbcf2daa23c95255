//! Response bodies that are sent while they are produced. Must not know what they hold.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::transport::budget::Account;

/// The number of pieces that may wait for a slow client before the producer has to wait. They are not charged yet, and
/// may be as large as one read.
const PIECES_IN_FLIGHT: usize = 1;

/// The memory that must be left for answers before another piece is made.
const ROOM_BYTES: usize = 256 << 10;

/// The interval of checking for memory.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// The number of pieces that are made at once. More would only wait for each other, and occupy threads.
static MAKING: Semaphore = Semaphore::const_new(8);

/// The producer's end of a streamed body. Sending fails once the client has disconnected.
pub(crate) type PieceSender = mpsc::Sender<io::Result<Bytes>>;

/// Creates a body and the sender that fills it. The body ends when the sender is dropped.
pub(crate) fn streamed() -> (PieceSender, Body) {
    let (pieces, received) = mpsc::channel(PIECES_IN_FLIGHT);
    (pieces, Body::from_stream(ReceiverStream::new(received)))
}

/// Returns a body whose pieces come from `next`, until that returns `None`. Each piece is made on a blocking thread,
/// once the client has accepted most of the earlier ones, so a client that does not read holds no thread. An error
/// breaks off the response, so the client cannot mistake it for a complete one. No more pieces are made while the
/// memory of `account` is used up.
pub(crate) fn produced<F: PieceSource>(account: Option<Arc<Account>>, next: F) -> Body {
    Body::from_stream(PieceStream { account, idle: Some(next), making: None })
}

/// A function that makes the next piece of a body.
pub(crate) trait PieceSource: FnMut() -> io::Result<Option<Bytes>> + Send + Unpin + 'static {}
impl<F: FnMut() -> io::Result<Option<Bytes>> + Send + Unpin + 'static> PieceSource for F {}

/// A piece, and the function that makes the next ones; `None` at the end.
type PieceResult<F> = io::Result<Option<(Bytes, F)>>;

struct PieceStream<F> {
    account: Option<Arc<Account>>,
    /// The function that makes pieces; `None` while a piece is being made, and at the end.
    idle: Option<F>,
    making: Option<Pin<Box<dyn Future<Output = PieceResult<F>> + Send>>>,
}

impl<F: PieceSource> Stream for PieceStream<F> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(next) = self.idle.take() {
            self.making = Some(Box::pin(make(self.account.clone(), next)));
        }
        let Some(making) = &mut self.making else { return Poll::Ready(None) };
        let made = ready!(making.as_mut().poll(context));
        self.making = None;
        Poll::Ready(match made {
            Ok(None) => None,
            Ok(Some((piece, next))) => {
                self.idle = Some(next);
                Some(Ok(piece))
            }
            Err(error) => Some(Err(error)),
        })
    }
}

async fn make<F: PieceSource>(account: Option<Arc<Account>>, mut next: F) -> PieceResult<F> {
    let permit = MAKING.acquire().await.map_err(io::Error::other)?;
    // Keeps the permit while it waits, since other pieces would wait for the same memory. The wait ends, because
    // clients that do not read are disconnected.
    while account.as_ref().is_some_and(|account| !account.has_room_for(ROOM_BYTES)) {
        tokio::time::sleep(ROOM_INTERVAL).await;
    }
    let making = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        Ok(next()?.map(|piece| (piece, next)))
    });
    making.await.map_err(io::Error::other)?
}
