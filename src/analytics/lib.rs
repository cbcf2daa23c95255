//! Analytics: pageviews, events and searches in, exact figures out (`API.md` 4.8). Its interface is typed values; it
//! does not know content, HTTP or JSON.
//!
//! One thread owns all changing data: it takes pageviews from a bounded queue, and counts them. Another thread writes
//! them to their own log, which is synced several times a second. Finished days go into day files: sums by site and
//! hour, page, referrer and so on, without visitors. The sums are exact, because visitors of several days are added up.
//! A report adds up the day files of its period and the open days.
//!
//! No address and no user agent is ever written or logged.

mod access_log;
mod agent;
mod asked_before;
mod backup;
mod bounds;
mod check;
mod checked_file;
mod codec;
mod country;
mod damage;
mod data;
mod day_file;
mod day_files;
mod day_searches;
mod deletion;
mod event;
mod event_figures;
mod figures;
mod filter;
mod filtered_figures;
mod handle;
mod import;
mod import_list;
mod links;
mod log_record;
mod log_writer;
mod midnight;
mod names;
mod open_day;
mod options;
mod pageview;
mod pending_searches;
mod period;
mod recovery;
mod repair;
mod replay;
mod rollup;
mod rollup_codec;
mod salts;
mod search;
mod search_figures;
mod search_id;
mod series;
mod session;
mod sharing;
mod start;
mod state;
mod storage_error;
mod traffic;
mod turns;
mod visit_codec;
mod visits;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_model::error::{Code, Error, Result};
use bindery_model::time::Millis;
use handle::WorkerHandle;

pub use asked_before::AskedBefore;
pub use backup::{BackupError, restore};
pub use check::{CheckReport, check};
pub use damage::Finding;
pub use event::{Countable, Event, Hit, NamedEvent, PageUrl, page_path};
pub use event_figures::{
    EventCount, EventDetails, Occurrences, PageSessionCount, PageSessionCounts, PropertyCount, SessionPage,
};
pub use figures::{Breakdown, Comparison, Figures, Metric, PageCount, ReferrerTrend, Totals, VisitorCount};
pub use filter::{FilterField, VisitFilter};
pub use import::{BadLine, Import, ImportOutcome};
pub use options::{AnalyticsOptions, Clock};
pub use pageview::Dimension;
pub use period::{Day, Period};
pub use repair::repair;
pub use salts::{SharedSalts, destroy_salts};
pub use search::{ResultClick, TrackedSearch, normalized_question};
pub use search_figures::{SearchCount, SearchReport};
pub use search_id::SearchId;
pub use series::{Interval, SeriesPoint};
pub use sharing::{Assembly, Batch, Shared, SharedFiles, SharedUpTo};
pub use start::OpenError;

/// The analytics of one data folder. Clones share it.
#[derive(Clone)]
pub struct Analytics {
    opened: OpenOutcome,
}

#[derive(Clone)]
enum OpenOutcome {
    Yes(Arc<WorkerHandle>),
    /// The analytics could not be opened: nothing is counted, and every report is refused. Content does not depend on
    /// it.
    No(Arc<ClosedAnalytics>),
}

/// The data that is left when the analytics could not be opened.
struct ClosedAnalytics {
    options: AnalyticsOptions,
    dropped: AtomicU64,
}

impl Analytics {
    /// Opens the folder and counts the records of its log. Damage is logged, with advice. Reports that need damaged
    /// data fail, and everything else works.
    ///
    /// # Errors
    /// [`OpenError`] if another process has it open or it cannot be read.
    pub fn open(options: &AnalyticsOptions) -> Result<Analytics, OpenError> {
        Ok(Analytics { opened: OpenOutcome::Yes(Arc::new(start::open(options)?)) })
    }

