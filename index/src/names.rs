//! The keys by which the words of a text are found. Cuts names such as `getInt32`, `d'environnement` and `std.vector`
//! into parts. It knows no columns and no queries.
//!
//! A name is a word (see `tokens.rs`) with a joint: an apostrophe, dot, colon, underscore or the like with a letter on
//! at least one side, a lowercase letter before an uppercase one, or a letter beside a digit. Its parts stand between
//! the joints. A text has each *row* of neighboring parts, joined: of `getInt32` these are `get`, `getint`, `int`,
//! `int32` and `32`. So a part, or several in a row, are found by one look-up.
//!
//! Rows are tokens of their own kind: they begin with [`MARK`], which no word has. So are the characters with which
//! words and rows begin, behind [`BEGINNING`]: thousands of words begin so, and reading the documents of each would
//! take long. The definition of a row is part of the format of the index.

use std::ops::Range;

use hashbrown::HashSet;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

use crate::tokens::{TokenKind, each_piece, each_token, token_form};

/// The first character of a row, which no word has.
pub(crate) const MARK: char = '\u{1}';
/// The character before one with which words or rows begin; no word has it.
pub(crate) const BEGINNING: char = '\u{2}';
/// A word with more parts is no name. It would have too many rows.
const MAX_PARTS: usize = 64;
/// A word with more parts, many of which begin with a digit, is no name, but a number or a hash in hexadecimal digits.
const MAX_HASH_PARTS: usize = 8;
/// The parts of a name with more parts are not asked for one by one. Each is looked up in every field.
const MAX_ASKED_PARTS: usize = 8;
/// The most parts of a row.
const MAX_ROW: usize = 4;

/// The parts of a name, folded.
pub(crate) struct Name {
    parts: Vec<String>,
}

/// Emits the tokens of a text, the rows of its names, and once each character with which one of these begins, except
/// for texts without spaces. Returns the number of tokens.
pub(crate) fn each_key(folded: &str, raw: &str, mut emit: impl FnMut(&str)) -> u32 {
    let mut length = 0;
    let mut first_chars = FirstChars::default();
    each_token(folded, |token| {
        length += 1;
        emit(&token.text);
        if token.kind == TokenKind::Word {
            first_chars.add(&token.text);
        }
    });
    each_row(raw, |row| {
        emit(row);
        first_chars.add(&row[MARK.len_utf8()..]);
    });
    let mut key = String::new();
    first_chars.each(|char| {
        key.clear();
        key.extend([BEGINNING, char]);
        emit(&key);
    });
    length
}

/// Returns whether a token is none of the words of a text.
pub(crate) fn is_marked(token: &str) -> bool {
    token.starts_with([MARK, BEGINNING])
}

/// The first characters of words.
#[derive(Default)]
struct FirstChars {
    /// Those in ASCII, a bit for each.
    ascii: u128,
    others: HashSet<char>,
}

impl FirstChars {
    fn add(&mut self, word: &str) {
        match word.chars().next() {
            Some(char) if char.is_ascii() => self.ascii |= 1 << char as u32,
            Some(char) => drop(self.others.insert(char)),
            None => {}
        }
    }

    fn each(&self, mut emit: impl FnMut(char)) {
        (0..128u8).filter(|char| self.ascii >> char & 1 == 1).for_each(|char| emit(char.into()));
        self.others.iter().for_each(|char| emit(*char));
    }
}

/// Emits the rows of the names in a text that is not folded, each after [`MARK`].
fn each_row(raw: &str, mut emit: impl FnMut(&str)) {
    let mut row = String::new();
    for chunk in raw.split_ascii_whitespace().filter(|chunk| has_joint(chunk)) {
        each_piece(chunk, |kind, range| {
            let word = &chunk[range];
            if let Some(name) = Name::of(word, kind) {
                name.each_row(&token_form(word), &mut row, &mut emit);
            }
        });
    }
}

