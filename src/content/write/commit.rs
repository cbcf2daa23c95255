//! Appends groups while the disk has room for them, and refuses them otherwise.

use std::ops::ControlFlow;
use std::time::Instant;

use bindery_model::error::{Code, Error, Result};

use super::append::{Appended, Failure, Group, Waiting};
use super::committer::Committer;
use super::room::UNKNOWN;
use crate::queue::{Job, Jobs, log_unreachable, outcome_unknown};

impl Committer {
    /// Appends a group, unless the disk has no room for the store's copy of it. Jobs that wait too long for the outcome
    /// are answered meanwhile.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE` as soon as one of the jobs is answered while the log cannot be reached, or if there are none:
    /// nothing was appended, and the others can be tried again.
    pub(super) fn commit(&mut self, group: Group, mut jobs: Waiters<'_>) -> Result<Appended> {
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
        let appended = self.appender.append(group, &mut |waiting| keep_waiting(queue, &mut jobs, waiting));
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

    /// Confirms the state against which jobs were decided that write nothing. Returns false if it was outdated: then
    /// they are decided again.
    ///
    /// # Errors
    /// `LOG_UNREACHABLE` as soon as one of the jobs is answered: the others can be tried again.
    pub(super) fn confirm(&mut self, jobs: &mut [Job]) -> Result<bool> {
        let (queue, mut jobs) = (&mut self.queue, Waiters::Decided(jobs));
        let confirmed = self.appender.confirm(&mut |waiting| keep_waiting(queue, &mut jobs, waiting));
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

/// The jobs that wait while a group is appended.
pub(super) enum Waiters<'a> {
    /// The group was decided for them.
    Decided(&'a mut [Job]),
    /// They are decided once the group is applied.
    Undecided(&'a mut [Job]),
}

/// Answers the jobs that have waited too long for the log. Breaks if the log cannot be reached and the group has to be
/// decided without one of them, because its caller was told that nothing was applied; and if the server stops and
/// nobody waits.
fn keep_waiting(queue: &mut Jobs, waiters: &mut Waiters<'_>, waiting: Waiting) -> ControlFlow<()> {
    let is_closing = queue.expire(&log_unreachable(), true);
    let (jobs, error) = match (waiters, waiting) {
        (Waiters::Decided(jobs), Waiting::Unknown) => (jobs, outcome_unknown()),
        (Waiters::Decided(jobs) | Waiters::Undecided(jobs), _) => (jobs, log_unreachable()),
    };
    let n_jobs = jobs.len();
    let unreachable = log_unreachable();
    let expire = |job: &mut Job| job.expire(if job.only_waits() { &unreachable } else { &error }, is_closing);
    let n_waiting = jobs.iter_mut().map(expire).filter(|is_answered| !is_answered).count();
    let gives_up = match waiting {
        Waiting::Unreachable => n_waiting < n_jobs || n_jobs == 0,
        Waiting::Unknown => n_waiting == 0 && is_closing,
    };
    if gives_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
