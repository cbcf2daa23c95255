//! Periods: whole UTC days. It does not know query strings or figures.

use bindery_model::time::{DAY_MILLIS, Millis};

/// A UTC day, in days since 1970-01-01.
pub type Day = i64;

/// 0001-01-01 and 9999-12-31: the range of days that a date can have.
const FIRST_DAY: Day = -719_162;
const LAST_DAY: Day = 2_932_896;

/// A range of days, with both ends included. It is never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    start: Day,
    end: Day,
}

impl Period {
    /// Returns the days from `start` to `end`, cut to the years 0001 to 9999. `None` if `start` is after `end`.
    pub fn new(start: Day, end: Day) -> Option<Period> {
        let days = |day: Day| day.clamp(FIRST_DAY, LAST_DAY);
        (start <= end).then(|| Period { start: days(start), end: days(end) })
    }

    /// Like [`Period::new`], but unlimited on a side without a day.
    pub fn between(start: Option<Day>, end: Option<Day>) -> Option<Period> {
        Period::new(start.unwrap_or(FIRST_DAY), end.unwrap_or(LAST_DAY))
    }

    /// Returns the first day.
    pub fn start(self) -> Day {
        self.start
    }

    /// Returns the last day.
    pub fn end(self) -> Day {
        self.end
    }

    /// Returns the number of days it has.
    pub fn days(self) -> i64 {
        self.end - self.start + 1
    }

    /// Returns the number of weeks, from Monday to Sunday, that it has a day of.
    pub fn weeks(self) -> i64 {
        (monday(self.end) - monday(self.start)) / 7 + 1
    }

    /// Returns its first millisecond.
    pub fn first_millisecond(self) -> Millis {
        self.start * DAY_MILLIS
    }

    /// Returns its last millisecond.
    pub fn last_millisecond(self) -> Millis {
        (self.end + 1) * DAY_MILLIS - 1
    }

    /// Returns the period of the same length that ends the day before this one starts.
    pub fn previous(self) -> Period {
        Period { start: self.start - self.days(), end: self.start - 1 }
    }

    /// Returns whether the day is in the period.
    pub(super) fn contains(self, day: Day) -> bool {
        (self.start..=self.end).contains(&day)
    }
}

/// Returns the Monday of the day's week.
pub(super) fn monday(day: Day) -> Day {
    // 1970-01-01 was a Thursday.
    day - (day + 3).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        // 1969-12-29 and 1970-01-05 were Mondays.
        for (start, end, expected) in [(-3, -3, 1), (-3, 3, 1), (-3, 4, 2), (3, 4, 2), (-4, 4, 3), (-4, -4, 1)] {
            assert_eq!(Period { start, end }.weeks(), expected, "{start} to {end}");
        }
        assert_eq!(Period { start: FIRST_DAY, end: LAST_DAY }.weeks(), 521_723);
    }
}