    /// Like [`Analytics::open`], for a server, which must not stop because of the analytics. If they cannot be opened,
    /// that is logged, nothing is counted, and every report is refused until a restart.
    ///
    /// # Errors
    /// [`OpenError`] if the country file of the configuration cannot be read.
    pub fn open_or_refuse(options: &AnalyticsOptions) -> Result<Analytics, OpenError> {
        match Analytics::open(options) {
            Err(error) if !error.is_setting() => {
                tracing::error!(
                    "{error}; no pageviews are counted until it can be read and the server is started again"
                );
                let closed = ClosedAnalytics { options: options.clone(), dropped: AtomicU64::new(0) };
                Ok(Analytics { opened: OpenOutcome::No(Arc::new(closed)) })
            }
            opened => opened,
        }
    }

    fn worker(&self) -> Result<&Arc<WorkerHandle>> {
        match &self.opened {
            OpenOutcome::Yes(worker) => Ok(worker),
            OpenOutcome::No(_) => {
                let message = "the analytics could not be opened when the server started; its log has the cause";
                Err(Error::new(Code::Internal, message))
            }
        }
    }

    /// Returns the current time by the clock of the analytics.
    pub fn now(&self) -> Millis {
        match &self.opened {
            OpenOutcome::Yes(worker) => (worker.data.clock)(),
            OpenOutcome::No(closed) => (closed.options.clock)(),
        }
    }

