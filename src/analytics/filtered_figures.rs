//! Filtered figures: the visits of a period that match filters, counted again like pageviews. Only one file is in
//! memory at a time, and no lock is held while it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use bindery_model::error::{Code, Error, Result};
use bindery_model::time::{Millis, day_number};
use parking_lot::MutexGuard;

use super::checked_file::damaged as at_path;
use super::codec::DecodeError;
use super::damage;
use super::data::AnalyticsData;
use super::day_file::DayFile;
use super::day_files::DayKey;
use super::filter::{NamedFilters, VisitFilter};
use super::names::{NONE, Name, Names};
use super::open_day::OpenDay;
use super::pageview::{CustomEvent, DIMENSIONS, Dimension, Pageview};
use super::period::{Day, Period};
use super::rollup::Rollup;
use super::series::HOUR_MILLIS;
use super::session::{Session, VisitPlace, Visitor};
use super::traffic::Traffic;
use super::visit_codec::{self, BlockReader};
use super::visits::{Extension, Visit, VisitKey, VisitStep};

/// The time limit of a filtered report, without the time that it waits for others.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The figures of a filtered report.
pub(super) struct FilteredFigures<'a> {
    filters: &'a [VisitFilter],
    began: Instant,
    /// The days for which some visits were left out because there were too many.
    pub(super) cut_days: BTreeSet<Day>,
    _turn: MutexGuard<'a, ()>,
}

impl<'a> FilteredFigures<'a> {
    pub(super) fn new(filters: &'a [VisitFilter], turn: MutexGuard<'a, ()>) -> FilteredFigures<'a> {
        FilteredFigures { filters, began: Instant::now(), cut_days: BTreeSet::new(), _turn: turn }
    }

    /// Returns the number of live sessions whose visit matches the filters. A session without a pageview on the current
    /// day is not found.
    pub(super) fn live_users(&self, traffic: &Traffic, names: &Names, site: Option<Name>, now: Millis) -> u64 {
        let filters = NamedFilters::new(self.filters, names);
        let is_selected = |session: &&Session| {
            let today = session.visit.filter(|visit| visit.day == day_number(now));
            let Some(VisitPlace { day, number }) = today else { return false };
            let known = traffic.days.get(&day).and_then(|open_day| open_day.visits().sites.get(&session.site));
            known.and_then(|known| known.visits.get(number as usize)).is_some_and(|visit| filters.select(visit))
        };
        traffic.sessions.live(site, now).filter(is_selected).count() as u64
    }

    /// Calls `visit` with the figures of every site and day in the period, counting only visits that match the filters.
    ///
    /// Errors: `INVALID_FILTER` if a day has no visits; `INTERNAL` if a file is damaged or the disk fails; `OVERLOADED`
    /// if it takes too long, or a file is replaced meanwhile.
    pub(super) fn each_rollup(
        &mut self,
        data: &AnalyticsData,
        site: Option<&str>,
        period: Period,
        mut visit: impl FnMut(Day, &Rollup),
    ) -> Result<()> {
        let (keys, open) = self.look(data, site, period)?;
        for key in keys {
            if self.began.elapsed() > MAX_TIME {
                let message = format!(
                    "the report took longer than {} seconds; choose a shorter period, or leave out the filters",
                    MAX_TIME.as_secs()
                );
                return Err(Error::new(Code::Overloaded, message));
            }
            let rollups = self.of_file(data, site, key, open.get(&key.day));
            rollups.map_err(|error| unreadable(data, key, &error))?.iter().for_each(|rollup| visit(key.day, rollup));
        }
        for (day, open_day) in &open {
            open_day.rollups.iter().for_each(|rollup| visit(*day, rollup));
        }
        Ok(())
    }

    /// Returns the state at one moment: the files of the period, and the figures of the open days.
    fn look(
        &mut self,
        data: &AnalyticsData,
        site: Option<&str>,
        period: Period,
    ) -> Result<(Vec<DayKey>, BTreeMap<Day, OpenFigures>)> {
        let counts = data.counts.read();
        let keys = counts.day_files.in_period(period);
        for key in &keys {
            let path = counts.day_files.path(*key);
            let certain = counts.day_files.refuse_uncertain(*key);
            certain.map_err(|error| damage::unreadable(key.day, &data.folder, &path, &error))?;
        }
        let filters = NamedFilters::new(self.filters, &data.names);
        let site = site.map(|site| data.names.find(site).unwrap_or(NONE));
        let mut open = BTreeMap::new();
        for (day, open_day) in counts.traffic.days.range(period.start()..=period.end()) {
            let mut figures = OpenFigures {
                counted_through: counts.day_files.counted_through(*day),
                extensions: open_day.visits().extensions.clone(),
                rollups: Vec::new(),
            };
            for (of_site, known) in &open_day.visits().sites {
                if site.is_none_or(|site| site == *of_site) {
                    let mut counting = Recount::new(*of_site);
                    known.visits.iter().filter(|visit| filters.select(visit)).for_each(|visit| counting.add(visit));
                    figures.rollups.extend(counting.finish());
                    if known.left_out > 0 {
                        self.cut_days.insert(*day);
                    }
                }
            }
            open.insert(*day, figures);
        }
        Ok((keys, open))
    }

    fn of_file(
        &mut self,
        data: &AnalyticsData,
        site: Option<&str>,
        key: DayKey,
        open: Option<&OpenFigures>,
    ) -> io::Result<Vec<Rollup>> {
        let path = key.path(&data.days_folder());
        let (counted_through, visits) = DayFile::read_visits(&path)?;
        // A file that was written since then includes the open day's additions already.
        let open = open.filter(|open| key == DayKey::events(key.day) && open.counted_through == counted_through);
        let damaged = |error: DecodeError| at_path(&path, &error.to_string());
        let mut rollups = Vec::new();
        let blocks = visit_codec::blocks(&visits).map_err(damaged)?;
        for block in blocks.iter().filter(|block| site.is_none_or(|site| site == block.site)) {
            let mut reader = BlockReader::new(block, &data.names).map_err(damaged)?;
            // Created after the reader, which has interned the names of the block.
            let filters = NamedFilters::new(self.filters, &data.names);
            let of_site = data.names.intern(block.site);
            let mut counting = Recount::new(of_site);
            for number in 0.. {
                let Some(visit) = reader.next().map_err(damaged)? else { break };
                let extension = open.and_then(|open| open.extensions.get(&VisitKey { site: of_site, number }));
                if let Some(extension) = extension {
                    extension.apply(visit);
                }
                if filters.select(visit) {
                    counting.add(visit);
                }
            }
            if reader.left_out > 0 {
                self.cut_days.insert(key.day);
            }
            rollups.extend(counting.finish());
        }
        Ok(rollups)
    }
}