impl Name {
    /// Cuts a word that is not folded. `None` if it is no name.
    pub(crate) fn of(word: &str, kind: TokenKind) -> Option<Name> {
        if kind != TokenKind::Word || !has_joint(word) {
            return None;
        }
        let ranges = part_ranges(word);
        let is_name = (2..=MAX_PARTS).contains(&ranges.len()) && !is_hash(word, &ranges);
        let parts = || ranges.iter().map(|range| token_form(&word[range.clone()]).into_owned()).collect();
        is_name.then(|| Name { parts: parts() })
    }

    /// Returns the parts that a question for the name asks for: those with more than one character.
    pub(crate) fn asked_parts(&self) -> impl Iterator<Item = &str> {
        let parts = if self.parts.len() <= MAX_ASKED_PARTS { &self.parts[..] } else { &[] };
        parts.iter().map(String::as_str).filter(|part| !is_short(part))
    }

    /// Returns all parts joined, if there is a row that long.
    pub(crate) fn joined(&self) -> Option<String> {
        (self.parts.len() <= MAX_ROW).then(|| self.parts.concat())
    }

    fn each_row(&self, whole: &str, row: &mut String, emit: &mut impl FnMut(&str)) {
        for first in 0..self.parts.len() {
            row.clear();
            row.push(MARK);
            for part in self.parts[first..].iter().take(MAX_ROW) {
                row.push_str(part);
                let text = &row[MARK.len_utf8()..];
                // Nobody asks for a row of one character, and the whole word is a token anyway.
                if !is_short(text) && text != whole {
                    emit(row);
                }
            }
        }
    }
}

/// Emits the positions of the rows of a word that satisfy `is_wanted`, each passed to it after [`MARK`].
pub(crate) fn rows_where(word: &str, kind: TokenKind, mut is_wanted: impl FnMut(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some(name) = Name::of(word, kind) else { return found };
    let ranges = part_ranges(word);
    for first in 0..ranges.len() {
        let mut row = MARK.to_string();
        for last in first..ranges.len().min(first + MAX_ROW) {
            row.push_str(&name.parts[last]);
            if !is_short(&row[MARK.len_utf8()..]) && is_wanted(&row) {
                found.push(ranges[first].start..ranges[last].end);
            }
        }
    }
    found
}

/// Returns whether a word with these parts looks like a number or a hash: more than a third of many parts begin with a
/// digit.
fn is_hash(word: &str, parts: &[Range<usize>]) -> bool {
    let begins_with_digit = |part: &&Range<usize>| {
        let first = word[part.start..].chars().next();
        first.is_some_and(|first| NameClass::of(first) == NameClass::Digit)
    };
    parts.len() > MAX_HASH_PARTS && 3 * parts.iter().filter(begins_with_digit).count() > parts.len()
}

fn is_short(text: &str) -> bool {
    text.chars().nth(1).is_none()
}

/// The class of a character in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameClass {
    Lower,
    Upper,
    /// A letter without case.
    Letter,
    Digit,
    /// Belongs to the character before it: a mark, or an invisible format character such as a soft hyphen.
    Mark,
    Other,
}

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';

/// Returns whether a character belongs to the one before it.
fn is_mark(char: char) -> bool {
    let category = CATEGORIES.get(char);
    category == GeneralCategory::Format || GeneralCategoryGroup::Mark.contains(category)
}

impl NameClass {
    fn of(char: char) -> NameClass {
        match char {
            'a'..='z' => NameClass::Lower,
            'A'..='Z' => NameClass::Upper,
            '0'..='9' => NameClass::Digit,
            '\0'..='\u{7f}' => NameClass::Other,
            // In Persian, endings stand behind it. A word is also found without them.
            ZERO_WIDTH_NON_JOINER => NameClass::Other,
            char if is_mark(char) => NameClass::Mark,
            char if char.is_lowercase() => NameClass::Lower,
            char if char.is_uppercase() => NameClass::Upper,
            char if char.is_alphabetic() => NameClass::Letter,
            char if char.is_numeric() => NameClass::Digit,
            _ => NameClass::Other,
        }
    }

    fn is_letter(self) -> bool {
        matches!(self, NameClass::Lower | NameClass::Upper | NameClass::Letter)
    }

