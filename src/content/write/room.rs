//! Logs when writes begin to be refused because the disk is full, and when they are accepted again: one line each, even
//! if many writes are refused in between. Must not know the writes.

use std::fmt::Display;

/// Stands for the size of a write that the log refused. The room that the log needs is unknown, so only a successful
/// write ends such a shortage.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The state of the disk: enough room, or a shortage.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The size of the first refused write. The shortage ends when there is room for this size. So smaller writes that
    /// succeed meanwhile do not end it, and the next large one does not begin another.
    short_of: Option<u64>,
}

impl Room {
    /// Is true if writes are refused. The refusal is then logged already.
    pub(super) fn is_short(&self) -> bool {
        self.short_of.is_some()
    }

    /// Returns the size of the first write that was refused, if writes are.
    pub(super) fn short_of(&self) -> Option<u64> {
        self.short_of
    }

    pub(super) fn begin(&mut self, bytes: u64, cause: &dyn Display) {
        if self.short_of.is_none() {
            tracing::error!(%cause, "there is no room for writes: they are refused until there is; reads go on");
            self.short_of = Some(bytes);
        }
    }

    pub(super) fn end(&mut self) {
        if self.short_of.take().is_some() {
            tracing::info!("writes are accepted again");
        }
    }
}
