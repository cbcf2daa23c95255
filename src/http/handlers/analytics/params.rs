//! The query parameters of the analytics: `start`, `end`, `interval`, `limit` and `site`, with every message about
//! them.

use bindery_analytics::{Day, Interval, Period};
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::quote;
use bindery_model::site::site_host;
use bindery_model::time::{Millis, day_number, format_date, parse_date};
use bindery_query::RawParams;

/// The length of a period whose start is not given, in days.
const DEFAULT_DAYS: Day = 30;
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 1_000;
/// The longest time series by hour, by day or by week.
const MAX_POINTS: i64 = 100_000;

/// Returns the period of a report. `end` is today by default, and `start` 29 days before `end`.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn period(params: &RawParams, now: Millis) -> Result<Period> {
    let end = date(params, "end")?.unwrap_or_else(|| day_number(now));
    let start = date(params, "start")?.unwrap_or(end - DEFAULT_DAYS + 1);
    Period::new(start, end).ok_or_else(|| start_after_end(start, end))
}

/// Returns the period of a deletion: unlimited on a side that is not given.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn open_period(params: &RawParams) -> Result<Period> {
    let (start, end) = (date(params, "start")?, date(params, "end")?);
    let wrong_order = || start_after_end(start.unwrap_or_default(), end.unwrap_or_default());
    Period::between(start, end).ok_or_else(wrong_order)
}

/// Returns the interval of a time series, a day by default.
///
/// Errors: `INVALID_PARAMETER`, also if the series would be too long.
pub(super) fn interval(params: &RawParams, period: Period) -> Result<Interval> {
    let interval = match params.single("interval")? {
        None | Some("day") => Interval::Day,
        Some("hour") => Interval::Hour,
        Some("week") => Interval::Week,
        Some("month") => Interval::Month,
        Some(other) => {
            let message = format!("`interval` is {}; expected `hour`, `day`, `week` or `month`", quote(other));
            return Err(Error::new(Code::InvalidParameter, message));
        }
    };
    let points = match interval {
        Interval::Hour => period.days() * 24,
        Interval::Day => period.days(),
        Interval::Week => period.weeks(),
        // The longest period has 119,988.
        Interval::Month => return Ok(interval),
    };
    if points > MAX_POINTS {
        let message = format!(
            "the period has {points} intervals of that `interval`; choose a shorter period or a longer `interval`, with at most {MAX_POINTS} intervals"
        );
        return Err(Error::new(Code::InvalidParameter, message));
    }
    Ok(interval)
}

/// Returns the number of rows, 10 by default.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn limit(params: &RawParams) -> Result<usize> {
    let Some(value) = params.single("limit")? else { return Ok(DEFAULT_LIMIT) };
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let limit = value.parse().ok().filter(|limit| is_number && (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| {
        let message = format!("`limit` is {}; expected a number from 1 to {MAX_LIMIT}", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}

/// Returns the site, if one is given.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn site(params: &RawParams) -> Result<Option<String>> {
    let Some(value) = params.single("site")? else { return Ok(None) };
    site_host(value).map(Some).ok_or_else(|| {
        let message = format!("`site` is {}; expected a host such as `www.example.com`", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}

/// Returns the site, where one must be given.
///
/// Errors: `INVALID_PARAMETER`.
pub(super) fn required_site(params: &RawParams) -> Result<String> {
    site(params)?.ok_or_else(|| {
        let message = "`site` is missing; expected a host such as `www.example.com`";
        Error::new(Code::InvalidParameter, message)
    })
}

fn date(params: &RawParams, name: &str) -> Result<Option<Day>> {
    let Some(value) = params.single(name)? else { return Ok(None) };
    parse_date(value).map(Some).ok_or_else(|| {
        let message = format!("`{name}` is {}; expected a date such as `2026-11-20`", quote(value));
        Error::new(Code::InvalidParameter, message)
    })
}

fn start_after_end(start: Day, end: Day) -> Error {
    let (start, end) = (format_date(start), format_date(end));
    let message = format!("`start` is {start}, which is after `end` ({end}); expected a day up to `end`");
    Error::new(Code::InvalidParameter, message)
}
