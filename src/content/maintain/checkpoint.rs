//! Checkpoints: writes store and index to disk when a checkpoint is due (`due.rs`), and decides how much of the log is
//! kept.
//!
//! A checkpoint shortens the next start. No acknowledgement waits for one. The log is cut at the least of three
//! numbers: the store's checkpoint, the index's manifest, and the newest verified base.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use bindery_base::BaseError;
use bindery_disk::failure;
use bindery_disk::sync;
use bindery_log::{CommitLog, FollowLog};
use bindery_model::error::{Error, Result};
use bindery_store::Store;
use parking_lot::Mutex;

use super::due::Situation;

/// The log numbers of running backups. A backup needs every record after each of its numbers.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    numbers: Vec<u64>,
}

/// A pin keeps the records after a log number until it is dropped.
pub(crate) struct Pin {
    pins: Arc<Mutex<Pins>>,
    number: u64,
}

impl Pins {
    /// Keeps the records after `number` until the pin is dropped.
    pub(crate) fn pin(pins: &Arc<Mutex<Pins>>, number: u64) -> Pin {
        pins.lock().numbers.push(number);
        Pin { pins: Arc::clone(pins), number }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let numbers = &mut self.pins.lock().numbers;
        if let Some(position) = numbers.iter().position(|number| *number == self.number) {
            numbers.swap_remove(position);
        }
    }
}

/// The maker of checkpoints. It begins a checkpoint when one is due, and runs its slow part on a thread. Only one runs
/// at a time.
pub(crate) struct Checkpointer {
    folder: PathBuf,
    store: Store,
    /// The log number at which the last checkpoint was started.
    started_at: u64,
    last_start: Instant,
    /// True if the next checkpoint is due as soon as there is a new transaction.
    is_wanted: bool,
    /// True if an index was rebuilt since the last checkpoint. Until a checkpoint names its files, a start uses the
    /// damaged ones again.
    has_rebuilt_index: bool,
    /// The number of merges when the last checkpoint was started.
    merges: u64,
    progress: Arc<CheckpointProgress>,
    pins: Arc<Mutex<Pins>>,
    thread: Option<JoinHandle<()>>,
}

/// The progress that the thread reports.
struct CheckpointProgress {
    is_running: AtomicBool,
    /// True once the server stops: the next start needs a checkpoint, and no base, which takes longer.
    is_last: AtomicBool,
    /// True if the store could not be written to the disk.
    has_lost_data: AtomicBool,
    /// The log number up to which store and index are on disk.
    checkpoint: AtomicU64,
    /// The log number of the newest verified base.
    base: AtomicU64,
    base_bytes: AtomicU64,
}

impl CheckpointProgress {
    fn has_lost_data(&self) -> bool {
        self.has_lost_data.load(Ordering::SeqCst) || sync::has_failed()
    }
}

/// The slow part of a checkpoint.
struct Work {
    folder: PathBuf,
    store: Store,
    log: Arc<dyn FollowLog>,
    number: u64,
    index: bindery_index::Checkpoint,
    is_base_due: bool,
    progress: Arc<CheckpointProgress>,
}

impl Checkpointer {
    /// Creates the checkpointer at a start. Store and index are on disk up to `checkpoint`; `base` is the log number
    /// and the size of the newest base.
    pub(crate) fn new(
        folder: PathBuf,
        store: Store,
        checkpoint: u64,
        base: Option<(u64, u64)>,
        pins: Arc<Mutex<Pins>>,
    ) -> Self {
        let (base, base_bytes) = base.unwrap_or((0, 0));
        let progress = Arc::new(CheckpointProgress {
            is_running: AtomicBool::new(false),
            is_last: AtomicBool::new(false),
            has_lost_data: AtomicBool::new(false),
            checkpoint: AtomicU64::new(checkpoint),
            base: AtomicU64::new(base),
            base_bytes: AtomicU64::new(base_bytes),
        });
        let (started_at, last_start, is_wanted, has_rebuilt_index) = (checkpoint, Instant::now(), false, false);
        let (merges, thread) = (0, None);
        Checkpointer {
            folder,
            store,
            started_at,
            last_start,
            is_wanted,
            has_rebuilt_index,
            merges,
            progress,
            pins,
            thread,
        }
    }

