//! The reports: which question takes which parameters, and what its answer looks like (`API.md` 4.8).

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde_json::{Value, json};

use super::State;
use super::event::page_path;
use super::names::{Name, Names};
use super::period::{Interval, Period};
use super::rollup::{Day, Hour, Rollup, Trait};
use crate::model::error::{Code, Error};
use crate::model::sent::quote;
use crate::model::site::site_host;
use crate::model::time::Millis;
use crate::query::RawParams;

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 1_000;

/// What may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // They are the paths of API.md 4.8.
pub enum Report {
    Summary,
    Live,
    Visitors,
    VisitorsTrends,
    Sessions,
    AverageDuration,
    Pageviews,
    Pages,
    /// One page: the rest of the address, still encoded.
    Page(String),
    Referrers,
    ReferrersTrends,
    Devices,
    Browsers,
    Countries,
    VisitorsSeries,
    PageviewsSeries,
    SessionsSeries,
}

/// A report with its parameters read.
pub(super) struct Question<'a> {
    report: &'a Report,
    site: Option<String>,
    period: Period,
    interval: Interval,
    limit: usize,
}

/// The sites that are counted.
#[derive(Debug, Clone, Copy)]
enum Sites {
    All,
    One(Name),
    /// One that was never met.
    None,
}

/// Figures that add up over days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    visitors: u64,
    sessions: u64,
    pageviews: u64,
    bounces: i64,
    duration: Millis,
}

impl Report {
    /// Reads the parameters that the report knows; it ignores others.
    ///
    /// Errors: `INVALID_PARAMETER`.
    pub(super) fn read(&self, raw_query: &str, now: Millis) -> Result<Question<'_>, Error> {
        let params = RawParams::parse(raw_query);
        let has_period = !matches!(self, Report::Live);
        let today = Period { start: 0, end: 0 };
        let period = if has_period { Period::parse(&params, now)? } else { today };
        let has_interval = matches!(self, Report::VisitorsSeries | Report::PageviewsSeries | Report::SessionsSeries);
        let interval = if has_interval { Interval::parse(&params, period)? } else { Interval::Day };
        let has_limit = matches!(self, Report::Pages | Report::Referrers);
        let limit = if has_limit { limit(&params)? } else { DEFAULT_LIMIT };
        Ok(Question { report: self, site: site(&params)?, period, interval, limit })
    }
}

impl Question<'_> {
    /// The answer.
    ///
    /// Errors: those of the disk.
    pub(super) fn answer(&self, state: &State, names: &Names, now: Millis) -> io::Result<Value> {
        if self.site.is_some() || matches!(self.report, Report::Page(_)) {
            // Reading a part makes its names known.
            for key in state.parts.of(self.period.previous().start..=self.period.end) {
                state.parts.read(key, names)?;
            }
        }
        let sites = match &self.site {
            None => Sites::All,
            Some(site) => names.find(site).map_or(Sites::None, Sites::One),
        };
        let figures = Figures { state, names, sites };
        let period = self.period;
        Ok(match self.report {
            Report::Summary => figures.summary(period, now)?,
            Report::Live => json!({ "live_users": figures.live(now) }),
            Report::Visitors => json!({ "visitors": figures.totals(period)?.visitors }),
            Report::VisitorsTrends => {
                let (current, previous) =
                    (figures.totals(period)?.visitors, figures.totals(period.previous())?.visitors);
                json!({ "current": current, "previous": previous, "change": change(current, previous),
                    "trend": trend(current, previous) })
            }
            Report::Sessions => json!({ "sessions": figures.totals(period)?.sessions }),
            Report::AverageDuration => {
                json!({ "average_session_duration": average_duration(&figures.totals(period)?) })
            }
            Report::Pageviews => json!({ "pageviews": figures.totals(period)?.pageviews }),
            Report::Pages => figures.pages(period, self.limit)?,
            Report::Page(path) => figures.page(period, &page_path(path))?,
            Report::Referrers => figures.shares(period, Trait::Referrer, ["referrer", "visitors"], self.limit)?,
            Report::ReferrersTrends => figures.referrer_trends(period)?,
            Report::Devices => figures.shares(period, Trait::Device, ["device", "count"], usize::MAX)?,
            Report::Browsers => figures.shares(period, Trait::Browser, ["browser", "count"], usize::MAX)?,
            Report::Countries => figures.shares(period, Trait::Country, ["country", "count"], usize::MAX)?,
            Report::VisitorsSeries => {
                figures.series(period, self.interval, |hour| hour.visitors, |day| day.visitors)?
            }
            Report::PageviewsSeries => {
                figures.series(period, self.interval, |hour| hour.pageviews, Rollup::pageviews)?
            }
            Report::SessionsSeries => figures.series(period, self.interval, |hour| hour.sessions, Rollup::sessions)?,
        })
    }
}

/// The figures of some sites.
struct Figures<'a> {
    state: &'a State,
    names: &'a Names,
    sites: Sites,
}

