//! The slow and obvious test whether texts have the words of a `q`. Written from `API.md` 4.6.15 only.

use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_segmentation::UnicodeSegmentation as _;

use super::forms::fold;

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// A unit of text that is compared: a word, or a character of a script without spaces. `joined` says that the unit
/// before stands directly before it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    text: String,
    joined: bool,
    is_word: bool,
}

/// A part of a `q`.
#[derive(Debug)]
struct Part {
    units: Vec<Unit>,
    is_excluded: bool,
    typos: bool,
    /// True if the last unit may be the beginning of a word.
    is_open: bool,
}

/// The parts of a `q`; empty if it has no words.
pub(crate) struct Words(Vec<Part>);

impl Words {
    pub(crate) fn of(q: &str, typos: bool) -> Words {
        let mut parts: Vec<Part> = Vec::new();
        let chars: Vec<char> = q.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            if chars[at].is_whitespace() {
                at += 1;
                continue;
            }
            let is_excluded = chars[at] == '-' && chars.get(at + 1).is_some_and(|next| !next.is_whitespace());
            at += usize::from(is_excluded);
            let is_quoted = chars[at] == '"';
            at += usize::from(is_quoted);
            let start = at;
            while at < chars.len() && chars[at] != '"' && (is_quoted || !chars[at].is_whitespace()) {
                at += 1;
            }
            let found = units(&chars[start..at].iter().collect::<String>());
            at += usize::from(is_quoted && at < chars.len());
            if is_quoted || is_excluded {
                parts.push(Part { units: found, is_excluded, typos: false, is_open: false });
                continue;
            }
            let is_last = at == chars.len();
            // Words count one by one. Characters that stand together count together.
            let mut rest = &found[..];
            while let Some(first) = rest.first() {
                let together = 1 + rest[1..].iter().take_while(|unit| unit.joined).count();
                let count = if first.is_word { 1 } else { together };
                let is_open = is_last && count == rest.len() && first.is_word;
                parts.push(Part { units: rest[..count].to_vec(), is_excluded: false, typos, is_open });
                rest = &rest[count..];
            }
        }
        parts.retain(|part| !part.units.is_empty());
        Words(parts)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether texts have all required words, and none of the excluded ones.
    pub(crate) fn are_in<'a>(&self, texts: impl Iterator<Item = &'a str>) -> bool {
        let texts: Vec<Vec<Unit>> = texts.map(units).collect();
        self.0.iter().all(|part| texts.iter().any(|text| part.is_in(text)) != part.is_excluded)
    }
}

impl Part {
    fn is_in(&self, text: &[Unit]) -> bool {
        text.windows(self.units.len()).any(|window| {
            let is_same = |(index, (found, wanted)): (usize, (&Unit, &Unit))| {
                (index == 0 || found.joined == wanted.joined) && self.accepts(&found.text, &wanted.text)
            };
            window.iter().zip(&self.units).enumerate().all(is_same)
        })
    }

    fn accepts(&self, found: &str, wanted: &str) -> bool {
        let (found, wanted): (Vec<char>, Vec<char>) = (found.chars().collect(), wanted.chars().collect());
        let most = match wanted.len() {
            _ if !self.typos || wanted.iter().all(|char| char.is_numeric()) => 0,
            0..=4 => 0,
            5..=8 => 1,
            _ => 2,
        };
        let ends = if self.is_open { 0..=found.len() } else { found.len()..=found.len() };
        ends.into_iter().any(|end| {
            let begun = &found[..end];
            *begun == wanted[..] || (most > 0 && begun.first() == wanted.first() && distance(&wanted, begun) <= most)
        })
    }
}

fn distance(one: &[char], other: &[char]) -> usize {
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let mut table = vec![vec![0usize; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            if i == 0 || j == 0 {
                table[i][j] = i + j;
                continue;
            }
            let mut least = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            least = least.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = least;
        }
    }
    table[one.len()][other.len()]
}

fn units(text: &str) -> Vec<Unit> {
    let folded = fold(text);
    let mut found = Vec::new();
    let mut rest = folded.as_str();
    while let Some(first) = rest.chars().next() {
        let is_unspaced = is_unspaced(first);
        let end = rest.find(|char| self::is_unspaced(char) != is_unspaced).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if is_unspaced {
            let unit =
                |(index, char): (usize, char)| Unit { text: char.to_string(), joined: index > 0, is_word: false };
            found.extend(part.chars().enumerate().map(unit));
        } else {
            let unit = |word| Unit { text: without_diacritics(word), joined: false, is_word: true };
            found.extend(part.unicode_words().map(unit));
        }
    }
    found
}

fn is_unspaced(char: char) -> bool {
    let groups = [GeneralCategoryGroup::Letter, GeneralCategoryGroup::Mark, GeneralCategoryGroup::Number];
    let is_in_words = groups.iter().any(|group| group.contains(CATEGORIES.get(char)));
    // These are prolonged sounds of kana, which belong to no script.
    let is_prolonged = char == 'ー' || char == '\u{ff70}';
    is_in_words
        && (is_prolonged
            || matches!(
                SCRIPTS.get(char),
                Script::Han
                    | Script::Hiragana
                    | Script::Katakana
                    | Script::Bopomofo
                    | Script::Yi
                    | Script::Thai
                    | Script::Lao
                    | Script::Khmer
                    | Script::Myanmar
                    | Script::Tibetan
            ))
}

fn without_diacritics(word: &str) -> String {
    let mut kept = String::new();
    let mut is_dropped = false;
    for char in DecomposingNormalizer::new_nfd().normalize(word).chars() {
        let category = CATEGORIES.get(char);
        if category == GeneralCategory::Format {
            continue;
        }
        if GeneralCategoryGroup::Mark.contains(category) {
            if is_dropped {
                continue;
            }
        } else {
            is_dropped = matches!(
                SCRIPTS.get(char),
                Script::Latin | Script::Greek | Script::Cyrillic | Script::Hebrew | Script::Arabic
            );
        }
        kept.push(char);
    }
    ComposingNormalizer::new_nfc().normalize(&kept).into_owned()
}
