//! A quick test for HTML that sanitizing would not change.
//!
//! HTML is settled under three conditions. It is written as the serializer writes it: `<`, `>`, `&` and non-breaking
//! spaces escaped, values in double quotes, every end tag present. It contains only allowed parts. It nests its
//! elements so that a parser builds exactly the tree that is written. In case of doubt the check returns false, and
//! ammonia decides. So the check only affects speed, as long as all accepted HTML is a fixpoint; a property test checks
//! that.

use std::borrow::Cow;

use super::allowed::{LINK_REL, Profile, Tag, keeps_value};

/// The maximum depth and number of attributes. The rest is left to ammonia and the cost guard before it, because each
/// tag is compared with all open tags, and each attribute with those before it.
const MAX_DEPTH: usize = 256;
const MAX_ATTRIBUTES: usize = 64;

/// Returns whether sanitizing with this profile would leave the HTML unchanged.
pub(super) fn is_settled(html: &str, profile: &Profile, video_hosts: &[String]) -> bool {
    if html.starts_with('\u{feff}') {
        return false;
    }
    Scanner { html, at: 0, profile, video_hosts, open: Vec::new() }.run().is_some()
}

struct Scanner<'a> {
    html: &'a str,
    /// The offset of the next byte to read.
    at: usize,
    profile: &'a Profile,
    video_hosts: &'a [String],
    /// The open elements, the outermost first.
    open: Vec<&'static str>,
}

impl<'a> Scanner<'a> {
    /// Checks the HTML. Returns `None` at the first part that is not settled.
    fn run(mut self) -> Option<()> {
        loop {
            self.text()?;
            if self.at == self.html.len() {
                return self.open.is_empty().then_some(());
            }
            self.at += 1;
            if self.take("/") { self.end_tag()? } else { self.start_tag()? }
        }
    }

    fn rest(&self) -> &'a str {
        &self.html[self.at..]
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Reads text up to the next `<`. Between parts of a table it must be white space.
    fn text(&mut self) -> Option<()> {
        let start = self.at;
        self.at += escaped_run(self.rest().as_bytes(), b'<')?;
        let text = &self.html.as_bytes()[start..self.at];
        let in_table = self.open.last().is_some_and(|tag| is_table_scaffold(tag));
        (!in_table || text.iter().all(|byte| matches!(byte, b' ' | b'\n' | b'\t'))).then_some(())
    }

    fn end_tag(&mut self) -> Option<()> {
        let name = self.open.pop()?;
        (self.take(name) && self.take(">")).then_some(())
    }