impl Figures<'_> {
    /// Shows every rollup of the period: those of parts, and what is being counted.
    fn each(&self, period: Period, mut show: impl FnMut(Day, &Rollup)) -> io::Result<()> {
        let mut show_sites = |day: Day, sites: &BTreeMap<Name, Rollup>| match self.sites {
            Sites::All => sites.values().for_each(|rollup| show(day, rollup)),
            Sites::One(site) => sites.get(&site).into_iter().for_each(|rollup| show(day, rollup)),
            Sites::None => {}
        };
        for key @ (day, _) in self.state.parts.of(period.start..=period.end) {
            show_sites(day, &self.state.parts.read(key, self.names)?.sites);
        }
        for (day, counting) in self.state.traffic.days.range(period.start..=period.end) {
            show_sites(*day, &counting.sites);
        }
        Ok(())
    }

    fn totals(&self, period: Period) -> io::Result<Totals> {
        let mut totals = Totals::default();
        self.each(period, |_, rollup| {
            totals.visitors += rollup.visitors;
            totals.sessions += rollup.sessions();
            totals.pageviews += rollup.pageviews();
            totals.bounces += rollup.bounces;
            totals.duration += rollup.duration;
        })?;
        Ok(totals)
    }

    fn live(&self, now: Millis) -> u64 {
        let live = |site| self.state.traffic.sessions.live(site, now);
        match self.sites {
            Sites::All => live(None),
            Sites::One(site) => live(Some(site)),
            Sites::None => 0,
        }
    }

    fn summary(&self, period: Period, now: Millis) -> io::Result<Value> {
        let (current, previous) = (self.totals(period)?, self.totals(period.previous())?);
        let (start, end) = period.bounds();
        let bounces = u64::try_from(current.bounces).unwrap_or(0);
        Ok(json!({
            "period": { "start": start, "end": end },
            "live_users": self.live(now),
            "visitors": current.visitors,
            "sessions": current.sessions,
            "pageviews": current.pageviews,
            "average_session_duration": average_duration(&current),
            "bounce_rate": percentage(bounces, current.sessions),
            "visitors_change": change(current.visitors, previous.visitors),
            "sessions_change": change(current.sessions, previous.sessions),
            "pageviews_change": change(current.pageviews, previous.pageviews),
        }))
    }

    fn pages(&self, period: Period, limit: usize) -> io::Result<Value> {
        // Numbers of names are dense, so a list counts faster than a map.
        let mut counts: Vec<(u64, u64)> = Vec::new();
        self.each(period, |_, rollup| {
            for page in &rollup.pages {
                let place = page.path as usize;
                if place >= counts.len() {
                    counts.resize(place + 1, (0, 0));
                }
                counts[place].0 += u64::from(page.views);
                counts[place].1 += u64::from(page.visitors);
            }
        })?;
        let rows = (0..).zip(counts).filter(|(_, (views, _))| *views > 0);
        let rows = rows.map(|(path, (views, visitors))| (path, views, visitors)).collect();
        let rows = top(rows, limit, self.names).into_iter();
        let rows = rows.map(
            |(path, views, visitors)| json!({ "path": &*self.names.text(path), "views": views, "visitors": visitors }),
        );
        Ok(rows.collect())
    }

    fn page(&self, period: Period, path: &str) -> io::Result<Value> {
        let (mut views, mut visitors) = (0, 0);
        let name = self.names.find(path);
        self.each(period, |_, rollup| {
            for page in rollup.pages.iter().filter(|page| Some(page.path) == name) {
                views += u64::from(page.views);
                visitors += u64::from(page.visitors);
            }
        })?;
        Ok(json!({ "path": path, "views": views, "visitors": visitors }))
    }

    fn count_shares(&self, period: Period, which: Trait) -> io::Result<Vec<(Name, u64, u64)>> {
        let mut counts: HashMap<Name, u64> = HashMap::new();
        self.each(period, |_, rollup| {
            for share in &rollup.shares[which as usize] {
                *counts.entry(share.name).or_default() += u64::from(share.visitors);
            }
        })?;
        Ok(counts.into_iter().map(|(name, visitors)| (name, visitors, 0)).collect())
    }

    fn shares(&self, period: Period, which: Trait, keys: [&str; 2], limit: usize) -> io::Result<Value> {
        let counts = self.count_shares(period, which)?;
        let all: u64 = counts.iter().map(|(_, visitors, _)| visitors).sum();
        let rows = top(counts, limit, self.names).into_iter();
        let rows = rows.map(|(name, visitors, _)| {
            json!({ keys[0]: &*self.names.text(name), keys[1]: visitors, "percentage": percentage(visitors, all) })
        });
        Ok(rows.collect())
    }

    fn referrer_trends(&self, period: Period) -> io::Result<Value> {
        let mut counts: HashMap<Name, (u64, u64)> = HashMap::new();
        for (name, current, _) in self.count_shares(period, Trait::Referrer)? {
            counts.entry(name).or_default().0 = current;
        }
        for (name, previous, _) in self.count_shares(period.previous(), Trait::Referrer)? {
            counts.entry(name).or_default().1 = previous;
        }
        let rows = counts.into_iter().map(|(name, (current, previous))| (name, current, previous)).collect();
        let rows = top(rows, usize::MAX, self.names).into_iter();
        let rows = rows.map(|(name, current, previous)| {
            json!({ "referrer": &*self.names.text(name), "current": current, "previous": previous,
                "change": change(current, previous), "trend": trend(current, previous) })
        });
        Ok(rows.collect())
    }

    fn series(
        &self,
        period: Period,
        interval: Interval,
        of_hour: impl Fn(&Hour) -> u64,
        of_day: impl Fn(&Rollup) -> u64,
    ) -> io::Result<Value> {
        let per_day = if interval == Interval::Hour { 24 } else { 1 };
        let days = usize::try_from(period.end - period.start + 1).unwrap_or(0);
        let mut values = vec![0; days * per_day];
        self.each(period, |day, rollup| {
            let first = usize::try_from(day - period.start).unwrap_or(0) * per_day;
            if interval == Interval::Hour {
                values[first..].iter_mut().zip(&rollup.hours).for_each(|(value, hour)| *value += of_hour(hour));
            } else {
                values[first] += of_day(rollup);
            }
        })?;
        if interval == Interval::Hour {
            let rows = values.iter().enumerate().map(|(at, value)| {
                let day = period.start + (at / 24) as Day;
                json!({ "date": format!("{}T{:02}:00", Interval::Day.bucket(day), at % 24), "value": value })
            });
            return Ok(rows.collect());
        }
        let mut rows: Vec<(String, u64)> = Vec::new();
        for (day, value) in (period.start..).zip(values) {
            let bucket = interval.bucket(day);
            match rows.last_mut() {
                Some((last, sum)) if *last == bucket => *sum += value,
                _ => rows.push((bucket, value)),
            }
        }
        Ok(rows.into_iter().map(|(date, value)| json!({ "date": date, "value": value })).collect())
    }
}

