//! Cuts texts into the tokens that ranked search looks for and counts. It knows no columns and no queries.
//!
//! A word by Unicode's rules is a token, without diacritics in scripts whose readers omit them, and without invisible
//! format characters. In text of scripts without spaces, each pair of neighboring characters is a token, and so is the
//! last character. So any part of such a text is a row of tokens.
//!
//! | folded text | tokens |
//! |---|---|
//! | `don't panic, zoë!` | `don't`, `panic`, `zoe` |
//! | `日本語 go` | `日本`, `本語`, `語`, `go` |
//!
//! The definition of a token, and its form, are part of the format of the index.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use icu_normalizer::{
    ComposingNormalizer, ComposingNormalizerBorrowed, DecomposingNormalizer, DecomposingNormalizerBorrowed,
};
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::pieces::{CharClass, class, spans};
use crate::text::fold;

/// A token and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) range: Range<usize>,
    pub(crate) kind: TokenKind,
}

/// The characters that a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    /// Two characters of a script without spaces.
    Pair,
    /// The last character of a sequence of characters of a script without spaces.
    Last,
}

/// Emits the tokens of a folded text, in order.
pub(crate) fn each_token<'a>(folded: &'a str, mut emit: impl FnMut(Token<'a>)) {
    each_piece(folded, |kind, range| {
        let text = &folded[range.clone()];
        let text = match kind {
            TokenKind::Word => comparable(text),
            // In text without spaces, marks are kept.
            TokenKind::Pair | TokenKind::Last => Cow::Borrowed(text),
        };
        emit(Token { text, range, kind });
    });
}

/// Emits the tokens that an unfolded text would have if it were folded, in order.
pub(crate) fn each_raw_token<'a>(raw: &'a str, mut emit: impl FnMut(Token<'a>)) {
    each_piece(raw, |kind, range| {
        let text = token_form(&raw[range.clone()]);
        emit(Token { text, range, kind });
    });
}

/// Returns the form in which a word that is not folded is compared.
pub(crate) fn token_form(word: &str) -> Cow<'_, str> {
    match fold(word) {
        Cow::Borrowed(folded) => comparable(folded),
        Cow::Owned(folded) => Cow::Owned(comparable(&folded).into_owned()),
    }
}

/// Emits the kinds and positions of the tokens.
pub(crate) fn each_piece(text: &str, mut emit: impl FnMut(TokenKind, Range<usize>)) {
    if !has_unspaced(text) {
        return each_word(text, 0..text.len(), &mut emit);
    }
    let mut at = 0;
    // The beginning of the text with spaces that has not been cut yet.
    let mut spaced = 0;
    for span in spans(text) {
        let range = at..at + span.text.len();
        at = range.end;
        if span.class == CharClass::Unspaced {
            each_word(text, spaced..range.start, &mut emit);
            each_pair(text, range, &mut emit);
            spaced = at;
        }
    }
    each_word(text, spaced..text.len(), &mut emit);
}

/// Returns whether a text has characters of scripts without spaces.
fn has_unspaced(text: &str) -> bool {
    // All of them take three bytes or more, and begin with this one or a later one.
    let far = text.bytes().enumerate().filter(|(_, byte)| *byte >= 0xE0).map(|(at, _)| at);
    far.filter_map(|at| text[at..].chars().next()).any(|char| class(char) == CharClass::Unspaced)
}

/// ASCII characters that may join what is on both sides of them. Others never do, beside ASCII.
const JOINING: &[u8] = b".:,;'_\"";

/// Emits the words within a range. Most words are letters between spaces, which need no look-up of Unicode's rules.
fn each_word(text: &str, within: Range<usize>, emit: &mut impl FnMut(TokenKind, Range<usize>)) {
    let mut rest = within.start;
    while rest < within.end {
        let tail = &text[rest..within.end];
        let length = tail.bytes().position(|byte| byte.is_ascii_whitespace()).unwrap_or(tail.len());
        let chunk = &tail[..length];
        let is_outside = |char: char| char.is_ascii_punctuation() && char != '_';
        let inner = chunk.trim_start_matches(is_outside);
        let start = rest + chunk.len() - inner.len();
        let inner = inner.trim_end_matches(is_outside);
        if inner.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            if !inner.is_empty() {
                emit(TokenKind::Word, start..start + inner.len());
            }
        } else if inner.bytes().all(|byte| byte.is_ascii() && !JOINING.contains(&byte)) {
            let mut at = start;
            for word in inner.split(|char: char| !char.is_ascii_alphanumeric()) {
                if !word.is_empty() {
                    emit(TokenKind::Word, at..at + word.len());
                }
                at += word.len() + 1;
            }
        } else {
            for (offset, word) in inner.unicode_word_indices() {
                emit(TokenKind::Word, start + offset..start + offset + word.len());
            }
        }
        rest += length + 1;
    }
}

/// Emits the pairs of characters within a range, and its last character.
fn each_pair(text: &str, within: Range<usize>, emit: &mut impl FnMut(TokenKind, Range<usize>)) {
    let mut before = None;
    for (offset, char) in text[within.clone()].char_indices() {
        let start = within.start + offset;
        if let Some(before) = before {
            emit(TokenKind::Pair, before..start + char.len_utf8());
        }
        before = Some(start);
    }
    if let Some(last) = before {
        emit(TokenKind::Last, last..within.end);
    }
}

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();
const NFD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfd();
const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// Returns whether a character is neither a mark, nor a letter with one, nor a format character.
fn is_plain(char: char) -> bool {
    match char as usize {
        0..0x80 => true,
        near @ ..0x1_0000 => PLAIN[near],
        _ => is_plain_beyond_ascii(char),
    }
}

