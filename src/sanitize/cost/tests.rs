//! Tests that hostile nesting costs no more than its size allows, and that the piecewise parser sees the same as a
//! parser that gets the markup in one piece.

use std::cell::RefCell;

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use proptest::prelude::*;

use super::limits::Refusal;
use super::*;
use crate::Sanitizer;

/// Returns more steps than any input of this size may take: the limit, and the cost of one more token before the stop.
fn most_steps(html: &str) -> u64 {
    2_000_000 + 64 * html.len() as u64
}

#[track_caller]
fn refused(html: &str, why: &[Refusal]) {
    let head: String = html.chars().take(60).collect();
    let gate = feed::run(html, Gate::new(html.len(), &|_| ()));
    let refusal = gate.refusal().unwrap_or_else(|| panic!("{} steps for {} bytes: {head}", gate.steps(), html.len()));
    assert!(why.contains(&refusal), "{refusal:?}: {head}");
    assert!(gate.steps() <= most_steps(html), "{} steps for {} bytes: {head}", gate.steps(), html.len());
}

fn numbered(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}

fn checked(html: &str) -> Result<(), String> {
    check(html, &|_| ())
}

#[test]
fn markup_behind_what_looks_like_a_comment_or_raw_text_is_counted() {
    let divs = "<div>".repeat(100_000);
    let formatting = format!("<p>{}{}", numbered(9_000, |n| format!("<b a{n}>")), "<p>x".repeat(9_000));
    for hidden in ["<!--x--!>", "<!-->", "<!--->", "<svg><style>", "<math><script>", "<svg><![CDATA[]]>", "</>", "&am"]
    {
        refused(&format!("{hidden}{divs}"), &[Refusal::Depth]);
        refused(&format!("{hidden}{formatting}"), &[Refusal::Depth]);
        let attributes = numbered(100_000, |n| format!(" a{n}"));
        refused(&format!("{hidden}<p{attributes}>"), &[Refusal::Attributes]);
        refused(&format!("{hidden}</p/{attributes}>"), &[Refusal::Attributes]);
    }
    for raw in ["<style>", "<script><!--", "<textarea>&am", "<title>", "<xmp>", "<iframe>", "<noscript>", "<plaintext>"]
    {
        assert_eq!(checked(&format!("{raw}{divs}")), Ok(()), "{raw}");
        let attributes = numbered(100_000, |n| format!(" a{n}"));
        assert_eq!(checked(&format!("{raw}<p{attributes}>")), Ok(()), "{raw}");
    }
    refused(&format!("<title></title {}>", numbered(2_000, |n| format!(" a{n}"))), &[Refusal::Attributes]);
}

#[test]
fn long_texts_with_many_escaped_characters_are_refused_before_they_are_written() {
    let megabyte = 1 << 20;
    for flood in ["&", "&x;", "&amp;", "\u{a0}", "\u{a7}"] {
        let text = flood.repeat(megabyte / flood.len());
        for html in [text.clone(), format!("<p>{text}"), format!("<table>{text}"), format!("<p title='{text}'>x")] {
            refused(&html, &[Refusal::Escaped]);
        }
        let joined = format!("{}</x>", flood.repeat(64)).repeat(megabyte / (64 * flood.len() + 4));
        refused(&joined, &[Refusal::Escaped]);
        let paragraphs = format!("<p>{}</p>", flood.repeat(1_000)).repeat(megabyte / (1_000 * flood.len() + 7));
        assert_eq!(checked(&paragraphs), Ok(()), "{flood}");
    }
    let sentence =
        "Un texte \u{ab}\u{a0}entre guillemets\u{a0}\u{bb} & d'autres, sans fin ni balises ni retours. ".repeat(40);
    let article = "a sentence without any. ".repeat(40) + &sentence;
    assert_eq!(checked(&article.repeat(megabyte / article.len() / 2)), Ok(()));
    assert_eq!(checked(&"if (a &lt; b &amp;&amp; c &gt; d) return &amp;a;\n".repeat(20_000)), Ok(()), "a program");
}

#[test]
fn nothing_grows_faster_than_the_markup() {
    let distinct = |count| numbered(count, |n| format!("<b a={n}>"));
    let too_much = [Refusal::Formatting, Refusal::Elements, Refusal::Steps];
    refused(&format!("<p>{}{}", distinct(400), "<p>x".repeat(100_000)), &too_much);
    refused(&"<p>".repeat(1_000_000), &too_much);
    refused(&format!("<table>{}", "<br>".repeat(100_000)), &too_much);
    refused(&format!("{}<table>{}", "<br>".repeat(100_000), "<i></i>x".repeat(20_000)), &too_much);
    refused(&format!("{}{}", "<div>".repeat(500), "<p></p>".repeat(100_000)), &too_much);
    refused(&numbered(60_000, |n| format!("<html a{n}>")), &[Refusal::Names, Refusal::Steps]);
    refused(&numbered(60_000, |n| format!("<i name{n}></i>")), &[Refusal::Names]);
    refused(&distinct(70_000), &[Refusal::Depth]);
    for piece in ["<div></b>", "<svg><td>", "<table><tr><td>", "<ul><li>", "<template>"] {
        refused(&piece.repeat(100_000), &[Refusal::Depth]);
    }
}

