//! Limits the stored values that one command writes again.
//!
//! An update of a few bytes writes the whole copy again, and the publication of a working copy has no values at all. So
//! the memory that is reserved for a body does not limit what the committer holds for it.

use bindery_disk::failure;
use bindery_model::error::Result;

use super::decider::Decider;
use crate::command::Item;
use crate::data::refusals::too_much_rewritten;

/// The maximum number of bytes that one command writes of stored values. It limits the memory of the committer, which
/// holds them several times, and the time that other commands wait.
pub(super) const MAX_REWRITTEN_BYTES: usize = 64 << 20;

impl Decider<'_, '_> {
    /// Checks before an item is decided that no earlier one has reached the limit: to find that out again would take as
    /// long each time.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`.
    pub(super) fn check_rewriting(&self, item: &Item) -> Result<()> {
        if self.has_rewritten_enough && rewrites(item) { Err(too_much_rewritten(most())) } else { Ok(()) }
    }

    /// Checks what the transaction has, once an item was written. `before` is the number of bytes that earlier items
    /// have written. If there are none, any item passes: it could not be sent in smaller parts.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`. The caller takes the writes of the item back.
    pub(super) fn limit_rewriting(&mut self, item: &Item, before: usize) -> Result<()> {
        if before == 0 || !rewrites(item) || self.overlay.bytes() <= most() {
            return Ok(());
        }
        self.has_rewritten_enough = true;
        Err(too_much_rewritten(most()))
    }
}

/// Returns whether an item may write values that its request did not send.
fn rewrites(item: &Item) -> bool {
    match item {
        Item::Update(update) => update.copy.is_some(),
        Item::PublishWorkingCopies(_) => true,
        _ => false,
    }
}

fn most() -> usize {
    match usize::try_from(failure::number("decide::rewritten")) {
        Ok(0) | Err(_) => MAX_REWRITTEN_BYTES,
        Ok(bytes) => bytes,
    }
}