/// The rows with the largest first figures; equal ones by name.
fn top(mut rows: Vec<(Name, u64, u64)>, limit: usize, names: &Names) -> Vec<(Name, u64, u64)> {
    if rows.len() > limit {
        // Only those that may be among the first are ordered by name.
        let mut counts: Vec<u64> = rows.iter().map(|row| row.1).collect();
        let (_, least, _) = counts.select_nth_unstable_by(limit - 1, |a, b| b.cmp(a));
        let least = *least;
        rows.retain(|row| row.1 >= least);
    }
    let mut named: Vec<_> = rows.into_iter().map(|row| (names.text(row.0), row)).collect();
    named.sort_unstable_by(|(a_name, a), (b_name, b)| b.1.cmp(&a.1).then_with(|| a_name.cmp(b_name)));
    named.truncate(limit);
    named.into_iter().map(|(_, row)| row).collect()
}

/// What the change is in percent, to one decimal.
fn change(current: u64, previous: u64) -> Value {
    tenths(change_tenths(current, previous))
}

fn change_tenths(current: u64, previous: u64) -> i128 {
    match (current, previous) {
        (0, 0) => 0,
        (_, 0) => 1_000,
        _ => divide(1_000 * (i128::from(current) - i128::from(previous)), i128::from(previous)),
    }
}

fn trend(current: u64, previous: u64) -> &'static str {
    match change_tenths(current, previous) {
        0 => "stable",
        more if more > 0 => "up",
        _ => "down",
    }
}

fn percentage(part: u64, whole: u64) -> Value {
    tenths(if whole == 0 { 0 } else { divide(1_000 * i128::from(part), i128::from(whole)) })
}

/// Tenths as a number: `33.3`, `50`.
fn tenths(tenths: i128) -> Value {
    if tenths % 10 == 0 { json!((tenths / 10) as i64) } else { json!(tenths as f64 / 10.0) }
}

/// Rounded half away from zero; the divisor is positive.
fn divide(number: i128, by: i128) -> i128 {
    (2 * number.abs() + by) / (2 * by) * number.signum()
}

fn average_duration(totals: &Totals) -> String {
    let seconds = match totals.sessions {
        0 => 0,
        sessions => divide(i128::from(totals.duration), i128::from(sessions) * 1_000),
    };
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn limit(params: &RawParams) -> Result<usize, Error> {
    let Some(value) = params.single("limit")? else { return Ok(DEFAULT_LIMIT) };
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let limit = value.parse().ok().filter(|limit| digits && (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| {
        let message = format!("`limit` is {}; it takes a number from 1 to {MAX_LIMIT}", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}

/// The host that `site` names, if it is given.
pub(super) fn site(params: &RawParams) -> Result<Option<String>, Error> {
    let Some(value) = params.single("site")? else { return Ok(None) };
    site_host(value).map(Some).ok_or_else(|| {
        let message = format!("`site` is {}; it takes a host such as `www.example.com`", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}
