//! The thread that counts: one place for the order of pageviews, for midnight, and for what is on disk.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::agent::Agents;
use super::delete::Deletion;
use super::event::Hit;
use super::names::Names;
use super::part::Part;
use super::parts::Source;
use super::record::{self, Record};
use super::rollup::{Day, View};
use super::salts::Salts;
use super::{AnalyticsOptions, Shared, State};
use crate::log::{Log, LogError};
use crate::model::time::{DAY_MILLIS, Millis, day_number};

/// How long a pageview may lie in memory alone.
const SYNC_INTERVAL: Duration = Duration::from_millis(250);
/// How often it is looked whether a day is over, or a salt to be destroyed.
const TICK: Duration = Duration::from_millis(200);
/// How many pageviews make one record at most.
const BATCH: usize = 4_096;

/// What is to be done.
pub(super) enum Job {
    /// A pageview is to be counted.
    Hit { at: Millis, hit: Box<Hit> },
    /// Somebody waits for what came before.
    Settle(SyncSender<()>),
    /// Something is to be deleted, and somebody waits for the number of its pageviews. Who asks holds off imports.
    Delete { deletion: Deletion, done: SyncSender<Result<u64, String>> },
}

/// Everything that only the thread touches.
pub(super) struct Worker {
    shared: Arc<Shared>,
    log: Log,
    salts: Salts,
    agents: Agents,
    sites: HashSet<String>,
    retention_days: Option<u32>,
    /// The day that is being counted.
    day: Day,
    last: Millis,
    is_dirty: bool,
    synced: Instant,
    /// Pageviews that were dropped as of the last report about it.
    reported_drops: u64,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, log: Log, salts: Salts, options: &AnalyticsOptions) -> Worker {
        let last = shared.state.read().last;
        let day = day_number(if last == Millis::MIN { (shared.clock)() } else { last });
        Worker {
            shared,
            log,
            salts,
            agents: Agents::new(),
            sites: options.sites.iter().cloned().collect(),
            retention_days: options.retention_days,
            day,
            last,
            is_dirty: false,
            synced: Instant::now(),
            reported_drops: 0,
        }
    }

    /// Works until nobody can send jobs any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        self.drop_old_days();
        loop {
            self.tick();
            let first = match jobs.recv_timeout(TICK) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut views = Vec::new();
            let mut waiting = Vec::new();
            for job in std::iter::once(first).chain(jobs.try_iter()).take(BATCH) {
                match job {
                    Job::Hit { at, hit } => {
                        let at = self.advance(at, &mut views);
                        views.extend(self.view(at, &hit));
                    }
                    Job::Settle(done) => waiting.push(done),
                    Job::Delete { deletion, done } => {
                        self.count(&mut views);
                        let deleted = self.delete(deletion).map_err(|error| error.to_string());
                        // Who asked may have gone.
                        let _ = done.send(deleted);
                    }
                }
            }
            self.count(&mut views);
            for done in waiting {
                let _ = done.send(());
            }
        }
        self.sync();
    }

    /// What is due by the clock.
    fn tick(&mut self) {
        let now = (self.shared.clock)().max(self.last);
        if day_number(now) > self.day {
            self.advance(now, &mut Vec::new());
        } else {
            self.keep_salts(now);
        }
        if self.is_dirty && self.synced.elapsed() >= SYNC_INTERVAL {
            self.sync();
        }
        let dropped = self.shared.dropped.load(Ordering::Relaxed);
        if dropped > self.reported_drops {
            tracing::warn!(pageviews = dropped - self.reported_drops, "dropped: more come than can be counted");
            self.reported_drops = dropped;
        }
    }

    /// Goes on to a time, through midnight if need be; answers the time, which never goes back. `views` are those of
    /// the time before, which are counted first.
    fn advance(&mut self, at: Millis, views: &mut Vec<View>) -> Millis {
        let at = at.max(self.last);
        self.last = at;
        self.keep_salts(at);
        if day_number(at) > self.day {
            self.count(views);
            if let Err(error) = self.begin_day(day_number(at)) {
                tracing::error!(%error, "the last day could not be folded; it is tried again at the next start");
            }
            self.day = day_number(at);
        }
        at
    }

    fn keep_salts(&mut self, now: Millis) {
        if let Err(error) = self.salts.advance(now) {
            tracing::error!(%error, "a salt of visitors could not be kept or destroyed");
        }
    }

    /// The pageview as it is counted; nothing if it is dropped.
    fn view(&mut self, at: Millis, hit: &Hit) -> Option<View> {
        let (event, names) = (&hit.event, &self.shared.names);
        if !self.sites.contains(event.site()) {
            return None;
        }
        let agent = self.agents.read(&hit.user_agent)?;
        let device = match agent.device {
            "unknown" => event.device_by_width().unwrap_or("unknown"),
            device => device,
        };
        let (visitor, before) = self.salts.visitor(at, &hit.address.to_string(), &hit.user_agent, event.site());
        let country = self.shared.countries.find(Some(hit.address), hit.country.as_deref());
        let traits = [event.referrer().as_str(), device, agent.browser, &country].map(|text| names.number(text));
        let (site, path) = (names.number(event.site()), names.number(&event.path()));
        Some(View { at, site, visitor, before, path, traits })
    }

    /// Logs and counts pageviews; what cannot be logged is not counted.
    fn count(&mut self, views: &mut Vec<View>) {
        if views.is_empty() {
            return;
        }
        match self.log.append(&record::encode_views(views, &self.shared.names)) {
            Ok(_) => {
                self.is_dirty = true;
                let mut state = self.shared.state.write();
                for view in views.drain(..) {
                    state.traffic.add(&view, |_| true);
                    state.last = view.at;
                }
            }
            Err(error) => {
                // Once stopped the log says so each time; the cause was logged with the first.
                if !matches!(error, LogError::Stopped) {
                    tracing::error!(%error, "pageviews cannot be logged");
                }
                self.shared.dropped.fetch_add(views.len() as u64, Ordering::Relaxed);
                views.clear();
            }
        }
    }

    fn sync(&mut self) {
        if let Err(error) = self.log.sync()
            && !matches!(error, LogError::Stopped)
        {
            tracing::error!(%error, "pageviews cannot be synced");
        }
        self.is_dirty = false;
        self.synced = Instant::now();
    }

    /// Folds the days before `today` into parts. First the log gets a record of the sessions that go on: from it the
    /// new day can be counted alone. Each part says through which record it counts, so a crash on the way counts
    /// nothing twice.
    fn begin_day(&mut self, today: Day) -> Result<(), Box<dyn std::error::Error>> {
        let shared = Arc::clone(&self.shared);
        let carry = {
            let mut state = shared.state.write();
            state.traffic.sessions.prune(today * DAY_MILLIS);
            record::encode_carry(self.last, state.traffic.sessions.iter(), &shared.names)
        };
        self.log.begin_segment()?;
        let number = self.log.append(&carry)?;
        self.log.sync()?;
        let days = write_days(&shared, today, number)?;
        {
            let mut state = shared.state.write();
            for day in days {
                state.parts.place((day, Source::Sent), number)?;
                state.traffic.days.remove(&day);
            }
            state.parts.sync()?;
        }
        self.log.remove_before(number)?;
        self.day = today;
        self.drop_old_days();
        Ok(())
    }

    /// Deletes a site's figures of some days; answers how many pageviews these were. The record of what is left is the
    /// moment from which it is done, whatever happens.
    fn delete(&mut self, deletion: Deletion) -> Result<u64, Box<dyn std::error::Error>> {
        let shared = Arc::clone(&self.shared);
        let (left, mut pageviews) = {
            let state = shared.state.read();
            let mut left = state.traffic.clone();
            left.remove(deletion.site, deletion.period);
            (left, state.traffic.pageviews())
        };
        pageviews -= left.pageviews();
        self.log.begin_segment()?;
        let number = self.log.append(&record::encode_left(self.last, &left, &deletion, &shared.names))?;
        self.log.sync()?;
        let prepared = deletion.prepare(number, &shared.state.read().parts, &shared.names, &shared.folder)?;
        pageviews += prepared.pageviews;
        {
            let mut state = shared.state.write();
            state.traffic = left;
            prepared.finish(&mut state.parts, &shared.names, &shared.folder)?;
        }
        self.log.remove_before(number)?;
        tracing::info!(pageviews, "figures were deleted");
        Ok(pageviews)
    }

    fn drop_old_days(&self) {
        let Some(days) = self.retention_days else { return };
        let today = day_number((self.shared.clock)());
        let removed = self.shared.state.write().parts.remove(|(day, _)| day <= today - i64::from(days));
        if let Err(error) = removed {
            tracing::error!(%error, "old days cannot be removed");
        }
    }
}

