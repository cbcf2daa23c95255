//! The worker thread. It alone decides the order of pageviews, when a day ends, and what is written to the log.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::agent::Agents;
use super::data::AnalyticsData;
use super::deletion::Deletion;
use super::event::Hit;
use super::log_record;
use super::midnight;
use super::options::AnalyticsOptions;
use super::pageview::Pageview;
use super::period::Day;
use super::salts::Salts;
use super::storage_error::StorageError;
use crate::log::{Log, LogError};
use crate::model::time::{Millis, day_number};

/// How long a counted pageview may be in memory only.
const SYNC_INTERVAL: Duration = Duration::from_millis(250);
/// How often the worker checks whether a day is over or a salt has expired.
const TICK: Duration = Duration::from_millis(200);
/// The most pageviews in one record.
const BATCH: usize = 4_096;

/// What the worker is asked to do.
pub(super) enum Job {
    /// Count a pageview.
    Count { at: Millis, hit: Box<Hit> },
    /// Reply when everything that was queued before is counted.
    Settle(SyncSender<()>),
    /// Delete figures, and reply with the number of their pageviews. The sender holds the import lock until the reply.
    Delete { deletion: Deletion, reply: SyncSender<Result<u64, StorageError>> },
}

/// The worker's own state.
pub(super) struct Worker {
    data: Arc<AnalyticsData>,
    log: Log,
    salts: Salts,
    agents: Agents,
    sites: HashSet<String>,
    retention_days: Option<u32>,
    /// The day that is being counted.
    day: Day,
    /// The time of the last pageview or midnight. Time never goes back.
    last: Millis,
    has_unsynced: bool,
    synced_at: Instant,
    /// How many dropped pageviews were logged so far.
    logged_drops: u64,
}

impl Worker {
    pub(super) fn new(data: Arc<AnalyticsData>, log: Log, salts: Salts, options: &AnalyticsOptions) -> Worker {
        let last = data.counts.read().last;
        let day = day_number(if last == Millis::MIN { (data.clock)() } else { last });
        Worker {
            data,
            log,
            salts,
            agents: Agents::new(),
            sites: options.sites.iter().cloned().collect(),
            retention_days: options.retention_days,
            day,
            last,
            has_unsynced: false,
            synced_at: Instant::now(),
            logged_drops: 0,
        }
    }

