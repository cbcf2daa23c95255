//! Tests with random hostile markup: the result is parsed as a browser parses it, and the tree must contain nothing
//! forbidden.
//!
//! The published tables say what is allowed. An independent list here says what must never appear.

mod markup;

use html5ever::ns;
use proptest::prelude::*;

use super::tree::{CONTEXTS, Context, Node, parse};
use super::*;
use crate::allowed::Profile;

/// The elements that no table may ever allow.
const NEVER: [&str; 28] = [
    "script",
    "style",
    "svg",
    "math",
    "object",
    "embed",
    "applet",
    "template",
    "noscript",
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "option",
    "base",
    "meta",
    "link",
    "frame",
    "frameset",
    "title",
    "noembed",
    "noframes",
    "xmp",
    "plaintext",
    "portal",
    "marquee",
    "isindex",
];

/// The attributes whose values are URLs, on any element.
const URLS: [&str; 13] = [
    "href",
    "src",
    "poster",
    "cite",
    "action",
    "formaction",
    "data",
    "background",
    "longdesc",
    "ping",
    "srcset",
    "manifest",
    "xlink:href",
];

/// Asserts that sanitized HTML contains only what its profile allows, in every context.
#[track_caller]
pub(super) fn assert_harmless(html: &str, profile: &Profile) {
    for context in CONTEXTS {
        for scripting in [true, false] {
            let tree = parse(html, context, scripting);
            tree.each(|id, node| match node {
                Node::Element { name, attributes } => {
                    let is_page_structure =
                        matches!(&*name.local, "html" | "head" | "body" | "tbody" | "tr" | "colgroup");
                    if is_page_structure && attributes.is_empty() {
                        return;
                    }
                    assert!(name.ns == ns!(html), "an element of another namespace, {}, in {html}", name.local);
                    assert!(!NEVER.contains(&&*name.local), "<{}> in {html}", name.local);
                    let tag = profile.tag(&name.local);
                    let tag = tag.unwrap_or_else(|| panic!("<{}> in {html} ({context:?})", name.local));
                    for (attribute, value) in attributes {
                        assert_allowed(html, profile, tag, attribute, value);
                    }
                    assert_complete(html, tag.name, attributes);
                    assert!(tag.name != "iframe" || !tree.has_children(id), "a frame with content in {html}");
                }
                Node::Comment | Node::Instruction => panic!("a comment or instruction in {html} ({context:?})"),
                Node::Root | Node::Text(_) => {}
            });
        }
    }
}

#[track_caller]
fn assert_allowed(html: &str, profile: &Profile, tag: &allowed::Tag, attribute: &str, value: &str) {
    let is_rel = tag.name == "a" && attribute == "rel";
    assert!(is_rel || profile.keeps_attribute(tag, attribute), "{attribute} of <{}> in {html}", tag.name);
    let runs = attribute.starts_with("on") || ["style", "srcdoc", "is", "nonce", "slot"].contains(&attribute);
    assert!(!runs, "{attribute} in {html}");
    if URLS.contains(&attribute) {
        let schemes: &[&str] =
            if attribute == "href" { &["http", "https", "mailto", "tel"] } else { &["http", "https"] };
        let scheme = scheme_of(value);
        assert!(scheme.as_deref().is_none_or(|scheme| schemes.contains(&scheme)), "{value:?} in {html}");
    }
    if tag.name == "iframe" && attribute == "src" {
        let url = url::Url::parse(value).unwrap();
        assert_eq!(url.scheme(), "https", "{html}");
        assert!(DEFAULT_VIDEO_HOSTS.contains(&url.host_str().unwrap()), "{html}");
        assert!(url.username().is_empty() && url.password().is_none() && url.port().is_none(), "{html}");
    }
}

#[track_caller]
fn assert_complete(html: &str, tag: &str, attributes: &[(String, String)]) {
    let value = |name: &str| attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    match tag {
        "a" => assert_eq!(value("rel"), Some("noopener noreferrer"), "{html}"),
        "iframe" => assert!(value("src").is_some(), "a frame without a source in {html}"),
        _ => {}
    }
}

/// Returns the scheme that a browser sees. A browser drops control characters and spaces around a URL, and tabs and
/// newlines in it.
fn scheme_of(value: &str) -> Option<String> {
    let trimmed = value.trim_matches(|c: char| c <= ' ');
    let seen: String = trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let (scheme, _) = seen.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// Sanitizes as rich text and as a page, and asserts that each result is harmless and a fixpoint.
#[track_caller]
pub(super) fn check(sanitizer: &Sanitizer, html: &str) {
    check_one(&allowed::RICH_TEXT, |html| sanitizer.rich_text(html), html);
    check_one(&allowed::PAGE, |html| sanitizer.page(html), html);
}

#[track_caller]
fn check_one(profile: &'static Profile, sanitize: impl Fn(&str) -> Result<String, String>, html: &str) {
    let Ok(once) = sanitize(html) else { return };
    assert_eq!(sanitize(&once).as_ref(), Ok(&once), "{html}");
    assert_eq!(clean_to(profile, &once), once, "{html}");
    assert_harmless(&once, profile);
}

fn clean_to(profile: &'static Profile, html: &str) -> String {
    finish(&builder(profile, &DEFAULT_VIDEO_HOSTS.map(str::to_owned)).clean(html).to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_tree_of_the_result_contains_nothing_forbidden(html in markup::hostile()) {
        check(&Sanitizer::default(), &html);
    }
}

#[test]
fn the_test_itself_finds_forbidden_html() {
    for html in [
        "<script>x</script>",
        "<p onclick=\"x\">",
        "<p style=\"x\">",
        "<svg></svg>",
        "<!-- x -->",
        "<p id=\"x\">",
        "<a href=\"java&#10;script:x\" rel=\"noopener noreferrer\">",
        "<a href=\"/\">",
        "<img src=\"data:x\">",
        "<iframe></iframe>",
        "<iframe src=\"https://vimeo.com/1\">x</iframe>",
        "<section>x</section>",
        "<iframe src=\"https://vimeo.com.evil.example/1\"></iframe>",
        "<noscript><p></noscript>",
    ] {
        let found = std::panic::catch_unwind(|| assert_harmless(html, &allowed::RICH_TEXT)).is_err();
        assert!(found, "{html}");
    }
    assert_eq!(parse("<p>a<table>b<tr><td>c</table>d", Context::Inside("div"), true).text(&[]), "abcd");
    assert_eq!(parse("a<script>b</script><i>c</i>", Context::Document, true).text(&["script"]), "ac");
}
