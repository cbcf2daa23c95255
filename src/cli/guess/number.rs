//! Numbers and amounts of money in common notations: `1.299,00`, `1,299.00`, `485.90 EUR`, `12,50 €`. Must not know
//! columns.

use bindery_model::blueprint::CURRENCIES;
use serde_json::{Number, Value};

/// The character before the decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Decimal {
    #[default]
    Point,
    Comma,
}

/// The possible meanings of a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NumberReading {
    /// A number with one meaning. The mark is given if the text reveals it: `1.5` has a point.
    Clear(Number, Option<Decimal>),
    /// A number with two meanings: `1.299` is about one, or more than a thousand.
    Either {
        /// The meaning with a decimal point.
        point: Number,
        /// The meaning with a decimal comma.
        comma: Number,
    },
}

/// Symbols and words for currencies, in addition to their codes.
const SYMBOLS: [(&str, &str); 12] = [
    ("€", "EUR"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("$", "USD"),
    ("us$", "USD"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("₹", "INR"),
    ("₺", "TRY"),
    ("zł", "PLN"),
    ("kč", "CZK"),
    ("sfr.", "CHF"),
];

/// Endings that mean "no decimals", as in `12,-`.
const NO_DECIMALS: [&str; 8] = [",--", ".--", ",-", ".-", ",–", ".–", ",—", ".—"];

/// Spaces and apostrophes that may separate thousands, regardless of the decimal mark.
const GROUPING: [char; 4] = ['\u{a0}', '\u{202f}', '\'', '’'];

impl NumberReading {
    /// Returns the number, read with this decimal mark if it is ambiguous.
    pub(crate) fn with(self, decimal: Decimal) -> Number {
        match (self, decimal) {
            (NumberReading::Clear(number, _), _) => number,
            (NumberReading::Either { point, .. }, Decimal::Point) => point,
            (NumberReading::Either { comma, .. }, Decimal::Comma) => comma,
        }
    }
}

/// Parses a number; returns `None` if it is not one. A text with leading zeros is not a number but a postal code.
pub(crate) fn number(text: &str) -> Option<NumberReading> {
    match (read(text, Decimal::Point), read(text, Decimal::Comma)) {
        (Some(point), Some(comma)) if point == comma => Some(NumberReading::Clear(point, None)),
        (Some(point), Some(comma)) => Some(NumberReading::Either { point, comma }),
        (Some(point), None) => Some(NumberReading::Clear(point, Some(Decimal::Point))),
        (None, Some(comma)) => Some(NumberReading::Clear(comma, Some(Decimal::Comma))),
        (None, None) => None,
    }
}

/// Parses an amount with an optional currency before or after it.
pub(crate) fn money(text: &str) -> Option<(NumberReading, Option<&'static str>)> {
    // The API's own tables have money as JSON.
    if text.starts_with('{') {
        let money: Value = serde_json::from_str(text).ok()?;
        let Value::Number(amount) = &money["amount"] else { return None };
        return Some((NumberReading::Clear(amount.clone(), None), Some(currency(money["currency"].as_str()?)?)));
    }
    let is_digit = |character: char| character.is_ascii_digit();
    let (start, end) = (text.find(is_digit)?, text.rfind(is_digit)? + 1);
    let (before, digits, behind) = (&text[..start], &text[start..end], text[end..].trim_start());
    let behind = NO_DECIMALS.iter().find_map(|ending| behind.strip_prefix(ending)).unwrap_or(behind).trim();
    let (before, is_negative) = match before.split_once(['-', '−']) {
        Some((one, other)) if one.trim().is_empty() || other.trim().is_empty() => {
            (if one.trim().is_empty() { other } else { one }.trim(), true)
        }
        Some(_) => return None,
        None => (before.trim(), false),
    };
    let currency = match (before, behind) {
        ("", "") => None,
        (word, "") | ("", word) => Some(currency(word)?),
        _ => return None,
    };
    let sign = if is_negative { "-" } else { "" };
    Some((number(&format!("{sign}{}", digits.replace(' ', "\u{a0}")))?, currency))
}

/// Parses a number or an amount.
pub(crate) fn number_or_money(text: &str) -> Option<(NumberReading, Option<&'static str>)> {
    number(text).map(|number| (number, None)).or_else(|| money(text))
}

fn currency(word: &str) -> Option<&'static str> {
    let (upper, lower) = (word.to_uppercase(), word.to_lowercase());
    let symbol = || SYMBOLS.iter().find(|(symbol, _)| *symbol == lower).map(|(_, code)| *code);
    CURRENCIES.into_iter().find(|code| *code == upper).or_else(symbol)
}

fn read(text: &str, decimal: Decimal) -> Option<Number> {
    let (group, mark) = match decimal {
        Decimal::Point => (',', '.'),
        Decimal::Comma => ('.', ','),
    };
    let text = text.trim();
    let (sign, text) = text.strip_prefix(['-', '−']).map_or(("", text), |text| ("-", text));
    let (text, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let (whole, decimals) = text.split_once(mark).map_or((text, None), |(whole, decimals)| (whole, Some(decimals)));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let separator = whole.chars().find(|character| *character == group || GROUPING.contains(character));
    let mut groups = whole.split(|character: char| Some(character) == separator);
    let first = groups.next().unwrap_or_default();
    let has_groups = separator.is_some();
    let is_whole = all_digits(first)
        && (first == "0" && !has_groups || !first.starts_with('0'))
        && (!has_groups || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && all_digits(group));
    if !is_whole || !decimals.is_none_or(all_digits) {
        return None;
    }
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let point = if decimals.is_some() { "." } else { "" };
    match serde_json::from_str(&format!("{sign}{whole}{point}{}{exponent}", decimals.unwrap_or_default())) {
        Ok(Value::Number(number)) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn shown(reading: Option<NumberReading>) -> String {
        match reading {
            Some(NumberReading::Clear(number, _)) => number.to_string(),
            Some(NumberReading::Either { point, comma }) => format!("{point} or {comma}"),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn numbers_are_read_with_points_and_commas() {
        for (text, expected) in [
            ("1299", "1299"),
            ("-1299,5", "-1299.5"),
            ("1.299,00", "1299.0"),
            ("1,299.00", "1299.0"),
            ("1.299", "1.299 or 1299"),
            ("1,299", "1299 or 1.299"),
            ("0.250", "0.25"),
            ("0,250", "0.25"),
            ("1.299.000", "1299000"),
            ("1'299.00", "1299.0"),
            ("1\u{a0}299,00", "1299.0"),
            ("4e2", "400.0"),
            ("-2,5E+3", "-2500.0"),
            ("007", "none"),
            ("1.29.9", "none"),
            ("12,", "none"),
            ("1.299,00,5", "none"),
            ("+49", "none"),
            ("", "none"),
            ("-", "none"),
            ("1 2", "none"),
            ("inf", "none"),
        ] {
            assert_eq!(shown(number(text)), expected, "{text}");
        }
    }

    #[test]
    fn amounts_have_their_currency_before_or_behind() {
        for (text, amount, code) in [
            ("1.299,00 €", json!(1299.0), Some("EUR")),
            ("485.90 EUR", json!(485.9), Some("EUR")),
            ("12,50€", json!(12.5), Some("EUR")),
            ("€ 1 299,00", json!(1299.0), Some("EUR")),
            ("-5 eur", json!(-5), Some("EUR")),
            ("EUR -5", json!(-5), Some("EUR")),
            ("$1,299.00", json!(1299.0), Some("USD")),
            ("12,- €", json!(12), Some("EUR")),
            ("1200 JPY", json!(1200), Some("JPY")),
            ("9.5", json!(9.5), None),
        ] {
            let (reading, currency) = money(text).unwrap();
            assert_eq!((Value::Number(reading.with(Decimal::Point)), currency), (amount, code), "{text}");
        }
        for text in ["auf Anfrage", "ab 5 €", "5 Stk", "€ 5 €", "5-6 €", "", "€"] {
            assert_eq!(money(text), None, "{text}");
        }
    }
}
