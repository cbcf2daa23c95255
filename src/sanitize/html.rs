//! The sanitizing of HTML with ammonia, repeated until nothing changes.
//!
//! A pass first rejects markup that is expensive to parse (`cost`), then runs ammonia, then does the steps that ammonia
//! cannot do (`finish`). `settled` recognizes HTML that a pass would not change. So usually one pass is enough;
//! otherwise a second one would have to show that nothing changes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use html5ever::tokenizer::Tag;

use super::allowed::{self, Profile};
use super::finish::finish;
use super::removal_counts::RemovalCounts;
use super::{cost, settled};

/// The maximum number of passes.
pub const MAX_PASSES: usize = 8;

/// The hosts whose pages an `<iframe>` may show, unless the configuration lists others.
pub const DEFAULT_VIDEO_HOSTS: [&str; 7] = [
    "www.youtube.com",
    "youtube.com",
    "m.youtube.com",
    "www.youtube-nocookie.com",
    "youtube-nocookie.com",
    "player.vimeo.com",
    "vimeo.com",
];

/// Sanitizes rich text and pages. Built once and shared by all threads.
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
    /// Makes a sanitizer that keeps frames of exactly these hosts, and of no subdomains.
    pub fn new(video_hosts: Vec<String>) -> Self {
        let video_hosts: Vec<String> = video_hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        let rich_text = builder(&allowed::RICH_TEXT, &video_hosts);
        let page = builder(&allowed::PAGE, &video_hosts);
        Sanitizer { video_hosts, rich_text, page }
    }

    /// Sanitizes rich text. The result is a fixpoint: sanitizing it again does not change it.
    ///
    /// # Errors
    ///
    /// A clause that begins with `must`, if the markup is too expensive to parse or still changes after
    /// [`MAX_PASSES`] passes.
    pub fn rich_text(&self, html: &str) -> Result<String, String> {
        self.rich_text_noting(html, &mut RemovalCounts::default())
    }

    /// Sanitizes like [`Sanitizer::rich_text`]. Also adds the removed parts to `removed`.
    ///
    /// # Errors
    ///
    /// As [`Sanitizer::rich_text`].
    pub fn rich_text_noting(&self, html: &str, removed: &mut RemovalCounts) -> Result<String, String> {
        self.sanitize(&self.rich_text, &allowed::RICH_TEXT, html, removed)
    }

    /// Sanitizes the HTML of a page, which also keeps elements for layout. The result is a fixpoint.
    ///
    /// # Errors
    ///
    /// The errors of [`Sanitizer::rich_text`].
    pub fn page(&self, html: &str) -> Result<String, String> {
        self.page_noting(html, &mut RemovalCounts::default())
    }

    /// Sanitizes like [`Sanitizer::page`]. Also adds the removed parts to `removed`.
    ///
    /// # Errors
    ///
    /// The errors of [`Sanitizer::rich_text`].
    pub fn page_noting(&self, html: &str, removed: &mut RemovalCounts) -> Result<String, String> {
        self.sanitize(&self.page, &allowed::PAGE, html, removed)
    }

    fn sanitize(
        &self,
        builder: &ammonia::Builder<'_>,
        profile: &Profile,
        html: &str,
        removed: &mut RemovalCounts,
    ) -> Result<String, String> {
        if settled::is_settled(html, profile, &self.video_hosts) {
            return Ok(html.to_owned());
        }
        let mut current = Cow::Borrowed(html);
        let noted = RefCell::new(removed);
        let note = |tag: &Tag| noted.borrow_mut().note_tag(tag, profile, &self.video_hosts);
        for _ in 0..MAX_PASSES {
            cost::check(&current, &note)?;
            let cleaned = finish(&builder.clean(&current).to_string());
            if cleaned == current || settled::is_settled(&cleaned, profile, &self.video_hosts) {
                return Ok(cleaned);
            }
            current = Cow::Owned(cleaned);
        }
        Err(format!(
            "must be HTML with properly nested elements: it still changes after {MAX_PASSES} sanitizing passes"
        ))
    }
}

/// Returns the configured ammonia, without `finish`.
pub(super) fn builder(profile: &'static Profile, video_hosts: &[String]) -> ammonia::Builder<'static> {
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
