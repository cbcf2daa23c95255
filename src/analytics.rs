//! Analytics: pageviews in, exact figures out (`API.md` 4.8). Knows nothing of content.
//!
//! One thread owns what changes: it takes pageviews from a bounded queue, counts them, and writes them to a log of its
//! own that is synced several times a second. Days that are over are folded into parts: what their pageviews add up to,
//! by site and hour and page and referrer, without visitors. This is exact, since visitors of several days add up.
//! A report adds the parts of its days to what is being counted.
//!
//! Nothing here writes or logs an address or a user agent.

mod agent;
mod codec;
mod counting;
mod country;
mod delete;
mod event;
mod import;
mod names;
mod part;
mod parts;
mod period;
mod record;
mod report;
mod rollup;
mod salts;
mod session;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::log::{Log, LogOptions};
use crate::model::error::{Code, Error, Result};
use crate::model::time::Millis;
use counting::Traffic;
use country::Countries;
use delete::Deletion;
use names::Names;
use parts::Parts;
use salts::Salts;
use worker::{Job, Worker};

pub use event::{Event, Hit};
pub use import::{Import, ImportOutcome};
pub use report::Report;

/// How many pageviews may wait to be counted; more are dropped.
const QUEUE: usize = 65_536;
/// The log holds a day: its segments are small.
const FIRST_SEGMENT_BYTES: u64 = 1 << 20;
const SEGMENT_BYTES: u64 = 16 << 20;
/// How long a question waits for the pageviews before it to be counted, at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is told who asks when it is over.
const CLOSED: &str = "the server is shutting down; try again in a moment";

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// How analytics are kept.
#[derive(Clone)]
pub struct AnalyticsOptions {
    /// The folder of their data.
    pub folder: PathBuf,
    /// The hosts whose pageviews are counted.
    pub sites: Vec<String>,
    /// A file in MaxMind's format.
    pub country_file: Option<PathBuf>,
    /// How many days are kept; all if there is none.
    pub retention_days: Option<u32>,
    /// The time by which pageviews are counted.
    pub clock: Clock,
}

impl AnalyticsOptions {
    /// The analytics of a data folder, which count no site, keep all days and go by the system's clock.
    pub fn in_folder(data: &Path) -> AnalyticsOptions {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis);
        AnalyticsOptions {
            folder: data.join("analytics"),
            sites: Vec::new(),
            country_file: None,
            retention_days: None,
            clock: Arc::new(now),
        }
    }
}

/// Why analytics cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the analytics in {folder} cannot be opened: {cause}")]
pub struct OpenError {
    folder: String,
    cause: String,
}

/// The analytics of one data folder. Clones share it.
#[derive(Clone)]
pub struct Analytics {
    handle: Arc<Handle>,
}

/// The way to the thread; it ends when nobody has this any more.
struct Handle {
    shared: Arc<Shared>,
    queue: Mutex<Option<SyncSender<Job>>>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    folder: PathBuf,
    names: Names,
    state: RwLock<State>,
    countries: Countries,
    clock: Clock,
    /// One import at a time is put in place.
    importing: Mutex<()>,
    dropped: AtomicU64,
}

/// What reports are made from.
struct State {
    traffic: Traffic,
    parts: Parts,
    /// The time of the last pageview: none is counted before it.
    last: Millis,
}