/// The figures of an open day, and the additions to the visits of its file.
struct OpenFigures {
    counted_through: u64,
    extensions: BTreeMap<VisitKey, Extension>,
    rollups: Vec<Rollup>,
}

/// Counts the visits of a site and day in the same way as pageviews.
struct Recount {
    site: Name,
    day: OpenDay,
}

impl Recount {
    fn new(site: Name) -> Recount {
        Recount { site, day: OpenDay::default() }
    }

    fn add(&mut self, visit: &Visit) {
        let (site, visitor) = (self.site, Visitor { today: visit.visitor.into(), yesterday: None });
        let mut begins = visit.begins;
        for step in &visit.steps {
            match step {
                VisitStep::View { hour, path, client } => {
                    let at = Millis::from(*hour) * HOUR_MILLIS;
                    let dimensions = dimensions(visit, client);
                    let view = Pageview { at, site, visitor, path: *path, dimensions };
                    self.day.add(&view, std::mem::take(&mut begins));
                }
                VisitStep::Event { name, properties } => {
                    let (name, properties) = (*name, properties.to_vec());
                    self.day.add_event(&CustomEvent { at: 0, site, visitor, name, properties });
                }
            }
        }
        if visit.begins {
            let [first, ..] = visit.entry;
            self.day.lengthen_session(site, visit.duration, !visit.is_bounce, first, visit.exit);
        }
    }

    fn finish(self) -> Option<Rollup> {
        self.day.into_parts().0.into_values().next()
    }
}

/// Returns the dimensions of a pageview of a visit.
fn dimensions(visit: &Visit, client: &[Name; 3]) -> [Name; DIMENSIONS] {
    let (mut of_session, mut of_client) = (visit.entry.iter().skip(1), client.iter());
    Dimension::ALL.map(|dimension| {
        let next = if dimension.is_of_session() { of_session.next() } else { of_client.next() };
        next.copied().unwrap_or(NONE)
    })
}

/// Returns the error for a file that cannot be read: it may have been replaced or removed since the report began.
fn unreadable(data: &AnalyticsData, key: DayKey, error: &io::Error) -> Error {
    let counts = data.counts.read();
    match counts.day_files.contains(key) {
        false => Error::new(Code::Overloaded, "the figures changed while the report was made; try again"),
        true => damage::unreadable(key.day, &data.folder, &counts.day_files.path(key), error),
    }
}
