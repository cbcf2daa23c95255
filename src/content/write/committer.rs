//! The only thread that changes anything.
//!
//! It takes the queued commands of a group (there is no timer: commands that arrive during a sync form the next group)
//! and decides each command against the state that the commands before it leave. Then it appends the transactions of
//! the group to the log with one sync, has them applied, and only then answers. Another process may append to the same
//! log. Then the committer applies those transactions first, and decides again where they outdated a decision.
//!
//! A failure of the disk ends all writing until a restart: the outcome of the group is unknown to its callers, and
//! later groups must not build on it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use bindery_disk::failure;
use bindery_disk::sync;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_replica::Upkeep;
use bindery_sanitize::Sanitizer;
use bindery_store::{Key, StoreWrite, has_failed_write};

use super::append::{Appended, Appender, Failure, Group};
use super::commit::Waiters;
use super::decide::{Context, asks_the_index, decide};
use super::overlay::Overlay;
use super::room::Room;
use crate::apply::{Applier, CommittedTransaction};
use crate::clock::ContentClock;
use crate::command::{Command, KeepAnswer, Outcome};
use crate::data::blueprint_change::BlueprintChange;
use crate::data::counters::Counters;
use crate::data::kept_answer::KeptAnswer;
use crate::data::lookup::Lookup;
use crate::maintain::checkpoint::Checkpointer;
use crate::maintain::sweep::STEP_PAUSE;
use crate::queue::{Job, Jobs, Reply, log_unreachable, outcome_unknown, stopped_writing};

/// The time after which an idle committer checks whether a checkpoint is due, or the log has grown.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// The pause after each piece of an index rebuild, in which the committer serves its callers.
const REBUILD_PAUSE: Duration = Duration::from_millis(1);

/// The function that is called when a blueprint change has begun, with the channel to its caller.
pub(crate) type ChangeStartCallback = Box<dyn Fn(Arc<BlueprintChange>, Option<Reply>) + Send>;

/// The committer. It owns the log, and everything to which transactions are applied.
pub(crate) struct Committer {
    pub(crate) appender: Appender,
    pub(crate) applier: Applier,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) change_begun: ChangeStartCallback,
    /// True if a failure of the disk has ended all writing.
    pub(crate) broken: Arc<AtomicBool>,
    pub(crate) queue: Jobs,
    /// This node; `None` on a single server.
    pub(crate) node: Option<Upkeep>,
    pub(crate) room: Room,
    pub(crate) counters: Arc<Counters>,
    /// The time that reads use.
    pub(crate) time: Arc<ContentClock>,
    /// The last id that was assigned, even if its transaction was not committed.
    pub(crate) last_id: Option<ResourceId>,
    /// The planned publications that could not be decided, with the end of the time in which they are passed over.
    pub(crate) passed_over: HashMap<Key, Instant>,
}