fn is_plain_beyond_ascii(char: char) -> bool {
    let category = CATEGORIES.get(char);
    let is_dropped = category == GeneralCategory::Format || GeneralCategoryGroup::Mark.contains(category);
    !is_dropped && NFD.is_normalized(char.encode_utf8(&mut [0; 4]))
}

/// The result of [`is_plain`] for each character of the basic plane. Most words have only plain characters, and need
/// not be decomposed.
static PLAIN: LazyLock<Box<[bool]>> = LazyLock::new(|| {
    let is_plain = |code| char::from_u32(code).is_some_and(is_plain_beyond_ascii);
    (0..0x1_0000).map(is_plain).collect()
});

/// Returns a word in the form in which it is compared: without format characters, such as soft hyphens and marks of
/// direction, which nobody sees, and without the marks on letters of scripts whose readers omit them. In other scripts
/// marks distinguish words.
fn comparable(folded: &str) -> Cow<'_, str> {
    match folded.chars().all(is_plain) {
        true => Cow::Borrowed(folded),
        false => taken_apart(folded),
    }
}

fn taken_apart(folded: &str) -> Cow<'_, str> {
    let mut stripped = String::with_capacity(folded.len());
    let (mut drops_marks, mut has_dropped) = (false, false);
    for char in NFD.normalize(folded).chars() {
        let category = CATEGORIES.get(char);
        if category == GeneralCategory::Format {
            has_dropped = true;
            continue;
        }
        if GeneralCategoryGroup::Mark.contains(category) {
            if drops_marks {
                has_dropped = true;
                continue;
            }
        } else {
            let script = SCRIPTS.get(char);
            drops_marks =
                matches!(script, Script::Latin | Script::Greek | Script::Cyrillic | Script::Hebrew | Script::Arabic);
        }
        stripped.push(char);
    }
    match has_dropped {
        true => Cow::Owned(NFC.normalize(&stripped).into_owned()),
        false => Cow::Borrowed(folded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_raw_token(text, |token| found.push(token.text.into_owned()));
        found
    }

    #[test]
    fn tokens_are_words_without_diacritics_and_pairs() {
        for (text, tokens) in [
            ("", &[][..]),
            ("Don't panic, Zo\u{eb}!", &["don't", "panic", "zoe"]),
            ("(3.14) _x_ e-mail a/b", &["3.14", "_x_", "e", "mail", "a", "b"]),
            ("example.com, U.S.A.", &["example.com", "u.s.a"]),
            ("日本語 go", &["日本", "本語", "語", "go"]),
            ("日本。語go", &["日本", "本", "語", "go"]),
            ("한국어 문서", &["한국어", "문서"]),
            ("\u{419}\u{43e}\u{433}\u{438} \u{451}\u{436}", &["\u{438}\u{43e}\u{433}\u{438}", "\u{435}\u{436}"]),
            // Marks of kana are part of the character, and NFC keeps them so.
            ("ガ", &["ガ"]),
            ("Stra\u{df}e", &["strasse"]),
            ("\u{1f600} ...", &[]),
            ("\u{1f468}\u{200d}\u{1f469} go \u{1f3f4}\u{e0067}\u{e007f}", &["go"]),
            ("Do\u{ad}nau\u{200f} \u{200e}a\u{2060}b\u{feff} e\u{200d}\u{301}", &["donau", "ab", "e"]),
            ("\u{915}\u{94d}\u{200d}\u{937} \u{6a9}\u{200c}\u{647}", &["\u{915}\u{94d}\u{937}", "\u{6a9}\u{647}"]),
        ] {
            assert_eq!(cut(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn plain_characters_need_not_be_taken_apart() {
        let mut plain = 0;
        for char in ('\0'..=char::MAX).filter(|char| is_plain(*char)) {
            let text = format!("e{char}");
            assert_eq!(taken_apart(&text), text);
            plain += 1;
        }
        // All characters except marks, letters with marks, and the syllables of Hangul.
        assert!((1_080_000..1_110_000).contains(&plain), "{plain}");
    }

    #[test]
    fn text_without_spaces_is_noticed() {
        for char in ('\0'..=char::MAX).filter(|char| *char < '\u{20000}') {
            let text = format!("a {char}");
            assert_eq!(has_unspaced(&text), class(char) == CharClass::Unspaced, "{char:?}");
        }
    }

    #[test]
    fn every_way_of_cutting_words_follows_the_rules_of_unicode() {
        let texts = [
            "a.b c",
            "'tis _ 'n' x_",
            "1,5 2;3 a:b",
            "x\u{301}y z\u{200d}w",
            "a\u{a0}b",
            "\"q\"-r",
            "\u{301}b \u{301}",
            "std::map<int>(x) a/b-c+d=e",
            "\u{2019}a\u{2019}b\u{2013}c",
        ];
        let ascii = (0..128u8).map(|byte| format!("a{0}1 {0}b c{0} d{0}{0}e", char::from(byte)));
        let texts = texts.into_iter().map(str::to_owned).chain(ascii);
        for text in texts {
            let mut found = Vec::new();
            each_word(&text, 0..text.len(), &mut |_, range| found.push(&text[range]));
            let expected: Vec<&str> = text.unicode_words().collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
