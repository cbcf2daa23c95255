//! Recognizes text, and its type by its contents and its name.

/// The types of text that are found by the ending of the name, because their contents prove nothing.
const ENDINGS: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("json", "application/json"),
    ("geojson", "application/json"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xml", "application/xml"),
];

/// Beginnings that are text for `infer`, but that have a type of their own.
const BEGINNINGS: &[(&str, &str)] = &[
    ("{\\rtf", "application/rtf"),
    ("GIF8", "image/gif"),
    ("%PDF-", "application/pdf"),
    ("%!PS", "application/postscript"),
    ("WEBVTT", "text/vtt"),
    ("BEGIN:VCALENDAR", "text/calendar"),
    ("BEGIN:VCARD", "text/vcard"),
    ("#!", "text/x-shellscript"),
    ("-----BEGIN ", "application/x-pem-file"),
];

/// Tags that make a browser treat a text as HTML.
const HTML: &[&str] = &[
    "!doctype html",
    "html",
    "head",
    "body",
    "script",
    "iframe",
    "style",
    "title",
    "table",
    "div",
    "h1",
    "a",
    "p",
    "br",
    "font",
    "b",
    "img",
    "form",
    "meta",
    "link",
    "object",
    "embed",
];

/// Returns the type of a text, and `None` for other files. SVG is text here, too.
pub(super) fn detect(head: &[u8], name: &str) -> Option<&'static str> {
    if !is_text(head) {
        return None;
    }
    // UTF-16 is rare enough to be plain text whatever it holds: browsers do not sniff it with `nosniff`.
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        return Some(of_name(name).filter(|kind| *kind != "text/html").unwrap_or("text/plain"));
    }
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head));
    let text = text.trim_start();
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning)) {
        return Some(kind);
    }
    Some(of_markup(text).or_else(|| of_name(name)).unwrap_or("text/plain"))
}

fn of_name(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, kind)| *kind)
}

/// Finds the type of a text that begins with a tag, after declarations and comments.
fn of_markup(text: &str) -> Option<&'static str> {
    let mut rest = text;
    let mut is_xml = false;
    loop {
        rest = rest.trim_start();
        if rest.starts_with("<?xml") {
            is_xml = true;
        }
        rest = match rest.strip_prefix('<')? {
            inner if inner.starts_with('?') => after(inner, "?>")?,
            inner if inner.starts_with("!--") => after(inner, "-->")?,
            inner if !is_xml && is_html_tag(inner) => return Some("text/html"),
            inner if inner.starts_with('!') => after_declaration(inner)?,
            inner => return of_root(inner, is_xml),
        };
    }
}

fn of_root(inner: &str, is_xml: bool) -> Option<&'static str> {
    let name = inner.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next()?;
    let local = name.rsplit(':').next()?;
    match local {
        "svg" => Some("image/svg+xml"),
        "html" if is_xml => Some("application/xhtml+xml"),
        _ => is_xml.then_some("application/xml"),
    }
}

fn is_html_tag(inner: &str) -> bool {
    HTML.iter().any(|tag| {
        let start = inner.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
        start && inner[tag.len()..].starts_with(|c: char| c.is_whitespace() || c == '>' || c == '/')
    })
}

fn after<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    text.find(end).map(|at| &text[at + end.len()..])
}

/// Skips a declaration such as `!DOCTYPE svg [ … ]>`, with its inner part.
fn after_declaration(text: &str) -> Option<&str> {
    let end = text.find('>')?;
    match text.find('[') {
        Some(start) if start < end => {
            let behind = after(&text[start..], "]")?;
            after(behind, ">")
        }
        _ => Some(&text[end + 1..]),
    }
}

/// Returns true for UTF-8, UTF-16 with a mark, and single-byte encodings such as Windows-1252, which spreadsheets
/// write.
fn is_text(head: &[u8]) -> bool {
    if head.is_empty() {
        return false;
    }
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        // Audio frames may begin like this. Text has zeros or small numbers in every second byte.
        // The last character may be cut at the end of the head.
        let complete = units(head).count().saturating_sub(1);
        return char::decode_utf16(units(head).take(complete)).all(|unit| match unit {
            Ok(unit) => is_text_char(unit),
            Err(error) => (0xD800..0xDC00).contains(&error.unpaired_surrogate()),
        });
    }
    if head.iter().any(|&byte| !is_text_char(char::from(byte)) && byte < 0x80) {
        return false;
    }
    match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character may be cut at the end of the head.
        Err(error) if error.error_len().is_none() => true,
        Err(_) => is_mostly_ascii(head),
    }
}

fn units(head: &[u8]) -> impl Iterator<Item = u16> {
    let is_big = head.starts_with(&[0xFE, 0xFF]);
    head.chunks_exact(2).map(move |pair| {
        let pair = [pair[0], pair[1]];
        if is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    })
}

fn is_text_char(c: char) -> bool {
    !c.is_ascii_control() || matches!(c, '\t' | '\n' | '\r' | '\x0C')
}

/// Texts of European languages in a single-byte encoding have few bytes beyond ASCII.
fn is_mostly_ascii(head: &[u8]) -> bool {
    let beyond = head.iter().filter(|byte| !byte.is_ascii()).count();
    beyond * 4 < head.len()
}
