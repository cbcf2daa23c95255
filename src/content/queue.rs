//! A command on its way to the committer, and its outcome on the way back. The only way to change anything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use bindery_access::Actor;
use bindery_model::error::{Code, Error, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::command::{Command, KeepAnswer, Outcome};
use crate::data::counters::Counters;

/// The number of commands that may wait for the committer. More are refused with `OVERLOADED`.
const QUEUE_COMMANDS: usize = 1024;

/// The time that a thread of the server waits before it tries a full queue again.
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
    pub(crate) queued_at: Instant,
    /// The time at which the caller is answered that the outcome is not known; `None` for a thread of the server, which
    /// waits.
    pub(crate) deadline: Option<Instant>,
}

/// The channel on which the caller of a command waits for its outcome.
pub(crate) type Reply = oneshot::Sender<Result<Outcome>>;

/// The sending end. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: Arc<Mutex<Option<SyncSender<Job>>>>,
    counters: Arc<Counters>,
    /// The longest time that the caller of a command waits for its outcome.
    write_timeout: Duration,
}

/// The receiving end.
pub(crate) struct Jobs {
    receiver: Receiver<Job>,
    counters: Arc<Counters>,
    /// Jobs that were received while the outcome of a group was waited for.
    waiting: VecDeque<Job>,
    /// True once the queue is closed and empty.
    is_closed: bool,
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
        let (sender, receiver) = sync_channel(QUEUE_COMMANDS);
        let sender = Arc::new(Mutex::new(Some(sender)));
        let queue = Queue { sender, counters: Arc::clone(&counters), write_timeout };
        (queue, Jobs { receiver, counters, waiting: VecDeque::new(), is_closed: false })
    }

    /// Wakes the committer, which looks for what others appended. Does nothing if it is busy: then it looks anyway.
    pub(crate) fn wake(&self) {
        let _ = self.try_send(Job {
            command: Command::Wait,
            actor: None,
            keep: None,
            reply: None,
            queued_at: Instant::now(),
            deadline: None,
        });
    }

    /// Accepts no more commands. The receiver ends once it has taken those that are queued.
    pub(crate) fn close(&self) {
        self.sender.lock().take();
    }

    /// Returns whether commands are accepted.
    pub(crate) fn is_open(&self) -> bool {
        self.sender.lock().is_some()
    }

    /// Submits a command for a caller. Its outcome is durable and visible on return.
    ///
    /// # Errors
    /// The errors of the command; `OVERLOADED` if the queue is full or closed: nothing was applied.
    pub(crate) async fn submit(
        &self,
        actor: Option<Actor>,
        command: Command,
        keep: Option<KeepAnswer>,
    ) -> Result<Outcome> {
        let (reply, outcome) = oneshot::channel();
        let queued_at = Instant::now();
        let deadline = Some(queued_at + self.write_timeout);
        match self.try_send(Job { command, actor, keep, reply: Some(reply), queued_at, deadline }) {
            Ok(()) => outcome.await.map_err(|_| committer_gone())?,
            Err(QueueRejection::Full(_)) => Err(overloaded("too many writes are waiting")),
            Err(QueueRejection::Closed) => Err(shutting_down()),
            Err(QueueRejection::CommitterGone) => Err(stopped_writing()),
        }
    }

    /// Submits a command of a thread of the server, and waits while the queue is full.
    ///
    /// # Errors
    /// The errors of the command; `OVERLOADED` if the server is shutting down.
    pub(crate) fn submit_blocking(&self, command: Command) -> Result<Outcome> {
        let (reply, outcome) = oneshot::channel();
        let queued_at = Instant::now();
        let mut job = Job { command, actor: None, keep: None, reply: Some(reply), queued_at, deadline: None };
        loop {
            match self.try_send(job) {
                Ok(()) => return outcome.blocking_recv().map_err(|_| shutting_down())?,
                Err(QueueRejection::Full(back)) => job = *back,
                Err(QueueRejection::Closed | QueueRejection::CommitterGone) => return Err(shutting_down()),
            }
            std::thread::sleep(FULL_PAUSE);
        }
    }

    fn try_send(&self, job: Job) -> Result<(), QueueRejection> {
        match &*self.sender.lock() {
            None => Err(QueueRejection::Closed),
            Some(sender) => {
                // Counted before it is sent, because the committer may receive it at once.
                self.counters.queued.fetch_add(1, Ordering::Relaxed);
                sender.try_send(job).map_err(|error| {
                    self.counters.queued.fetch_sub(1, Ordering::Relaxed);
                    match error {
                        TrySendError::Full(job) => QueueRejection::Full(Box::new(job)),
                        TrySendError::Disconnected(_) => QueueRejection::CommitterGone,
                    }
                })
            }
        }
    }
}

impl Job {
    /// Answers the caller, unless it is answered already.
    pub(crate) fn answer(&mut self, outcome: Result<Outcome>) {
        if let Some(reply) = self.reply.take() {
            // The caller may have left; its command is carried out anyway.
            let _ = reply.send(outcome);
        }
    }

    /// Returns whether somebody waits for the outcome.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.reply.is_some()
    }

    /// Answers the caller with an error if it has waited too long, or if nobody may wait any more. Returns whether nobody
    /// waits for the job.
    pub(crate) fn expire(&mut self, error: &Error, is_closing: bool) -> bool {
        let is_late = self.deadline.map_or(is_closing, |deadline| deadline <= Instant::now());
        if is_late {
            self.answer(Err(error.clone()));
        }
        !self.is_waited_for()
    }
}

impl Jobs {
    /// Returns the next job, if one arrives in time.
    pub(crate) fn recv_timeout(&mut self, time: Duration) -> std::result::Result<Job, RecvTimeoutError> {
        match self.waiting.pop_front() {
            Some(job) => Ok(job),
            None => self.receiver.recv_timeout(time).inspect(|job| self.note_taken(job)),
        }
    }

    /// Returns the next job, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<Job> {
        self.waiting.pop_front().or_else(|| self.receive())
    }

    /// Answers the jobs that have waited too long while nothing can be decided. Returns whether the queue is closed, so
    /// that nobody should be waited for much longer.
    pub(crate) fn expire(&mut self, error: &Error) -> bool {
        while self.waiting.len() < QUEUE_COMMANDS
            && let Some(job) = self.receive()
        {
            self.waiting.push_back(job);
        }
        let is_closed = self.is_closed;
        self.waiting.retain_mut(|job| !job.expire(error, is_closed));
        is_closed
    }

    fn receive(&mut self) -> Option<Job> {
        match self.receiver.try_recv() {
            Ok(job) => {
                self.note_taken(&job);
                Some(job)
            }
            Err(error) => {
                self.is_closed |= error == TryRecvError::Disconnected;
                None
            }
        }
    }

    fn note_taken(&self, job: &Job) {
        self.counters.queued.fetch_sub(1, Ordering::Relaxed);
        self.counters.queue_time.observe(job.queued_at.elapsed());
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
