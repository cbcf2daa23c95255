//! Appending a group: the protocol that makes it certain, or says that it is not.
//!
//! An append is an *attempt* that runs in the background until its outcome is known: put the group under the next name
//! unless the name exists; if the answer is anything but success, read the name; if nothing is there, put the same
//! bytes again. A caller that stops waiting leaves the attempt running if a put may still arrive, since nothing else
//! can be decided before that is known.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::error::{AppendError, ClusterError};
use crate::group::{Group, GroupError, MAX_GROUP_BYTES};
use crate::id::random_bytes;
use crate::log::{Log, LogShared, Look};
use crate::objects::{PutError, runtime};
use crate::position::Position;

/// The pauses of an append. A test that has thousands of errors makes them shorter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    /// The interval at which the caller is asked to go on waiting.
    pub(crate) ask: Duration,
    /// The first pause between a put or a look and the next one. Each further one is twice as long.
    pub(crate) first: Duration,
    /// The longest pause.
    pub(crate) longest: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        let [ask, first, longest] = [50, 50, 2_000].map(Duration::from_millis);
        Pauses { ask, first, longest }
    }
}

/// The number of reads after which bytes that are no group count as somebody else's.
const READS_OF_NO_GROUP: usize = 3;

/// The progress of an append.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Since the call began.
    pub elapsed: Duration,
    /// True if a put was sent whose outcome is not known. Otherwise the append can be given up.
    pub may_be_appended: bool,
    /// The last error, if there was one.
    pub error: Option<String>,
}

type Outcome = Result<Position, AppendError>;

/// An append that is on its way. Dropping it sends nothing more.
pub(crate) struct Attempt {
    outcome: Receiver<Outcome>,
    progress: Arc<Mutex<Progress>>,
    task: AbortHandle,
    pauses: Pauses,
}

#[derive(Default)]
struct Progress {
    /// Nobody waits any more, and nothing may be sent.
    is_cancelled: bool,
    /// A put is on its way now.
    is_sending: bool,
    /// A put was sent whose outcome is not known.
    may_be_appended: bool,
    error: Option<Arc<ClusterError>>,
}

impl Log {
    /// Appends records behind a position as one group, and makes them durable. Returns the position behind it. Calls
    /// `waiting` about every 50 ms; if it breaks, the append is given up, which ends in [`AppendError::Unreachable`] if
    /// nothing can have been appended, and in [`AppendError::Unknown`] otherwise.
    ///
    /// # Errors
    /// See [`AppendError`]: each variant states what happened. After [`AppendError::Unknown`] only [`Log::resume`] can
    /// find out, and every other append fails with [`AppendError::Unknown`] until it has.
    pub fn append(
        &self,
        after: &Position,
        records: &[Vec<u8>],
        term: u64,
        waiting: &mut dyn FnMut(Wait) -> ControlFlow<()>,
    ) -> Result<Position, AppendError> {
        // A group without records would be the seal.
        if records.is_empty() { Ok(*after) } else { self.append_group(after, records, term, waiting) }
    }

    fn append_group(
        &self,
        after: &Position,
        records: &[Vec<u8>],
        term: u64,
        waiting: &mut dyn FnMut(Wait) -> ControlFlow<()>,
    ) -> Result<Position, AppendError> {
        let mut pending = self.pending.lock();
        if pending.is_some() {
            return Err(AppendError::Unknown("an earlier append has not ended".to_owned()));
        }
        let group = self.shared.next_group(after, records, term)?;
        let attempt = Attempt::start(&self.shared, after.seq, &group)?;
        wait(&mut pending, attempt, waiting)
    }

    /// Appends the seal behind a position, which ends the history: no node reads what is behind it, so none appends
    /// there.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn seal(
        &self,
        after: &Position,
        waiting: &mut dyn FnMut(Wait) -> ControlFlow<()>,
    ) -> Result<Position, AppendError> {
        self.append_group(after, &[], 0, waiting)
    }

    /// Goes on with the append whose outcome was [`AppendError::Unknown`]. `None` if there is none.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn resume(&self, waiting: &mut dyn FnMut(Wait) -> ControlFlow<()>) -> Option<Result<Position, AppendError>> {
        let mut pending = self.pending.lock();
        let attempt = pending.take()?;
        Some(wait(&mut pending, attempt, waiting))
    }
}