    /// Requests a checkpoint soon. Without it, a start would have to repeat expensive work.
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Requests a checkpoint also if there is no new transaction, because an index was rebuilt.
    pub(crate) fn want_for_index(&mut self) {
        self.has_rebuilt_index = true;
    }

    /// Returns whether the store could not be brought to the disk, so that there may be no more writes in this process.
    pub(crate) fn has_lost_data(&self) -> bool {
        self.progress.has_lost_data()
    }

    /// Starts a checkpoint if one is due. Cuts the log if the last one is finished.
    pub(crate) fn run_if_due(&mut self, log: &mut dyn CommitLog, indexes: &bindery_index::Indexes, applied: u64) {
        if self.progress.is_running.load(Ordering::SeqCst) {
            return;
        }
        self.cut_log(log);
        self.is_wanted |= failure::is_asked_for("checkpoint::is_due");
        if self.situation(log, indexes, applied).is_due() {
            let work = self.begin(log, indexes, applied);
            let started = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || work.run());
            match started {
                Ok(thread) => self.thread = Some(thread),
                Err(error) => {
                    self.progress.is_running.store(false, Ordering::SeqCst);
                    tracing::error!(%error, "the thread of a checkpoint could not be started");
                }
            }
        }
    }

    /// Writes a checkpoint and waits for it.
    pub(crate) fn run_now(
        &mut self,
        log: &mut dyn CommitLog,
        indexes: &bindery_index::Indexes,
        applied: u64,
    ) -> Result<()> {
        self.wait();
        if self.has_rebuilt_index || applied > self.progress.checkpoint.load(Ordering::SeqCst) {
            let work = self.begin(log, indexes, applied);
            // A panic must not end the committer. The progress shows what was completed.
            if catch_unwind(AssertUnwindSafe(move || work.run())).is_err() {
                tracing::error!("a checkpoint panicked; the log is kept");
            }
            if self.progress.checkpoint.load(Ordering::SeqCst) < applied {
                return Err(Error::internal("the checkpoint was not written"));
            }
        }
        self.cut_log(log);
        Ok(())
    }

    /// Writes the checkpoint of a shutdown, and gives up a base that is being written. An error is only logged, because
    /// the next start replays the log.
    pub(crate) fn run_last(&mut self, log: &mut dyn CommitLog, indexes: &bindery_index::Indexes, applied: u64) {
        self.progress.is_last.store(true, Ordering::SeqCst);
        if self.run_now(log, indexes, applied).is_err() {
            tracing::warn!("the server stops without a checkpoint; the next start replays the log");
        }
    }

    fn begin(&mut self, log: &dyn CommitLog, indexes: &bindery_index::Indexes, applied: u64) -> Work {
        self.wait();
        let is_base_due =
            self.situation(log, indexes, applied).is_base_due() || failure::is_asked_for("checkpoint::base_is_due");
        self.started_at = applied;
        self.last_start = Instant::now();
        (self.is_wanted, self.has_rebuilt_index) = (false, false);
        self.merges = merges(indexes);
        self.progress.is_running.store(true, Ordering::SeqCst);
        Work {
            folder: self.folder.clone(),
            store: self.store.clone(),
            log: log.follow(),
            number: self.started_at,
            index: indexes.freeze(self.started_at),
            is_base_due,
            progress: Arc::clone(&self.progress),
        }
    }

    fn situation(&self, log: &dyn CommitLog, indexes: &bindery_index::Indexes, applied: u64) -> Situation {
        let base = self.progress.base.load(Ordering::SeqCst);
        Situation {
            is_changed: applied > self.started_at,
            is_wanted: self.is_wanted,
            has_rebuilt_index: self.has_rebuilt_index,
            has_merged: merges(indexes) > self.merges,
            waited: self.last_start.elapsed(),
            log_bytes: log.bytes_since(self.started_at),
            log_bytes_since_base: log.bytes_since(base),
            needs_base: log.needs_base(base),
            base_bytes: self.progress.base_bytes.load(Ordering::SeqCst),
        }
    }

    fn wait(&mut self) {
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("a checkpoint panicked; the log is kept");
        }
    }

    fn cut_log(&self, log: &mut dyn CommitLog) {
        let checkpoint = self.progress.checkpoint.load(Ordering::SeqCst);
        let base = self.progress.base.load(Ordering::SeqCst);
        let pinned = self.pins.lock().numbers.iter().copied().min().unwrap_or(u64::MAX);
        let keep_from = checkpoint.min(base).min(pinned) + 1;
        if keep_from > log.first()
            && let Err(error) = log.trim(keep_from)
        {
            tracing::warn!(%error, "old segments of the log could not be removed");
        }
    }
}

