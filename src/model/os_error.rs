//! Errors of the system: their text for people, and the recognition of a full disk. Must not know their sources.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, ErrorKind};

/// The text that the standard library puts before the number of an error, behind its name:
/// `Connection refused (os error 111)`.
const BEGIN: &str = " (os error ";

/// Returns the text without the numbers of system errors, which say nothing beyond the names.
pub fn without_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        plain.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        rest = match after[digits..].strip_prefix(')') {
            Some(behind) if digits > 0 => behind,
            _ => {
                plain.push_str(BEGIN);
                after
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns whether the error means that the disk is full or the user's quota is used up.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Returns whether an error of any type was caused by a full disk.
pub fn is_from_full_disk(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(is_disk_full) || error.source().is_some_and(is_from_full_disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        for (text, plain) in [
            ("Connection refused (os error 111)", "Connection refused"),
            (
                "a: No such file (os error 2); b: Permission denied (os error 13)!",
                "a: No such file; b: Permission denied!",
            ),
            ("(os error 2)", "(os error 2)"),
            ("x (os error ) y (os error 2", "x (os error ) y (os error 2"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), plain);
        }
    }
}
