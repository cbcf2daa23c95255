//! Bodies that are compressed or unpacked while they arrive. Must not know the encodings.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{BodyDataStream, Bytes};
use tokio::sync::SemaphorePermit;
use tokio_stream::Stream;

use crate::answer::offload::offload;
use crate::transport::budget::Charge;

/// The resources of the server that a recoded stream holds until its end.
pub(crate) type HeldResources = (Charge, Option<SemaphorePermit<'static>>);

/// Compresses or unpacks a body piece by piece.
pub(crate) trait Codec: Sized + Send + Unpin + 'static {
    /// Pieces up to this size are recoded at once, larger ones on a thread that may block.
    const QUICK_BYTES: usize;

    /// Consumes bytes from the front of `arrived`, and returns the recoded bytes.
    fn push(&mut self, arrived: &mut Bytes) -> io::Result<Vec<u8>>;

    /// Returns the remaining output, once no more bytes arrive.
    fn finish(self) -> io::Result<Vec<u8>>;
}

/// A body that is compressed or unpacked while it arrives.
pub(crate) struct RecodedBody<C> {
    body: BodyDataStream,
    /// The bytes that have arrived and are not recoded yet.
    arrived: Bytes,
    step: RecodeStep<C>,
    _held: HeldResources,
}

enum RecodeStep<C> {
    /// Waits for the body.
    Idle(C),
    Running(Pin<Box<dyn Future<Output = io::Result<StepEnd<C>>> + Send>>),
    Over,
}

struct StepEnd<C> {
    /// The codec; `None` at the end of the body.
    codec: Option<C>,
    arrived: Bytes,
    recoded: Vec<u8>,
}

impl<C: Codec> RecodedBody<C> {
    pub(crate) fn new(body: BodyDataStream, codec: C, held: HeldResources) -> RecodedBody<C> {
        RecodedBody { body, arrived: Bytes::new(), step: RecodeStep::Idle(codec), _held: held }
    }
}

/// Recodes the bytes that arrived. At the end of the body, `arrived` is empty.
async fn recode<C: Codec>(mut codec: C, mut arrived: Bytes) -> io::Result<StepEnd<C>> {
    let length = arrived.len();
    let work = move || {
        if arrived.is_empty() {
            return Ok(StepEnd { recoded: codec.finish()?, codec: None, arrived });
        }
        let recoded = codec.push(&mut arrived)?;
        Ok(StepEnd { codec: Some(codec), arrived, recoded })
    };
    if length <= C::QUICK_BYTES {
        return work();
    }
    offload(work).await.unwrap_or_else(|| Err(io::Error::other("recoding a body panicked")))
}

impl<C: Codec> Stream for RecodedBody<C> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match std::mem::replace(&mut self.step, RecodeStep::Over) {
                RecodeStep::Over => return Poll::Ready(None),
                RecodeStep::Idle(codec) => {
                    if self.arrived.is_empty() {
                        match Pin::new(&mut self.body).poll_next(context) {
                            Poll::Pending => {
                                self.step = RecodeStep::Idle(codec);
                                return Poll::Pending;
                            }
                            Poll::Ready(Some(Ok(piece))) if piece.is_empty() => {
                                self.step = RecodeStep::Idle(codec);
                                continue;
                            }
                            Poll::Ready(Some(Ok(piece))) => self.arrived = piece,
                            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                            Poll::Ready(None) => {}
                        }
                    }
                    self.step = RecodeStep::Running(Box::pin(recode(codec, std::mem::take(&mut self.arrived))));
                }
                RecodeStep::Running(mut running) => {
                    let Poll::Ready(ended) = running.as_mut().poll(context) else {
                        self.step = RecodeStep::Running(running);
                        return Poll::Pending;
                    };
                    let StepEnd { codec, arrived, recoded } = match ended {
                        Ok(end) => end,
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    };
                    self.arrived = arrived;
                    self.step = codec.map_or(RecodeStep::Over, RecodeStep::Idle);
                    if !recoded.is_empty() {
                        return Poll::Ready(Some(Ok(Bytes::from(recoded))));
                    }
                }
            }
        }
    }
}
