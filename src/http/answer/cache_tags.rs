//! The tags of an answer: the names of what it depends on, by which a cache in front of the server forgets it when one
//! of them changes (`API.md` 4.24). Must not know how an answer is made.

use std::fmt::Write;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

/// The header that Fastly and most modules of Varnish read: tags separated by spaces.
const SURROGATE_KEY: HeaderName = HeaderName::from_static("surrogate-key");
/// The header that Cloudflare reads: tags separated by commas.
const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");

/// The tags of one answer, as both headers have them.
#[derive(Debug, Clone)]
pub(crate) struct CacheTags {
    by_space: HeaderValue,
    by_comma: HeaderValue,
}

impl CacheTags {
    /// Returns the tags with these names: slugs of blueprints and ids of resources, which contain neither spaces nor
    /// commas.
    pub(crate) fn new<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> Option<CacheTags> {
        let mut text = String::new();
        for name in names {
            let space = if text.is_empty() { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{space}{name}");
        }
        let by_comma = HeaderValue::try_from(text.replace(' ', ",")).ok()?;
        Some(CacheTags { by_space: HeaderValue::try_from(text).ok()?, by_comma })
    }

    /// Adds the tags to an answer.
    pub(crate) fn add_to(self, response: &mut Response) {
        response.headers_mut().insert(SURROGATE_KEY, self.by_space);
        response.headers_mut().insert(CACHE_TAG, self.by_comma);
    }
}