    /// Returns whether a part ends between two neighboring characters.
    fn ends_before(self, next: NameClass) -> bool {
        (self == NameClass::Lower && next == NameClass::Upper)
            || (self.is_letter() && next == NameClass::Digit)
            || (self == NameClass::Digit && next.is_letter())
    }
}

/// Returns whether a text can have a name. Most words have no joint, and need not be cut.
fn has_joint(text: &str) -> bool {
    !is_plain(text) && has_joint_inside(text)
}

/// Returns whether a text is lowercase letters, perhaps behind a capital and between punctuation.
fn is_plain(text: &str) -> bool {
    let word = text.trim_matches(|char: char| char.is_ascii() && !char.is_ascii_alphanumeric());
    let mut bytes = word.bytes();
    bytes.next().is_none_or(|byte| byte.is_ascii_alphabetic()) && bytes.all(|byte| byte.is_ascii_lowercase())
}

fn has_joint_inside(text: &str) -> bool {
    let mut before = NameClass::Other;
    // The class before characters that are no letters or digits.
    let mut beyond = NameClass::Other;
    let mut capitals = 0;
    for char in text.chars() {
        let class = NameClass::of(char);
        match class {
            NameClass::Mark => continue,
            NameClass::Other => {
                if before != NameClass::Other {
                    beyond = before;
                }
                capitals = 0;
            }
            _ => {
                let is_behind_joint = before == NameClass::Other
                    && (beyond.is_letter() || (beyond == NameClass::Digit && class.is_letter()));
                let ends_acronym = class == NameClass::Lower && capitals > 1;
                if is_behind_joint || before.ends_before(class) || ends_acronym {
                    return true;
                }
                capitals = if class == NameClass::Upper { capitals + 1 } else { 0 };
            }
        }
        before = class;
    }
    false
}