/// Writes the parts of the days before `today`, unfinished as yet; answers which these are.
fn write_days(shared: &Shared, today: Day, number: u64) -> io::Result<Vec<Day>> {
    let state = shared.state.read();
    let mut days = Vec::new();
    for (day, counting) in state.traffic.days.range(..today) {
        let key = (*day, Source::Sent);
        let mut part = match state.parts.counted_through(*day) {
            0 => Part::default(),
            _ => Part::clone(&*state.parts.read(key, &shared.names)?),
        };
        part.number = number;
        for (site, rollup) in &counting.sites {
            part.sites.entry(*site).or_default().add(rollup);
        }
        part.write(&state.parts.unfinished(key), &shared.names)?;
        days.push(*day);
    }
    Ok(days)
}

/// Counts what the log holds and the parts do not; answers how many pageviews it read. Deletions are brought to their
/// end.
pub(super) fn replay(
    log: &mut Log,
    state: &mut State,
    names: &Names,
    folder: &Path,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut read = 0;
    let mut deletions = Vec::new();
    for entry in log.read_from(log.first())? {
        let (number, payload) = entry?;
        let parts = &state.parts;
        let is_open = |day| number > parts.counted_through(day);
        match record::decode(&payload, names)? {
            Record::Views(views) => {
                read += views.len() as u64;
                for view in views {
                    state.traffic.add(&view, is_open);
                    state.last = view.at;
                }
            }
            Record::Carry { at, sessions } => {
                state.traffic.sessions.replace(sessions);
                state.last = state.last.max(at);
            }
            Record::Left { at, traffic, deletion } => {
                state.traffic = traffic;
                state.traffic.days.retain(|day, _| is_open(*day));
                state.last = state.last.max(at);
                deletions.push((number, deletion));
            }
        }
    }
    for (number, deletion) in deletions {
        deletion.prepare(number, &state.parts, names, folder)?.finish(&mut state.parts, names, folder)?;
        log.remove_before(number)?;
    }
    Ok(read)
}
