//! Analytics: pageviews in, exact figures out (`API.md` 4.8). Takes and returns typed values; knows nothing of content,
//! HTTP or JSON.
//!
//! One thread owns what changes: it takes pageviews from a bounded queue, counts them, and writes them to a log of its
//! own, which is synced several times a second. Days that are over go into day files: what their pageviews add up to by
//! site and hour, page, referrer and so on, without visitors. This is exact, since visitors of several days add up. A
//! report adds up the day files of its period and what is being counted.
//!
//! No address and no user agent is ever written or logged.

mod access_log;
mod agent;
mod check;
mod codec;
mod country;
mod data;
mod day_file;
mod day_files;
mod deletion;
mod event;
mod figures;
mod handle;
mod import;
mod import_list;
mod log_record;
mod midnight;
mod names;
mod open_day;
mod options;
mod pageview;
mod period;
mod replay;
mod rollup;
mod rollup_codec;
mod salts;
mod series;
mod session;
mod storage_error;
mod traffic;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::log::{Log, LogOptions};
use crate::model::error::Result;
use crate::model::time::Millis;
use country::Countries;
use data::{AnalyticsData, Counts};
use day_files::DayFiles;
use handle::WorkerHandle;
use import_list::ImportList;
use names::Names;
use salts::Salts;
use traffic::Traffic;
use worker::Worker;

pub use check::{Checked, check};
pub use event::{Event, Hit, PageUrl, page_path};
pub use figures::{Breakdown, Comparison, Figures, Metric, PageCount, ReferrerTrend, Totals, VisitorCount};
pub use import::{BadLine, Import, ImportOutcome};
pub use options::{AnalyticsOptions, Clock};
pub use pageview::Dimension;
pub use period::{Day, Period};
pub use series::{Interval, SeriesPoint};

/// The log holds about a day, so its segments are small.
const FIRST_SEGMENT_BYTES: u64 = 1 << 20;
const SEGMENT_BYTES: u64 = 16 << 20;

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
    worker: Arc<WorkerHandle>,
}

impl Analytics {
    /// Opens the folder and counts what its log holds.
    ///
    /// # Errors
    /// [`OpenError`] if another process has it open or it cannot be read.
    pub fn open(options: &AnalyticsOptions) -> Result<Analytics, OpenError> {
        let folder = &options.folder;
        let fail = |cause: &dyn std::fmt::Display| OpenError {
            folder: folder.display().to_string(),
            cause: cause.to_string(),
        };
        let log_options =
            LogOptions { first_segment_bytes: FIRST_SEGMENT_BYTES, segment_bytes: SEGMENT_BYTES, synced_through: 0 };
        let mut log = Log::open(&folder.join("log"), log_options).map_err(|error| fail(&error))?;
        let imports = ImportList::read(folder).map_err(|error| fail(&error))?.numbers();
        let day_files = DayFiles::open(&folder.join("days"), &imports).map_err(|error| fail(&error))?;
        let names = Names::default();
        let mut counts = Counts { traffic: Traffic::default(), day_files, last: Millis::MIN };
        let pageviews = replay::replay(&mut log, &mut counts, &names, folder).map_err(|error| fail(&error))?;
        let now = (options.clock)().max(counts.last);
        counts.traffic.sessions.drop_ended(now);
        let salts = Salts::open(&folder.join("salts"), now).map_err(|error| fail(&error))?;
        let countries = Countries::open(options.country_file.as_deref()).map_err(|cause| fail(&cause))?;
        tracing::info!(pageviews, "analytics are open; pageviews of the log were counted");
        let data = Arc::new(AnalyticsData {
            folder: folder.clone(),
            names,
            counts: RwLock::new(counts),
            countries,
            clock: Arc::clone(&options.clock),
            import_lock: Mutex::new(()),
            dropped: AtomicU64::new(0),
        });
        let worker = Worker::new(Arc::clone(&data), log, salts, options);
        let worker = WorkerHandle::start(worker, data).map_err(|error| fail(&error))?;
        Ok(Analytics { worker: Arc::new(worker) })
    }

    /// The current time by the clock of the analytics.
    pub fn now(&self) -> Millis {
        (self.worker.data.clock)()
    }

    /// Queues a pageview and never waits. It is in all figures that are asked for afterwards, and on disk within a
    /// second. If more pageviews arrive than can be counted, they are dropped; the log says how many.
    pub fn submit(&self, hit: Hit) {
        self.worker.submit(hit);
    }

    /// The figures of a site, or of all sites without one. Waits until the pageviews submitted before are counted.
    ///
    /// # Errors
    /// `OVERLOADED` after [`Analytics::close`].
    pub fn figures<'a>(&'a self, site: Option<&'a str>) -> Result<Figures<'a>> {
        let now = self.now();
        self.worker.settle()?;
        Ok(Figures::new(&self.worker.data, site, now))
    }

    /// Begins to import an access log of a site.
    pub fn import(&self, site: &str) -> Import {
        Import::new(Arc::clone(&self.worker), site)
    }

    /// Deletes a site's figures of a period and returns how many pageviews they had. On return no report shows them and
    /// no file holds them.
    ///
    /// # Errors
    /// `INTERNAL` if the disk fails: then the next start finishes the deletion, or nothing is deleted. `OVERLOADED`
    /// after [`Analytics::close`].
    pub fn delete(&self, site: &str, period: Period) -> Result<u64> {
        self.worker.delete(site, period)
    }

    /// Counts what is queued. On return everything is on disk. Pageviews submitted later are dropped.
    pub fn close(&self) {
        self.worker.close();
    }

    /// How many pageviews were dropped since the start because more arrived than could be counted.
    pub fn dropped(&self) -> u64 {
        self.worker.data.dropped.load(Ordering::Relaxed)
    }
}
