//! Decides whether a style sheet without forbidden rules may be kept exactly as it was written.

use super::forbidden;

/// Returns whether the sheet may be kept as written, provided that all its rules may. It must not contain anything that
/// the parser skips or that an escape could hide from the check. Everything that it opens must be closed.
pub(super) fn may_stay(css: &str) -> bool {
    let has_skipped_text = css.to_ascii_lowercase().contains("@charset") || css.contains("-->");
    !has_skipped_text
        && !forbidden::contains_text(css)
        && !css.contains(['<', '\\', '\0', '\r', '\u{c}'])
        && is_closed(css)
}

/// Returns whether every comment, string and bracket is closed. The sheet must not contain backslashes.
fn is_closed(css: &str) -> bool {
    let mut brackets = Vec::new();
    let mut rest = css;
    while let Some(start) = rest.find(['/', '"', '\'', '(', '[', '{', ')', ']', '}']) {
        let found = rest.as_bytes()[start];
        rest = &rest[start + 1..];
        let end = match found {
            b'/' if rest.starts_with('*') => rest[1..].find("*/").map(|end| end + 3),
            b'"' | b'\'' => rest.find(char::from(found)).map(|end| end + 1),
            b'(' | b'[' | b'{' => {
                brackets.push(found);
                Some(0)
            }
            b')' => (brackets.pop() == Some(b'(')).then_some(0),
            b']' => (brackets.pop() == Some(b'[')).then_some(0),
            b'}' => (brackets.pop() == Some(b'{')).then_some(0),
            _ => Some(0),
        };
        let Some(end) = end else { return false };
        rest = &rest[end..];
    }
    brackets.is_empty()
}
