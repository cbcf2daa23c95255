//! The thread that writes the log. A slow disk holds up neither counting nor reports: they put records into a queue
//! that is bounded in bytes.
//!
//! A record is handed to the disk at most [`SYNC_INTERVAL`] after it was queued, unless an earlier sync is not
//! finished. In addition to records and syncs, this thread only does the work on the log for midnight, deletions and
//! backups.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bindery_disk::failure;
use bindery_log::{Log, LogError};

use super::storage_error::StorageError;

/// The time that a record may wait for its sync to begin.
const SYNC_INTERVAL: Duration = Duration::from_millis(250);
/// The number of bytes of records that may wait to be written.
const MAX_WAITING_BYTES: usize = 32 << 20;
/// The time between two attempts on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

type Work = Box<dyn FnOnce(Option<&mut Log>) + Send>;

enum Job {
    Append(Vec<u8>),
    Work(Work),
}

/// The queue of the thread, and its shutdown.
pub(super) struct LogWriter {
    /// The queue; `None` once it is closed.
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    status: Arc<Status>,
}

/// The status that the thread reports.
#[derive(Debug, Default)]
struct Status {
    waiting_bytes: AtomicUsize,
    has_failed: AtomicBool,
    is_closing: AtomicBool,
    synced_through: AtomicU64,
}

impl LogWriter {
    /// Starts the thread.
    pub(super) fn start(log: Log) -> io::Result<LogWriter> {
        let status = Arc::new(Status { synced_through: AtomicU64::new(log.last()), ..Status::default() });
        let (queue, jobs) = channel();
        let shared = Arc::clone(&status);
        let run = move || {
            WriterState {
                log,
                status: shared,
                backlog: VecDeque::new(),
                has_unsynced: false,
                synced_at: Instant::now(),
            }
            .run(&jobs)
        };
        let thread = std::thread::Builder::new().name("analytics-log".to_owned()).spawn(run)?;
        Ok(LogWriter { queue: Some(queue), thread: Some(thread), status })
    }

    /// Queues a record. Returns `false`, and queues nothing, if the queue is full or the disk has failed.
    pub(super) fn append(&self, record: Vec<u8>) -> bool {
        let bytes = record.len();
        if self.status.has_failed.load(Ordering::Acquire)
            || self.status.waiting_bytes.load(Ordering::Acquire) + bytes > MAX_WAITING_BYTES
        {
            return false;
        }
        self.status.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.queue.as_ref().is_some_and(|queue| queue.send(Job::Append(record)).is_ok())
    }

    /// Runs `work` on the log, after everything that was queued before, and waits for it. Fails while the disk is full.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Log) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (reply, done) = sync_channel(1);
        let work = Box::new(move |log: Option<&mut Log>| {
            let _ = reply.send(log.map_or(Err(StorageError::NoRoom), work));
        });
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(Job::Work(work)).is_ok());
        let result = if sent { done.recv().ok() } else { None };
        result.unwrap_or(Err(StorageError::Log(LogError::Stopped)))
    }

    /// Returns the number of the newest record that is known to be on disk.
    pub(super) fn synced_through(&self) -> u64 {
        self.status.synced_through.load(Ordering::Acquire)
    }
}

impl Drop for LogWriter {
    /// Waits until everything is on disk.
    fn drop(&mut self) {
        self.status.is_closing.store(true, Ordering::Release);
        self.queue.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the analytics log panicked; the next start counts the log again");
        }
    }
}

/// The thread's own state.
struct WriterState {
    log: Log,
    status: Arc<Status>,
    /// The records that were queued while the disk was full, in order.
    backlog: VecDeque<Vec<u8>>,
    has_unsynced: bool,
    synced_at: Instant,
}

impl WriterState {
    fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            while let Some(record) = self.backlog.pop_front() {
                self.append(&record, jobs);
            }
            let wait = SYNC_INTERVAL.saturating_sub(self.synced_at.elapsed());
            let job = match self.has_unsynced {
                false => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                true => jobs.recv_timeout(wait),
            };
            match job {
                Ok(Job::Append(record)) => self.append(&record, jobs),
                Ok(Job::Work(work)) => {
                    work(Some(&mut self.log));
                    self.has_unsynced = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.has_unsynced && self.synced_at.elapsed() >= SYNC_INTERVAL {
                self.sync();
            }
        }
        self.sync();
    }

    /// Appends a record. On a full disk it retries until there is room: the queue of waiting records is bounded, and
    /// whoever wants to work on the log is refused at once.
    fn append(&mut self, record: &[u8], jobs: &Receiver<Job>) {
        let mut is_reported = false;
        while !self.status.has_failed.load(Ordering::Acquire) {
            let appended = match failure::is_asked_for("analytics::full") {
                true => Err(StorageError::NoRoom),
                false => failure::point("analytics::append").map_err(StorageError::from),
            };
            match appended.and_then(|()| Ok(self.log.append(record)?)) {
                Ok(_) => {
                    self.has_unsynced = true;
                    break;
                }
                Err(StorageError::NoRoom | StorageError::Log(LogError::NoSpace { .. }))
                    if !self.status.is_closing.load(Ordering::Acquire) =>
                {
                    if !std::mem::replace(&mut is_reported, true) {
                        tracing::error!(
                            "the disk is full: pageviews wait to be logged, and are dropped if too many do"
                        );
                    }
                    std::thread::sleep(RETRY_INTERVAL);
                    for job in jobs.try_iter() {
                        match job {
                            Job::Append(record) => self.backlog.push_back(record),
                            Job::Work(work) => work(None),
                        }
                    }
                }
                Err(error) => self.fail(&error, "pageviews cannot be logged"),
            }
        }
        self.status.waiting_bytes.fetch_sub(record.len(), Ordering::AcqRel);
    }

    fn sync(&mut self) {
        let synced = failure::point("analytics::sync").map_err(StorageError::from);
        match synced.and_then(|()| Ok(self.log.sync()?)) {
            Ok(()) => self.status.synced_through.store(self.log.last(), Ordering::Release),
            Err(error) => self.fail(&error, "pageviews cannot be synced to disk"),
        }
        self.has_unsynced = false;
        self.synced_at = Instant::now();
    }

    /// Ends writing: pageviews are dropped from now on, until a restart.
    fn fail(&self, error: &StorageError, what: &str) {
        if !self.status.has_failed.swap(true, Ordering::AcqRel) {
            tracing::error!(%error, "{what}; pageviews are dropped until the server is started again");
        }
    }
}
