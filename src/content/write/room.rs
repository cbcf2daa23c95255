//! Says in the log when writes begin to be refused for want of room, and when that ends: one line each, however many writes
//! are refused between them. Must not know what is written.

use std::fmt::Display;

/// Stands for the size of a write that the log refused. How much room the log needs is not known, so only a write that
/// succeeds ends such a shortage.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Whether the disk lacks room.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The size of the first write that was refused. The shortage ends when there is room for as much, so that smaller writes
    /// that succeed meanwhile do not end it, and the next large one does not begin another.
    short_of: Option<u64>,
}

impl Room {
    /// Whether writes are refused, which the log says already.
    pub(super) fn is_short(&self) -> bool {
        self.short_of.is_some()
    }

    /// The size of the first write that was refused, if writes are.
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
