//! A guard against markup that is far more expensive to parse than its size suggests: very deep nesting, very many
//! attributes, and formatting that is never closed, which parsers reopen in every block.
//!
//! It reads start and end tags as a tokenizer does. When in doubt it lets markup pass; no editor writes what it rejects.

use std::borrow::Cow;
use std::collections::HashMap;

const MAX_DEPTH: usize = 512;
const MAX_ATTRIBUTES: usize = 1000;
/// This many open formatting elements cost nothing; each further one counts once at every tag.
const FREE_FORMATTING: usize = 8;
const MAX_REOPENED: usize = 200_000;

/// Rejects markup that is too expensive to parse, with a clause that says why.
pub(super) fn check(html: &str) -> Result<(), String> {
    let bytes = html.as_bytes();
    let mut open: HashMap<Cow<'_, [u8]>, usize> = HashMap::new();
    let (mut depth, mut formatting, mut reopened) = (0usize, 0usize, 0usize);
    let mut at = 0;
    while let Some(tag) = next_tag(bytes, &mut at) {
        if tag.attributes > MAX_ATTRIBUTES {
            return Err(format!("must not contain a tag with more than {MAX_ATTRIBUTES} attributes"));
        }
        reopened += formatting.saturating_sub(FREE_FORMATTING);
        if reopened > MAX_REOPENED {
            return Err("must close its formatting tags: too many are left open".to_owned());
        }
        if is_unclosed(&tag.name) {
            continue;
        }
        let is_formatting = is_formatting(&tag.name);
        let name = tag.name.clone();
        let count = open.entry(tag.name).or_default();
        if !tag.is_end {
            *count += 1;
            depth += 1;
            formatting += usize::from(is_formatting);
        } else if *count > 0 {
            *count -= 1;
            depth -= 1;
            formatting -= usize::from(is_formatting);
            for implied in closed_with(&name) {
                depth -= open.insert(Cow::Borrowed(*implied), 0).unwrap_or(0);
            }
        }
        if depth > MAX_DEPTH {
            return Err(format!("must not nest elements more than {MAX_DEPTH} deep"));
        }
    }
    Ok(())
}

struct RawTag<'a> {
    /// In lowercase.
    name: Cow<'a, [u8]>,
    is_end: bool,
    attributes: usize,
}

/// The next tag from `at` on; moves `at` to the tag's end. Skips comments and the content of scripts and styles.
fn next_tag<'a>(bytes: &'a [u8], at: &mut usize) -> Option<RawTag<'a>> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|byte| *byte == b'<')? + 1;
        if bytes[*at..].starts_with(b"!--") {
            // Searches from the first dash: the dashes that open a comment may also close it, as in `<!-->`.
            *at = find(bytes, *at + 1, b"-->").map_or(bytes.len(), |end| end + 3);
            continue;
        }
        let is_end = bytes.get(*at) == Some(&b'/');
        let start = *at + usize::from(is_end);
        if !bytes.get(start).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let length =
            bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace() && !b"/>".contains(byte)).count();
        let mut name = Cow::Borrowed(&bytes[start..start + length]);
        if name.iter().any(u8::is_ascii_uppercase) {
            name.to_mut().make_ascii_lowercase();
        }
        *at = start + length;
        let attributes = skip_attributes(bytes, at);
        let raw_end: &[u8] = match &*name {
            b"script" => b"</script",
            b"style" => b"</style",
            _ => b"",
        };
        if !is_end && !raw_end.is_empty() {
            *at = find_ignoring_case(bytes, *at, raw_end).unwrap_or(bytes.len());
        }
        return Some(RawTag { name, is_end, attributes });
    }
}

/// The state of a tokenizer inside a tag.
#[derive(Clone, Copy)]
enum TagState {
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Value,
}

/// Moves `at` behind the tag's `>` and returns the number of attributes.
fn skip_attributes(bytes: &[u8], at: &mut usize) -> usize {
    let mut count = 0;
    let mut state = TagState::BeforeName;
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        state = match (state, byte) {
            (_, b'>') => break,
            (TagState::BeforeValue, b'"' | b'\'') => {
                *at = find(bytes, *at, &[byte]).map_or(bytes.len(), |end| end + 1);
                TagState::BeforeName
            }
            (TagState::Name | TagState::AfterName, b'=') => TagState::BeforeValue,
            (TagState::BeforeName | TagState::Name | TagState::AfterName, b'/') => TagState::BeforeName,
            (TagState::Name, _) if byte.is_ascii_whitespace() => TagState::AfterName,
            (TagState::Value, _) if byte.is_ascii_whitespace() => TagState::BeforeName,
            (_, _) if byte.is_ascii_whitespace() => state,
            (TagState::BeforeName | TagState::AfterName, _) => {
                count += 1;
                TagState::Name
            }
            (TagState::BeforeValue, _) => TagState::Value,
            (TagState::Name | TagState::Value, _) => state,
        };
    }
    count
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let found = bytes.get(from..)?.windows(needle.len()).position(|window| window == needle);
    found.map(|at| from + at)
}

fn find_ignoring_case(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let found = bytes.get(from..)?.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle));
    found.map(|at| from + at)
}

/// Elements without an end tag, and elements whose end tag is often left out because the next tag implies it.
fn is_unclosed(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"basefont"
            | b"bgsound"
            | b"br"
            | b"col"
            | b"embed"
            | b"frame"
            | b"hr"
            | b"image"
            | b"img"
            | b"input"
            | b"keygen"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
            | b"body"
            | b"colgroup"
            | b"dd"
            | b"dt"
            | b"head"
            | b"html"
            | b"li"
            | b"p"
            | b"tbody"
            | b"td"
            | b"tfoot"
            | b"th"
            | b"thead"
            | b"tr"
    )
}

fn is_formatting(name: &[u8]) -> bool {
    matches!(
        name,
        b"a" | b"b"
            | b"big"
            | b"code"
            | b"em"
            | b"font"
            | b"i"
            | b"nobr"
            | b"s"
            | b"small"
            | b"strike"
            | b"strong"
            | b"tt"
            | b"u"
    )
}

/// Elements that the end tag of this element closes too. (Outside this element they nest.)
fn closed_with(name: &[u8]) -> &'static [&'static [u8]] {
    match name {
        b"ruby" => &[b"rb", b"rp", b"rt", b"rtc"],
        b"select" | b"datalist" => &[b"optgroup", b"option"],
        _ => &[],
    }
}
