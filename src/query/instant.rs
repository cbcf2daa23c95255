//! Times in filters (`API.md` 1.2): as in bodies, and with the `+` of an offset that a query string turned into a blank.

use crate::model::time::Millis;

const MILLIS_A_DAY: Millis = 86_400_000;

/// Microseconds since 1970 of a date or timestamp; digits beyond are cut.
pub(super) fn micros(sent: &str) -> Option<i64> {
    parse(&with_plus(sent))
}

/// Milliseconds since 1970 of a date or timestamp; digits beyond are cut.
pub(super) fn millis(sent: &str) -> Option<Millis> {
    micros(sent).map(|micros| micros.div_euclid(1000))
}

/// The first millisecond of the UTC day that the instant lies in, and that of the next day.
pub(super) fn day(instant: Millis) -> (Millis, Millis) {
    let start = instant.div_euclid(MILLIS_A_DAY) * MILLIS_A_DAY;
    (start, start + MILLIS_A_DAY)
}

/// A blank before `hh:mm` at the end is the `+` that it was before decoding.
fn with_plus(sent: &str) -> String {
    let bytes = sent.as_bytes();
    if let Some((head, [b' ', a, b, b':', c, d])) = bytes.split_at_checked(bytes.len().wrapping_sub(6))
        && [a, b, c, d].iter().all(|digit| digit.is_ascii_digit())
    {
        return format!("{}+{}", &sent[..head.len()], &sent[head.len() + 1..]);
    }
    sent.to_owned()
}

fn parse(text: &str) -> Option<i64> {
    let digits = |range: std::ops::Range<usize>| -> Option<u32> {
        let part = text.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let bytes = text.as_bytes();
    (bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-')).then_some(())?;
    let year = digits(0..4)?;
    let date = chrono::NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, digits(5..7)?, digits(8..10)?)?;
    (year >= 1).then_some(())?;
    let midnight = date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros();
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(midnight);
    }
    (rest.starts_with(['T', 't']) && bytes.get(13) == Some(&b':')).then_some(())?;
    let (hours, minutes) = (digits(11..13)?, digits(14..16)?);
    let mut rest = text.get(16..)?;
    let (mut seconds, mut fraction) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        seconds = digits(17..19)?;
        rest = after.get(2..)?;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            (end > 0).then_some(())?;
            fraction = format!("{:0<6}", &after[..end.min(6)]).parse::<i64>().ok()?;
            rest = &after[end..];
        }
    }
    (hours < 24 && minutes < 60 && seconds < 60).then_some(())?;
    let offset = offset_minutes(rest)?;
    let total = (i64::from(hours) * 60 + i64::from(minutes) - offset) * 60 + i64::from(seconds);
    Some(midnight + total * 1_000_000 + fraction)
}

fn offset_minutes(text: &str) -> Option<i64> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = text.strip_prefix('+').map(|d| (1, d)).or_else(|| text.strip_prefix('-').map(|d| (-1, d)))?;
    let digits = if digits.len() == 5 { digits.replacen(':', "", 1) } else { digits.to_owned() };
    (matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}