    fn start_tag(&mut self) -> Option<()> {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()).count();
        let tag = self.profile.tag(&rest[..length])?;
        self.at += length;
        let has_source = self.attributes(tag)?;
        self.nests(tag.name)?;
        if is_void(tag.name) {
            return Some(());
        }
        if tag.name == "iframe" {
            return (has_source && self.take("</iframe>")).then_some(());
        }
        // A parser drops one newline at the beginning of the element.
        if tag.name == "pre" && self.rest().starts_with('\n') && !self.rest().starts_with("\n\n") {
            return None;
        }
        self.open.push(tag.name);
        (self.open.len() <= MAX_DEPTH).then_some(())
    }

    /// Reads the attributes and the `>`. Returns whether `src` is among the attributes. The last attribute of a link
    /// must be `rel`.
    fn attributes(&mut self, tag: &Tag) -> Option<bool> {
        let mut seen: Vec<&str> = Vec::new();
        let mut has_rel = false;
        while !self.take(">") {
            if has_rel || !self.take(" ") {
                return None;
            }
            let rest = self.rest();
            let length = rest.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'-').count();
            let name = &rest[..length];
            self.at += length;
            if !self.take("=\"") {
                return None;
            }
            let start = self.at;
            self.at += escaped_run(self.rest().as_bytes(), b'"')?;
            let value = &self.html[start..self.at];
            if !self.take("\"") || seen.contains(&name) || seen.len() == MAX_ATTRIBUTES {
                return None;
            }
            seen.push(name);
            has_rel = tag.name == "a" && name == "rel" && value == LINK_REL;
            let kept = self.profile.keeps_attribute(tag, name)
                && keeps_value(tag.name, name, &decode(value), self.video_hosts);
            if !has_rel && !kept {
                return None;
            }
        }
        (has_rel || tag.name != "a").then_some(seen.contains(&"src"))
    }

    /// Returns `Some` if a parser puts the element where it is written: it closes no open element and is not moved.
    fn nests(&self, name: &str) -> Option<()> {
        let parent = self.open.last().copied().unwrap_or_default();
        let placed = match name {
            "caption" | "colgroup" | "thead" | "tbody" | "tfoot" => parent == "table",
            "col" => parent == "colgroup",
            "tr" => matches!(parent, "thead" | "tbody" | "tfoot"),
            "td" | "th" => parent == "tr",
            _ => !is_table_scaffold(parent),
        };
        let undisturbed = match name {
            "a" => !self.is_open("a", |tag| matches!(tag, "td" | "th" | "caption")),
            "li" => !self.is_open("li", |tag| is_special(tag) && !matches!(tag, "address" | "div" | "p" | "li")),
            "dd" | "dt" => {
                let ends = |tag: &str| is_special(tag) && !matches!(tag, "address" | "div" | "p" | "dd" | "dt");
                !self.is_open("dd", ends) && !self.is_open("dt", ends)
            }
            "rp" | "rt" => !matches!(parent, "dd" | "dt" | "li" | "p" | "rp" | "rt"),
            _ if is_heading(name) => !is_heading(parent),
            _ => true,
        };
        let closes_paragraph = closes_paragraph(name);
        let in_paragraph = || self.is_open("p", |tag| matches!(tag, "table" | "td" | "th" | "caption"));
        (placed && undisturbed && !(closes_paragraph && in_paragraph())).then_some(())
    }

    /// Returns whether the element is open. Searches outward up to the first element for which `ends` holds.
    fn is_open(&self, name: &str, ends: impl Fn(&str) -> bool) -> bool {
        self.open.iter().rev().take_while(|tag| !ends(tag)).any(|tag| *tag == name)
    }
}

/// Returns the length of the text up to `end` or the end of `bytes`. Returns `None` if the serializer would write part
/// of it differently.
fn escaped_run(bytes: &[u8], end: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            _ if byte == end => return Some(at),
            b'<' | b'>' | b'\r' | 0 => return None,
            0xc2 if bytes.get(at + 1) == Some(&0xa0) => return None,
            b'&' => at += entity(&bytes[at..], end)?,
            _ => at += 1,
        }
    }
    (end == b'<').then_some(at)
}

fn entity(bytes: &[u8], end: u8) -> Option<usize> {
    let known: [&[u8]; 5] = [b"&amp;", b"&lt;", b"&gt;", b"&nbsp;", b"&quot;"];
    let quotes_are_escaped = end == b'"';
    let count = if quotes_are_escaped { 5 } else { 4 };
    known[..count].iter().find(|entity| bytes.starts_with(entity)).map(|entity| entity.len())
}

fn decode(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let unquoted = value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}");
    Cow::Owned(unquoted.replace("&amp;", "&"))
}

fn is_void(name: &str) -> bool {
    matches!(name, "br" | "col" | "hr" | "img" | "source" | "wbr")
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// Returns whether the element contains only other parts of the table.
fn is_table_scaffold(name: &str) -> bool {
    matches!(name, "table" | "thead" | "tbody" | "tfoot" | "tr" | "colgroup")
}

/// Returns whether the start tag of the element closes an open paragraph. (`table` does so except in quirks mode.)
fn closes_paragraph(name: &str) -> bool {
    match name {
        "address" | "article" | "aside" | "blockquote" | "dd" | "details" | "div" | "dl" | "dt" | "figcaption"
        | "figure" | "footer" | "header" | "hgroup" | "hr" | "li" | "main" | "nav" | "ol" | "p" | "pre" | "section"
        | "summary" | "table" | "ul" => true,
        _ => is_heading(name),
    }
}

/// Returns whether the element is one of the parser's "special" elements. Only those that can be open here are listed.
fn is_special(name: &str) -> bool {
    closes_paragraph(name) || is_table_scaffold(name) || matches!(name, "td" | "th" | "caption")
}