/// Waits for the outcome of an attempt, or keeps it in `pending`.
fn wait(
    pending: &mut Option<Attempt>,
    attempt: Attempt,
    waiting: &mut dyn FnMut(Wait) -> ControlFlow<()>,
) -> Result<Position, AppendError> {
    let start = Instant::now();
    loop {
        match attempt.outcome.recv_timeout(attempt.pauses.ask) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => {}
            // The task has panicked, which is a bug. What it sent is not known.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(AppendError::Unknown("the append ended unexpectedly".to_owned()));
            }
        }
        // The lock is not held during the call, which may take long.
        let progress = attempt.progress.lock().to_wait(start.elapsed());
        if waiting(progress).is_continue() {
            continue;
        }
        let error = {
            let mut progress = attempt.progress.lock();
            let may_be_appended = progress.may_be_appended || progress.is_sending;
            progress.is_cancelled = !may_be_appended;
            if may_be_appended { Err(progress.to_text()) } else { Ok(progress.error.clone()) }
        };
        if let Ok(outcome) = attempt.outcome.try_recv() {
            return outcome;
        }
        return Err(match error {
            Ok(error) => AppendError::Unreachable(error.unwrap_or_else(|| Arc::new(not_begun()))),
            Err(text) => {
                *pending = Some(attempt);
                AppendError::Unknown(text)
            }
        });
    }
}

fn not_begun() -> ClusterError {
    ClusterError::System("the append was given up before it began".to_owned())
}

impl Progress {
    fn to_wait(&self, elapsed: Duration) -> Wait {
        let error = self.error.as_ref().map(ToString::to_string);
        Wait { elapsed, may_be_appended: self.may_be_appended || self.is_sending, error }
    }

