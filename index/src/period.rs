//! Days, months and years of the calendar, in UTC. It knows no columns.

use crate::query::Period;

/// A day in microseconds.
const DAY_MICROS: i64 = 86_400_000_000;
const DAY_MILLIS: i64 = 86_400_000;

/// The day of an instant, counted from 1970-01-01.
pub(crate) fn day_of_micros(micros: i64) -> i64 {
    micros.div_euclid(DAY_MICROS)
}

/// The day of a date in milliseconds.
pub(crate) fn day_of_millis(millis: i64) -> i64 {
    millis.div_euclid(DAY_MILLIS)
}

/// The first microsecond of a day.
pub(crate) fn micros_of_day(day: i64) -> i64 {
    day.saturating_mul(DAY_MICROS)
}

/// The first millisecond of a day.
pub(crate) fn millis_of_day(day: i64) -> i64 {
    day.saturating_mul(DAY_MILLIS)
}

/// The day that a text of the form `YYYY-MM-DD` names.
pub(crate) fn parse_day(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| day_of(year, month) + day - 1)
}

impl Period {
    /// The first day of the period that a day is in.
    pub(crate) fn start(self, day: i64) -> i64 {
        let (year, month, _) = civil(day);
        match self {
            Period::Day => day,
            Period::Month => day_of(year, month),
            Period::Year => day_of(year, 1),
        }
    }

    /// The first day of the period after the one that a day is in.
    pub(crate) fn end(self, day: i64) -> i64 {
        let (year, month, _) = civil(day);
        match self {
            Period::Day => day + 1,
            Period::Month if month == 12 => day_of(year + 1, 1),
            Period::Month => day_of(year, month + 1),
            Period::Year => day_of(year + 1, 1),
        }
    }

    /// The name of the period that a day is in: `2026-11-20`, `2026-11` or `2026`.
    pub(crate) fn name(self, day: i64) -> String {
        let (year, month, day) = civil(day);
        match self {
            Period::Day => format!("{year:04}-{month:02}-{day:02}"),
            Period::Month => format!("{year:04}-{month:02}"),
            Period::Year => format!("{year:04}"),
        }
    }
}

/// The first day of a month of the Gregorian calendar. Counts in eras of 400 years that begin with a March, so that the leap
/// day is the last one of its year.
fn day_of(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the month.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
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