    /// Works until all senders are gone.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        self.remove_old_days();
        loop {
            self.tick();
            let first = match jobs.recv_timeout(TICK) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.run_batch(std::iter::once(first).chain(jobs.try_iter()).take(BATCH));
        }
        self.sync();
    }

    fn run_batch(&mut self, jobs: impl Iterator<Item = Job>) {
        let mut views = Vec::new();
        let mut waiting = Vec::new();
        for job in jobs {
            match job {
                Job::Count { at, hit } => {
                    let at = self.advance(at, &mut views);
                    views.extend(self.pageview(at, &hit));
                }
                Job::Settle(reply) => waiting.push(reply),
                Job::Delete { deletion, reply } => {
                    self.count(&mut views);
                    // The caller may be gone.
                    let _ = reply.send(self.delete(deletion));
                }
            }
        }
        self.count(&mut views);
        for reply in waiting {
            let _ = reply.send(());
        }
    }

    /// Does what is due by the clock.
    fn tick(&mut self) {
        let now = (self.data.clock)().max(self.last);
        if day_number(now) > self.day {
            self.advance(now, &mut Vec::new());
        } else {
            self.advance_salts(now);
        }
        if self.has_unsynced && self.synced_at.elapsed() >= SYNC_INTERVAL {
            self.sync();
        }
        let dropped = self.data.dropped.load(Ordering::Relaxed);
        if dropped > self.logged_drops {
            tracing::warn!(pageviews = dropped - self.logged_drops, "pageviews were dropped");
            self.logged_drops = dropped;
        }
    }

    /// Advances to a time and returns it, or the last time if that is later. Counts `views`, the pageviews so far,
    /// before a new day begins.
    fn advance(&mut self, at: Millis, views: &mut Vec<Pageview>) -> Millis {
        let at = at.max(self.last);
        self.last = at;
        self.advance_salts(at);
        let today = day_number(at);
        if today > self.day {
            self.count(views);
            match midnight::begin_day(&mut self.log, &self.data, today, at) {
                Ok(()) => self.remove_old_days(),
                Err(error) => {
                    tracing::error!(%error, "the last day cannot be written to a file; the next midnight tries again");
                }
            }
            self.day = today;
        }
        at
    }

    fn advance_salts(&mut self, now: Millis) {
        if let Err(error) = self.salts.advance(now) {
            tracing::error!(%error, "a visitor salt cannot be written or destroyed");
        }
    }

    /// The pageview to count, or `None` for a site that is not counted, a robot, or a day without a salt.
    fn pageview(&mut self, at: Millis, hit: &Hit) -> Option<Pageview> {
        let (event, names) = (&hit.event, &self.data.names);
        let site = event.url.host();
        if !self.sites.contains(site) {
            return None;
        }
        let agent = self.agents.read(&hit.user_agent)?;
        let device = match agent.device {
            "unknown" => event.device_by_width().unwrap_or("unknown"),
            device => device,
        };
        let visitor = self.salts.visitor(at, &hit.address.to_string(), &hit.user_agent, site)?;
        let country = self.data.countries.find(Some(hit.address), hit.country.as_deref());
        let referrer = event.referrer_host();
        let dimensions = [referrer.as_str(), device, agent.browser, &country].map(|text| names.intern(text));
        Some(Pageview { at, site: names.intern(site), visitor, path: names.intern(&event.url.page_path()), dimensions })
    }

    /// Logs and counts pageviews. Those that cannot be logged are dropped.
    fn count(&mut self, views: &mut Vec<Pageview>) {
        if views.is_empty() {
            return;
        }
        match self.log.append(&log_record::encode_pageviews(views, &self.data.names)) {
            Ok(_) => {
                self.has_unsynced = true;
                let mut counts = self.data.counts.write();
                for view in views.drain(..) {
                    counts.traffic.add(&view, |_| true);
                    counts.last = view.at;
                }
            }
            Err(error) => {
                // A stopped log fails each time; its cause was logged the first time.
                if !matches!(error, LogError::Stopped) {
                    tracing::error!(%error, "pageviews cannot be logged");
                }
                self.data.dropped.fetch_add(views.len() as u64, Ordering::Relaxed);
                views.clear();
            }
        }
    }

    fn sync(&mut self) {
        if let Err(error) = self.log.sync()
            && !matches!(error, LogError::Stopped)
        {
            tracing::error!(%error, "pageviews cannot be synced to disk");
        }
        self.has_unsynced = false;
        self.synced_at = Instant::now();
    }

    /// Deletes a site's figures of a period and returns how many pageviews they had. Once the record of what is left is
    /// on disk, the deletion is done: a restart finishes it.
    fn delete(&mut self, deletion: Deletion) -> Result<u64, StorageError> {
        let data = &*self.data;
        let (left, mut pageviews) = {
            let counts = data.counts.read();
            let mut left = counts.traffic.clone();
            left.remove(deletion.site, deletion.period);
            (left, counts.traffic.pageviews())
        };
        pageviews -= left.pageviews();
        self.log.begin_segment()?;
        let number = self.log.append(&log_record::encode_deletion(self.last, &left, &deletion, &data.names))?;
        self.log.sync()?;
        let prepared = deletion.prepare(number, &data.counts.read().day_files, &data.names, &data.folder)?;
        pageviews += prepared.pageviews;
        {
            let mut counts = data.counts.write();
            counts.traffic = left;
            prepared.finish(&mut counts.day_files, &data.names, &data.folder)?;
        }
        self.log.remove_before(number)?;
        tracing::info!(pageviews, "figures were deleted");
        Ok(pageviews)
    }

    fn remove_old_days(&self) {
        let Some(days) = self.retention_days else { return };
        let today = day_number((self.data.clock)());
        let removed = self.data.counts.write().day_files.remove(|key| key.day <= today - i64::from(days));
        if let Err(error) = removed {
            tracing::error!(%error, "old days cannot be removed");
        }
    }
}
