//! The handle of the worker thread: the queue to it, and its shutdown. The thread, and with it the lock of the folder,
//! lives as long as any handle.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bindery_model::error::{Code, Error, Result};
use parking_lot::Mutex;

use super::damage;
use super::data::AnalyticsData;
use super::day_file::DayFile;
use super::deletion::Deletion;
use super::event::Countable;
use super::import_list::{self, ImportList};
use super::links::{self, RecordRange};
use super::period::Period;
use super::sharing::{Batch, Shared, SharedUpTo};
use super::storage_error::StorageError;
use super::worker::{Job, Worker};

/// The number of pageviews that may be queued; further ones are dropped. A hit is at most 4 KiB, so the queue takes at
/// most 64 MiB.
const QUEUE_LENGTH: usize = 16_384;
/// The longest time that a report waits for queued pageviews to be counted.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The worker thread and the data that it shares.
pub(super) struct WorkerHandle {
    pub(super) data: Arc<AnalyticsData>,
    /// The queue; `None` once it is closed.
    queue: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl WorkerHandle {
    /// Starts the thread.
    pub(super) fn start(worker: Worker, data: Arc<AnalyticsData>) -> io::Result<WorkerHandle> {
        let (queue, jobs) = sync_channel(QUEUE_LENGTH);
        let thread = std::thread::Builder::new().name("analytics".to_owned()).spawn(move || worker.run(&jobs))?;
        Ok(WorkerHandle { data, queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Queues something without waiting. Drops it if the queue is full or closed.
    pub(super) fn submit(&self, what: Countable) {
        let job = Job::Count { at: (self.data.clock)(), what };
        let sent = self.queue.lock().as_ref().map(|queue| queue.try_send(job));
        if !matches!(sent, Some(Ok(()))) {
            self.data.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything that was queued before is counted. If the queue is full, or after [`SETTLE_TIMEOUT`],
    /// returns without an error: while a disk hangs, a report without the last pageviews is better than none.
    ///
    /// Errors: `OVERLOADED` once it is closed.
    pub(super) fn settle(&self) -> Result<()> {
        let queue = self.queue()?;
        let (reply, settled) = sync_channel(1);
        match queue.try_send(Job::Settle { is_last: false, reply }) {
            Ok(()) => {
                let _ = settled.recv_timeout(SETTLE_TIMEOUT);
                Ok(())
            }
            Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(closed()),
        }
    }

    /// Waits until everything that was queued before is counted, also the searches that have not rested.
    ///
    /// Errors: `OVERLOADED` once it is closed.
    pub(super) fn settle_last(&self) -> Result<()> {
        let queue = self.queue()?;
        let (reply, settled) = sync_channel(1);
        queue.send(Job::Settle { is_last: true, reply }).map_err(|_| closed())?;
        let _ = settled.recv_timeout(SETTLE_TIMEOUT);
        Ok(())
    }

    /// Deletes a site's figures. Imports wait meanwhile. Returns the number of deleted pageviews, once the deletion is
    /// durable.
    ///
    /// Errors: `OVERLOADED` once it is closed; `INTERNAL` if the disk fails.
    pub(super) fn delete(&self, site: &str, period: Period) -> Result<u64> {
        let queue = self.queue()?;
        let _no_import = self.data.import_lock.lock();
        let imports = ImportList::read(&self.data.folder).map_err(|error| import_list::unusable(&error))?;
        self.refuse_damaged(period)?;
        let deletion = Deletion { site: self.data.names.intern(site), period, imports_below: imports.next };
        let (reply, deleted) = sync_channel(1);
        queue.send(Job::Delete { deletion, reply }).map_err(|_| closed())?;
        // The worker ends only when every sender is dropped.
        drop(queue);
        deleted.recv().map_err(|_| closed())?.map_err(failed)
    }

    /// Links every file into a folder, as of one moment. Returns the range of log records at that moment.
    ///
    /// Errors: `OVERLOADED` once it is closed; `INTERNAL` if the disk fails.
    pub(super) fn link(&self, folder: &Path) -> Result<RecordRange> {
        let queue = self.queue()?;
        let _no_import = self.data.import_lock.lock();
        let (reply, linked) = sync_channel(1);
        queue.send(Job::Link { folder: folder.to_owned(), reply }).map_err(|_| closed())?;
        drop(queue);
        linked.recv().map_err(|_| closed())?.map_err(|error| match error {
            StorageError::NoRoom => failed(error),
            error => Error::writing(folder, &error),
        })
    }

    /// Counts a batch that another node collected, unless it was counted before.
    ///
    /// Errors: `OVERLOADED` once it is closed, and if too much waits to be counted.
    pub(super) fn count_batch(&self, batch: Batch) -> Result<()> {
        let queue = self.queue()?;
        let (reply, counted) = sync_channel(1);
        let overloaded =
            || Error::new(Code::Overloaded, "too many pageviews wait to be counted; try again in a moment");
        queue.try_send(Job::Batch { batch, reply }).map_err(|_| overloaded())?;
        drop(queue);
        counted.recv_timeout(SETTLE_TIMEOUT).map_err(|_| overloaded())
    }

    /// Returns everything that another server needs in order to go on from here, or the part of it that came after
    /// `since`. Imports and deletions wait meanwhile.
    ///
    /// Errors: `OVERLOADED` once it is closed; `INTERNAL` if the disk fails.
    pub(super) fn share(&self, since: Option<SharedUpTo>) -> Result<Shared> {
        let queue = self.queue()?;
        let links = links::folder(&self.data.folder).map_err(Error::internal)?;
        let _no_import = self.data.import_lock.lock();
        let (reply, shared) = sync_channel(1);
        queue.send(Job::Share { since, links, reply }).map_err(|_| closed())?;
        drop(queue);
        shared.recv().map_err(|_| closed())?.map_err(failed)
    }

    /// Fails once it is closed.
    ///
    /// Errors: `OVERLOADED`.
    pub(super) fn require_open(&self) -> Result<()> {
        self.queue().map(drop)
    }

    /// Closes the queue and waits until its pageviews are counted and on disk, and for an import that is being put in
    /// use. Nothing is written to the folder afterwards: another one may have its name.
    pub(super) fn close(&self) {
        {
            let _no_import = self.data.import_lock.lock();
            self.queue.lock().take();
        }
        // The lock is free again: a deletion that waits for it has a sender, and the thread ends after all senders.
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the analytics thread panicked; the next start counts its log again");
        }
    }

    /// Fails if a file of the period is damaged, because a deletion must reach all of them.
    fn refuse_damaged(&self, period: Period) -> Result<()> {
        self.data.preload(period);
        let counts = self.data.counts.read();
        for key in counts.day_files.in_period(period) {
            let read = counts.day_files.read(key, &self.data.names);
            read.and_then(|_| DayFile::read_visits(&counts.day_files.path(key)))
                .map_err(|error| damage::unreadable(key.day, &self.data.folder, &counts.day_files.path(key), &error))?;
        }
        Ok(())
    }

    fn queue(&self) -> Result<SyncSender<Job>> {
        self.queue.lock().clone().ok_or_else(closed)
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.close();
    }
}

fn failed(error: StorageError) -> Error {
    match error {
        StorageError::NoRoom => {
            Error::new(Code::Overloaded, "the disk is full; free some of it, or delete content, and try again")
        }
        error => Error::internal(error),
    }
}

fn closed() -> Error {
    Error::new(Code::Overloaded, "the server is shutting down; try again in a moment")
}
