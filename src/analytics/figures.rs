//! The figures that reports show, added up from day files and open days (`API.md` 4.8). Knows nothing of query strings
//! or JSON, and leaves percentages and rounding to its callers.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bindery_model::error::Result;
use bindery_model::time::Millis;
use parking_lot::RwLockReadGuard;

use super::damage;
use super::data::{AnalyticsData, Counts};
use super::filter::VisitFilter;
use super::filtered_figures::FilteredFigures;
use super::names::{Name, Names};
use super::pageview::Dimension;
use super::period::{Day, Period};
use super::rollup::{Hour, Rollup, SiteRollups};
use super::series::{Interval, SeriesPoint, empty_points, points_from};

/// The totals of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The visitors of each day, added up.
    pub visitors: u64,
    /// The sessions that began in the period.
    pub sessions: u64,
    /// The pageviews.
    pub pageviews: u64,
    /// The sessions of one pageview.
    pub bounces: u64,
    /// The durations of all sessions together, in milliseconds.
    pub duration: Millis,
}

/// The figures of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCount {
    /// The page's path.
    pub path: Arc<str>,
    /// The number of pageviews of the page.
    pub views: u64,
    /// The number of visitors of the page.
    pub visitors: u64,
}

/// The visitors with one value in a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitorCount {
    /// The value, such as a referrer's host.
    pub name: Arc<str>,
    /// The visitors.
    pub visitors: u64,
}

/// The visitors by one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// The values with the most visitors first; equal ones are sorted by name.
    pub rows: Vec<VisitorCount>,
    /// The visitors of all values, including those beyond the limit.
    pub total: u64,
}

/// A figure in a period and in the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The value in the period.
    pub current: u64,
    /// The value in the previous period.
    pub previous: u64,
}

/// The visitors of a referrer in a period and in the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferrerTrend {
    /// The host, or `direct`.
    pub referrer: Arc<str>,
    /// The visitors of the referrer.
    pub visitors: Comparison,
}

/// The figure that a time series counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Metric {
    Visitors,
    Pageviews,
    Sessions,
}

impl Metric {
    fn of_hour(self, hour: &Hour) -> u64 {
        match self {
            Metric::Visitors => hour.visitors,
            Metric::Pageviews => hour.pageviews,
            Metric::Sessions => hour.sessions,
        }
    }

    fn of_day(self, rollup: &Rollup) -> u64 {
        match self {
            Metric::Visitors => rollup.visitors,
            Metric::Pageviews => rollup.pageviews(),
            Metric::Sessions => rollup.sessions(),
        }
    }
}

/// The source of the figures.
enum FigureSource<'a> {
    /// Rollups at one moment.
    Rollups(RwLockReadGuard<'a, Counts>),
    /// The visits that match the filters.
    Visits(RefCell<FilteredFigures<'a>>),
}

/// The figures of one site or of all sites at one moment. Without filters, this holds a lock and nothing is counted
/// meanwhile, so it should be short-lived.
///
/// Every method that reads a period fails with `INTERNAL` if figures of one of its days are lost or cannot be read.
pub struct Figures<'a> {
    counted: FigureSource<'a>,
    incomplete: BTreeMap<Day, String>,
    data: &'a AnalyticsData,
    names: &'a Names,
    site: Option<&'a str>,
    now: Millis,
}

