//! Errors of the system: what people read of them, and which of them is a full disk. Must not know where they come from.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, ErrorKind};

/// The text that the standard library puts around the number of an error, behind its name: `Connection refused (os error 111)`.
const BEGIN: &str = " (os error ";

/// A text without the numbers of the system's errors, which say nothing that their names do not.
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

/// Whether the disk has no room, or the user may use no more of it.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Whether a full disk is behind an error of any type.
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