/// Returns the parts of a word.
fn part_ranges(word: &str) -> Vec<Range<usize>> {
    let chars = word.char_indices().map(|(at, char)| (at, NameClass::of(char)));
    let chars: Vec<(usize, NameClass)> = chars.filter(|(_, class)| *class != NameClass::Mark).collect();
    let class = |index: usize| chars.get(index).map_or(NameClass::Other, |(_, class)| *class);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    // The beginning of the current part.
    let mut start = None;
    let mut before = NameClass::Other;
    // The number of the last uppercase letters in a row.
    let mut capitals = 0;
    // The place of the letter or digit after the current separator. It only moves forward, since a text may have a
    // million separators in a row.
    let mut next = 0;
    for (index, &(at, here)) in chars.iter().enumerate() {
        if here == NameClass::Other {
            if next < index {
                next = (index..chars.len()).find(|place| class(*place) != NameClass::Other).unwrap_or(chars.len());
            }
            // Separators between digits belong to the number.
            if before != NameClass::Digit || class(next) != NameClass::Digit {
                ranges.extend(start.take().map(|start| start..at));
                before = NameClass::Other;
            }
            capitals = 0;
            continue;
        }
        // Of `HTMLElement` the parts are `HTML` and `Element`, but `GPUs` has one.
        let ends_acronym = here == NameClass::Lower && capitals > 1 && class(index + 1) == NameClass::Lower;
        if ends_acronym {
            let (last_capital, _) = chars[index - 1];
            ranges.extend(start.replace(last_capital).map(|start| start..last_capital));
        } else if before.ends_before(here) {
            ranges.extend(start.replace(at).map(|start| start..at));
        }
        start.get_or_insert(at);
        capitals = if here == NameClass::Upper { capitals + 1 } else { 0 };
        before = here;
    }
    ranges.extend(start.map(|start| start..word.len()));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<String> {
        let mut rows = Vec::new();
        each_row(text, |row| rows.push(row[1..].to_owned()));
        rows
    }

    #[test]
    fn a_text_has_its_words_its_rows_and_each_first_character_once() {
        for (raw, length, expected) in [
            ("", 0, vec![]),
            ("some text some", 3, vec!["some", "some", "text", "\u{2}s", "\u{2}t"]),
            (
                "getInt32",
                1,
                vec![
                    "getint32",
                    "\u{1}get",
                    "\u{1}getint",
                    "\u{1}int",
                    "\u{1}int32",
                    "\u{1}32",
                    "\u{2}3",
                    "\u{2}g",
                    "\u{2}i",
                ],
            ),
            ("\u{44f}\u{431}\u{43b} \u{44f}", 2, vec!["\u{44f}", "\u{44f}\u{431}\u{43b}", "\u{2}\u{44f}"]),
            ("\u{6771}\u{4eac}", 2, vec!["\u{6771}\u{4eac}", "\u{4eac}"]),
        ] {
            let mut keys = Vec::new();
            let folded = raw.to_lowercase();
            assert_eq!(each_key(&folded, raw, |key| keys.push(key.to_owned())), length, "{raw}");
            let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            keys.sort();
            expected.sort();
            assert_eq!(keys, expected, "{raw}");
        }
    }

    #[test]
    fn names_are_cut_at_joints() {
        for (text, parts) in [
            ("getInt32", &["get", "Int", "32"][..]),
            ("HTMLElement", &["HTML", "Element"]),
            ("GPUs", &["GPUs"]),
            ("Compiler", &["Compiler"]),
            ("d\u{2019}environnement", &["d", "environnement"]),
            ("Zc:rvalueCast", &["Zc", "rvalue", "Cast"]),
            ("_snake_case_", &["snake", "case"]),
            ("3.14", &["3.14"]),
            ("v2.0", &["v", "2.0"]),
            ("U.S.A", &["U", "S", "A"]),
            ("\u{44f}\u{41c}\u{430}", &["\u{44f}", "\u{41c}\u{430}"]),
            ("e\u{301}A", &["e\u{301}", "A"]),
            ("Donau\u{ad}dampf\u{ad}Schiff\u{200f}", &["Donau\u{ad}dampf\u{ad}", "Schiff\u{200f}"]),
            ("\u{6a9}\u{62a}\u{200c}\u{647}\u{627}", &["\u{6a9}\u{62a}", "\u{647}\u{627}"]),
        ] {
            let found: Vec<&str> = part_ranges(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, parts, "{text:?}");
            assert!(parts.len() < 2 || has_joint(text), "{text:?}");
        }
    }

    #[test]
    fn plain_words_have_no_joint() {
        let chars = ['a', 'b', 'X', '7', '.', '_', '\u{e9}'];
        let mut plain = 0;
        for number in 0..chars.len().pow(5) {
            let text: String = (0..5).map(|place| chars[number / chars.len().pow(place) % chars.len()]).collect();
            plain += usize::from(is_plain(&text));
            assert!(!is_plain(&text) || !has_joint_inside(&text), "{text}");
        }
        assert!(plain > 100, "{plain}");
    }

    #[test]
    fn rows_are_neighboring_parts_but_not_the_whole_word() {
        assert_eq!(rows("Call getInt32, then."), ["get", "getint", "int", "int32", "32"]);
        assert_eq!(rows("l'\u{c9}t\u{e9} U.S.A. (GPUs) 3.14"), ["lete", "ete", "us", "usa", "sa"]);
        assert_eq!(rows("plain words, a-b x/y"), [""; 0]);
        // Syllables are no parts.
        assert_eq!(rows("Donau\u{ad}dampf\u{ad}schiff"), [""; 0]);
        // A hash in hexadecimal digits is no name.
        assert_eq!(rows("a1b2c3d4e5"), [""; 0]);
        assert_eq!(rows("3f786850e387550fdab836ed7e6dc881de23001b"), [""; 0]);
        let long = rows("System.Collections.Generic.IReadOnlyDictionary.TryGetValue");
        assert!(["dictionary", "trygetvalue"].iter().all(|row| long.iter().any(|found| found == row)), "{long:?}");
        // Each part begins at most four rows.
        assert_eq!(rows(&"Ab".repeat(64)).len(), 4 * 64 - 6);
        assert_eq!(rows(&"Ab".repeat(65)), [""; 0]);
    }
}
