//! The text content of sanitized HTML, read in one pass over its bytes.
//!
//! A serializer writes sanitized HTML: a tag begins at every `<` and ends at the next `>`, and there are only five
//! entities. So no tokenizer is needed. A test compares the result with the result of html5ever's tokenizer.

/// Returns the text content of HTML: tags are dropped and entities decoded, each block element starts and ends with a
/// space, runs of Unicode white space become one space, and the ends are trimmed. The HTML must be sanitized.
pub fn text_content(html: &str) -> String {
    let mut text = Text { out: String::with_capacity(html.len() / 2), gap: false };
    let mut rest = html;
    while let Some(start) = rest.find(['<', '&']) {
        text.push(&rest[..start]);
        let (markup, after) = match rest[start..].find(if rest.as_bytes()[start] == b'<' { '>' } else { ';' }) {
            Some(end) => rest[start..].split_at(end + 1),
            None => (&rest[start..], ""),
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
    /// True if white space was read since the last piece of text was written.
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
