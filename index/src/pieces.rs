//! Cuts folded texts into spans: words, the gaps between them, and text of scripts without spaces. It knows no terms
//! and no queries.
//!
//! These spans define both the terms of a text and the search for a needle. Changing where a span begins or ends
//! changes the format of the index.

use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};

/// The class of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharClass {
    /// A letter, digit or mark.
    Word,
    /// A letter, digit or mark of a script that does not put spaces between words.
    Unspaced,
    /// Anything else.
    Gap,
}

/// A longest sequence of characters of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    pub(crate) class: CharClass,
    pub(crate) text: &'a str,
    /// The number of code points it has.
    pub(crate) chars: usize,
}

/// Returns the spans of a text, which cover it without overlapping.
pub(crate) fn spans(text: &str) -> Spans<'_> {
    Spans { rest: text }
}

pub(crate) struct Spans<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        let class = class(self.rest.chars().next()?);
        let (mut length, mut chars) = (0, 0);
        loop {
            // Most texts are mostly ASCII, whose bytes need no decoding.
            let ascii = self.rest.as_bytes()[length..].iter();
            let ascii = ascii.take_while(|byte| ASCII[usize::from(**byte)] == Some(class)).count();
            (length, chars) = (length + ascii, chars + ascii);
            match self.rest[length..].chars().next() {
                Some(char) if !char.is_ascii() && self::class(char) == class => {
                    (length, chars) = (length + char.len_utf8(), chars + 1);
                }
                _ => break,
            }
        }
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(Span { class, text, chars })
    }
}

/// Returns the last `count` code points of a text, or all of it.
pub(crate) fn last_chars(text: &str, count: usize) -> &str {
    match text.char_indices().rev().take(count).last() {
        Some((at, _)) => &text[at..],
        None => "",
    }
}

const CATEGORIES: icu_properties::CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPTS: icu_properties::CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

#[inline]
pub(crate) fn class(char: char) -> CharClass {
    match char as usize {
        ascii @ ..0x80 => class_of_ascii(ascii as u8),
        near @ ..0x1_0000 => BASIC_PLANE[near],
        _ => class_beyond_ascii(char),
    }
}

/// The class of each character of the basic plane. A look-up in ICU's tables takes several times as long, and indexing
/// needs one for every character.
static BASIC_PLANE: LazyLock<Box<[CharClass]>> = LazyLock::new(|| {
    let class = |code| char::from_u32(code).map_or(CharClass::Gap, class_beyond_ascii);
    (0..0x1_0000).map(class).collect()
});

#[inline]
const fn class_of_ascii(char: u8) -> CharClass {
    if char.is_ascii_alphanumeric() { CharClass::Word } else { CharClass::Gap }
}

/// The class of each ASCII byte; `None` for other bytes.
const ASCII: [Option<CharClass>; 256] = {
    let mut classes = [None; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = Some(class_of_ascii(byte));
        byte += 1;
    }
    classes
};

fn class_beyond_ascii(char: char) -> CharClass {
    let category = CATEGORIES.get(char);
    let groups = [GeneralCategoryGroup::Letter, GeneralCategoryGroup::Mark, GeneralCategoryGroup::Number];
    if !groups.iter().any(|group| group.contains(category)) {
        return CharClass::Gap;
    }
    match SCRIPTS.get(char) {
        Script::Han
        | Script::Hiragana
        | Script::Katakana
        | Script::Bopomofo
        | Script::Yi
        | Script::Thai
        | Script::Lao
        | Script::Khmer
        | Script::Myanmar
        | Script::Tibetan => CharClass::Unspaced,
        // The marks that lengthen a sound of kana, as in `サーバー`, belong to no script of their own.
        _ if matches!(char, '\u{30fc}' | '\u{ff70}') => CharClass::Unspaced,
        _ => CharClass::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::first_chars;

    #[test]
    fn spans_are_words_gaps_and_text_without_spaces() {
        let cut = |text| {
            let marks = |span: Span<'_>| match span.class {
                CharClass::Word => format!("w{}:{}", span.chars, span.text),
                CharClass::Unspaced => format!("u{}:{}", span.chars, span.text),
                CharClass::Gap => format!("g{}:{}", span.chars, span.text),
            };
            spans(text).map(marks).collect::<Vec<_>>()
        };
        assert_eq!(cut(""), [""; 0]);
        assert_eq!(cut("of the"), ["w2:of", "g1: ", "w3:the"]);
        assert_eq!(cut(", \u{e9}t\u{e9}_1"), ["g2:, ", "w3:\u{e9}t\u{e9}", "g1:_", "w1:1"]);
        // A mark belongs to the word that it stands in.
        assert_eq!(cut("x\u{323}y"), ["w3:x\u{323}y"]);
        assert_eq!(cut("日本go語。"), ["u2:日本", "w2:go", "u1:語", "g1:。"]);
        assert_eq!(cut("ภาษา ไทย"), ["u4:ภาษา", "g1: ", "u3:ไทย"]);
        assert_eq!(cut("サーバー"), ["u4:サーバー"]);
        assert_eq!(cut("한국어"), ["w3:한국어"]);
        assert_eq!(cut("\u{1f600}"), ["g1:\u{1f600}"]);
    }

    #[test]
    fn ends_of_texts_are_counted_in_code_points() {
        assert_eq!(["日本語", "x", ""].map(|text| last_chars(text, 2)), ["本語", "x", ""]);
        assert_eq!(["日本語", "x", ""].map(|text| first_chars(text, 2)), ["日本", "x", ""]);
    }
}