impl<'a> Figures<'a> {
    /// Returns the figures of a site, or of all sites without one, at the time `now`.
    pub(super) fn new(data: &'a AnalyticsData, site: Option<&'a str>, now: Millis) -> Figures<'a> {
        Figures::of(data, site, now, FigureSource::Rollups(data.counts.read()))
    }

    /// Returns the figures of the visits that match all filters. Waits for this report's turn.
    ///
    /// Errors: `OVERLOADED` if too many reports wait.
    pub(super) fn filtered(
        data: &'a AnalyticsData,
        site: Option<&'a str>,
        now: Millis,
        filters: &'a [VisitFilter],
    ) -> Result<Figures<'a>> {
        let filtered = FilteredFigures::new(filters, data.filter_turns.take()?);
        Ok(Figures::of(data, site, now, FigureSource::Visits(RefCell::new(filtered))))
    }

    fn of(data: &'a AnalyticsData, site: Option<&'a str>, now: Millis, counted: FigureSource<'a>) -> Figures<'a> {
        let incomplete = data.state.lock().incomplete.clone();
        Figures { counted, incomplete, data, names: &data.names, site, now }
    }

    /// Returns the days, of the periods read so far, for which filters did not see every visit because there were too
    /// many.
    pub fn cut_days(&self) -> Vec<Day> {
        match &self.counted {
            FigureSource::Rollups(_) => Vec::new(),
            FigureSource::Visits(filtered) => filtered.borrow().cut_days.iter().copied().collect(),
        }
    }

    /// Returns the sessions with a pageview in the last five minutes.
    pub fn live_users(&self) -> u64 {
        let site = self.site.map(|site| self.names.find(site));
        match &self.counted {
            // Nothing is counted for this site.
            _ if site == Some(None) => 0,
            FigureSource::Rollups(counts) => counts.traffic.sessions.live(site.flatten(), self.now).count() as u64,
            FigureSource::Visits(filtered) => {
                let counts = self.data.counts.read();
                filtered.borrow().live_users(&counts.traffic, self.names, site.flatten(), self.now)
            }
        }
    }

    /// Returns the totals of a period.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn totals(&self, period: Period) -> Result<Totals> {
        let (mut totals, mut bounces) = (Totals::default(), 0);
        self.each_rollup(period, |_, rollup| {
            totals.visitors += rollup.visitors;
            totals.sessions += rollup.sessions();
            totals.pageviews += rollup.pageviews();
            totals.duration += rollup.duration;
            bounces += rollup.bounces;
        })?;
        Ok(Totals { bounces: u64::try_from(bounces).unwrap_or(0), ..totals })
    }

    /// Returns the pages with the most views, most first, equal ones by path.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn pages(&self, period: Period, limit: usize) -> Result<Vec<PageCount>> {
        #[derive(Clone, Copy, Default)]
        struct PathCounts {
            views: u64,
            visitors: u64,
        }
        // The numbers of names are dense, so a list is faster than a map.
        let mut counts: Vec<PathCounts> = Vec::new();
        self.each_rollup(period, |_, rollup| {
            for page in &rollup.pages {
                let index = page.path as usize;
                if index >= counts.len() {
                    counts.resize(index + 1, PathCounts::default());
                }
                counts[index].views += u64::from(page.views);
                counts[index].visitors += u64::from(page.visitors);
            }
        })?;
        let rows = (0..).zip(counts).filter(|(_, counted)| counted.views > 0).collect();
        let rows = self.top(rows, limit, |counted| counted.views).into_iter();
        Ok(rows.map(|(path, PathCounts { views, visitors })| PageCount { path, views, visitors }).collect())
    }

    /// Returns the figures of the page at `path`.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn page(&self, period: Period, path: &str) -> Result<PageCount> {
        let mut count = PageCount { path: path.into(), views: 0, visitors: 0 };
        self.each_rollup(period, |_, rollup| {
            let Some(path) = self.names.find(path) else { return };
            for page in rollup.pages.iter().filter(|page| page.path == path) {
                count.views += u64::from(page.views);
                count.visitors += u64::from(page.visitors);
            }
        })?;
        Ok(count)
    }

    /// Returns the visitors by a dimension, the first `limit` values.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn breakdown(&self, period: Period, dimension: Dimension, limit: usize) -> Result<Breakdown> {
        let counts = self.visitors_by(period, dimension)?;
        let total = counts.values().sum();
        let rows = self.top(counts.into_iter().collect(), limit, |visitors| *visitors).into_iter();
        Ok(Breakdown { rows: rows.map(|(name, visitors)| VisitorCount { name, visitors }).collect(), total })
    }

    /// Returns the visitors of referrers in the period and in the previous one: the first `limit` referrers, most
    /// visitors in the period first, equal ones by name.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn referrer_trends(&self, period: Period, limit: usize) -> Result<Vec<ReferrerTrend>> {
        let mut counts: HashMap<Name, Comparison> = HashMap::new();
        for (name, current) in self.visitors_by(period, Dimension::Referrer)? {
            counts.entry(name).or_default().current = current;
        }
        for (name, previous) in self.visitors_by(period.previous(), Dimension::Referrer)? {
            counts.entry(name).or_default().previous = previous;
        }
        let rows = self.top(counts.into_iter().collect(), limit, |visitors| visitors.current).into_iter();
        Ok(rows.map(|(referrer, visitors)| ReferrerTrend { referrer, visitors }).collect())
    }

    /// Returns a time series of the period: a point for every interval, even where it is 0. The caller has to limit its
    /// length: the longest period has 88 million hours.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn series(&self, period: Period, interval: Interval, metric: Metric) -> Result<Vec<SeriesPoint>> {
        let mut points = empty_points(period, interval);
        self.each_rollup(period, |day, rollup| {
            let points = points_from(&mut points, day);
            if interval == Interval::Hour {
                points.iter_mut().zip(&rollup.hours).for_each(|(point, hour)| point.value += metric.of_hour(hour));
            } else if let Some(point) = points.first_mut() {
                point.value += metric.of_day(rollup);
            }
        })?;
        Ok(points)
    }

    /// Returns the number of a text; `None` if nothing is counted under it.
    pub(super) fn name(&self, text: &str) -> Option<Name> {
        self.names.find(text)
    }

    /// Returns the text of a number.
    pub(super) fn text(&self, name: Name) -> Arc<str> {
        self.names.text(name)
    }

    fn visitors_by(&self, period: Period, dimension: Dimension) -> Result<HashMap<Name, u64>> {
        let mut counts: HashMap<Name, u64> = HashMap::new();
        self.each_rollup(period, |_, rollup| {
            for share in &rollup.shares[dimension as usize] {
                *counts.entry(share.name).or_default() += u64::from(share.visitors);
            }
        })?;
        Ok(counts)
    }

    /// Calls `visit` with every rollup of the sites in the period: first those of day files, then those of open days.
    pub(super) fn each_rollup(&self, period: Period, mut visit: impl FnMut(Day, &Rollup)) -> Result<()> {
        if let Some((day, what)) = self.incomplete.range(period.start()..=period.end()).next() {
            return Err(damage::incomplete(*day, what));
        }
        let Counts { traffic, day_files, .. } = match &self.counted {
            FigureSource::Rollups(counts) => &**counts,
            FigureSource::Visits(filtered) => {
                return filtered.borrow_mut().each_rollup(self.data, self.site, period, visit);
            }
        };
        let mut visit_sites = |day: Day, sites: &SiteRollups| match self.site {
            None => sites.values().for_each(|rollup| visit(day, rollup)),
            // Looked up each time, since reading a day file may intern the name.
            Some(site) => {
                let rollup = self.names.find(site).and_then(|site| sites.get(&site));
                rollup.into_iter().for_each(|rollup| visit(day, rollup));
            }
        };
        for key in day_files.in_period(period) {
            let file = day_files.read(key, self.names);
            let unreadable = |error| damage::unreadable(key.day, &self.data.folder, &day_files.path(key), &error);
            visit_sites(key.day, &file.map_err(unreadable)?.sites);
        }
        for (day, open_day) in traffic.days.range(period.start()..=period.end()) {
            visit_sites(*day, open_day.sites());
        }
        Ok(())
    }

    /// Returns the rows with the greatest `rank`, greatest first, equal ones by name.
    pub(super) fn top<T>(
        &self,
        mut rows: Vec<(Name, T)>,
        limit: usize,
        rank: impl Fn(&T) -> u64,
    ) -> Vec<(Arc<str>, T)> {
        if limit == 0 {
            return Vec::new();
        }
        if rows.len() > limit {
            // Only rows that may be among the first are sorted by name.
            let mut ranks: Vec<u64> = rows.iter().map(|(_, row)| rank(row)).collect();
            let (_, least, _) = ranks.select_nth_unstable_by(limit - 1, |a, b| b.cmp(a));
            let least = *least;
            rows.retain(|(_, row)| rank(row) >= least);
        }
        let mut named: Vec<_> = rows.into_iter().map(|(name, row)| (self.names.text(name), row)).collect();
        named.sort_unstable_by(|(a_name, a), (b_name, b)| rank(b).cmp(&rank(a)).then_with(|| a_name.cmp(b_name)));
        named.truncate(limit);
        named
    }
}
