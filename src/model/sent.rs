//! What was sent, as messages show it: in backticks, cut to 100 characters.

/// The most characters of what was sent that a message shows.
const SHOWN: usize = 100;

/// The beginning of a text, with an ellipsis where something is left out.
pub fn shorten(sent: &str) -> String {
    match sent.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &sent[..end]),
        None => sent.to_owned(),
    }
}

/// The same in backticks.
pub fn quote(sent: &str) -> String {
    format!("`{}`", shorten(sent))
}