impl Analytics {
    /// Opens the folder and counts what its log holds.
    ///
    /// # Errors
    /// [`OpenError`] if it is in use or cannot be read.
    pub fn open(options: &AnalyticsOptions) -> Result<Analytics, OpenError> {
        let folder = &options.folder;
        let fail = |cause: &dyn std::fmt::Display| OpenError {
            folder: folder.display().to_string(),
            cause: cause.to_string(),
        };
        let log_options =
            LogOptions { first_segment_bytes: FIRST_SEGMENT_BYTES, segment_bytes: SEGMENT_BYTES, synced_through: 0 };
        let mut log = Log::open(&folder.join("log"), log_options).map_err(|error| fail(&error))?;
        let imports = import::listed(folder).map_err(|error| fail(&error))?;
        let parts = Parts::open(&folder.join("days"), &imports).map_err(|error| fail(&error))?;
        let names = Names::default();
        let mut state = State { traffic: Traffic::default(), parts, last: Millis::MIN };
        let counted = worker::replay(&mut log, &mut state, &names, folder).map_err(|error| fail(&error))?;
        let now = (options.clock)().max(state.last);
        state.traffic.sessions.prune(now);
        let salts = Salts::open(&folder.join("salts"), now).map_err(|error| fail(&error))?;
        let countries = Countries::open(options.country_file.as_deref()).map_err(|cause| fail(&cause))?;
        tracing::info!(counted, "analytics are open");
        let (queue, jobs) = sync_channel(QUEUE);
        let shared = Arc::new(Shared {
            folder: folder.clone(),
            names,
            state: RwLock::new(state),
            countries,
            clock: Arc::clone(&options.clock),
            importing: Mutex::new(()),
            dropped: AtomicU64::new(0),
        });
        let worker = Worker::new(Arc::clone(&shared), log, salts, options);
        let thread = std::thread::Builder::new().name("analytics".to_owned()).spawn(move || worker.run(&jobs));
        let thread = thread.map_err(|error| fail(&error))?;
        let handle = Handle { shared, queue: Mutex::new(Some(queue)), worker: Mutex::new(Some(thread)) };
        Ok(Analytics { handle: Arc::new(handle) })
    }

    /// Takes a pageview: it is counted before any report that is asked for afterwards, and on disk within a second. It
    /// never waits: if more come than can be counted, they are dropped, and how many is logged.
    pub fn take(&self, hit: Hit) {
        let shared = &self.handle.shared;
        let job = Job::Hit { at: (shared.clock)(), hit: Box::new(hit) };
        let sent = self.handle.queue.lock().as_ref().map(|queue| queue.try_send(job));
        if !matches!(sent, Some(Ok(()))) {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Answers a question about the figures; `raw_query` is the query string. Takes milliseconds of a processor.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn report(&self, report: &Report, raw_query: &str) -> Result<Value> {
        let shared = &self.handle.shared;
        let now = (shared.clock)();
        let question = report.read(raw_query, now)?;
        self.settle()?;
        let state = shared.state.read();
        question.answer(&state, &shared.names, now).map_err(Error::internal)
    }

    /// Begins to import an access log of a site.
    pub fn import(&self, site: &str) -> Import {
        Import::new(self.clone(), site)
    }

    /// Deletes the figures of a site; `raw_query` names it and the days (`site`, `start`, `end`), all of them where both
    /// are left out. Answers how many pageviews these were. No report shows them any more, and no file holds them.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`; `INTERNAL` if the disk fails, when it is done at the next start or not at all.
    pub fn delete(&self, raw_query: &str) -> Result<u64> {
        let shared = &self.handle.shared;
        let (site, period) = delete::read(raw_query)?;
        let closed = || Error::new(Code::Overloaded, CLOSED);
        let queue = self.handle.queue.lock().clone().ok_or_else(closed)?;
        let _no_import = shared.importing.lock();
        let imports = import::next(&shared.folder).map_err(Error::internal)?;
        let deletion = Deletion { site: shared.names.number(&site), period, imports };
        let (done, deleted) = sync_channel(1);
        queue.send(Job::Delete { deletion, done }).map_err(|_| closed())?;
        drop(queue);
        deleted.recv().map_err(|_| closed())?.map_err(Error::internal)
    }

    /// Counts what is queued, and returns when all is on disk. Nothing is taken any more.
    pub fn close(&self) {
        self.handle.close();
    }

    /// How many pageviews were dropped since the start because more came than could be counted.
    pub fn dropped(&self) -> u64 {
        self.handle.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything that was taken is counted.
    fn settle(&self) -> Result<()> {
        let closed = || Error::new(Code::Overloaded, CLOSED);
        let queue = self.handle.queue.lock().clone().ok_or_else(closed)?;
        let (done, counted) = sync_channel(1);
        match queue.try_send(Job::Settle(done)) {
            Ok(()) => {
                // With a disk that hangs, figures are answered without the last pageviews rather than not at all.
                let _ = counted.recv_timeout(PATIENCE);
                Ok(())
            }
            Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(closed()),
        }
    }
}

impl Handle {
    fn close(&self) {
        self.queue.lock().take();
        if let Some(worker) = self.worker.lock().take()
            && worker.join().is_err()
        {
            tracing::error!("the analytics thread ended with a panic; the next start counts its log again");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}
