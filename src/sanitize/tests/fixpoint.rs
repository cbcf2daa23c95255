//! Tests that settled HTML is a fixpoint of sanitizing, and that the text content equals that of a tokenizer.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer};
use proptest::prelude::*;

use super::*;

/// Runs one sanitizing pass without shortcuts.
pub(super) fn clean(html: &str) -> String {
    finish(&builder(&allowed::RICH_TEXT, &DEFAULT_VIDEO_HOSTS.map(str::to_owned)).clean(html).to_string())
}

pub(super) fn is_settled(html: &str) -> bool {
    settled::is_settled(html, &allowed::RICH_TEXT, &DEFAULT_VIDEO_HOSTS.map(str::to_owned))
}

struct Sink(RefCell<String>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut out = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => out.push_str(&text),
            Token::TagToken(tag) if BLOCKS.contains(&&*tag.name) => out.push(' '),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

const BLOCKS: [&str; 35] = [
    "p",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "tbody",
    "tfoot",
    "blockquote",
    "pre",
    "br",
    "hr",
    "section",
    "article",
    "figure",
    "figcaption",
    "dl",
    "dt",
    "dd",
    "aside",
    "header",
    "footer",
    "details",
    "summary",
    "caption",
];

pub(super) fn tokenized_text(html: &str) -> String {
    let tokenizer = Tokenizer::new(Sink(RefCell::new(String::new())), Default::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(html));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let text = tokenizer.sink.0.borrow();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PIECES: [&str; 78] = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<a href=\"x\">",
    "</a>",
    "<a href=\"x\" rel=\"noopener noreferrer\">",
    "<ul>",
    "</ul>",
    "<li>",
    "</li>",
    "<table>",
    "</table>",
    "<tbody>",
    "</tbody>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<th>",
    "</th>",
    "<caption>",
    "</caption>",
    "<colgroup>",
    "<col>",
    "</colgroup>",
    "<dl>",
    "<dt>",
    "</dt>",
    "<dd>",
    "</dd>",
    "</dl>",
    "<h1>",
    "</h1>",
    "<h2>",
    "</h2>",
    "<pre>",
    "</pre>",
    "\n",
    "x",
    " ",
    "&amp;",
    "&nbsp;",
    "&lt;",
    "&",
    "<",
    ">",
    "\r",
    "\u{a0}",
    "<br>",
    "<hr>",
    "<img src=\"y\">",
    "<iframe src=\"https://vimeo.com/1\"></iframe>",
    "<iframe>",
    "</iframe>",
    "<ruby>",
    "<rt>",
    "</rt>",
    "</ruby>",
    "<details>",
    "<summary>",
    "</summary>",
    "</details>",
    "<svg>",
    "</svg>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<span title=\"&quot;\">",
    "</span>",
    "<select>",
    "<template>",
    "<form>",
];

/// Generates pieces in any order, and closed elements, so that settled documents are not too rare.
fn markup() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned);
    let names = vec![
        "p",
        "div",
        "b",
        "i",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
        "caption",
        "colgroup",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "pre",
        "span",
        "code",
        "ruby",
        "rt",
        "rp",
        "details",
        "summary",
        "figure",
        "blockquote",
        "video",
        "q",
    ];
    leaf.prop_recursive(6, 40, 5, move |inner| {
        let content = prop::collection::vec(inner, 0..5).prop_map(|pieces| pieces.concat());
        prop_oneof![
            (prop::sample::select(names.clone()), content.clone())
                .prop_map(|(name, inner)| format!("<{name}>{inner}</{name}>")),
            content.prop_map(|inner| format!("<a href=\"x\" rel=\"noopener noreferrer\">{inner}</a>")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn cleaning_does_not_change_settled_html(html in prop::collection::vec(markup(), 1..6)) {
        let html = html.concat();
        if is_settled(&html) {
            prop_assert_eq!(clean(&html), html);
        }
    }

    #[test]
    fn sanitizing_again_changes_nothing(html in prop::collection::vec(markup(), 1..6)) {
        if let Ok(once) = Sanitizer::default().rich_text(&html.concat()) {
            prop_assert_eq!(&clean(&once), &once);
            prop_assert_eq!(text_content(&once), tokenized_text(&once));
        }
    }
}