    fn to_text(&self) -> String {
        self.error.as_ref().map_or_else(|| "the storage has not answered yet".to_owned(), ToString::to_string)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Attempt {
    /// Begins to append a group behind the one with the sequence number `after`.
    fn start(shared: &Arc<LogShared>, after: u64, group: &Group) -> Result<Attempt, AppendError> {
        let runtime = runtime().map_err(|error| AppendError::Unreachable(Arc::new(error)))?;
        let (bytes, chain) = group.encode();
        let (sender, outcome) = sync_channel(1);
        let progress = Arc::new(Mutex::new(Progress::default()));
        let sending = Sending {
            shared: Arc::clone(shared),
            after,
            position: group.position(chain),
            bytes: bytes.into(),
            progress: Arc::clone(&progress),
        };
        let task = runtime.spawn(sending.run(sender)).abort_handle();
        Ok(Attempt { outcome, progress, task, pauses: shared.objects.pauses })
    }
}

/// The part of an attempt that runs in the background.
struct Sending {
    shared: Arc<LogShared>,
    /// The sequence number of the group before.
    after: u64,
    /// The position behind the group.
    position: Position,
    bytes: Bytes,
    progress: Arc<Mutex<Progress>>,
}

impl Sending {
    async fn run(self, outcome: SyncSender<Outcome>) {
        let mut pause = self.shared.objects.pauses.first;
        let mut reads_of_no_group = 0;
        loop {
            let result = match self.put().await {
                ControlFlow::Break(result) => Some(result),
                ControlFlow::Continue(true) => self.look(&mut pause, &mut reads_of_no_group).await,
                ControlFlow::Continue(false) => None,
            };
            if let Some(result) = result {
                let _ = outcome.send(result);
                return;
            }
            self.sleep(&mut pause).await;
        }
    }

    /// Puts the group once. Continues with whether the name has to be read.
    async fn put(&self) -> ControlFlow<Outcome, bool> {
        {
            let mut progress = self.progress.lock();
            if progress.is_cancelled {
                return ControlFlow::Break(Err(AppendError::Unreachable(Arc::new(not_begun()))));
            }
            progress.is_sending = true;
        }
        let result = self.put_in_folder().await;
        let mut progress = self.progress.lock();
        // Until the caller has the outcome, it must not take the group for one that was never sent.
        progress.is_sending = result.is_ok();
        match result {
            Ok(()) => ControlFlow::Break(Ok(self.position)),
            // Nothing came of this put; an earlier one may still arrive.
            Err(PutError::Refused(error)) if !progress.may_be_appended => {
                ControlFlow::Break(Err(AppendError::Unreachable(Arc::new(error))))
            }
            Err(PutError::NotSent(error) | PutError::Refused(error)) => {
                progress.error = Some(Arc::new(error));
                ControlFlow::Continue(progress.may_be_appended)
            }
            Err(PutError::Exists(error) | PutError::Unknown(error)) => {
                progress.may_be_appended = true;
                progress.error = Some(Arc::new(error));
                ControlFlow::Continue(true)
            }
        }
    }

    /// Over `file://`, refuses to put into a folder that is not, or no longer, the cluster's.
    async fn put_in_folder(&self) -> Result<(), PutError> {
        self.shared.check_folder(self.after).await.map_err(PutError::Refused)?;
        self.shared.objects.create(&self.shared.name(self.position.seq), self.bytes.clone()).await?;
        self.shared.check_folder(self.after).await.map_err(PutError::Unknown)
    }

    /// Reads the name until it is known what is there. `None`: nothing, so put the same bytes again.
    async fn look(&self, pause: &mut Duration, reads_of_no_group: &mut usize) -> Option<Outcome> {
        let seq = self.position.seq;
        loop {
            match self.shared.look(seq).await {
                Ok(Look::Content(bytes)) if bytes == self.bytes => match self.shared.objects.wait_until_durable().await
                {
                    Ok(()) => return Some(Ok(self.position)),
                    Err(error) => self.progress.lock().error = Some(Arc::new(error)),
                },
                Ok(Look::Content(bytes)) => match Group::decode(&bytes) {
                    Ok(_) | Err(GroupError::NewerVersion(_)) => return Some(Err(AppendError::Conflict { seq })),
                    Err(GroupError::Damaged(_)) if *reads_of_no_group >= READS_OF_NO_GROUP => {
                        return Some(Err(AppendError::Conflict { seq }));
                    }
                    Err(GroupError::Damaged(_)) => *reads_of_no_group += 1,
                },
                Ok(Look::Removed) => return Some(Err(AppendError::Removed { seq })),
                Ok(Look::Missing) => return None,
                Err(error) => self.progress.lock().error = Some(Arc::new(error)),
            }
            self.sleep(pause).await;
        }
    }

    /// Sleeps, and doubles the next pause.
    async fn sleep(&self, pause: &mut Duration) {
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(self.shared.objects.pauses.longest);
    }
}

impl LogShared {
    fn next_group(&self, after: &Position, records: &[Vec<u8>], term: u64) -> Result<Group, AppendError> {
        let system = |error: getrandom::Error| AppendError::Unreachable(Arc::new(error.into()));
        let bytes = records.iter().map(|record| record.len() as u64 + 4).sum();
        // Checked before the records are copied, with room for the header.
        if bytes > MAX_GROUP_BYTES - HEADER_ROOM {
            return Err(AppendError::TooLarge { bytes, limit: MAX_GROUP_BYTES - HEADER_ROOM });
        }
        Ok(Group {
            history: self.history.id,
            seq: after.seq.saturating_add(1),
            first: after.number.saturating_add(1),
            records: records.to_vec(),
            previous: after.chain,
            nonce: random_bytes().map_err(system)?,
            writer: self.node.clone(),
            term,
        })
    }
}

/// More than everything but records takes in a group.
const HEADER_ROOM: u64 = 1024;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::tests::memory_log;

    #[test]
    fn a_group_that_was_stored_counts_as_sent_until_the_caller_has_the_outcome() {
        let (_store, log, start) = memory_log();
        let group = log.shared.next_group(&start, &[b"one".to_vec()], 1).unwrap();
        let (bytes, chain) = group.encode();
        let (position, progress) = (group.position(chain), Arc::new(Mutex::new(Progress::default())));
        let shared = Arc::clone(&log.shared);
        let sending =
            Sending { shared, after: start.seq, position, bytes: bytes.into(), progress: Arc::clone(&progress) };
        let outcome = runtime().unwrap().block_on(sending.put());
        assert!(matches!(outcome, ControlFlow::Break(Ok(appended)) if appended == position));
        // A caller that gives up at this moment would decide the same commands again.
        assert!(progress.lock().to_wait(Duration::ZERO).may_be_appended);
    }
}