impl Committer {
    /// Runs until the queue is closed and empty, then writes a last checkpoint.
    pub(crate) fn run(mut self) {
        let _guard = PanicGuard(Arc::clone(&self.broken));
        loop {
            let sweeps = self.applier.sweeper.is_busy() && self.leads() && !self.is_broken();
            let tick = match (self.applier.rebuilds.is_busy(), sweeps) {
                (true, _) => REBUILD_PAUSE,
                (false, true) => STEP_PAUSE,
                (false, false) => IDLE_TICK,
            };
            let tick = tick.min(self.until_next_release());
            let (appender, indexes) = (&self.appender, &self.applier.indexes);
            match self.queue.next_group(tick, || appender.import_room(!indexes.are_behind())) {
                Ok(group) if group.is_empty() => {}
                Ok(group) => self.run_group(group),
                Err(RecvTimeoutError::Timeout) => self.look_for_room(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.follow();
            self.release();
            self.sweep();
            self.rebuild();
            self.applier.release_replaced_runs();
            self.checkpoint_if_due();
        }
        self.follow();
        self.sweep();
        if !self.is_broken() && self.check_synced().is_ok() {
            self.note_rebuilt_index();
            let applied = self.applier.store.applied();
            self.checkpointer.run_last(self.appender.log(), &self.applier.indexes, applied);
        }
    }

    /// Carries out a group and answers its callers. Jobs for which it has no room go back to the queue, so that
    /// interactive ones that arrived meanwhile come before imports.
    fn run_group(&mut self, mut jobs: Vec<Job>) {
        if matches!(jobs[0].command, Command::Checkpoint) {
            let result = self.checkpoint_now();
            jobs.iter_mut().for_each(|job| job.answer(result.clone().map(|()| Outcome::Done)));
            return;
        }
        loop {
            // Those who were answered that nothing was applied must not be decided again.
            jobs.retain_mut(Job::is_wanted);
            if jobs.is_empty() {
                return;
            }
            if let Err(error) = self.check_writable() {
                jobs.iter_mut().for_each(|job| job.answer(Err(error.clone())));
                return;
            }
            match self.attempt(&mut jobs) {
                Ok(results) if results.is_empty() => self.expire(&mut jobs, true),
                Ok(results) => {
                    self.queue.put_back(jobs.split_off(results.len()));
                    for (mut job, result) in jobs.into_iter().zip(results) {
                        match result {
                            Ok(Outcome::ChangeBegun(change)) => (self.change_begun)(change, job.reply.take()),
                            result => job.answer(result),
                        }
                    }
                    return;
                }
                // Only one of them may be too large.
                Err(error) if error.code == Code::PayloadTooLarge && jobs.len() > 1 => {
                    jobs.into_iter().for_each(|job| self.run_group(vec![job]));
                    return;
                }
                Err(error) if error.code == Code::LogUnreachable => {}
                // Those who only wait for the newest state have nothing to do with what failed.
                Err(error) => {
                    let (mut waiting, mut failed): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::only_waits);
                    if failed.is_empty() {
                        std::mem::swap(&mut waiting, &mut failed);
                    }
                    failed.iter_mut().for_each(|job| job.answer(Err(error.clone())));
                    if !waiting.is_empty() {
                        self.run_group(waiting);
                    }
                    return;
                }
            }
        }
    }

    /// Answers the jobs that have waited too long, these and those in the queue: others may append first again and
    /// again.
    fn expire(&mut self, jobs: &mut [Job], end_at_stop: bool) {
        let error = log_unreachable();
        let is_closing = self.queue.expire(&error, end_at_stop);
        for job in jobs {
            job.expire(&error, is_closing);
        }
    }

    /// Decides jobs and commits their transactions. Returns the results of the first jobs: all jobs, or as many as make
    /// a full group, or none if another process appended first. Answers jobs itself that waited too long.
    fn attempt(&mut self, jobs: &mut [Job]) -> Result<Vec<Result<Outcome>>> {
        self.catch_up(jobs)?;
        // The storage tells the time with its answer.
        if !self.knows_time() && !self.confirm(jobs)? {
            return Ok(Vec::new());
        }
        let now = self.now();
        self.release_due(now, jobs)?;
        if !jobs.iter().all(Job::is_waited_for) {
            return Ok(Vec::new());
        }
        // Another process may have appended meanwhile, with a later time.
        let now = self.applier.clock.last_time;
        let (group, results) = self.decide(jobs, now);
        failure::point("committer::decided").map_err(Error::internal)?;
        let is_empty = group.is_empty();
        let appended = self.commit(group, Waiters::Decided(jobs))?;
        // A group that writes nothing is answered from a state that may be outdated.
        if is_empty && !self.confirm(jobs)? {
            return Ok(Vec::new());
        }
        let Appended::Group(transactions) = appended else { return Ok(Vec::new()) };
        failure::point("committer::committed").map_err(|error| self.stop(Error::internal(error)))?;
        self.apply(transactions).map_err(|error| self.stop(error))?;
        failure::point("committer::applied").map_err(|error| self.stop(Error::internal(error)))?;
        self.counters.commands.fetch_add(results.len() as u64, Ordering::Relaxed);
        Ok(results)
    }

    /// Decides jobs, each against the state that the jobs before it leave. Returns the transactions, and the results of
    /// the jobs that were decided: as many as make a full group.
    fn decide(&mut self, jobs: &[Job], now: Millis) -> (Group, Vec<Result<Outcome>>) {
        let state = self.applier.cell.load();
        let store = self.applier.store.clone();
        let context = Context { state: &state, sanitizer: &self.sanitizer };
        let last_id = self.last_id.max(self.applier.clock.last_id);
        let changes = self.applier.changes.numbers;
        let mut overlay = Overlay::new(&store, self.appender.next_number(), now, last_id, changes);
        let mut group = Group::default();
        let mut results = Vec::with_capacity(jobs.len());
        for job in jobs {
            if !group.is_empty() && asks_the_index(&state, &job.command) {
                break;
            }
            results.push(decide_job(&context, &mut overlay, job));
            if let Some(decided) = overlay.finish() {
                overlay.number += self.appender.add(&mut group, decided);
            }
            if self.appender.is_full(&group) {
                break;
            }
        }
        self.last_id = overlay.last_id();
        (group, results)
    }

    /// Applies transactions that other processes appended to the log. That may take minutes, so jobs that wait too long
    /// are answered meanwhile.
    pub(super) fn catch_up(&mut self, jobs: &mut [Job]) -> Result<()> {
        while let Some(transactions) = self.appender.read_others().map_err(|error| self.stopped_by(error))? {
            self.apply(transactions).map_err(|error| self.cannot_apply(error))?;
            // The log answers, so those that can wait are carried out, also at a stop.
            self.expire(jobs, false);
        }
        Ok(())
    }

    /// Applies the transactions that were appended or read last.
    pub(super) fn apply(&mut self, transactions: Vec<CommittedTransaction>) -> Result<()> {
        self.applier.apply(transactions)?;
        self.appender.note_applied();
        Ok(())
    }

    /// Ends following at a transaction that this version does not know.
    fn cannot_apply(&self, error: Error) -> Error {
        if let Some(node) = &self.node {
            node.status().stop_following(error.message.clone());
        }
        self.stop(error)
    }

    /// Applies transactions that other processes appended while this one writes nothing.
    fn follow(&mut self) {
        if !self.is_broken()
            && let Err(error) = self.catch_up(&mut [])
        {
            tracing::error!(%error, "the log cannot be followed");
        }
    }

    /// Removes one step of obsolete data. The step is decided against everything that is applied, so
    /// [`Committer::follow`] runs before it.
    fn sweep(&mut self) {
        if self.is_broken() {
            return;
        }
        let store = &self.applier.store;
        let removals: Vec<StoreWrite> = self.applier.sweeper.unseen().into_iter().map(StoreWrite::delete).collect();
        if !removals.is_empty()
            && let Err(error) = store.apply(store.applied(), &removals)
        {
            tracing::warn!(%error, "superseded versions could not be removed; the next start removes them");
            return;
        }
        if !self.leads() {
            return;
        }
        let now = self.now();
        let state = self.applier.cell.load();
        let step = self.applier.sweeper.next_step(&self.applier.store, &state, now);
        // Versions that only this state needs would otherwise wait for the next step.
        drop(state);
        let step = step.and_then(|writes| self.commit_own(writes));
        if let Err(error) = step {
            if !self.room.is_short() {
                tracing::warn!(%error, "obsolete values could not be removed; this is tried again");
            }
            self.applier.sweeper.step_failed();
        }
        self.applier.sweeper.step_ended();
    }

    /// Rebuilds one more piece of the damaged indexes. Continues even after a failure of the disk, because reads
    /// continue too.
    fn rebuild(&mut self) {
        if let Err(error) = self.applier.rebuild_damaged() {
            tracing::warn!(%error, "a damaged index could not be rebuilt; this is tried again");
        }
    }

    /// Commits a transaction of the server itself, decided against everything that is applied. If another process
    /// appends first, the caller tries again later.
    fn commit_own(&mut self, writes: Vec<StoreWrite>) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut group = Group::default();
        self.appender.add(&mut group, writes.into());
        match self.commit(group, Waiters::Undecided(&mut []))? {
            Appended::Group(transactions) => self.apply(transactions).map_err(|error| self.stop(error)),
            Appended::Outrun => {
                self.applier.sweeper.step_failed();
                Ok(())
            }
        }
    }

