//! Times in filters (`API.md` 1.2): as in bodies, but also with a space where an offset had its `+`, which query
//! strings decode to a space. Must not know fields.

use bindery_model::time::{self, Millis};

/// The number of fraction digits that are compared.
const FRACTION_DIGITS: usize = 6;

/// Microseconds since 1970 of a date or timestamp; further digits are cut. `None` if it is neither.
pub(super) fn micros(sent: &str) -> Option<i64> {
    time::parse_instant(&with_plus(&cut_fraction(sent))).map(|instant| instant.micros)
}

/// Milliseconds since 1970 of a date or timestamp; further digits are cut. `None` if it is neither. With an offset it
/// may be a few hours outside the years 0001 to 9999, which can be compared but not written out.
pub(super) fn millis(sent: &str) -> Option<Millis> {
    micros(sent).map(|micros| micros.div_euclid(1000))
}

/// Returns the text with a `+` instead of a space before `hh:mm` at the end.
fn with_plus(sent: &str) -> String {
    let bytes = sent.as_bytes();
    if let Some((head, [b' ', a, b, b':', c, d])) = bytes.split_at_checked(bytes.len().wrapping_sub(6))
        && [a, b, c, d].iter().all(|digit| digit.is_ascii_digit())
    {
        return format!("{}+{}", &sent[..head.len()], &sent[head.len() + 1..]);
    }
    sent.to_owned()
}

/// Returns the text without digits of a fraction beyond microseconds.
fn cut_fraction(sent: &str) -> String {
    let Some((head, rest)) = sent.split_once('.') else { return sent.to_owned() };
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    format!("{head}.{}{}", &rest[..end.min(FRACTION_DIGITS)], &rest[end..])
}
