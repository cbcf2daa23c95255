//! Commands on their way to the committer, and their outcomes on the way back. The only way to change anything.
//!
//! Commands wait in two lanes. Somebody waits for each interactive command; an import has many commands, and its client
//! waits for all of them together. So while interactive commands come, imports share every third of their groups, and
//! have groups of their own only after pauses in which an interactive one finds the log free.

mod import_pieces;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use bindery_access::Actor;
use bindery_model::error::{Code, Error, Result};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

pub(crate) use self::import_pieces::{ImportPiece, ImportPieces};
use crate::command::{Command, KeepAnswer, Outcome};
use crate::data::counters::Counters;

/// The number of commands that may wait in a lane. More are refused with `OVERLOADED`.
const LANE_COMMANDS: usize = 1024;

/// The size of a command of an import, in bytes: some fifteen milliseconds of work.
pub(crate) const IMPORT_COMMAND_BYTES: usize = 256 << 10;

/// The time after an interactive write in which the next one is expected: it would have to wait for a group of imports
/// that began before it arrived.
const INTERACTIVE_TIME: Duration = Duration::from_secs(1);

/// The number of groups of interactive commands without imports behind one that had some: most writes are as fast as
/// without an import, not only half of them.
const GROUPS_BETWEEN_IMPORTS: u8 = 2;

/// The time after which imports look again whether they may be written.
const CLOSED_PAUSE: Duration = Duration::from_millis(5);

/// The time that a thread of the server waits before it tries a full lane again.
const FULL_PAUSE: Duration = Duration::from_millis(5);

/// A command with the way back to its caller.
pub(crate) struct Job {
    pub(crate) command: Command,
    /// The actor who asked for the command; `None` for the server itself.
    pub(crate) actor: Option<Actor>,
    /// The request whose answer is kept, if it is.
    pub(crate) keep: Option<KeepAnswer>,
    /// The way back; `None` once the caller is answered.
    pub(crate) reply: Option<Reply>,
    /// The time since which it waits; `None` once the committer has taken it.
    queued_at: Option<Instant>,
    /// The time at which the caller is answered that the outcome is not known; `None` for a thread of the server, which
    /// waits.
    deadline: Option<Instant>,
    /// The piece of an import that the command is; `None` for an interactive command.
    piece: Option<ImportPiece>,
}

/// The channel on which the caller of a command waits for its outcome.
pub(crate) type Reply = oneshot::Sender<Result<Outcome>>;

/// The outcome of a command that was submitted.
pub(crate) struct PendingOutcome {
    receiver: oneshot::Receiver<Result<Outcome>>,
    /// The outcome, once it has arrived and was waited for.
    arrived: Option<Result<Outcome>>,
}

/// The sending end. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Queue {
    channel: Arc<Channel>,
    /// The longest time that the caller of a command waits for its outcome.
    write_timeout: Duration,
}

/// The receiving end.
pub(crate) struct Jobs {
    channel: Arc<Channel>,
}

/// The lanes between both ends.
struct Channel {
    lanes: Mutex<Lanes>,
    /// Wakes the committer.
    arrived: Condvar,
    counters: Arc<Counters>,
}

/// The room that a log has for imports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportRoom {
    /// Imports may be written now. While they may not, they would make the next interactive write wait for the index.
    pub(crate) is_open: bool,
    /// The bytes that they may have in a group while no interactive writes are expected. The last command may exceed
    /// them.
    pub(crate) bytes: usize,
    /// The bytes while they are expected.
    pub(crate) bytes_beside_others: usize,
    /// The pause after a group, before one of imports alone, while interactive writes are expected: most of these then
    /// find the log free.
    pub(crate) pause: Duration,
}

#[derive(Default)]
struct Lanes {
    interactive: VecDeque<Job>,
    imports: VecDeque<Job>,
    /// The number of groups until one of interactive commands may have imports, too.
    groups_until_imports: u8,
    /// True if the last group was taken, and the pause after it has not begun.
    had_group: bool,
    /// The end of the pause before a group of imports alone, while interactive writes are expected.
    imports_pause_until: Option<Instant>,
    /// The end of the time in which interactive writes are expected.
    interactive_until: Option<Instant>,
    /// True if the committer was woken to look for what others appended, and has not looked since.
    is_woken: bool,
    /// True once no more commands are accepted.
    is_closed: bool,
    /// True once the receiving end is gone.
    is_abandoned: bool,
}

/// The reason why a job was not queued.
enum QueueRejection {
    Full(Box<Job>),
    Closed,
    CommitterGone,
}

impl Queue {
    /// Makes a queue and its receiving end.
    pub(crate) fn new(counters: Arc<Counters>, write_timeout: Duration) -> (Queue, Jobs) {
        let channel = Arc::new(Channel { lanes: Mutex::default(), arrived: Condvar::new(), counters });
        (Queue { channel: Arc::clone(&channel), write_timeout }, Jobs { channel })
    }

