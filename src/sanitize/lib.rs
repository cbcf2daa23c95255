//! Sanitizing of HTML and CSS from outside, and the text content of sanitized HTML (`API.md` 2.4.7 and 4.6).
//!
//! Owns the rules: [`allowed`] has the tables of the tags, attributes and URL schemes that are kept. Uses no other
//! crate of the project: it must not know fields, blueprints or error codes.

pub mod allowed;
mod cost;
mod css;
mod finish;
mod html;
mod removal_counts;
mod settled;
mod text;

pub use css::{style_sheet, style_sheet_noting};
pub use html::{DEFAULT_VIDEO_HOSTS, MAX_PASSES, Sanitizer};
pub use removal_counts::RemovalCounts;
pub use text::text_content;

#[cfg(test)]
mod tests;
