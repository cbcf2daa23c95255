//! Dates in common notations: `24.12.2025`, `12/24/2025 2:30 PM`, `24. Dezember 2025`. Must not know columns.

use bindery_model::time::{parse_date, parse_instant};
use chrono::NaiveDate;

/// The order of day, month and year in numeric dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    #[default]
    Dmy,
    Mdy,
    Ymd,
}

/// English and German names of months, each in its shortest accepted form.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän"],
    &["feb"],
    &["mar", "mär", "maer"],
    &["apr"],
    &["may", "mai"],
    &["jun"],
    &["jul"],
    &["aug"],
    &["sep"],
    &["oct", "okt"],
    &["nov"],
    &["dec", "dez"],
];

/// The two-digit year from which years belong to the last century, as in POSIX.
const LAST_CENTURY: i32 = 69;

impl Order {
    pub(crate) const ALL: [Order; 3] = [Order::Dmy, Order::Mdy, Order::Ymd];

    /// Returns the value of `--dates`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Order::Dmy => "dmy",
            Order::Mdy => "mdy",
            Order::Ymd => "ymd",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.as_str() == name)
    }
}

/// Parses a date, with a time unless that is midnight or missing. Returns it in the form that the API accepts.
pub(crate) fn date(text: &str, order: Order) -> Option<String> {
    let text = text.trim();
    if parse_date(text).is_some() || parse_instant(text).is_some() {
        return Some(text.to_owned());
    }
    // The time begins at the word with the first colon.
    let (day, time) = match text.find(':') {
        None => (text, None),
        Some(colon) => {
            let start = text[..colon].rfind([' ', 'T'])?;
            (text[..start].trim_end().trim_end_matches(','), Some(clock(&text[start + 1..])?))
        }
    };
    let day = named(day).or_else(|| numeric(day, order))?.format("%Y-%m-%d").to_string();
    Some(match time {
        Some(time) if time != "00:00:00" => format!("{day}T{time}"),
        _ => day,
    })
}

/// Is true if a result of [`date`] has a time.
pub(crate) fn has_time(date: &str) -> bool {
    date.contains(['T', 't'])
}

/// Parses a numeric date: `24.12.2025`, `24/12/25`, `2025-12-24`.
fn numeric(text: &str, order: Order) -> Option<NaiveDate> {
    let separator = text.chars().find(|character| !character.is_ascii_digit())?;
    if !matches!(separator, '.' | '/' | '-') {
        return None;
    }
    let parts: Vec<&str> = text.split(separator).map(str::trim).collect();
    let [first, second, third] = parts[..] else { return None };
    let (day, month, year) = match order {
        _ if first.len() == 4 => (third, second, first),
        Order::Dmy => (first, second, third),
        Order::Mdy => (second, first, third),
        Order::Ymd => (third, second, first),
    };
    NaiveDate::from_ymd_opt(self::year(year)?, short(month)?, short(day)?)
}

/// Parses a date with the name of a month: `24. Dezember 2025`, `24-Dec-25`, `December 24, 2025`.
fn named(text: &str) -> Option<NaiveDate> {
    let parts: Vec<&str> = text.split([' ', '.', ',', '-', '/', '\u{a0}']).filter(|part| !part.is_empty()).collect();
    let (day, month, year) = match parts[..] {
        [first, name, last] if name.starts_with(char::is_alphabetic) && first.len() == 4 => (last, name, first),
        [day, name, year] if name.starts_with(char::is_alphabetic) => (day, name, year),
        [name, day, year] if name.starts_with(char::is_alphabetic) => (day, name, year),
        _ => return None,
    };
    let name = month.to_lowercase();
    let month = MONTHS.iter().position(|names| names.iter().any(|known| name.starts_with(known)))?;
    NaiveDate::from_ymd_opt(self::year(year)?, month as u32 + 1, short(day)?)
}

/// Parses a day or a month: one or two digits.
fn short(text: &str) -> Option<u32> {
    if (1..=2).contains(&text.len()) { digits(text)?.try_into().ok() } else { None }
}

fn year(text: &str) -> Option<i32> {
    match (text.len(), digits(text)?) {
        (4, year) if year > 0 => Some(year),
        (2, year) if year < LAST_CENTURY => Some(2000 + year),
        (2, year) => Some(1900 + year),
        _ => None,
    }
}

fn digits(text: &str) -> Option<i32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Parses a time: `14:30`, `14:30:15 Uhr`, `2:30 PM`. Returns hours, minutes and seconds.
fn clock(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let (time, half) = match () {
        () if lower.ends_with("am") => (&lower[..lower.len() - 2], Some(0)),
        () if lower.ends_with("pm") => (&lower[..lower.len() - 2], Some(12)),
        () => (lower.strip_suffix("uhr").unwrap_or(&lower), None),
    };
    let parts: Vec<u32> = time.trim().split(':').map(short).collect::<Option<_>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60 && second < 60).then(|| format!("{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_forms_that_people_write() {
        for (text, order, expected) in [
            ("24.12.2025", Order::Dmy, Some("2025-12-24")),
            ("4.2.25", Order::Dmy, Some("2025-02-04")),
            ("4/2/1999", Order::Mdy, Some("1999-04-02")),
            ("25-02-04", Order::Ymd, Some("2025-02-04")),
            ("2025/02/04", Order::Mdy, Some("2025-02-04")),
            ("2025-02-04", Order::Dmy, Some("2025-02-04")),
            ("2025-02-04T10:00:00Z", Order::Dmy, Some("2025-02-04T10:00:00Z")),
            ("2025-02-04 10:00", Order::Dmy, Some("2025-02-04T10:00:00")),
            ("24.12.2025 00:00", Order::Dmy, Some("2025-12-24")),
            ("24.12.2025, 14:30 Uhr", Order::Dmy, Some("2025-12-24T14:30:00")),
            ("12/24/2025 2:30:05 PM", Order::Mdy, Some("2025-12-24T14:30:05")),
            ("12/24/2025 12:30 am", Order::Mdy, Some("2025-12-24T00:30:00")),
            ("24. Dezember 2025", Order::Mdy, Some("2025-12-24")),
            ("1. März 2025", Order::Dmy, Some("2025-03-01")),
            ("Dec 24, 2025", Order::Dmy, Some("2025-12-24")),
            ("24-Dec-25", Order::Dmy, Some("2025-12-24")),
            ("12/24/2025", Order::Dmy, None),
            ("30.02.2025", Order::Dmy, None),
            ("24.12", Order::Dmy, None),
            ("1.299", Order::Dmy, None),
            ("24.12.2025 25:00", Order::Dmy, None),
            ("sofort", Order::Dmy, None),
            ("", Order::Dmy, None),
            ("ä:ö", Order::Dmy, None),
        ] {
            assert_eq!(date(text, order).as_deref(), expected, "{text}");
        }
    }
}