impl Work {
    fn run(self) {
        let _running = CheckpointGuard(Arc::clone(&self.progress));
        let started = Instant::now();
        let (number, is_base_due) = (self.number, self.is_base_due);
        let Work { folder, store, log, progress, .. } = &self;
        let (folder, store, log, progress) = (folder.clone(), store.clone(), Arc::clone(log), Arc::clone(progress));
        match self.write() {
            Ok(()) => tracing::debug!(number, elapsed = ?started.elapsed(), "checkpoint written"),
            Err(error) => tracing::error!(%error, "a checkpoint failed; the log is kept"),
        }
        // No caller waits for a base.
        bindery_index::priority::lower();
        let is_wanted = || !progress.has_lost_data() && !progress.is_last.load(Ordering::SeqCst);
        if is_base_due && is_wanted() {
            match write_base(&folder, &store, &*log, &is_wanted) {
                _ if progress.has_lost_data() => {
                    tracing::error!("a sync failed while a base was written; the log is kept");
                }
                Ok(header) => {
                    progress.base.store(header.number, Ordering::SeqCst);
                    progress.base_bytes.store(header.bytes, Ordering::SeqCst);
                    tracing::info!(number = header.number, bytes = header.bytes, "base written");
                }
                Err(BaseError::NotWanted) => {
                    tracing::info!("a base was given up, since the server stops; the log is kept");
                }
                Err(error) => tracing::error!(%error, "a base could not be written; the log is kept"),
            }
        }
    }

    /// Writes store and index. After a failed sync of any file, this process writes nothing more, and the log is kept.
    fn write(self) -> std::result::Result<(), String> {
        failure::point("checkpoint::store").map_err(|error| error.to_string())?;
        self.store.checkpoint().map_err(|error| {
            self.progress.has_lost_data.fetch_or(error.ends_writing(), Ordering::SeqCst);
            error.to_string()
        })?;
        failure::point("checkpoint::index").map_err(|error| error.to_string())?;
        self.index.write().map_err(|error| error.to_string())?;
        if self.progress.has_lost_data() {
            return Err("a sync failed meanwhile".to_owned());
        }
        self.progress.checkpoint.store(self.number, Ordering::SeqCst);
        Ok(())
    }
}

/// Returns the number of merges since the start.
fn merges(indexes: &bindery_index::Indexes) -> u64 {
    indexes.merges().load(Ordering::Relaxed)
}

fn write_base(
    folder: &Path,
    store: &Store,
    log: &dyn FollowLog,
    is_wanted: &dyn Fn() -> bool,
) -> std::result::Result<bindery_base::Header, BaseError> {
    let failed = |source| BaseError::Io { action: "write a base in", file: folder.to_owned(), source };
    failure::point("checkpoint::base").map_err(failed)?;
    bindery_base::write_next(folder, store, log, is_wanted)
}

/// Marks the checkpoint as finished when it is dropped, even by a panic, so that the next one can run.
struct CheckpointGuard(Arc<CheckpointProgress>);

impl Drop for CheckpointGuard {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::SeqCst);
    }
}
