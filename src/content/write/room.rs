//! Refuses writes while the disk has no room for them, and says so in the log: a line when that begins and one when it ends,
//! however many writes are refused between them.

use std::fmt::Display;
use std::time::Instant;

use super::append::{Appended, Failure, Group};
use super::committer::Committer;
use crate::model::error::{Code, Error, Result};

/// Stands for the size of a write that the log refused. How much room the log needs is not known, so only a write that
/// succeeds ends such a shortage.
const UNKNOWN: u64 = u64::MAX;

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

    fn begin(&mut self, bytes: u64, cause: &dyn Display) {
        if self.short_of.is_none() {
            tracing::error!(%cause, "there is no room for writes: they are refused until there is; reads go on");
            self.short_of = Some(bytes);
        }
    }

    fn end(&mut self) {
        if self.short_of.take().is_some() {
            tracing::info!("writes are accepted again");
        }
    }
}

impl Committer {
    /// Appends a group, unless the disk has no room for what the store makes of it.
    pub(super) fn commit(&mut self, group: Group) -> Result<Appended> {
        let bytes = self.appender.bytes_of(&group);
        if bytes > 0
            && let Err(error) = self.applier.store.check_room(bytes)
        {
            self.room.begin(bytes, &error);
            let text = format!("{error}; nothing was applied; writes succeed again when there is room");
            return Err(Error::new(Code::Overloaded, text));
        }
        let started = Instant::now();
        let committed = self.appender.commit(group).map_err(|failure| {
            if let Failure::Refused(_, cause) = &failure {
                self.room.begin(UNKNOWN, cause);
            }
            self.note(failure)
        });
        let committed = committed.and_then(|committed| self.check_synced().map(|()| committed));
        self.counters.sync_time.observe(started.elapsed());
        match self.room.short_of {
            Some(UNKNOWN) if bytes > 0 && committed.is_ok() => self.room.end(),
            Some(_) => self.look_for_room(),
            None => {}
        }
        committed
    }

    /// Looks whether the disk has room, also while nobody writes.
    pub(super) fn look_for_room(&mut self) {
        if self.is_broken() || self.room.short_of == Some(UNKNOWN) {
            return;
        }
        let bytes = self.room.short_of.unwrap_or_default();
        match self.applier.store.check_room(bytes) {
            Ok(()) => self.room.end(),
            Err(error) => self.room.begin(bytes, &error),
        }
    }
}
