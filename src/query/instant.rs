//! Times in filters (`API.md` 1.2): as in bodies, and with the `+` of an offset that a query string turned into a blank.

use crate::model::time::{self, Millis};

/// The digits of a fraction that are kept, and compared.
const FRACTION_DIGITS: usize = 6;

/// Microseconds since 1970 of a date or timestamp; digits beyond are cut.
pub(super) fn micros(sent: &str) -> Option<i64> {
    time::parse_instant(&with_plus(&cut_fraction(sent))).map(|instant| instant.micros)
}

/// Milliseconds since 1970 of a date or timestamp; digits beyond are cut. An offset may push it a few hours out of the
/// years that a date is answered with: it is compared all the same.
pub(super) fn millis(sent: &str) -> Option<Millis> {
    micros(sent).map(|micros| micros.div_euclid(1000))
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

/// The text without the digits of a fraction that go beyond microseconds.
fn cut_fraction(sent: &str) -> String {
    let Some((head, rest)) = sent.split_once('.') else { return sent.to_owned() };
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    format!("{head}.{}{}", &rest[..end.min(FRACTION_DIGITS)], &rest[end..])
}
