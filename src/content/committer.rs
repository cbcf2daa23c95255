//! The one thread that changes anything.
//!
//! It drains what is queued (no timer: the sync in flight is the batching window), decides each command against the
//! state that the ones before it left, makes the group durable with one sync, applies it to store and index, publishes
//! the new state, and only then answers. A fault of the disk ends all writing until a restart: what became of that
//! group is unknown to its callers, and later ones must not build on it.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::oneshot;

use crate::content::change::Changes;
use crate::content::checkpoint::Checkpointer;
use crate::content::command::{Command, Outcome};
use crate::content::decide::{Scene, decide_write};
use crate::content::idempotency::Keeping;
use crate::content::settle::{self, Settled, StateEffect};
use crate::content::state::{State, StateCell};
use crate::content::sweep::{Left, STEP_PAUSE, Sweeper};
use crate::content::working::{Decided, Working};
use crate::log::Log;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::Millis;
use crate::sanitize::Sanitizer;
use crate::store::{Change, Key, Store, encode_changes};

/// The most commands of one group: bounds how long the first of them waits.
const GROUP_COMMANDS: usize = 256;

/// How often an idle committer looks whether a checkpoint is due.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// A command with the way back to its caller.
pub(crate) struct Job {
    pub(crate) command: Command,
    /// Set where the answer may be kept.
    pub(crate) keeping: Option<Keeping>,
    pub(crate) reply: oneshot::Sender<Result<Outcome>>,
}

/// Owns the log, and the only one that writes to store and index.
pub(crate) struct Committer {
    pub(crate) log: Log,
    pub(crate) store: Store,
    pub(crate) indexes: bindery_index::Indexes,
    pub(crate) cell: Arc<StateCell>,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) last_id: Option<ResourceId>,
    pub(crate) last_time: Millis,
    pub(crate) sweeper: Sweeper,
    /// Set when a fault of the disk ended all writing.
    pub(crate) broken: Arc<AtomicBool>,
}

impl Committer {
    /// Runs until every sender is gone, then writes a last checkpoint.
    pub(crate) fn run(mut self, queue: &Receiver<Job>) {
        loop {
            let tick = if self.sweeper.is_busy() { STEP_PAUSE } else { IDLE_TICK };
            match queue.recv_timeout(tick) {
                Ok(first) => self.run_queued(first, queue),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.sweep();
            if !self.broken.load(Ordering::SeqCst) {
                self.checkpointer.run_if_due(&mut self.log, &self.indexes);
            }
        }
        self.sweep();
        if !self.broken.load(Ordering::SeqCst) {
            self.checkpointer.run_last(&mut self.log, &self.indexes);
        }
    }

    fn run_queued(&mut self, first: Job, queue: &Receiver<Job>) {
        let mut jobs = VecDeque::from([first]);
        while jobs.len() < GROUP_COMMANDS
            && let Ok(job) = queue.try_recv()
        {
            jobs.push_back(job);
        }
        while !jobs.is_empty() {
            self.run_group(&mut jobs);
        }
    }

    /// Takes one group off the queue: as many writes as stand together, or one command of another kind.
    fn run_group(&mut self, jobs: &mut VecDeque<Job>) {
        if self.broken.load(Ordering::SeqCst) {
            for job in jobs.drain(..) {
                answer(job.reply, Err(stopped_writing()));
            }
            return;
        }
        let now = self.now();
        if matches!(jobs.front(), Some(job) if matches!(job.command, Command::Write(_))) {
            self.run_writes(jobs, now);
        } else if let Some(job) = jobs.pop_front() {
            self.run_other(job, now);
        }
    }

    fn run_writes(&mut self, jobs: &mut VecDeque<Job>, now: Millis) {
        let state = self.cell.load();
        let store = self.store.clone();
        let mut working = Working::new(&store, self.log.last() + 1, now, self.last_id);
        let mut group = Group::default();
        let scene = Scene { state: &state, sanitizer: &self.sanitizer };
        while matches!(jobs.front(), Some(job) if matches!(job.command, Command::Write(_))) {
            let Some(Job { command: Command::Write(write), keeping, reply }) = jobs.pop_front() else { break };
            if let Some(kept) = kept(keeping.as_ref(), &working) {
                group.replies.push((reply, kept));
                continue;
            }
            if !is_current(&state, &write.blueprint) {
                answer(reply, Ok(Outcome::Stale));
                continue;
            }
            let number = write.blueprint.number;
            let (outcomes, changes) = decide_write(&scene, &mut working, write);
            let outcome = keep(keeping.as_ref(), Ok(Outcome::Written(outcomes)), &mut working);
            group.records.extend(working.finish());
            if !changes.is_empty() {
                group.index.entry(number).or_default().extend(changes);
            }
            group.replies.push((reply, outcome));
        }
        self.last_id = working.last_id();
        let outcome = self.make_durable(group.records).map(|superseded| {
            let log_number = self.log.last();
            let numbers: Vec<u32> = group.index.keys().copied().collect();
            for (number, changes) in group.index {
                if let Some(index) = self.indexes.get(number) {
                    index.apply(changes);
                }
            }
            if !numbers.is_empty() {
                self.cell.update(|state| numbers.iter().for_each(|number| state.refresh(*number, log_number)));
                self.sweeper.replaced(&state, Left { superseded, lost: Vec::new() });
            }
        });
        drop(state);
        for (reply, result) in group.replies {
            answer(reply, outcome.clone().and(result));
        }
    }

    /// A command that changes blueprints, tokens or members stands alone in its group: it may change what the next is
    /// decided against.
    fn run_other(&mut self, job: Job, now: Millis) {
        let Job { command, keeping, reply } = job;
        if matches!(command, Command::Checkpoint) {
            let result = self.checkpointer.run_now(&mut self.log, &self.indexes);
            answer(reply, result.map(|()| Outcome::Done));
            return;
        }
        let state = self.cell.load();
        let store = self.store.clone();
        let mut working = Working::new(&store, self.log.last() + 1, now, self.last_id);
        if let Some(kept) = kept(keeping.as_ref(), &working) {
            answer(reply, kept);
            return;
        }
        let (result, effect) = match settle::settle(&state, &self.sanitizer, &mut working, command) {
            Ok(Settled { outcome, effect }) => (Ok(outcome), effect),
            Err(error) => {
                working.abandon();
                (Err(error), StateEffect::Nothing)
            }
        };
        let result = keep(keeping.as_ref(), result, &mut working);
        self.last_id = working.last_id();
        let durable = self.make_durable(working.finish().into_iter().collect());
        let begun = match (&durable, &effect) {
            (Ok(_), StateEffect::BegunChange(pending)) => Some(Arc::clone(pending)),
            _ => None,
        };
        let result = durable.and_then(|superseded| {
            if !matches!(effect, StateEffect::Nothing) {
                let lost = effect.lost();
                if effect.fills_columns() {
                    self.checkpointer.want();
                }
                effect.apply(&self.indexes, &self.cell, self.log.last());
                self.sweeper.replaced(&state, Left { superseded, lost });
            }
            result
        });
        drop(state);
        match begun {
            Some(pending) => self.changes.start(pending, Some(reply)),
            None => answer(reply, result),
        }
    }

    /// Appends the records, syncs the log once, and applies them to the store. Returns the superseded versions.
    ///
    /// In the log a record removes what it supersedes, since nobody reads during a replay; in the store those versions
    /// stay until no state names them, and a list of them stands beside them, which a start finds if it never came to
    /// that.
    fn make_durable(&mut self, records: Vec<Decided>) -> Result<Vec<Key>> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let mut superseded = Vec::new();
        let mut numbered = Vec::with_capacity(records.len());
        for Decided { mut changes, superseded: keys } in records {
            let n_changes = changes.len();
            changes.extend(keys.iter().cloned().map(Change::delete));
            let number = self.log.append(&encode_changes(&changes)).map_err(|error| self.stop(&error))?;
            let removals = changes.split_off(n_changes);
            if !removals.is_empty() {
                let list = Key::Superseded(number);
                changes.push(Change::put(list.clone(), encode_changes(&removals)));
                superseded.extend(keys.into_iter().chain([list]));
            }
            numbered.push((number, changes));
        }
        self.log.sync().map_err(|error| self.stop(&error))?;
        for (number, changes) in &numbered {
            self.store.apply(*number, changes).map_err(|error| self.stop(&error))?;
        }
        Ok(superseded)
    }

