//! Appends groups while the disk has room for them, and refuses them otherwise.

use std::ops::ControlFlow;
use std::time::Instant;

use bindery_model::error::{Code, Error, Result};

use super::append::{Appended, Failure, Group, Waiting};
use super::committer::Committer;
use super::room::UNKNOWN;
use crate::queue::{Job, Jobs, log_unreachable, outcome_unknown};

impl Committer {
    /// Appends the group that was decided for these jobs, unless the disk has no room for the store's copy of it. Jobs that
    /// wait too long for the outcome are answered meanwhile.
    pub(super) fn commit(&mut self, group: Group, jobs: &mut [Job]) -> Result<Appended> {
        let bytes = self.appender.bytes_of(&group);
        if bytes > 0
            && let Err(error) = self.applier.store.check_room(bytes)
        {
            self.room.begin(bytes, &error);
            let text = format!("{error}; nothing was applied; writes succeed again when there is room");
            return Err(Error::new(Code::Overloaded, text));
        }
        let started = Instant::now();
        let queue = &mut self.queue;
        let appended = self.appender.append(group, &mut |waiting| keep_waiting(queue, jobs, waiting));
        let appended = appended.map_err(|failure| {
            if let Failure::Refused(_, cause) = &failure {
                self.room.begin(UNKNOWN, cause);
            }
            self.note(failure)
        });
        let appended = appended.and_then(|appended| self.check_synced().map(|()| appended));
        self.counters.sync_time.observe(started.elapsed());
        match self.room.short_of() {
            Some(UNKNOWN) if bytes > 0 && appended.is_ok() => self.room.end(),
            Some(_) => self.look_for_room(),
            None => {}
        }
        appended
    }

    /// Confirms the state against which jobs were decided that write nothing. Returns false if it was outdated: then they
    /// are decided again.
    pub(super) fn confirm(&mut self, jobs: &mut [Job]) -> Result<bool> {
        let queue = &mut self.queue;
        let confirmed = self.appender.confirm(&mut |waiting| keep_waiting(queue, jobs, waiting));
        confirmed.map_err(|failure| self.note(failure))
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

/// Answers the jobs that have waited too long for the log. Breaks if nobody waits any more for a group of which nothing can be
/// in the log, or if the server stops.
fn keep_waiting(queue: &mut Jobs, jobs: &mut [Job], waiting: Waiting) -> ControlFlow<()> {
    let is_closing = queue.expire(&log_unreachable());
    let error = match waiting {
        Waiting::Unreachable => log_unreachable(),
        Waiting::Unknown => outcome_unknown(),
    };
    let mut somebody_waits = false;
    for job in jobs {
        somebody_waits |= !job.expire(&error, is_closing);
    }
    match somebody_waits || waiting == Waiting::Unknown && !is_closing {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}