    fn checkpoint_if_due(&mut self) {
        if self.is_broken() {
            return;
        }
        if self.check_synced().is_err() {
            return;
        }
        if self.checkpointer.has_lost_data() {
            self.stop(stopped_writing());
            return;
        }
        if std::mem::take(&mut self.applier.wants_checkpoint) {
            self.checkpointer.want();
        }
        self.note_rebuilt_index();
        let applied = self.applier.store.applied();
        self.checkpointer.run_if_due(self.appender.log(), &self.applier.indexes, applied);
    }

    fn note_rebuilt_index(&mut self) {
        if std::mem::take(&mut self.applier.has_rebuilt_index) {
            self.checkpointer.want_for_index();
        }
    }

    fn checkpoint_now(&mut self) -> Result<()> {
        self.check_writable()?;
        self.note_rebuilt_index();
        let applied = self.applier.store.applied();
        let result = self.checkpointer.run_now(self.appender.log(), &self.applier.indexes, applied);
        self.check_synced()?;
        if self.checkpointer.has_lost_data() {
            self.stop(stopped_writing());
        }
        result
    }

    /// Returns whether this server leads, by the transactions that it has applied; a single server always does. A
    /// leader that has lost contact with the log still leads here, although [`crate::Content::does_jobs`] returns
    /// false: if another node has taken the lead, its appends fail.
    pub(super) fn leads(&self) -> bool {
        let is_named =
            |node: &Upkeep| self.applier.cell.load().leader.as_ref().is_some_and(|leader| leader.node == node.node());
        self.node.as_ref().is_none_or(is_named)
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    fn check_writable(&self) -> Result<()> {
        // The log still has the writes that the store could not make. From now on nothing is added to the log, so a
        // write that is refused now is certain not to be stored.
        if has_failed_write() && !self.is_broken() {
            return Err(self.stop(stopped_writing()));
        }
        if self.is_broken() { Err(self.not_following().unwrap_or_else(stopped_writing)) } else { Ok(()) }
    }

    /// Returns the `LOG_UNREACHABLE` of a node that has stopped following the log; `None` if it has not.
    fn not_following(&self) -> Option<Error> {
        let fault = self.node.as_ref()?.status().get().fault?;
        let text = format!("this server has stopped following the log of its cluster: {fault}; nothing was applied");
        Some(Error::new(Code::LogUnreachable, text))
    }

    /// Ends all writing because the log cannot be read. Returns the error for commands that were not decided yet.
    fn stopped_by(&self, error: Error) -> Error {
        let error = self.stop(error);
        self.not_following().unwrap_or(error)
    }

    /// Ends all writing if an append failed for good.
    pub(super) fn note(&self, failure: Failure) -> Error {
        match failure {
            Failure::Refused(error, _) | Failure::Inapplicable(error) => error,
            Failure::Unreachable => log_unreachable(),
            Failure::Unknown => self.stop(outcome_unknown()),
            Failure::Stopped(error) => self.stop(error),
            Failure::Unsynced(error) => {
                // A sync covers all files of a disk, so the disk may also have dropped writes of sled.
                self.applier.store.condemn("a sync failed, and what was not on disk by then may be lost");
                self.stop(error)
            }
        }
    }

    /// Ends all writing if a sync of any file failed in any thread: the disk may have dropped records of the log, even
    /// if their own sync succeeded.
    pub(super) fn check_synced(&self) -> Result<()> {
        if !sync::has_failed() {
            return Ok(());
        }
        Err(self.note(Failure::Unsynced(Error::internal("a sync failed in another thread"))))
    }

    pub(super) fn stop(&self, error: Error) -> Error {
        self.broken.store(true, Ordering::SeqCst);
        tracing::error!("no more writes until a restart");
        error
    }

    /// Returns the time, which never goes back. It stands still until it is known: that of a clock which is ahead would
    /// become the time of all nodes.
    pub(super) fn now(&mut self) -> Millis {
        let is_known = self.knows_time();
        let clock = &mut self.applier.clock;
        if is_known {
            clock.last_time = self.time.decide(clock.last_time);
        }
        clock.last_time
    }

    /// Returns whether the clock of this server is right, or held near that of the storage.
    fn knows_time(&self) -> bool {
        self.node.as_ref().is_none_or(|node| node.store().knows_time())
    }
}

/// Marks writing as ended if the committer panics, so that `/readyz` reports it.
struct PanicGuard(Arc<AtomicBool>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// Decides a job, unless its answer is kept already. Its writes go to the overlay, including the answer to keep.
fn decide_job(context: &Context<'_>, overlay: &mut Overlay<'_>, job: &Job) -> Result<Outcome> {
    if let Some(keep) = &job.keep
        && let Some(answer) = find_kept(keep, overlay)?
    {
        return Ok(Outcome::Kept(answer));
    }
    overlay.actor.clone_from(&job.actor);
    let result = decide(context, overlay, &job.command);
    if result.is_err() {
        overlay.roll_back();
    }
    match (&job.keep, &result) {
        (None, _) | (_, Ok(Outcome::Stale)) => result,
        (Some(keep), _) => keep_answer(keep, overlay, result),
    }
}

/// Returns the answer that is kept for a request.
fn find_kept(keep: &KeepAnswer, overlay: &Overlay<'_>) -> Result<Option<Vec<u8>>> {
    let stored = overlay.get(&keep.request.key().store_key())?;
    let Some(kept) = stored.map(|bytes| KeptAnswer::decode(&bytes)).transpose()? else { return Ok(None) };
    kept.answer_to(Some(&keep.request), overlay.now)
}

/// Adds the answer to the transaction, if it is to be kept.
fn keep_answer(keep: &KeepAnswer, overlay: &mut Overlay<'_>, result: Result<Outcome>) -> Result<Outcome> {
    let Some(answer) = (keep.encode)(&result, &*overlay) else { return result };
    let kept = KeptAnswer::new(&keep.request, overlay.now, answer);
    overlay.put(keep.request.key().store_key(), kept.encode());
    Ok(Outcome::Kept(kept.into_answer()))
}