    /// Wakes the committer, which looks for what others appended. Takes no place in a lane: a node that catches up is
    /// woken for each of thousands of groups.
    pub(crate) fn wake(&self) {
        self.channel.lanes.lock().is_woken = true;
        self.channel.arrived.notify_one();
    }

    /// Accepts no more commands. The receiver ends once it has taken those that are queued.
    pub(crate) fn close(&self) {
        self.channel.lanes.lock().is_closed = true;
        self.channel.arrived.notify_one();
    }

    /// Returns whether commands are accepted.
    pub(crate) fn is_open(&self) -> bool {
        !self.channel.lanes.lock().is_closed
    }

    /// Submits a command for a caller. Commands of the same lane are decided in the order in which they were submitted.
    ///
    /// # Errors
    /// `OVERLOADED` if the lane is full or the queue closed: nothing was applied.
    pub(crate) fn submit(
        &self,
        actor: Option<Actor>,
        command: Command,
        keep: Option<KeepAnswer>,
        piece: Option<ImportPiece>,
    ) -> Result<PendingOutcome> {
        let (reply, outcome) = oneshot::channel();
        let now = Instant::now();
        let deadline = Some(now + self.write_timeout);
        match self.push(Job { command, actor, keep, reply: Some(reply), queued_at: Some(now), deadline, piece }) {
            Ok(()) => Ok(PendingOutcome { receiver: outcome, arrived: None }),
            Err(QueueRejection::Full(_)) => Err(overloaded("too many writes are waiting")),
            Err(QueueRejection::Closed) => Err(shutting_down()),
            Err(QueueRejection::CommitterGone) => Err(stopped_writing()),
        }
    }

    /// Submits a command of a thread of the server, and waits while the lane is full.
    ///
    /// # Errors
    /// The errors of the command; `OVERLOADED` if the server is shutting down.
    pub(crate) fn submit_blocking(&self, command: Command) -> Result<Outcome> {
        let (reply, outcome) = oneshot::channel();
        let mut job = Job::of_server(command, reply);
        loop {
            match self.push(job) {
                Ok(()) => return outcome.blocking_recv().map_err(|_| shutting_down())?,
                Err(QueueRejection::Full(back)) => job = *back,
                Err(QueueRejection::Closed | QueueRejection::CommitterGone) => return Err(shutting_down()),
            }
            std::thread::sleep(FULL_PAUSE);
        }
    }

    fn push(&self, job: Job) -> Result<(), QueueRejection> {
        let mut lanes = self.channel.lanes.lock();
        match (lanes.is_closed, lanes.is_abandoned) {
            (true, _) => return Err(QueueRejection::Closed),
            (false, true) => return Err(QueueRejection::CommitterGone),
            (false, false) => {}
        }
        let lane = lanes.lane_of(&job);
        if lane.len() >= LANE_COMMANDS {
            // Clients that ask for the newest state and leave must not keep the places of writes.
            lane.retain(|job| !job.caller_has_left());
        }
        if lane.len() >= LANE_COMMANDS {
            return Err(QueueRejection::Full(Box::new(job)));
        }
        lane.push_back(job);
        self.channel.note_waiting(&lanes);
        self.channel.arrived.notify_one();
        Ok(())
    }
}

impl PendingOutcome {
    /// Waits for the outcome, which is then durable and visible.
    ///
    /// # Errors
    /// The errors of the command.
    pub(crate) async fn wait(mut self) -> Result<Outcome> {
        self.arrive().await;
        self.arrived.unwrap_or_else(|| Err(committer_gone()))
    }

    /// Waits until the outcome has arrived. Loses nothing if it is cancelled.
    pub(crate) async fn arrive(&mut self) {
        if self.arrived.is_none() {
            self.arrived = Some((&mut self.receiver).await.unwrap_or_else(|_| Err(committer_gone())));
        }
    }

    /// Returns whether the outcome has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived.is_some() || !self.receiver.is_empty()
    }
}

impl Job {
    fn of_server(command: Command, reply: Reply) -> Job {
        Job {
            command,
            actor: None,
            keep: None,
            reply: Some(reply),
            queued_at: Some(Instant::now()),
            deadline: None,
            piece: None,
        }
    }

    /// Returns whether it is a write of resources.
    fn is_write(&self) -> bool {
        matches!(self.command, Command::Write(_))
    }

    /// Returns whether it only waits for the newest state. One whose answer is kept writes that answer.
    pub(crate) fn only_waits(&self) -> bool {
        matches!(self.command, Command::Wait) && self.keep.is_none()
    }

