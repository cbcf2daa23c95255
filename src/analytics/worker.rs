//! The worker thread. Only this thread decides the order of pageviews, the end of a day, and the log records.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bindery_disk::failure;
use bindery_log::Log;
use bindery_model::time::{Millis, day_number, format_millis};

use super::agent::Agents;
use super::bounds::Bounds;
use super::data::{AnalyticsData, Counts, last_expired_at};
use super::day_files::remove_if_there;
use super::deletion::Deletion;
use super::event::{Countable, CountableKind, HitKind, QueuedHit};
use super::links::{self, RecordRange};
use super::log_record;
use super::log_writer::LogWriter;
use super::midnight;
use super::options::AnalyticsOptions;
use super::pageview::{Activity, CustomEvent, Pageview};
use super::pending_searches::PendingSearches;
use super::period::Day;
use super::salts::Salts;
use super::search::{Click, QueuedSearch, Search};
use super::session::SESSION_GAP;
use super::sharing::{Batch, LastBatch, REMEMBERED, Shared, SharedFiles, SharedUpTo};
use super::storage_error::StorageError;

/// The time between two writes of the state, with the record number through which the log is durable.
const STATE_INTERVAL: Duration = Duration::from_secs(60);
/// The time between two checks for a finished day or an expired salt.
const TICK: Duration = Duration::from_millis(200);
/// The time after which ended sessions are dropped again, so that a day does not keep all of them in memory.
const SESSIONS_INTERVAL: Millis = 60_000;
/// The most pageviews in one record.
const BATCH: usize = 4_096;

/// A job for the worker.
pub(super) enum Job {
    /// Count something that happened at this time.
    Count { at: Millis, what: Countable },
    /// Count what another node collected, and reply then.
    Batch { batch: Batch, reply: SyncSender<()> },
    /// Reply when everything that was queued before is counted; if it is the last time, also the searches that have not
    /// rested.
    Settle { is_last: bool, reply: SyncSender<()> },
    /// Link all files into a folder, and reply with the records that the log has. The sender holds the import lock.
    Link { folder: PathBuf, reply: SyncSender<Result<RecordRange, StorageError>> },
    /// Reply with what was not shared before. The sender holds the import lock. `links` is a new folder for links.
    Share { since: Option<SharedUpTo>, links: PathBuf, reply: SyncSender<Result<Shared, StorageError>> },
    /// Delete figures, and reply with the number of their pageviews. The sender holds the import lock until the reply.
    Delete { deletion: Deletion, reply: SyncSender<Result<u64, StorageError>> },
}

/// The worker's own state.
pub(super) struct Worker {
    data: Arc<AnalyticsData>,
    log: LogWriter,
    salts: Salts,
    agents: Agents,
    sites: HashSet<String>,
    /// The day that is being counted.
    day: Day,
    /// The time of the last pageview or midnight. It never goes back.
    last: Millis,
    /// The time at which ended sessions were last dropped.
    sessions_dropped_at: Millis,
    bounds: Bounds,
    /// The searches that have not rested yet.
    pending: PendingSearches,
    state_saved_at: Instant,
    /// The thread that writes the state, which may take long.
    saving: Option<JoinHandle<()>>,
    /// The number of dropped pageviews that were logged so far.
    logged_drops: u64,
    is_clock_behind: bool,
    /// True if there are batches to confirm that no record has confirmed yet.
    has_new_batches: bool,
    /// The batches that came while searches of theirs or of earlier ones rested, in order.
    resting: VecDeque<RestingBatch>,
}

/// A batch that is counted except for searches that rest.
struct RestingBatch {
    sender: String,
    number: u64,
    /// The number of searches that had arrived when the batch was counted.
    searches: u64,
}

impl Worker {
    pub(super) fn new(
        data: Arc<AnalyticsData>,
        log: Log,
        salts: Salts,
        options: &AnalyticsOptions,
    ) -> io::Result<Worker> {
        let last = data.counts.read().last;
        let day = day_number(if last == Millis::MIN { (data.clock)() } else { last });
        let bounds = Bounds::of(&data.counts.read().traffic, day, &data.names);
        Ok(Worker {
            data,
            log: LogWriter::start(log)?,
            salts,
            agents: Agents::new(),
            sites: options.sites.iter().cloned().collect(),
            day,
            last,
            sessions_dropped_at: last,
            bounds,
            pending: PendingSearches::default(),
            state_saved_at: Instant::now(),
            saving: None,
            logged_drops: 0,
            is_clock_behind: false,
            has_new_batches: false,
            resting: VecDeque::new(),
        })
    }