    fn stop(&self, cause: &dyn std::fmt::Display) -> Error {
        self.broken.store(true, Ordering::SeqCst);
        Error::internal(format!("no more writes until a restart: {cause}"))
    }

    /// Removes what nobody needs any more, as much of it as one step may.
    fn sweep(&mut self) {
        if self.broken.load(Ordering::SeqCst) {
            return;
        }
        let removals: Vec<Change> = self.sweeper.unseen().into_iter().map(Change::delete).collect();
        if !removals.is_empty()
            && let Err(error) = self.store.apply(self.log.last(), &removals)
        {
            tracing::warn!(%error, "superseded versions could not be removed; the next start does it");
            return;
        }
        let now = self.now();
        let step = self.sweeper.next_step(&self.store, now).and_then(|changes| {
            if changes.is_empty() {
                return Ok(());
            }
            self.make_durable(vec![Decided { changes, superseded: Vec::new() }]).map(|_| ())
        });
        if let Err(error) = step {
            tracing::warn!(%error, "what is no longer needed could not be removed");
        }
    }

    /// The time, which never goes back.
    fn now(&mut self) -> Millis {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis);
        self.last_time = self.last_time.max(clock);
        self.last_time
    }
}

/// What a group of writes leaves.
#[derive(Default)]
struct Group {
    records: Vec<Decided>,
    index: BTreeMap<u32, Vec<bindery_index::IndexOp>>,
    replies: Vec<(oneshot::Sender<Result<Outcome>>, Result<Outcome>)>,
}

/// The answer to a request that was done before.
fn kept(keeping: Option<&Keeping>, working: &Working<'_>) -> Option<Result<Outcome>> {
    keeping?.kept(working).transpose()
}

/// Makes the answer a part of the command's record where it is to be kept.
fn keep(keeping: Option<&Keeping>, result: Result<Outcome>, working: &mut Working<'_>) -> Result<Outcome> {
    match keeping {
        Some(keeping) => keeping.keep(result, working),
        None => result,
    }
}

/// Whether a blueprint that a command was prepared against is still in force.
fn is_current(state: &State, prepared: &Blueprint) -> bool {
    let current = state.blueprints.get(&prepared.slug).map(|collection| &collection.blueprint);
    current.is_some_and(|current| current.number == prepared.number && current.revision == prepared.revision)
}

fn answer(reply: oneshot::Sender<Result<Outcome>>, outcome: Result<Outcome>) {
    // A caller that went away has no use for its answer.
    let _ = reply.send(outcome);
}

fn stopped_writing() -> Error {
    Error::new(
        Code::Overloaded,
        "the server has stopped writing after a fault of its disk; nothing was applied; reads go on",
    )
}
