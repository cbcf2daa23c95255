//! Periods: whole UTC days. Knows nothing of query strings or of what is counted.

use bindery_model::time::{DAY_MILLIS, Millis};

/// A UTC day, in days since 1970-01-01.
pub type Day = i64;

/// 0001-01-01 and 9999-12-31: every day that a date can name.
const FIRST_DAY: Day = -719_162;
const LAST_DAY: Day = 2_932_896;

/// The days from a first to a last one, both included. The first is never after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    start: Day,
    end: Day,
}

impl Period {
    /// The days from `start` to `end`, cut to the years 0001 to 9999. `None` if `start` is after `end`.
    pub fn new(start: Day, end: Day) -> Option<Period> {
        let days = |day: Day| day.clamp(FIRST_DAY, LAST_DAY);
        (start <= end).then(|| Period { start: days(start), end: days(end) })
    }

    /// The same, but unlimited on a side without a day.
    pub fn between(start: Option<Day>, end: Option<Day>) -> Option<Period> {
        Period::new(start.unwrap_or(FIRST_DAY), end.unwrap_or(LAST_DAY))
    }

    /// The first day.
    pub fn start(self) -> Day {
        self.start
    }

    /// The last day.
    pub fn end(self) -> Day {
        self.end
    }

    /// The number of days it has.
    pub fn days(self) -> i64 {
        self.end - self.start + 1
    }

    /// Its first millisecond.
    pub fn first_millisecond(self) -> Millis {
        self.start * DAY_MILLIS
    }

    /// Its last millisecond.
    pub fn last_millisecond(self) -> Millis {
        (self.end + 1) * DAY_MILLIS - 1
    }

    /// The period of the same length that ends the day before this one starts.
    pub fn previous(self) -> Period {
        Period { start: self.start - self.days(), end: self.start - 1 }
    }

    /// Tests whether the day is in the period.
    pub(super) fn contains(self, day: Day) -> bool {
        (self.start..=self.end).contains(&day)
    }
}
