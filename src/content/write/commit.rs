//! Appends groups while the disk has room for them, and refuses them otherwise.

use std::time::Instant;

use bindery_model::error::{Code, Error, Result};

use super::append::{AppendResult, Failure, Group};
use super::committer::Committer;
use super::room::UNKNOWN;

impl Committer {
    /// Appends a group, unless the disk has no room for the store's copy of it.
    pub(super) fn commit(&mut self, group: Group) -> Result<AppendResult> {
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
        match self.room.short_of() {
            Some(UNKNOWN) if bytes > 0 && committed.is_ok() => self.room.end(),
            Some(_) => self.look_for_room(),
            None => {}
        }
        committed
    }

    /// Checks whether the disk has room. Also called while nothing is written.
    pub(super) fn look_for_room(&mut self) {
        if self.is_broken() || self.room.short_of() == Some(UNKNOWN) {
            return;
        }
        let bytes = self.room.short_of().unwrap_or_default();
        match self.applier.store.check_room(bytes) {
            Ok(()) => self.room.end(),
            Err(error) => self.room.begin(bytes, &error),
        }
    }
}
