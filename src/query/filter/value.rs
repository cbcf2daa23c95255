//! Reading a filter's value: lists, decimal numbers, ranges. Must not know fields.

use bindery_index::{Bound, Range};

use super::operator::Test;

/// Returns the entries of a comma-separated list. A backslash makes the next character literal; at the end it stands
/// for itself.
pub fn split_list(value: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        let literal = match char {
            ',' => {
                entries.push(String::new());
                continue;
            }
            '\\' => chars.next().unwrap_or('\\'),
            char => char,
        };
        entries.last_mut().expect("there is always an entry").push(literal);
    }
    entries
}

/// Returns the number, if the whole text is a number by JSON's grammar. Negative zero becomes zero.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let rest = match unsigned.strip_prefix('0') {
        Some(rest) => rest,
        None => digits(unsigned)?,
    };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => digits(fraction)?,
        None => rest,
    };
    let rest = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))?,
        None => rest,
    };
    rest.is_empty().then(|| text.parse().ok()).flatten().map(|number: f64| number + 0.0)
}

/// Returns the range for one of `gt`, `gte`, `lt`, `lte`.
pub(super) fn one_sided<T>(test: Test, bound: T) -> Range<T> {
    match test {
        Test::Gt => Range { from: Some(Bound::Excluded(bound)), to: None },
        Test::Gte => Range { from: Some(Bound::Included(bound)), to: None },
        Test::Lt => Range { from: None, to: Some(Bound::Excluded(bound)) },
        _ => Range { from: None, to: Some(Bound::Included(bound)) },
    }
}

/// Returns the range that includes both ends; `None` if it is empty.
pub(super) fn closed<T: PartialOrd>(from: T, to: T) -> Option<Range<T>> {
    (from <= to).then(|| Range { from: Some(Bound::Included(from)), to: Some(Bound::Included(to)) })
}

/// Returns the text after its leading digits; `None` if it begins with something else.
fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn negative_zero_becomes_zero() {
        for text in ["-0", "-0.0", "-0e5", "-1e-999"] {
            assert_eq!(decimal(text).map(f64::to_bits), Some(0), "{text}");
        }
    }

    proptest! {
        #[test]
        fn split_list_reverses_escaping(entries in prop::collection::vec("[a,\\\\ é]{0,5}", 1..4)) {
            let escaped: Vec<String> =
                entries.iter().map(|entry| entry.replace('\\', r"\\").replace(',', r"\,")).collect();
            prop_assert_eq!(split_list(&escaped.join(",")), entries);
        }

        #[test]
        fn decimal_accepts_what_json_accepts_as_a_number(text in "(-?[0-9]{1,3}(\\.[0-9]{0,2})?([eE][+-]?[0-9]{0,2})?|[-+0-9.eE x]{0,6})") {
            let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok() && text.trim() == text;
            // serde rejects numbers beyond a double. Here they become infinite, which compares correctly.
            let double = serde_json::from_str::<f64>(&text).ok();
            let expected = is_json.then(|| double.unwrap_or(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }));
            prop_assert_eq!(decimal(&text), expected, "{}", text);
        }
    }
}
