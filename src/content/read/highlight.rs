//! HTML excerpts of texts in which matches are marked (`API.md` 4.6.17). Must not know resources.

use std::collections::HashMap;

use bindery_index::{Error, Interrupt, Mark, Words, composed};

/// The greatest number of characters of an excerpt.
const MAX_CHARACTERS: usize = 200;
/// The number of characters shown before the first match of the excerpt.
const CONTEXT: usize = 40;
/// The number of bytes of a text that are searched. The limit is needed because a page may have a thousand texts.
const SEARCHED_BYTES: usize = 64 << 10;

/// Returns the excerpt of a text with the most matches: at most 200 characters, HTML-escaped, matches in `<mark>`.
///
/// # Errors
/// If it is interrupted.
pub(super) fn excerpt(words: &Words, text: &str, interrupt: &Interrupt<'_>) -> Result<String, Error> {
    let searched = (0..=SEARCHED_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    let text = &*composed(&text[..searched.unwrap_or(0)]);
    let marks = words.marks(text, interrupt)?;
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let character = |at: usize| starts.partition_point(|start| *start < at);
    let byte = |character: usize| starts.get(character).copied().unwrap_or(text.len());
    let first = match starts.len() <= MAX_CHARACTERS {
        true => 0,
        false => first_character(&marks, &character, starts.len()),
    };
    // The excerpt begins after a space, if there is one before the first match.
    let start = match first {
        0 => 0,
        first => {
            let mut skipped = text[byte(first)..byte(first + CONTEXT)].char_indices();
            let skipped = skipped.find(|(_, char)| char.is_whitespace()).map(|(at, char)| at + char.len_utf8());
            let is_before_marks =
                |at: &usize| !marks.iter().any(|mark| (byte(first)..byte(first) + at).contains(&mark.range.start));
            byte(first) + skipped.filter(is_before_marks).unwrap_or(0)
        }
    };
    let end = byte((character(start) + MAX_CHARACTERS).min(starts.len()));
    Ok(marked(text, start, end, &marks))
}

/// Returns the start of the excerpt that contains the most different words, and of those the one with the most marks.
fn first_character(marks: &[Mark], character: &dyn Fn(usize) -> usize, length: usize) -> usize {
    let places: Vec<(usize, usize, usize)> =
        marks.iter().map(|mark| (character(mark.range.start), character(mark.range.end), mark.word)).collect();
    let mut best: Option<((usize, usize), usize)> = None;
    // The marks `first..end` lie within the excerpt that begins with `first`. Both positions only move forward, because
    // a text may have a hundred marks at each word.
    let (mut counts, mut different, mut end) = (HashMap::new(), 0, 0);
    for (first, &(start, _, word)) in places.iter().enumerate() {
        while let Some(&(_, _, word)) = places.get(end).filter(|(_, end, _)| *end <= start + MAX_CHARACTERS - CONTEXT) {
            let count = counts.entry(word).or_insert(0);
            different += usize::from(*count == 0);
            *count += 1;
            end += 1;
        }
        let value = (different, end - first);
        if best.is_none_or(|(known, _)| value > known) {
            best = Some((value, start));
        }
        // A mark longer than the excerpt was never counted.
        if end == first {
            end += 1;
        } else if let Some(count) = counts.get_mut(&word) {
            *count -= 1;
            different -= usize::from(*count == 0);
        }
    }
    let start = best.map_or(0, |(_, start)| start.saturating_sub(CONTEXT));
    start.min(length - MAX_CHARACTERS)
}

/// Returns a part of a text as HTML. Marks that touch or overlap become one.
fn marked(text: &str, start: usize, end: usize, marks: &[Mark]) -> String {
    let mut html = String::with_capacity(end - start + 64);
    let mut at = start;
    let mut marks = marks.iter().filter(|mark| mark.range.start >= start && mark.range.end <= end).peekable();
    while let Some(mark) = marks.next() {
        let mut last = mark.range.end;
        while let Some(next) = marks.next_if(|next| next.range.start <= last) {
            last = last.max(next.range.end);
        }
        push_escaped(&mut html, &text[at..mark.range.start]);
        html.push_str("<mark>");
        push_escaped(&mut html, &text[mark.range.start..last]);
        html.push_str("</mark>");
        at = last;
    }
    push_escaped(&mut html, &text[at..end]);
    html
}

fn push_escaped(html: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            char => html.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(q: &str, text: &str) -> String {
        excerpt(&Words::parse(q, true), text, &Interrupt::never()).expect("nothing interrupts it")
    }

    #[test]
    fn short_texts_are_shown_whole() {
        assert_eq!(shown("cache", "The page caches <b>"), "The page <mark>caches</mark> &lt;b&gt;");
        assert_eq!(shown("\"page cache\" pages", "a page cache"), "a <mark>page</mark> <mark>cache</mark>");
        assert_eq!(shown("日本語", "新日本語版"), "新<mark>日本語</mark>版");
        assert_eq!(shown("がくせい", "か\u{3099}くせいの本"), "<mark>がくせい</mark>の本");
        assert_eq!(shown("absent", "it's & \"so\""), "it&#39;s &amp; &quot;so&quot;");
        assert_eq!(shown("x", ""), "");
    }

    #[test]
    fn long_texts_are_shown_where_most_words_are() {
        let text = format!("kernel {}the page cache of the kernel {}", "word ".repeat(200), "end ".repeat(100));
        let html = shown("kernel \"page cache\"", &text);
        assert!(html.starts_with("word"), "{html}");
        assert!(html.contains("the <mark>page</mark> <mark>cache</mark> of the <mark>kernel</mark> end"), "{html}");
        let plain = html.replace("<mark>", "").replace("</mark>", "");
        assert!(plain.chars().count() <= MAX_CHARACTERS, "{plain}");
        let end = shown("last", &format!("{}last", "\u{e4}bc ".repeat(300)));
        assert!(end.ends_with("<mark>last</mark>") && end.starts_with('\u{e4}'), "{end}");
        assert_eq!(shown("absent", &text).chars().count(), MAX_CHARACTERS);
    }
}