    /// Returns whether it only waits for the newest state, for a caller who has left.
    fn caller_has_left(&self) -> bool {
        self.only_waits() && self.reply.as_ref().is_none_or(Reply::is_closed)
    }

    /// Returns whether it can be decided together with others. Commands that change blueprints, tokens or members may
    /// change what the next one is decided against. Those who wait for the newest state change no resource, and one
    /// look at the log serves all of them.
    fn shares_a_group(&self) -> bool {
        self.is_write() || matches!(self.command, Command::Wait)
    }

    /// Answers the caller, unless it is answered already.
    pub(crate) fn answer(&mut self, outcome: Result<Outcome>) {
        if let Some(reply) = self.reply.take() {
            if outcome.is_err()
                && let Some(piece) = &self.piece
            {
                piece.fail();
            }
            // The caller may have left; its command is carried out anyway.
            let _ = reply.send(outcome);
        }
    }

    /// Returns whether somebody waits for the outcome.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.reply.is_some()
    }

    /// Returns whether the command is still to be carried out. Its caller must not have been answered, and of an import
    /// no earlier piece must have failed: its client is told that the lines before that piece were applied, and no
    /// other. A command that changes nothing is not carried out for a caller who has left.
    pub(crate) fn is_wanted(&mut self) -> bool {
        if self.caller_has_left() {
            self.reply = None;
        }
        if self.piece.as_ref().is_some_and(ImportPiece::follows_a_failure) {
            self.answer(Err(overloaded("an earlier part of the import failed")));
        }
        self.is_waited_for()
    }

    /// Answers the caller with an error if it has waited too long, or if nobody may wait any more. Returns whether
    /// nobody waits for the job.
    pub(crate) fn expire(&mut self, error: &Error, is_closing: bool) -> bool {
        let is_late = self.deadline.map_or(is_closing, |deadline| deadline <= Instant::now());
        if is_late {
            self.answer(Err(error.clone()));
        }
        !self.is_waited_for()
    }
}

impl Jobs {
    /// Returns the jobs of the next group, in the order in which they are decided: interactive ones, imports, or both;
    /// none after [`Queue::wake`], if none are due. Must be called once the group before it is in the log, and what
    /// others appended was looked for.
    ///
    /// # Errors
    /// `Timeout` if there is no group in time; `Disconnected` once the queue is closed and empty.
    pub(crate) fn next_group(
        &mut self,
        time: Duration,
        room: impl Fn() -> ImportRoom,
    ) -> std::result::Result<Vec<Job>, RecvTimeoutError> {
        self.channel.counters.note_working(false);
        let group = self.wait_for_group(time, room);
        self.channel.counters.note_working(true);
        group
    }

    fn wait_for_group(
        &mut self,
        time: Duration,
        room: impl Fn() -> ImportRoom,
    ) -> std::result::Result<Vec<Job>, RecvTimeoutError> {
        let until = Instant::now() + time;
        let mut lanes = self.channel.lanes.lock();
        let mut group = loop {
            let room = room();
            lanes.begin_pause(room.pause);
            let group = lanes.take_group(room);
            // Whoever has a group looks behind it.
            let was_woken = std::mem::take(&mut lanes.is_woken);
            if !group.is_empty() {
                break group;
            }
            if lanes.is_closed {
                return Err(RecvTimeoutError::Disconnected);
            }
            if was_woken {
                break Vec::new();
            }
            if until <= Instant::now() {
                return Err(RecvTimeoutError::Timeout);
            }
            let wake_at = if lanes.imports.is_empty() {
                None
            } else if room.is_open {
                lanes.imports_pause_until
            } else {
                Some(Instant::now() + CLOSED_PAUSE)
            };
            self.channel.arrived.wait_until(&mut lanes, wake_at.map_or(until, |time| time.min(until)));
        };
        self.channel.note_waiting(&lanes);
        drop(lanes);
        for job in &mut group {
            if let Some(queued_at) = job.queued_at.take() {
                self.channel.counters.queue_time.observe(queued_at.elapsed());
            }
            if let Some(piece) = &mut job.piece {
                piece.free_turn();
            }
        }
        Ok(group)
    }

    /// Puts jobs back that had no room in their group. They come before all others of their lanes, in the same order.
    pub(crate) fn put_back(&mut self, jobs: Vec<Job>) {
        let mut lanes = self.channel.lanes.lock();
        for job in jobs.into_iter().rev() {
            lanes.lane_of(&job).push_front(job);
        }
        self.channel.note_waiting(&lanes);
    }

