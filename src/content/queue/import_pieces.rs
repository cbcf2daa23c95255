//! The commands of one import in the queue: few enough to bound the memory, and none after one that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bindery_model::error::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of commands of an import that may wait in the queue. They are taken together: so many that a log which
/// takes tens of milliseconds for each group is mostly idle while they are decided, and not the other way round.
const QUEUED_PIECES: usize = 48;

/// The commands of one import.
pub(crate) struct ImportPieces {
    turns: Arc<Semaphore>,
    has_failed: Arc<AtomicBool>,
}

/// The part that a command has in its import.
pub(crate) struct ImportPiece {
    bytes: usize,
    has_failed: Arc<AtomicBool>,
    /// Held while the command waits in the queue.
    turn: Option<OwnedSemaphorePermit>,
}

impl Default for ImportPieces {
    fn default() -> Self {
        ImportPieces { turns: Arc::new(Semaphore::new(QUEUED_PIECES)), has_failed: Arc::default() }
    }
}

impl ImportPieces {
    /// Returns the piece for a command with so many bytes of lines, once the command may be queued.
    ///
    /// # Errors
    /// `INTERNAL` never, since nobody closes the semaphore.
    pub(crate) async fn next(&self, bytes: usize) -> Result<ImportPiece> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Error::internal)?;
        Ok(ImportPiece { bytes, has_failed: Arc::clone(&self.has_failed), turn: Some(turn) })
    }
}

impl ImportPiece {
    /// Returns the number of bytes of its lines.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lets the import queue another command in the place of this one, which the committer has taken.
    pub(super) fn free_turn(&mut self) {
        self.turn = None;
    }

    /// Notes that the command failed, so that no later one is carried out.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Returns whether a command of the import failed.
    pub(super) fn follows_a_failure(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