    /// Works until all senders are dropped.
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
        let mut views = Vec::new();
        self.count_rested(Millis::MAX, &mut views);
        self.count(&mut views);
        if let Err(error) = self.close() {
            tracing::error!(%error, "the analytics were not closed in good order; the next start counts the log again");
        }
    }

    fn run_batch(&mut self, jobs: impl Iterator<Item = Job>) {
        let mut views = Vec::new();
        let (mut waiting, mut is_end) = (Vec::new(), false);
        for job in jobs {
            match job {
                Job::Count { at, what } => self.receive(at, what, &mut views),
                Job::Batch { batch, reply } => {
                    self.count_batch(batch, &mut views);
                    let _ = reply.send(());
                }
                Job::Share { since, links, reply } => {
                    self.count(&mut views);
                    let _ = reply.send(self.share(since, links));
                }
                Job::Settle { is_last, reply } => {
                    is_end |= is_last;
                    waiting.push(reply);
                }
                Job::Link { folder, reply } => {
                    self.count(&mut views);
                    let _ = reply.send(self.link(&folder));
                }
                Job::Delete { deletion, reply } => {
                    // Deletes those that wait, too.
                    self.count_rested(Millis::MAX, &mut views);
                    self.count(&mut views);
                    // The caller may be gone.
                    let _ = reply.send(self.delete(deletion));
                }
            }
        }
        if !waiting.is_empty() {
            let now = if is_end { Millis::MAX } else { (self.data.clock)() };
            self.count_rested(now, &mut views);
        }
        self.count(&mut views);
        for reply in waiting {
            let _ = reply.send(());
        }
    }

    /// Counts something, or lets it rest first.
    fn receive(&mut self, at: Millis, Countable(what): Countable, views: &mut Vec<Activity>) {
        match what {
            CountableKind::Click(click) => self.count_click(Click { at, click }, views),
            CountableKind::Hit(hit) => {
                self.count_rested(at, views);
                let at = self.advance(at, views);
                match &hit.what {
                    HitKind::Search(_) => self.let_rest(at, hit),
                    _ => views.extend(self.activity(at, &hit)),
                }
            }
        }
    }

    /// Counts a batch, unless it was counted before. Of one that another server has counted, only searches can be
    /// missing: those that rested when it shared what it had. The others are known by their numbers.
    fn count_batch(&mut self, Batch { sender, number, items }: Batch, views: &mut Vec<Activity>) {
        let (counted, received) = {
            let counts = self.data.counts.read();
            let counted = counts.batches.get(&sender).map_or(0, |last| last.number);
            (counted, counts.received.get(&sender).copied().unwrap_or(0))
        };
        if number <= received {
            return;
        }
        for (at, what) in items {
            if number > counted || what.is_search() {
                self.receive(at, what, views);
            }
        }
        self.count(views);
        let searches = self.pending.added();
        if self.pending.has_one_of_first(searches) {
            self.resting.push_back(RestingBatch { sender: sender.clone(), number, searches });
        }
        let last = LastBatch { number: number.max(counted), at: (self.data.clock)() };
        let mut counts = self.data.counts.write();
        counts.batches.insert(sender.clone(), last);
        counts.received.insert(sender, number);
        self.has_new_batches = true;
    }

    /// Does the work that is due by the clock.
    fn tick(&mut self) {
        let clock = (self.data.clock)();
        self.notice_clock(clock);
        let now = clock.max(self.last);
        let mut views = Vec::new();
        self.count_rested(now, &mut views);
        self.count(&mut views);
        if day_number(now) > self.day {
            self.advance(now, &mut Vec::new());
        } else {
            self.advance_salts(now);
        }
        // Its errors were logged when they came first.
        let _ = self.salts.retry();
        if self.last.saturating_sub(self.sessions_dropped_at) >= SESSIONS_INTERVAL {
            // By the clock, a session may have ended that a pageview which waits continues.
            self.data.counts.write().traffic.sessions.drop_ended(self.last);
            self.sessions_dropped_at = self.last;
        }
        if self.state_saved_at.elapsed() >= STATE_INTERVAL {
            self.save_state();
        }
        let dropped = self.data.dropped.load(Ordering::Relaxed);
        if dropped > self.logged_drops {
            tracing::warn!(pageviews = dropped - self.logged_drops, "pageviews were dropped");
            self.logged_drops = dropped;
        }
    }

    /// Logs once that the clock was set back by more than the gap between sessions.
    fn notice_clock(&mut self, clock: Millis) {
        let is_behind = clock.saturating_add(SESSION_GAP) < self.last;
        if is_behind && !self.is_clock_behind {
            let (clock, last) = (format_millis(clock), format_millis(self.last));
            tracing::error!(
                clock,
                last,
                "the clock was set back; until it reaches `last`, everything counts at that moment"
            );
        }
        self.is_clock_behind = is_behind;
    }

    /// Advances to a time and returns it, or the last time if that is later. Counts `views`, the pageviews so far,
    /// before a new day begins.
    fn advance(&mut self, at: Millis, views: &mut Vec<Activity>) -> Millis {
        let at = at.max(self.last);
        self.last = at;
        self.advance_salts(at);
        let today = day_number(at);
        if today > self.day {
            self.count(views);
            match midnight::begin_day(&self.log, &self.data, today, at) {
                Ok(()) => self.remove_old_days(),
                Err(error) => {
                    tracing::error!(%error, "the last day cannot be written to a file; the next midnight tries again");
                    if let Err(error) = self.data.save_state(|state| state.day = Some(today)) {
                        tracing::warn!(%error, "the state of the analytics cannot be written");
                    }
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
        if !self.data.search_ids.has_days(self.salts.days()) {
            self.data.search_ids.replace(self.salts.search_keys());
        }
    }

    /// Lets a search wait until it has rested. Drops those of unknown sites and of robots.
    fn let_rest(&mut self, at: Millis, hit: Box<QueuedHit>) {
        if !self.sites.contains(&hit.site) || self.agents.read(&hit.user_agent).is_none() {
            return;
        }
        let visitor = self.salts.visitor(at, &hit.address.to_string(), &hit.user_agent, &hit.site);
        let Some(visitor) = visitor else { return };
        if !self.pending.add(at, visitor.today, hit) {
            self.data.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts the searches that have rested at a time, each at the moment from which on it had.
    fn count_rested(&mut self, now: Millis, views: &mut Vec<Activity>) {
        while let Some((at, hit)) = self.pending.take_rested(now) {
            // With no limit, it is early for the last ones.
            let at = self.advance(at.min((self.data.clock)()), views);
            views.extend(self.activity(at, &hit));
        }
    }

    /// Counts a click, if it counts. Its search counts at once, rested or not.
    fn count_click(&mut self, Click { at, click }: Click, views: &mut Vec<Activity>) {
        self.count_rested(at, views);
        let at = self.advance(at, views);
        if let Some(hit) = self.pending.take(click.number) {
            views.extend(self.activity(at, &hit));
        }
        // All activities before it decide if it counts.
        self.count(views);
        let click = Click { at, click };
        if self.data.counts.read().traffic.accepts(&click) {
            views.push(Activity::Click(click));
            self.count(views);
        }
    }

    /// Returns the activity to count; `None` for an unknown site, a robot, or a day without a salt.
    fn activity(&mut self, at: Millis, hit: &QueuedHit) -> Option<Activity> {
        let names = &self.data.names;
        let site = hit.site.as_str();
        if !self.sites.contains(site) {
            return None;
        }
        let agent = self.agents.read(&hit.user_agent)?;
        let visitor = self.salts.visitor(at, &hit.address.to_string(), &hit.user_agent, site)?;
        let (day, site) = (day_number(at), names.intern(site));
        let (path, referrer, device_by_width, utm) = match &hit.what {
            HitKind::Search(search) => {
                // Another server may have counted it before the batch was sent again.
                if self.data.counts.read().traffic.has_search(search.number) {
                    return None;
                }
                let (keys, has_own_row) = self.bounds.search(day, site, search, names);
                let QueuedSearch { number, found, is_public, .. } = *search;
                return Some(Activity::Search(Search {
                    at,
                    site,
                    visitor,
                    number,
                    keys,
                    found,
                    is_public,
                    has_own_row,
                }));
            }
            HitKind::Event(event) => {
                let (name, properties) = self.bounds.event(day, site, event, names);
                return Some(Activity::Event(CustomEvent { at, site, visitor, name, properties }));
            }
            HitKind::Pageview { path, referrer, device_by_width, utm } => (path, referrer, device_by_width, utm),
        };
        let device = match agent.device {
            "unknown" => device_by_width.as_deref().unwrap_or("unknown"),
            device => device,
        };
        let country = self.data.countries.find(Some(hit.address), hit.country.as_deref());
        let path = self.bounds.path(day, site, path, names);
        let referrer = self.bounds.referrer(day, site, referrer, names);
        let [source, medium, campaign, content, term] = self.bounds.utm(day, site, utm, names);
        let (device, browser, country) = (names.intern(device), names.intern(agent.browser), names.intern(&country));
        let dimensions = [referrer, device, browser, country, source, medium, campaign, content, term];
        Some(Activity::Pageview(Pageview { at, site, visitor, path, dimensions }))
    }

    /// Logs and counts pageviews. Pageviews that cannot be logged are dropped.
    fn count(&mut self, views: &mut Vec<Activity>) {
        if views.is_empty() {
            return;
        }
        if !self.log.append(log_record::encode_activities(views, &self.data.names)) {
            self.data.dropped.fetch_add(views.len() as u64, Ordering::Relaxed);
            views.clear();
            return;
        }
        let mut counts = self.data.counts.write();
        for view in views.drain(..) {
            // The session of the pageview may have begun on a day whose figures are removed.
            let expired = last_expired_at(view.at(), self.data.retention_days);
            counts.traffic.add(&view, |day| Some(day) > expired);
            counts.last = view.at();
            match view {
                Activity::Search(_) => drop(self.data.searches.fetch_add(1, Ordering::Relaxed)),
                Activity::Click(_) => drop(self.data.clicks.fetch_add(1, Ordering::Relaxed)),
                Activity::Pageview(_) | Activity::Event(_) => {}
            }
        }
    }

    /// Stores the number up to which the log is durable, so that a start notices if it ends before that.
    fn save_state(&mut self) {
        self.state_saved_at = Instant::now();
        let synced = self.log.synced_through();
        let is_saving = self.saving.as_ref().is_some_and(|saving| !saving.is_finished());
        if is_saving || synced <= self.data.state.lock().synced_through {
            return;
        }
        let data = Arc::clone(&self.data);
        let save = move || {
            if let Err(error) = data.save_state(|state| state.synced_through = state.synced_through.max(synced)) {
                tracing::warn!(%error, "the state of the analytics cannot be written");
            }
        };
        self.saving = std::thread::Builder::new().name("analytics-state".to_owned()).spawn(save).ok();
    }

    /// Writes out everything.
    fn close(self) -> Result<(), StorageError> {
        if let Some(saving) = self.saving {
            let _ = saving.join();
        }
        let synced = self.log.run(|log| {
            log.sync()?;
            Ok(log.last())
        })?;
        Ok(self.data.save_state(|state| state.synced_through = synced)?)
    }

    /// Deletes a site's figures of a period and returns the number of deleted pageviews. Once the record of the rest is
    /// durable, the deletion is committed: a restart would finish it.
    fn delete(&mut self, deletion: Deletion) -> Result<u64, StorageError> {
        let data = Arc::clone(&self.data);
        let (left, mut pageviews) = {
            let counts = data.counts.read();
            let mut left = counts.traffic.clone();
            left.remove(deletion.site, deletion.period);
            (left, counts.traffic.pageviews())
        };
        pageviews -= left.pageviews();
        let record = log_record::encode_deletion(self.last, &left, &deletion, &data.names);
        let number = self.log.run(move |log| {
            failure::point("deletion::record")?;
            log.begin_segment()?;
            let number = log.append(&record)?;
            log.sync()?;
            Ok(number)
        })?;
        failure::point("deletion::prepare")?;
        let prepared = deletion.prepare(number, &data.counts.read().day_files, &data.names, &data.folder)?;
        pageviews += prepared.pageviews;
        {
            let mut counts = data.counts.write();
            counts.traffic = left;
            prepared.finish(&mut counts.day_files, &data.names, &data.folder)?;
            counts.day_files.note_change();
        }
        self.bounds = Bounds::of(&data.counts.read().traffic, self.day, &data.names);
        data.asked_before.forget();
        data.save_state(|state| state.synced_through = state.synced_through.max(number))?;
        failure::point("deletion::cut")?;
        self.log.run(move |log| Ok(log.remove_before(number)?))?;
        tracing::info!(pageviews, "figures were deleted");
        Ok(pageviews)
    }

    /// Links all files. Nothing changes meanwhile, because only this thread and imports, which wait, replace and remove
    /// files.
    fn link(&self, folder: &Path) -> Result<RecordRange, StorageError> {
        let through = self.log.run(|log| {
            log.sync()?;
            Ok(RecordRange { first: log.first(), last: log.last() })
        })?;
        links::link_files(&self.data.folder, self.data.state.lock().clone(), folder)?;
        Ok(through)
    }

    /// Returns what was not shared before. The last of its records names the batches that all of them count, so whoever
    /// continues from there counts each batch once. One with a search that rests is named, too, and not confirmed: it
    /// is sent again.
    fn share(&mut self, since: Option<SharedUpTo>, links: PathBuf) -> Result<Shared, StorageError> {
        while self.resting.front().is_some_and(|batch| !self.pending.has_one_of_first(batch.searches)) {
            self.resting.pop_front();
            self.has_new_batches = true;
        }
        let (record, batches) = {
            let now = (self.data.clock)();
            let mut counts = self.data.counts.write();
            let Counts { batches, received, .. } = &mut *counts;
            batches.retain(|_, last| now - last.at < REMEMBERED);
            received.retain(|sender, _| batches.contains_key(sender));
            let mut confirmed = received.clone();
            for batch in self.resting.iter().rev() {
                confirmed.insert(batch.sender.clone(), batch.number - 1);
            }
            (log_record::encode_batches(batches), confirmed)
        };
        let generation = self.data.counts.read().day_files.generation();
        let has_new_batches = self.has_new_batches;
        let (records, is_whole) = self.log.run(move |log| {
            if has_new_batches || since.is_none_or(|since| log.last() > since.last) {
                log.append(&record)?;
                log.sync()?;
            }
            let after = since.filter(|since| since.generation == generation && log.first() <= since.last + 1);
            let first = after.map_or(log.first(), |since| since.last + 1);
            let records = match first <= log.last() {
                true => log.read_from(first)?.collect::<Result<Vec<_>, _>>()?,
                false => Vec::new(),
            };
            Ok((records, after.is_none()))
        })?;
        self.has_new_batches = false;
        let files = match is_whole {
            true => {
                let files = SharedFiles { links };
                links::link_files(&self.data.folder, self.data.state.lock().clone(), &files.links)?;
                Some(files)
            }
            false => None,
        };
        let last = records.last().map(|(number, _)| *number).or(since.map(|since| since.last)).unwrap_or_default();
        Ok(Shared { up_to: SharedUpTo { generation, last }, records, files, batches })
    }

    fn remove_old_days(&self) {
        let Some(last) = self.data.last_expired() else { return };
        let is_old = |day: Day| day <= last;
        let old = {
            let mut counts = self.data.counts.write();
            counts.traffic.days.retain(|day, _| !is_old(*day));
            counts.day_files.take(|key| is_old(key.day))
        };
        let noted = self.data.save_state(|state| {
            state.incomplete.retain(|day, _| !is_old(*day));
            state.removed_through = state.removed_through.max(Some(last));
        });
        let removed = noted.and_then(|()| old.iter().try_for_each(|path| remove_if_there(path)));
        if let Err(error) = removed {
            tracing::error!(%error, "old days cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::AtomicI64;

    use bindery_model::time::DAY_MILLIS;

    use super::*;
    use crate::{Analytics, Event, Hit, PageUrl};

    #[test]
    fn ended_sessions_are_dropped_while_the_day_is_counted() {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(AtomicI64::new(20_000 * DAY_MILLIS)));
        let read = Arc::clone(&clock);
        let options = AnalyticsOptions {
            sites: vec!["a.example".to_owned()],
            clock: Arc::new(move || read.load(Ordering::SeqCst)),
            ..AnalyticsOptions::in_folder(folder.path())
        };
        let analytics = Analytics::open(&options).unwrap();
        let visit = |visitor: u8| {
            let url = PageUrl::parse("https://a.example/").unwrap();
            let event = Event { url, referrer: None, screen_width: None, custom: None };
            let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, visitor));
            let user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0".to_owned();
            analytics.submit(Hit { event, address, user_agent, country: None });
            // The worker does its regular work between two reports, which drops ended sessions.
            (0..2).for_each(|_| analytics.settle().unwrap());
            analytics.worker().unwrap().data.counts.read().traffic.sessions.iter().len()
        };
        assert_eq!([1, 2].map(visit), [1, 2]);
        clock.fetch_add(SESSION_GAP, Ordering::SeqCst);
        assert_eq!(visit(2), 2, "a session may still be continued at that moment");
        clock.fetch_add(1, Ordering::SeqCst);
        assert_eq!(visit(3), 3, "ended sessions are dropped once a minute");
        clock.fetch_add(SESSIONS_INTERVAL, Ordering::SeqCst);
        assert_eq!(visit(4), 3);
    }
}
