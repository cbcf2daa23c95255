//! Text operations that define predicates and orders: folding, parsing and printing numbers, and the head of a text
//! that is sorted by. It knows no columns and no values.

use std::borrow::Cow;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();
const CASES: CaseMapperBorrowed<'static> = CaseMapper::new();

/// The number of code points at the beginning of a text that it is sorted by.
pub(crate) const HEAD_CODE_POINTS: usize = 256;

/// Returns a text in the normal form NFC, in which texts are cut into words: the marks of kana are part of a character
/// then.
pub fn composed(text: &str) -> Cow<'_, str> {
    NFC.normalize(text)
}

/// Normalizes to NFC, applies full case folding, and normalizes again. Borrowed if nothing changes.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    let folded = fold_case(&NFC.normalize(text));
    let again = NFC.normalize(&folded);
    match again == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(again.into_owned()),
    }
}

/// Applies full case folding. It works character by character, so ASCII, which is most of many texts, has a fast path.
fn fold_case(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (ascii, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii).count());
        let start = folded.len();
        folded.push_str(ascii);
        folded[start..].make_ascii_lowercase();
        let (other, after) = after.split_at(after.find(|char: char| char.is_ascii()).unwrap_or(after.len()));
        folded.push_str(&CASES.fold_string(other));
        rest = after;
    }
    folded
}

/// Passes a text to `read` with lower-case ASCII letters.
pub(crate) fn with_lower_case<T>(text: &[u8], read: impl FnOnce(&[u8]) -> T) -> T {
    match text.iter().any(u8::is_ascii_uppercase) {
        true => read(&text.to_ascii_lowercase()),
        false => read(text),
    }
}

/// Returns the value of a text that is, as a whole, a number in JSON's grammar.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let rest = text.as_bytes();
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let mut rest = match rest.split_first()? {
        (b'0', rest) => rest,
        (b'1'..=b'9', _) => skip_digits(rest)?,
        _ => return None,
    };
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = skip_digits(fraction)?;
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        let unsigned = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        rest = skip_digits(unsigned)?;
    }
    match rest.is_empty() {
        true => text.parse().ok(),
        false => None,
    }
}

/// Returns the bytes after the leading digits; `None` if there are no digits.
fn skip_digits(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => None,
        count => Some(&bytes[count..]),
    }
}

/// Formats a number as ECMAScript does.
pub(crate) fn number_text(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// Returns the text form of a boolean.
pub(crate) fn bool_text(value: bool) -> &'static str {
    match value {
        true => "true",
        false => "false",
    }
}

/// Returns the first 256 code points.
pub(crate) fn head(text: &str) -> &str {
    if text.len() <= HEAD_CODE_POINTS {
        return text;
    }
    // Most texts begin with ASCII characters only.
    if text.as_bytes()[..HEAD_CODE_POINTS].is_ascii() {
        return &text[..HEAD_CODE_POINTS];
    }
    first_chars(text, HEAD_CODE_POINTS)
}

/// Returns the first `count` code points of a text, or all of it.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests;