#[test]
fn exactly_512_elements_may_be_open() {
    for (open, close) in [("<div>", "</div>"), ("<i>x", ""), ("<span title=\"x\">", "</span>"), ("<g-h>", "</g-h>")] {
        for around in ["", "<p>x</p>", "<ul><li>"] {
            let nested = |depth: usize| format!("{around}{}{}", open.repeat(depth), close.repeat(depth));
            let depth = if around.starts_with("<ul>") { 511 } else { 512 };
            assert_eq!(checked(&nested(depth)), Ok(()), "{open} {around}");
            assert!(checked(&nested(depth + 1)).is_err(), "{open} {around}");
        }
    }
}

#[test]
fn ordinary_markup_takes_few_steps_for_each_byte() {
    for html in [
        "<p>Some text with <b>bold</b> and <a href=\"/x\">a link</a>.</p>\n".repeat(2_000),
        "<ul>\n<li>one</li>\n<li><a href=\"x\">two</a></li>\n</ul>\n".repeat(2_000),
        format!("<table><tbody>{}</tbody></table>", "<tr><td>a</td><td>b</td></tr>\n".repeat(2_000)),
        format!("{}{}", "<div>".repeat(30), "<section><h2>x</h2><p>y</p></section>".repeat(2_000)),
        format!("<table><tbody>{}", "<tr><td>a<td>b\n".repeat(2_000)),
    ] {
        let steps = steps(&html) / html.len() as u64;
        assert!(steps <= 20, "{steps} steps for each byte of {}", &html[..60]);
        assert_eq!(checked(&html), Ok(()));
    }
}

/// Collects the start tags that a tokenizer finds, and the number of attributes that it reads, including repeated ones.
#[derive(Default)]
struct Tags {
    start_tags: RefCell<usize>,
    attributes: RefCell<usize>,
}

impl TokenSink for Tags {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                *self.start_tags.borrow_mut() += 1;
                *self.attributes.borrow_mut() += tag.attrs.len();
            }
            Token::ParseError(error) if error == "Duplicate attribute" => *self.attributes.borrow_mut() += 1,
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

const PIECES: [&str; 80] = [
    "<div>",
    "</div>",
    "<p>",
    "<p>x",
    "</p>",
    "<b>",
    "</b>",
    "<b a>",
    "<a href=x>",
    "</a>",
    "<i>",
    "<em b=c>",
    "<nobr>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "<th>",
    "<caption>",
    "<tbody>",
    "<col>",
    "<colgroup>",
    "<select>",
    "<option>",
    "</select>",
    "<template>",
    "</template>",
    "<svg>",
    "<math>",
    "<mi>",
    "<mtext>",
    "<foreignObject>",
    "<annotation-xml encoding=text/html>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<title>",
    "</title>",
    "<!--",
    "-->",
    "--!>",
    "<!---->",
    "<!-->",
    "<![CDATA[",
    "]]>",
    "<!doctype html>",
    "<?x>",
    "</>",
    "</ x>",
    "<",
    ">",
    "\"",
    "'",
    "=",
    "/",
    " ",
    "x",
    "\n",
    "\r",
    "\0",
    "&",
    "&am",
    "&amp;",
    "&#x41",
    "<ul>",
    "<li>",
    "<dd>",
    "<ruby>",
    "<rt>",
    "<form>",
    "<button>",
    "<h1>",
    "<iframe>",
    "<body c>",
    "<html d>",
    "<plaintext>",
    "<object>",
    "<applet>",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Generates a few pieces, followed by a few that are repeated very often.
    #[test]
    fn hostile_nestings_stay_within_their_steps(begin in pieces(), repeated in pieces(), distinct in any::<bool>()) {
        let repeat = |(at, piece): (usize, &str)| {
            if distinct { piece.replace("a>", &format!("a={at}>")) } else { piece.to_owned() }
        };
        let count = 20_000 / repeated.len();
        let html = begin + &std::iter::repeat_n(&*repeated, count).enumerate().map(repeat).collect::<String>();
        let gate = feed::run(&html, Gate::new(html.len(), &|_| ()));
        prop_assert!(gate.steps() <= most_steps(&html), "{} steps", gate.steps());
        if gate.refusal().is_none() {
            let started = std::time::Instant::now();
            let _ = Sanitizer::default().page(&html);
            prop_assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
        }
    }

    #[test]
    fn fed_in_pieces_the_parser_does_as_in_one_piece(html in pieces()) {
        let whole = Gate::new(html.len(), &|_| ());
        let tokenizer = Tokenizer::new(whole, Default::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from(html.as_str()));
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        tokenizer.end();
        let whole = tokenizer.sink;
        let fed = feed::run(&html, Gate::new(html.len(), &|_| ()));
        prop_assert_eq!(fed.shape(), whole.shape());
    }

    #[test]
    fn attributes_are_counted_as_the_tokenizer_counts_them(rest in "[axy =/\"'\n\r<]{0,30}>") {
        let html = format!("<p {rest}");
        let tokenizer = Tokenizer::new(Tags::default(), Default::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from(html.as_str()));
        let _ = tokenizer.feed(&queue);
        let found = tokenizer.sink;
        // A tag without its `>`, which a quote may hide, is not reported.
        if *found.start_tags.borrow() == 1 {
            prop_assert_eq!(tag::rest_of_tag(html.as_bytes(), 2), (html.len(), *found.attributes.borrow()));
        }
    }
}
