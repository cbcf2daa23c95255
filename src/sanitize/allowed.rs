//! The tables of the tags, attributes and URL schemes that sanitizing keeps. A test compares them with the
//! documentation.
//!
//! A tag that is not listed is dropped and its text is kept, except for the tags in [`REMOVED_WHOLE`]. An attribute
//! that is not listed is dropped. Only pages keep `id`: in rich text it could shadow names of the page that shows it.

use url::Url;

/// The allowlist for rich text, or for a page.
pub struct Profile {
    /// Attributes that every tag may have.
    pub generic_attributes: &'static [&'static str],
    /// Prefixes of attributes that every tag may have.
    pub generic_prefixes: &'static [&'static str],
    /// True if tags that lay out a page are kept.
    layout: bool,
}

/// A tag that is kept.
#[derive(Debug)]
pub struct Tag {
    /// The name of the tag.
    pub name: &'static str,
    /// Attributes of this tag, in addition to the generic ones.
    pub attributes: &'static [&'static str],
}

/// The allowlist for rich text.
pub const RICH_TEXT: Profile =
    Profile { generic_attributes: &["class", "dir", "lang", "title"], generic_prefixes: &[], layout: false };

/// The allowlist for a page's HTML: that of rich text, and layout.
pub const PAGE: Profile = Profile {
    generic_attributes: &["class", "dir", "id", "lang", "role", "title"],
    generic_prefixes: &["aria-"],
    layout: true,
};

/// Tags that are dropped with their content. (So is an `iframe` whose source is not allowed.)
pub const REMOVED_WHOLE: [&str; 9] =
    ["applet", "embed", "frameset", "math", "object", "script", "style", "svg", "template"];

/// The URL schemes of links. Relative URLs are kept too.
pub const LINK_SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

/// The `rel` attribute that every link gets.
pub const LINK_REL: &str = "noopener noreferrer";

impl Profile {
    /// Returns the tags that are kept.
    pub fn tags(&self) -> impl Iterator<Item = &'static Tag> {
        let layout = if self.layout { LAYOUT_TAGS } else { &[] };
        TEXT_TAGS.iter().chain(layout)
    }

    /// Returns the tag of this name, if it is kept.
    pub(super) fn tag(&self, name: &str) -> Option<&'static Tag> {
        self.tags().find(|tag| tag.name == name)
    }

    /// Returns whether the tag keeps the attribute, unless [`keeps_value`] rejects its value.
    pub(super) fn keeps_attribute(&self, tag: &Tag, attribute: &str) -> bool {
        tag.attributes.contains(&attribute)
            || self.generic_attributes.contains(&attribute)
            || self.generic_prefixes.iter().any(|prefix| attribute.starts_with(prefix))
    }
}

/// Returns whether an attribute that is kept may have this value.
pub(super) fn keeps_value(tag: &str, attribute: &str, value: &str, video_hosts: &[String]) -> bool {
    match (tag, attribute) {
        ("iframe", "src") => is_video(value, video_hosts),
        (_, "href") => has_scheme(value, &LINK_SCHEMES),
        (_, "src" | "poster" | "cite") => has_scheme(value, &["http", "https"]),
        ("a", "target") => matches!(value, "_blank" | "_self"),
        _ => true,
    }
}

fn has_scheme(value: &str, schemes: &[&str]) -> bool {
    match Url::parse(value) {
        Ok(url) => schemes.contains(&url.scheme()),
        Err(error) => error == url::ParseError::RelativeUrlWithoutBase,
    }
}

fn is_video(value: &str, video_hosts: &[String]) -> bool {
    // Without the slashes, a page at an `https` address resolves the rest as a path on its own host.
    let is_absolute = value.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    let Ok(url) = Url::parse(value) else { return false };
    let plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    is_absolute && plain && url.host_str().is_some_and(|host| video_hosts.iter().any(|known| known == host))
}

const fn tag(name: &'static str, attributes: &'static [&'static str]) -> Tag {
    Tag { name, attributes }
}

/// The most frequent tags come first, because lookups scan the list.
const TEXT_TAGS: &[Tag] = &[
    tag("p", &[]),
    tag("a", &["href", "hreflang", "target"]),
    tag("code", &[]),
    tag("li", &["value"]),
    tag("td", &["align", "colspan", "headers", "rowspan", "valign"]),
    tag("tr", &[]),
    tag("strong", &[]),
    tag("em", &[]),
    tag("br", &[]),
    tag("ul", &[]),
    tag("pre", &[]),
    tag("h2", &[]),
    tag("h3", &[]),
    tag("th", &["abbr", "align", "colspan", "headers", "rowspan", "scope", "valign"]),
    tag("h1", &[]),
    tag("h4", &[]),
    tag("h5", &[]),
    tag("h6", &[]),
    tag("div", &[]),
    tag("span", &[]),
    tag("img", &["alt", "decoding", "height", "loading", "src", "width"]),
    tag("blockquote", &["cite"]),
    tag("table", &["summary"]),
    tag("thead", &[]),
    tag("tbody", &[]),
    tag("tfoot", &[]),
    tag("caption", &[]),
    tag("colgroup", &["span"]),
    tag("col", &["span"]),
    tag("ol", &["reversed", "start", "type"]),
    tag("dl", &[]),
    tag("dt", &[]),
    tag("dd", &[]),
    tag("b", &[]),
    tag("i", &[]),
    tag("abbr", &[]),
    tag("bdi", &[]),
    tag("bdo", &[]),
    tag("cite", &[]),
    tag("del", &["cite", "datetime"]),
    tag("details", &["open"]),
    tag("dfn", &[]),
    tag("figcaption", &[]),
    tag("figure", &[]),
    tag("hr", &[]),
    tag("iframe", &["allow", "allowfullscreen", "frameborder", "height", "loading", "referrerpolicy", "src", "width"]),
    tag("ins", &["cite", "datetime"]),
    tag("kbd", &[]),
    tag("mark", &[]),
    tag("q", &["cite"]),
    tag("rp", &[]),
    tag("rt", &[]),
    tag("ruby", &[]),
    tag("s", &[]),
    tag("samp", &[]),
    tag("small", &[]),
    tag("source", &["src", "type"]),
    tag("sub", &[]),
    tag("summary", &[]),
    tag("sup", &[]),
    tag("time", &["datetime"]),
    tag("u", &[]),
    tag("var", &[]),
    tag("video", &["controls", "height", "loop", "muted", "playsinline", "poster", "preload", "src", "width"]),
    tag("wbr", &[]),
];

const LAYOUT_TAGS: &[Tag] = &[
    tag("address", &[]),
    tag("article", &[]),
    tag("aside", &[]),
    tag("footer", &[]),
    tag("header", &[]),
    tag("hgroup", &[]),
    tag("main", &[]),
    tag("nav", &[]),
    tag("section", &[]),
];
