//! Errors of the system as people read them. Must not know where they come from.

use std::borrow::Cow;

/// What the standard library puts around the number of an error, behind its name: `Connection refused (os error 111)`.
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
