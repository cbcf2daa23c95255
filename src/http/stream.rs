//! Response bodies that are sent while they are made. Must not know what they hold.

use std::io;

use axum::body::{Body, Bytes};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// How many pieces may wait for a slow client before the producer has to wait.
const PIECES_IN_FLIGHT: usize = 4;

/// The producer's end of a streamed body. Sending fails once the client has disconnected.
pub(super) type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// A body and the sender that fills it. The body ends when the sender is dropped.
pub(super) fn streamed() -> (Pieces, Body) {
    let (pieces, received) = mpsc::channel(PIECES_IN_FLIGHT);
    (pieces, Body::from_stream(ReceiverStream::new(received)))
}

/// A body whose pieces come from `next`, which runs on a blocking thread until it returns `None` or the client
/// disconnects. An error breaks off the response, so the client cannot mistake it for a complete one.
pub(super) fn produced(mut next: impl FnMut() -> io::Result<Option<Bytes>> + Send + 'static) -> Body {
    let (pieces, body) = streamed();
    tokio::task::spawn_blocking(move || {
        while let Some(piece) = next().transpose() {
            let is_error = piece.is_err();
            if pieces.blocking_send(piece).is_err() || is_error {
                return;
            }
        }
    });
    body
}
