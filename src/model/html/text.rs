//! The text form of sanitised HTML, by one pass over its bytes.
//!
//! Sanitised HTML is written by a serialiser, so a tag begins at every `<`, ends at the next `>`, and there are five
//! entities: no tokeniser is needed. (A test compares with html5ever's.)

/// The text content: tags dropped, entities decoded, a space at the start and at the end of each block element, all
/// white space (Unicode's) run together to one space, trimmed. The HTML must have been sanitised.
pub fn text_content(html: &str) -> String {
    let mut text = Text { out: String::with_capacity(html.len() / 2), gap: false };
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push(&rest[..at]);
        let (markup, after) = match rest[at..].find(if rest.as_bytes()[at] == b'<' { '>' } else { ';' }) {
            Some(end) => rest[at..].split_at(end + 1),
            None => (&rest[at..], ""),
        };
        match markup {
            "&amp;" => text.push("&"),
            "&lt;" => text.push("<"),
            "&gt;" => text.push(">"),
            "&quot;" => text.push("\""),
            "&nbsp;" => text.gap = true,
            _ => text.gap |= is_block(tag_name(markup)),
        }
        rest = after;
    }
    text.push(rest);
    text.out
}

struct Text {
    out: String,
    /// Whether white space stands between what was written and what comes.
    gap: bool,
}

impl Text {
    fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while !rest.is_empty() {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            if end > 0 {
                if self.gap && !self.out.is_empty() {
                    self.out.push(' ');
                }
                self.gap = false;
                self.out.push_str(&rest[..end]);
            }
            if end < rest.len() {
                self.gap = true;
            }
            rest = rest[end..].trim_start();
        }
    }
}

fn tag_name(tag: &str) -> &str {
    let name = tag.trim_start_matches(['<', '/']);
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    &name[..length]
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "ul"
            | "ol"
            | "li"
            | "table"
            | "tr"
            | "td"
            | "th"
            | "thead"
            | "tbody"
            | "tfoot"
            | "blockquote"
            | "pre"
            | "br"
            | "hr"
            | "section"
            | "article"
            | "figure"
            | "figcaption"
            | "dl"
            | "dt"
            | "dd"
            | "aside"
            | "header"
            | "footer"
            | "details"
            | "summary"
            | "caption"
    )
}