    /// Queues a pageview, an event, a search or a click without waiting. Figures that are requested afterwards include
    /// it. It is handed to the disk within 250 ms, or when the disk has finished its earlier work. If more arrives than
    /// can be counted, it is dropped, and the log says how much.
    ///
    /// A search counts once no other question of the visitor has followed for a second. Of one search, the first click
    /// on each of ten results counts, and none if the search does not.
    pub fn submit(&self, what: impl Into<Countable>) {
        match &self.opened {
            OpenOutcome::Yes(worker) => worker.submit(what.into()),
            OpenOutcome::No(closed) => drop(closed.dropped.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Returns an id for a search that is going to be counted. `None` if nothing can be counted now.
    pub fn issue_search(&self) -> Option<SearchId> {
        self.worker().ok()?.data.search_ids.issue(self.now())
    }

    /// Waits until everything that was submitted before is counted.
    ///
    /// # Errors
    /// `OVERLOADED` after [`Analytics::close`]; `INTERNAL` if the analytics could not be opened.
    pub fn settle(&self) -> Result<()> {
        self.worker()?.settle()
    }

    /// Like [`Analytics::settle`], for the last time: also counts the searches that have not rested.
    ///
    /// # Errors
    /// Those of [`Analytics::settle`].
    pub fn settle_last(&self) -> Result<()> {
        self.worker()?.settle_last()
    }

    /// Counts a batch that another server collected, unless it was counted before. Waits for that.
    ///
    /// # Errors
    /// `OVERLOADED` if too much waits to be counted, or after [`Analytics::close`]; `INTERNAL` if the analytics could
    /// not be opened.
    pub fn count_batch(&self, batch: Batch) -> Result<()> {
        self.worker()?.count_batch(batch)
    }

    /// Returns the number of the last batch of a sender that came since the analytics were opened. Those that came
    /// before and are not confirmed must be sent again.
    pub fn last_batch(&self, sender: &str) -> Option<u64> {
        self.worker().ok()?.data.counts.read().received.get(sender).copied()
    }

    /// Returns what another server needs in order to continue from here, if it has everything up to `since`.
    ///
    /// # Errors
    /// `OVERLOADED` after [`Analytics::close`]; `INTERNAL` if the disk fails, or the analytics could not be opened.
    pub fn share(&self, since: Option<SharedUpTo>) -> Result<Shared> {
        self.worker()?.share(since)
    }

    /// Returns the number in the id of a search that can be clicked.
    ///
    /// # Errors
    /// `NOT_FOUND` if this server did not issue the id, or it is too old; `INTERNAL` if the analytics could not be
    /// opened.
    pub fn clickable_search(&self, id: &str) -> Result<u64> {
        self.worker()?.data.search_ids.open(id, self.now())
    }

    /// Returns the questions that found something for at least five visitors in the last 30 days who saw no drafts.
    /// Does not wait: they are those of a moment ago, and none at the first call after a start.
    pub fn asked_before(&self) -> Option<Arc<AskedBefore>> {
        asked_before::newest(self.worker().ok()?)
    }

    /// Returns the numbers of searches and of clicks on their results that were counted since the start.
    pub fn searches_and_clicks(&self) -> (u64, u64) {
        match &self.opened {
            OpenOutcome::Yes(worker) => {
                (worker.data.searches.load(Ordering::Relaxed), worker.data.clicks.load(Ordering::Relaxed))
            }
            OpenOutcome::No(_) => (0, 0),
        }
    }

    /// Returns the figures of a site, or of all sites without one. Waits until all pageviews submitted before are
    /// counted.
    ///
    /// # Errors
    /// `OVERLOADED` after [`Analytics::close`]; `INTERNAL` if the analytics could not be opened.
    pub fn figures<'a>(&'a self, site: Option<&'a str>) -> Result<Figures<'a>> {
        let (now, worker) = (self.now(), self.worker()?);
        worker.settle()?;
        Ok(Figures::new(&worker.data, site, now))
    }

    /// Like [`Analytics::figures`], for the visits that match all filters. Waits for other such reports, because only
    /// one at a time reads visits.
    ///
    /// # Errors
    /// The errors of [`Analytics::figures`]; `OVERLOADED` if too many reports wait.
    pub fn filtered_figures<'a>(&'a self, site: Option<&'a str>, filters: &'a [VisitFilter]) -> Result<Figures<'a>> {
        let (now, worker) = (self.now(), self.worker()?);
        worker.settle()?;
        Figures::filtered(&worker.data, site, now, filters)
    }

    /// Reads the files of a period into memory. Should be called before [`Analytics::figures`], because nothing is
    /// counted while that reads files.
    pub fn preload(&self, period: Period) {
        if let OpenOutcome::Yes(worker) = &self.opened {
            worker.data.preload(period);
        }
    }

    /// Begins to import an access log of a site.
    ///
    /// # Errors
    /// `INTERNAL` if the analytics could not be opened.
    pub fn import(&self, site: &str) -> Result<Import> {
        Ok(Import::new(Arc::clone(self.worker()?), site))
    }

    /// Writes everything except the salts to a file, as of one moment, equal to the state that a start would find after
    /// a kill. Blocks; counting and reports continue meanwhile, imports and deletions wait.
    ///
    /// # Errors
    /// `INTERNAL` if a file cannot be read or written, or the analytics could not be opened.
    pub fn backup(&self, file: &Path) -> Result<()> {
        backup::write(self.worker()?, file)
    }

    /// Returns whether one is a clone of the other.
    pub fn is_clone_of(&self, other: &Analytics) -> bool {
        match (&self.opened, &other.opened) {
            (OpenOutcome::Yes(worker), OpenOutcome::Yes(other)) => Arc::ptr_eq(worker, other),
            (OpenOutcome::No(closed), OpenOutcome::No(other)) => Arc::ptr_eq(closed, other),
            _ => false,
        }
    }

    /// Returns whether the analytics were opened. If not, nothing is counted.
    pub fn is_open(&self) -> bool {
        matches!(self.opened, OpenOutcome::Yes(_))
    }

    /// Deletes a site's figures of a period and returns the number of deleted pageviews. On return no report shows them
    /// and no file holds them.
    ///
    /// # Errors
    /// `INTERNAL` if a file of the period or the list of imports is damaged: then nothing is deleted. `INTERNAL` if the
    /// disk fails: then the next start finishes the deletion, or nothing is deleted. `OVERLOADED`
    /// after [`Analytics::close`].
    pub fn delete(&self, site: &str, period: Period) -> Result<u64> {
        self.worker()?.delete(site, period)
    }

    /// Counts the queued pageviews. On return everything is durable. Pageviews submitted later are dropped.
    pub fn close(&self) {
        if let OpenOutcome::Yes(worker) = &self.opened {
            worker.close();
        }
    }

    /// Returns the number of pageviews that were dropped since the start because more arrived than could be counted.
    pub fn dropped(&self) -> u64 {
        let dropped = match &self.opened {
            OpenOutcome::Yes(worker) => &worker.data.dropped,
            OpenOutcome::No(closed) => &closed.dropped,
        };
        dropped.load(Ordering::Relaxed)
    }
}
