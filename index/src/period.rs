//! Days, months and years of the calendar, in UTC. It knows no columns.

use chrono::{Datelike, NaiveDate};

use crate::query::Period;

/// A day in microseconds.
const DAY_MICROS: i64 = 86_400_000_000;
const DAY_MILLIS: i64 = 86_400_000;

/// Returns the day of an instant, counted from 1970-01-01.
pub(crate) fn day_of_micros(micros: i64) -> i64 {
    micros.div_euclid(DAY_MICROS)
}

/// Returns the day of a date in milliseconds.
pub(crate) fn day_of_millis(millis: i64) -> i64 {
    millis.div_euclid(DAY_MILLIS)
}

/// Returns the first microsecond of a day.
pub(crate) fn micros_of_day(day: i64) -> i64 {
    day.saturating_mul(DAY_MICROS)
}

/// Returns the first millisecond of a day.
pub(crate) fn millis_of_day(day: i64) -> i64 {
    day.saturating_mul(DAY_MILLIS)
}

/// Reads the day that a text of the form `YYYY-MM-DD` names.
pub(crate) fn parse_day(text: &str) -> Option<i64> {
    let date: NaiveDate = text.parse().ok()?;
    Some(date.to_epoch_days().into())
}

impl Period {
    /// Returns the first day of the period that contains a day.
    pub(crate) fn start(self, day: i64) -> i64 {
        let date = date_of(day);
        match self {
            Period::Day => day,
            Period::Month => day_of(date.year(), date.month()),
            Period::Year => day_of(date.year(), 1),
        }
    }

    /// Returns the first day of the next period.
    pub(crate) fn end(self, day: i64) -> i64 {
        let date = date_of(day);
        match self {
            Period::Day => day + 1,
            Period::Month if date.month() < 12 => day_of(date.year(), date.month() + 1),
            Period::Month | Period::Year => day_of(date.year() + 1, 1),
        }
    }

    /// Returns the name of the period that contains a day: `2026-11-20`, `2026-11` or `2026`.
    pub(crate) fn name(self, day: i64) -> String {
        let date = date_of(day);
        let (year, month, day) = (date.year(), date.month(), date.day());
        match self {
            Period::Day => format!("{year:04}-{month:02}-{day:02}"),
            Period::Month => format!("{year:04}-{month:02}"),
            Period::Year => format!("{year:04}"),
        }
    }
}

/// Returns the first day of a month.
fn day_of(year: i32, month: u32) -> i64 {
    NaiveDate::from_ymd_opt(year, month, 1).unwrap_or(NaiveDate::MAX).to_epoch_days().into()
}

/// Returns the date of a day. All instants are within the range of years that the type supports.
fn date_of(day: i64) -> NaiveDate {
    i32::try_from(day).ok().and_then(NaiveDate::from_epoch_days).unwrap_or(NaiveDate::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_the_calendar_has_them() {
        for (day, name) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (-25_508, "1900-03-01"),
            (-719_162, "0001-01-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(Period::Day.name(day), name);
            assert_eq!(parse_day(name), Some(day), "{name}");
        }
        assert_eq!((parse_day("2026-13-01"), parse_day("x"), parse_day("2026-11")), (None, None, None));
    }

    #[test]
    fn periods_follow_each_other_without_gaps() {
        for period in [Period::Day, Period::Month, Period::Year] {
            let mut day = -800_000;
            while day < 3_000_000 {
                let (start, end) = (period.start(day), period.end(day));
                assert!(start <= day && day < end, "{period:?} {day}");
                assert_eq!((period.start(end), period.start(end - 1)), (end, start));
                assert_eq!(period.name(start), period.name(end - 1));
                assert_ne!(period.name(start), period.name(end));
                day = end.max(day + 37);
            }
        }
    }
}
