//! Time series: the intervals of a period, and their start times. It does not know what is counted.

use bindery_model::time::{DAY_MILLIS, Millis, day_number, format_date, parse_date};

use super::period::{Day, Period, monday};

pub(super) const HOUR_MILLIS: Millis = 3_600_000;

/// The length of the intervals of a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Interval {
    Hour,
    Day,
    /// A week, from Monday to Sunday.
    Week,
    Month,
}

/// One interval of a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPoint {
    /// The first millisecond of the interval. The first week or month may start before the period, but only days of the
    /// period count.
    pub start: Millis,
    /// The figure of the interval.
    pub value: u64,
}

/// Returns the points of a period in order, all 0. By hour there are 24 for each day.
pub(super) fn empty_points(period: Period, interval: Interval) -> Vec<SeriesPoint> {
    let mut start = match interval {
        Interval::Hour | Interval::Day => period.start(),
        Interval::Week => monday(period.start()),
        Interval::Month => month_start(period.start()),
    } * DAY_MILLIS;
    let mut points = Vec::new();
    while start <= period.last_millisecond() {
        points.push(SeriesPoint { start, value: 0 });
        start = match interval {
            Interval::Hour => start + HOUR_MILLIS,
            Interval::Day => start + DAY_MILLIS,
            Interval::Week => start + 7 * DAY_MILLIS,
            // The 31st day after the first day of a month is always in the next month.
            Interval::Month => month_start(day_number(start) + 31) * DAY_MILLIS,
        };
    }
    points
}

/// Returns the points from the one that contains the first millisecond of the day. The day must not be before the first
/// point.
pub(super) fn points_from(points: &mut [SeriesPoint], day: Day) -> &mut [SeriesPoint] {
    let after = points.partition_point(|point| point.start <= day * DAY_MILLIS);
    &mut points[after.saturating_sub(1)..]
}

fn month_start(day: Day) -> Day {
    let date = format_date(day);
    parse_date(&format!("{}-01", &date[..date.len() - "-DD".len()])).unwrap_or(day)
}
