//! Periods: whole days of UTC, the one before, and the buckets of a time series.

use super::rollup::Day;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;
use crate::model::time::{DAY_MILLIS, Millis, day_number, format_date, format_millis, parse_date};
use crate::query::RawParams;

/// How many days a period has if only its end is known.
const DEFAULT_DAYS: Day = 30;
/// How many buckets a time series may have.
const MAX_BUCKETS: i64 = 100_000;

/// The days from `start` to `end`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) start: Day,
    pub(super) end: Day,
}

/// How long the buckets of a time series are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interval {
    Hour,
    Day,
    Week,
    Month,
}

impl Period {
    /// The period that `start` and `end` name; both may be left out.
    pub(super) fn parse(params: &RawParams, now: Millis) -> Result<Period, Error> {
        let end = date(params, "end")?.unwrap_or_else(|| day_number(now));
        let start = date(params, "start")?.unwrap_or(end - DEFAULT_DAYS + 1);
        Period { start, end }.in_order()
    }

    /// The period that `start` and `end` name, from the first or to the last day there is where they are left out.
    pub(super) fn parse_open(params: &RawParams) -> Result<Period, Error> {
        let (start, end) = (date(params, "start")?, date(params, "end")?);
        Period { start: start.unwrap_or(Day::MIN), end: end.unwrap_or(Day::MAX) }.in_order()
    }

    /// Whether the day is one of it.
    pub(super) fn has(self, day: Day) -> bool {
        (self.start..=self.end).contains(&day)
    }

    /// As many days, which end the day before.
    pub(super) fn previous(self) -> Period {
        let days = self.end - self.start + 1;
        Period { start: self.start - days, end: self.start - 1 }
    }

    /// Its first and last millisecond, as they are answered.
    pub(super) fn bounds(self) -> (String, String) {
        (format_millis(self.start * DAY_MILLIS), format_millis((self.end + 1) * DAY_MILLIS - 1))
    }

    fn in_order(self) -> Result<Period, Error> {
        if self.start <= self.end {
            return Ok(self);
        }
        let (start, end) = (format_date(self.start), format_date(self.end));
        let message = format!("`start` is {start}, after `end`, which is {end}; it takes a day that is not after it");
        Err(Error::new(Code::InvalidParameter, message))
    }
}

impl Interval {
    /// What `interval` names; a day if it is left out.
    ///
    /// Errors: `INVALID_PARAMETER`, also if the period would have too many buckets.
    pub(super) fn parse(params: &RawParams, period: Period) -> Result<Interval, Error> {
        let interval = match params.single("interval")? {
            None | Some("day") => Interval::Day,
            Some("hour") => Interval::Hour,
            Some("week") => Interval::Week,
            Some("month") => Interval::Month,
            Some(other) => {
                let message = format!("`interval` is {}; it takes `hour`, `day`, `week` or `month`", quote(other));
                return Err(Error::new(Code::InvalidParameter, message));
            }
        };
        let days = period.end - period.start + 1;
        let buckets = if interval == Interval::Hour { days * 24 } else { days };
        if buckets > MAX_BUCKETS && matches!(interval, Interval::Hour | Interval::Day) {
            let message =
                format!("the period has {buckets} buckets of that `interval`; at most {MAX_BUCKETS} are answered");
            return Err(Error::new(Code::InvalidParameter, message));
        }
        Ok(interval)
    }

    /// The bucket of a day, for intervals of a day and more.
    pub(super) fn bucket(self, day: Day) -> String {
        match self {
            Interval::Hour | Interval::Day => format_date(day),
            // 1970-01-01 was a Thursday.
            Interval::Week => format_date(day - (day + 3).rem_euclid(7)),
            Interval::Month => {
                let mut date = format_date(day);
                date.truncate("YYYY-MM".len());
                date
            }
        }
    }
}

fn date(params: &RawParams, name: &str) -> Result<Option<Day>, Error> {
    let Some(value) = params.single(name)? else { return Ok(None) };
    parse_date(value).map(Some).ok_or_else(|| {
        let message = format!("`{name}` is {}; it takes a date such as `2026-11-20`", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}
