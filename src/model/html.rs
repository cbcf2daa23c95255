//! HTML that people send: sanitised on its way in, and its text form (`API.md` 2.4.7 and 4.6).
//!
//! Owns the rules of what stays; the tables are in [`allowed`]. Knows nothing of fields. ammonia parses and cleans;
//! around it stand a guard against markup that is expensive to parse (`cost`), what ammonia cannot express
//! (frames that lost their source, the first newline of `pre`), and `settled`, which recognises HTML that cleaning
//! would not change, so that cleaning runs once where it would else have to run twice.

pub mod allowed;
mod cost;
pub mod css;
mod settled;
mod text;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use allowed::Profile;
pub use text::text_content;

/// Sanitising is repeated until nothing changes, but not more often than this.
pub const MAX_PASSES: usize = 8;

/// The hosts that `<iframe>` may show unless the configuration says otherwise.
pub const DEFAULT_VIDEO_HOSTS: [&str; 7] = [
    "www.youtube.com",
    "youtube.com",
    "m.youtube.com",
    "www.youtube-nocookie.com",
    "youtube-nocookie.com",
    "player.vimeo.com",
    "vimeo.com",
];

/// Sanitises rich text and pages. Made once, used by all threads.
pub struct Sanitizer {
    video_hosts: Vec<String>,
    rich_text: ammonia::Builder<'static>,
    page: ammonia::Builder<'static>,
}

impl Default for Sanitizer {
    fn default() -> Self {
        Sanitizer::new(DEFAULT_VIDEO_HOSTS.map(str::to_owned).to_vec())
    }
}

impl Sanitizer {
    /// A sanitiser that keeps frames of these hosts, each named exactly.
    pub fn new(video_hosts: Vec<String>) -> Self {
        let video_hosts: Vec<String> = video_hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        let rich_text = builder(&allowed::RICH_TEXT, &video_hosts);
        let page = builder(&allowed::PAGE, &video_hosts);
        Sanitizer { video_hosts, rich_text, page }
    }

    /// Sanitises rich text. What comes out is a fixpoint: it comes out again unchanged.
    ///
    /// # Errors
    ///
    /// One clause on why the markup cannot be taken.
    pub fn rich_text(&self, html: &str) -> Result<String, String> {
        self.settle(&self.rich_text, &allowed::RICH_TEXT, html)
    }

    /// Sanitises the HTML of a page, which may also hold what lays a page out.
    ///
    /// # Errors
    ///
    /// As [`Sanitizer::rich_text`].
    pub fn page(&self, html: &str) -> Result<String, String> {
        self.settle(&self.page, &allowed::PAGE, html)
    }

    fn settle(&self, builder: &ammonia::Builder<'_>, profile: &Profile, html: &str) -> Result<String, String> {
        if settled::is_settled(html, profile, &self.video_hosts) {
            return Ok(html.to_owned());
        }
        let mut current = Cow::Borrowed(html);
        for _ in 0..MAX_PASSES {
            cost::check(&current)?;
            let cleaned = finish(&builder.clean(&current).to_string());
            if cleaned == current || settled::is_settled(&cleaned, profile, &self.video_hosts) {
                return Ok(cleaned);
            }
            current = Cow::Owned(cleaned);
        }
        Err(format!(
            "must be HTML whose elements nest properly; sanitising it {MAX_PASSES} times still changed something"
        ))
    }
}

fn builder(profile: &'static Profile, video_hosts: &[String]) -> ammonia::Builder<'static> {
    let hosts = video_hosts.to_vec();
    let tags: HashSet<&str> = profile.tags().map(|tag| tag.name).collect();
    let tag_attributes: HashMap<&str, HashSet<&str>> =
        profile.tags().map(|tag| (tag.name, tag.attributes.iter().copied().collect())).collect();
    let mut builder = ammonia::Builder::default();
    builder
        .tags(tags)
        .tag_attributes(tag_attributes)
        .generic_attributes(profile.generic_attributes.iter().copied().collect())
        .generic_attribute_prefixes(profile.generic_prefixes.iter().copied().collect())
        .tag_attribute_values(HashMap::new())
        .url_schemes(allowed::LINK_SCHEMES.into_iter().collect())
        .link_rel(Some(allowed::LINK_REL))
        .clean_content_tags(allowed::REMOVED_WHOLE.into_iter().collect())
        .attribute_filter(move |tag, attribute, value| {
            allowed::keeps_value(tag, attribute, value, &hosts).then_some(Cow::Borrowed(value))
        });
    builder
}

/// What ammonia leaves to be done on its output, in which `<` stands at the beginning of a tag only and `>` at the end
/// of one (but inside a frame): frames without a source go whole and the others are emptied, and a newline that begins
/// a `pre` is doubled, since parsers drop one there.
fn finish(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = find_frame_or_pre(rest) {
        let end = rest[at..].find('>').map_or(rest.len(), |length| at + length + 1);
        let tag = &rest[at..end];
        out.push_str(&rest[..at]);
        rest = &rest[end..];
        if tag.starts_with("<pre") {
            out.push_str(tag);
            if rest.starts_with('\n') {
                out.push('\n');
            }
            continue;
        }
        if has_source(tag) {
            out.push_str(tag);
            out.push_str("</iframe>");
        }
        rest = rest.split_once("</iframe>").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Whether a start tag has the attribute `src`: values stand in double quotes and hold none.
fn has_source(tag: &str) -> bool {
    tag.split('"').step_by(2).any(|name| name.ends_with(" src="))
}

fn find_frame_or_pre(html: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = html[from..].find('<').map(|at| from + at) {
        let tag = &html[at..];
        if tag.starts_with("<iframe") || tag.starts_with("<pre>") || tag.starts_with("<pre ") {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests;
