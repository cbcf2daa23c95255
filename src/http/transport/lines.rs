//! The lines of a body that is still arriving. Must not know what a line means.

use axum::body::BodyDataStream;
use bindery_model::error::{Code, Error};
use bytes::BytesMut;
use tokio_stream::StreamExt;

use crate::transport::body;
use crate::transport::budget::Charge;

/// The lines of a body that is still arriving. At most one line is held in memory.
pub(crate) struct Lines {
    chunks: BodyDataStream,
    unread: BytesMut,
    /// The charge for `unread`.
    charge: Charge,
    /// The number of bytes of `unread` that are known to contain no line end.
    searched: usize,
    /// True if the arriving bytes belong to a line that is already too long.
    is_skipping: bool,
    is_over: bool,
    max_bytes: usize,
}

/// A line of a body.
pub(crate) enum Line {
    /// A line within the limit.
    Whole(BytesMut),
    /// A line beyond the limit, which was skipped, as an error.
    TooLong(Error),
}

impl Lines {
    /// Splits a body into lines of at most `max_bytes`.
    pub(crate) fn new((chunks, charge): (BodyDataStream, Charge), max_bytes: usize) -> Lines {
        Lines { chunks, unread: BytesMut::new(), charge, searched: 0, is_skipping: false, is_over: false, max_bytes }
    }

    /// Returns the next line; `None` at the end of the body.
    ///
    /// # Errors
    /// `MALFORMED_JSON` for a body that is cut off; `OVERLOADED` if other bodies have left too little memory.
    pub(crate) async fn next(&mut self) -> Result<Option<Line>, Error> {
        loop {
            if let Some(end) = self.unread[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.unread.split_to(self.searched + end + 1);
                return Ok(Some(self.end_line(line)));
            }
            self.searched = self.unread.len();
            if self.unread.len() > self.max_bytes {
                self.is_skipping = true;
            }
            if self.is_skipping {
                self.unread.clear();
                self.searched = 0;
            }
            if self.is_over {
                let line = std::mem::take(&mut self.unread);
                let is_line = self.is_skipping || !line.is_empty();
                return Ok(is_line.then(|| self.end_line(line)));
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => {
                    if !self.charge.try_set(self.unread.len() + chunk.len()) {
                        return Err(body::no_memory());
                    }
                    self.unread.extend_from_slice(&chunk);
                }
                Some(Err(error)) => return Err(body::cut_off(&error)),
                None => self.is_over = true,
            }
        }
    }

    fn end_line(&mut self, line: BytesMut) -> Line {
        self.searched = 0;
        if std::mem::take(&mut self.is_skipping) || line.len() > self.max_bytes {
            let message = format!("the line is longer than {} bytes, which is the limit", self.max_bytes);
            return Line::TooLong(Error::new(Code::PayloadTooLarge, message));
        }
        Line::Whole(line)
    }
}