    /// Answers the jobs that have waited too long while nothing can be decided. Those without a deadline are among them
    /// if they `end_at_stop` and the queue is closed, so that nobody should be waited for much longer. Returns whether
    /// that is so.
    pub(crate) fn expire(&mut self, error: &Error, end_at_stop: bool) -> bool {
        // While the storage of a cluster is slow, the committer is not stuck: other nodes would wait for it, too.
        self.channel.counters.note_working(true);
        let mut lanes = self.channel.lanes.lock();
        let is_closing = end_at_stop && lanes.is_closed;
        lanes.interactive.retain_mut(|job| !job.expire(error, is_closing));
        lanes.imports.retain_mut(|job| !job.expire(error, is_closing));
        self.channel.note_waiting(&lanes);
        is_closing
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let mut lanes = self.channel.lanes.lock();
        lanes.is_abandoned = true;
        // Their callers would wait for ever.
        lanes.interactive.clear();
        lanes.imports.clear();
        self.channel.note_waiting(&lanes);
    }
}

impl Channel {
    fn note_waiting(&self, lanes: &Lanes) {
        self.counters.queued.store(lanes.len() as u64, Ordering::Relaxed);
    }
}

impl Lanes {
    fn len(&self) -> usize {
        self.interactive.len() + self.imports.len()
    }

    fn lane_of(&mut self, job: &Job) -> &mut VecDeque<Job> {
        if job.piece.is_some() { &mut self.imports } else { &mut self.interactive }
    }

    /// Begins the pause of imports after a group.
    fn begin_pause(&mut self, pause: Duration) {
        if std::mem::take(&mut self.had_group) {
            self.imports_pause_until = Some(Instant::now() + pause.min(INTERACTIVE_TIME));
        }
    }

    /// Takes the jobs of a group; none if all that wait are imports in a pause. A group that has imports begins with
    /// them, or a group full of interactive writes would leave them out.
    fn take_group(&mut self, room: ImportRoom) -> Vec<Job> {
        let now = Instant::now();
        if self.interactive.iter().any(Job::is_write) {
            self.interactive_until = Some(now + INTERACTIVE_TIME);
        }
        let is_ahead = |time: Option<Instant>| time.is_some_and(|time| now < time);
        let are_expected = is_ahead(self.interactive_until);
        let are_imports_due = if self.interactive.is_empty() {
            self.is_closed || room.is_open && !(are_expected && is_ahead(self.imports_pause_until))
        } else {
            room.is_open && self.groups_until_imports == 0
        };
        let max_bytes = if are_expected { room.bytes_beside_others } else { room.bytes };
        let mut group = if are_imports_due { self.take_imports(max_bytes) } else { Vec::new() };
        let has_imports = !group.is_empty();
        if group.is_empty() && self.interactive.front().is_some_and(|job| !job.shares_a_group()) {
            group.extend(self.interactive.pop_front());
        } else {
            while self.interactive.front().is_some_and(Job::shares_a_group) {
                group.extend(self.interactive.pop_front());
            }
        }
        if !group.is_empty() {
            self.had_group = true;
            self.groups_until_imports =
                if has_imports { GROUPS_BETWEEN_IMPORTS } else { self.groups_until_imports.saturating_sub(1) };
        }
        group
    }

    /// Takes imports until they have so many bytes: at least one.
    fn take_imports(&mut self, bytes: usize) -> Vec<Job> {
        let mut taken: Vec<Job> = Vec::new();
        let mut taken_bytes = 0;
        while taken.is_empty() || taken_bytes < bytes {
            let Some(job) = self.imports.pop_front() else { break };
            taken_bytes += job.piece.as_ref().map_or(0, ImportPiece::bytes);
            taken.push(job);
        }
        taken
    }
}

/// Returns `OVERLOADED` during a shutdown.
pub(crate) fn shutting_down() -> Error {
    overloaded("the server is shutting down")
}

/// Returns the `OVERLOADED` of requests after a failure that ended all writing.
pub(crate) fn stopped_writing() -> Error {
    let text = "the server has stopped writing after a failure of its disk; nothing was applied; reads go on";
    Error::new(Code::Overloaded, text)
}

/// Returns the `LOG_UNREACHABLE` of commands of which nothing was appended, and nothing will be.
pub(crate) fn log_unreachable() -> Error {
    let text = "the cluster's log cannot be reached from this server; nothing was applied; try again in a moment";
    Error::new(Code::LogUnreachable, text)
}

/// Returns the `OUTCOME_UNKNOWN` of commands that may have been carried out, or may be later.
pub(crate) fn outcome_unknown() -> Error {
    let text = "it is not known yet whether this was applied, because the cluster's log has not answered; \
                repeat the request with the same `Idempotency-Key`, or read what is stored before you send it again";
    Error::new(Code::OutcomeUnknown, text)
}

fn overloaded(why: &str) -> Error {
    Error::new(Code::Overloaded, format!("{why}; nothing was applied; try again in a moment"))
}

/// Returns the error for a command that the committer may or may not have received.
fn committer_gone() -> Error {
    Error::internal("the committer's thread has ended")
}
