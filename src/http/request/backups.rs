//! The backups that are under way, which are few at once. Must not know what a backup holds.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Failure;
use crate::transport::slots::{RequestSlot, RequestSlots, SlotLimits};

/// The backups that may be under way: that wait for their turn, or have a copy on disk until they are sent. More are
/// refused, since each copy may be as large as the content.
const UNDER_WAY: SlotLimits = SlotLimits {
    of_all: 4,
    of_one: 4,
    message: |most, _| format!("{most} backups are under way already; try again when one of them is complete"),
};

/// The `Retry-After` of a backup that is refused, in seconds.
const RETRY_SECONDS: u64 = 10;

/// The backups that are under way.
pub(crate) struct Backups {
    slots: Arc<RequestSlots>,
    turn: Arc<Semaphore>,
}

impl Default for Backups {
    fn default() -> Backups {
        Backups { slots: RequestSlots::new(UNDER_WAY), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Backups {
    /// Takes a slot, until it is dropped.
    ///
    /// # Errors
    /// `OVERLOADED` if none is left.
    pub(crate) fn begin(&self) -> Result<RequestSlot, Failure> {
        self.slots.take([]).map_err(|error| Failure::from(error).retry_after(RETRY_SECONDS))
    }

    /// Waits for the turn to write a copy, which lasts until it is dropped. Several at once would only share the disk.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.turn).acquire_owned().await.map_err(Error::internal)
    }
}
