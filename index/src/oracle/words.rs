//! Finds the words of a text query in texts, in the slow and obvious way. It shares the parsing of query strings and
//! the folding with the engine, and nothing else.

use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::fold;
use crate::text_query::{Requirement, Rest, TextQuery, WantedToken, Words};

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// Returns whether a resource matches the query. `texts` are those of the query's fields, not folded.
pub(super) fn has_words(query: &TextQuery, texts: &[String]) -> bool {
    let texts: Vec<Vec<String>> = texts.iter().map(|text| tokens(text)).collect();
    let has_row = |row: &[WantedToken]| {
        texts.iter().any(|tokens| {
            tokens.windows(row.len()).any(|found| found.iter().zip(row).all(|(token, wanted)| is_wanted(token, wanted)))
        })
    };
    let has = |required: &Requirement| match required {
        Requirement::Token(wanted) => texts.iter().flatten().any(|token| is_wanted(token, wanted)),
        Requirement::Row(row) => has_row(row),
    };
    let Words { required, excluded } = query.words();
    required.iter().all(has) && !excluded.iter().any(|row| has_row(row))
}

fn is_wanted(token: &str, wanted: &WantedToken) -> bool {
    closeness(token, wanted).is_some()
}

/// Returns the distance of a matching resource: for each word, twice the typos of its closest form, plus one if that
/// form continues after the word.
pub(super) fn distance_from(query: &TextQuery, texts: &[String]) -> usize {
    let tokens: Vec<String> = texts.iter().flat_map(|text| tokens(text)).collect();
    let closest = |required: &Requirement| match required {
        Requirement::Token(wanted) => tokens.iter().filter_map(|token| closeness(token, wanted)).min().unwrap_or(0),
        Requirement::Row(_) => 0,
    };
    query.words().required.iter().map(closest).sum()
}

fn closeness(token: &str, wanted: &WantedToken) -> Option<usize> {
    let WantedToken { text, typos, rest } = wanted;
    let (text, token): (Vec<char>, Vec<char>) = (text.chars().collect(), token.chars().collect());
    let beginnings = match rest {
        Rest::Nothing => token.len()..=token.len(),
        Rest::Word | Rest::OfPair => 0..=token.len(),
    };
    let of_beginning = |end: usize| {
        let beginning = &token[..end];
        let is_begun = usize::from(*rest == Rest::Word && end < token.len());
        if *beginning == text[..] {
            return Some(is_begun);
        }
        let distance = distance(&text, beginning);
        (*typos > 0 && beginning.first() == text.first() && distance <= *typos).then_some(2 * distance + is_begun)
    };
    beginnings.filter_map(of_beginning).min()
}

/// Returns the number of typos between two words, by a full table.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let exchanged = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                let moved = 1 + table[i - 1][j].min(table[i][j - 1]);
                let is_swap = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                exchanged.min(moved).min(if is_swap { table[i - 2][j - 2] + 1 } else { usize::MAX })
            };
        }
    }
    table[one.len()][other.len()]
}

fn tokens(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut tokens = Vec::new();
    let mut rest = &*folded;
    while let Some(first) = rest.chars().next() {
        let is_unspaced = is_unspaced(first);
        let end = rest.find(|char| self::is_unspaced(char) != is_unspaced).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if is_unspaced {
            let chars: Vec<char> = part.chars().collect();
            tokens.extend((0..chars.len()).map(|at| chars[at..chars.len().min(at + 2)].iter().collect::<String>()));
        } else {
            tokens.extend(part.unicode_words().map(without_diacritics));
        }
    }
    tokens
}

fn is_unspaced(char: char) -> bool {
    let groups = [GeneralCategoryGroup::Letter, GeneralCategoryGroup::Mark, GeneralCategoryGroup::Number];
    let scripts = [
        Script::Han,
        Script::Hiragana,
        Script::Katakana,
        Script::Bopomofo,
        Script::Yi,
        Script::Thai,
        Script::Lao,
        Script::Khmer,
        Script::Myanmar,
        Script::Tibetan,
    ];
    // The marks that lengthen sounds of kana belong to no script.
    if "ー\u{ff70}".contains(char) {
        return true;
    }
    groups.iter().any(|group| group.contains(CATEGORIES.get(char))) && scripts.contains(&SCRIPTS.get(char))
}

fn without_diacritics(word: &str) -> String {
    let mut kept = String::new();
    let mut base = Script::Common;
    for char in DecomposingNormalizer::new_nfd().normalize(word).chars() {
        let is_mark = GeneralCategoryGroup::Mark.contains(CATEGORIES.get(char));
        if !is_mark {
            base = SCRIPTS.get(char);
        }
        let scripts = [Script::Latin, Script::Greek, Script::Cyrillic, Script::Hebrew, Script::Arabic];
        if !(is_mark && scripts.contains(&base)) {
            kept.push(char);
        }
    }
    ComposingNormalizer::new_nfc().normalize(&kept).into_owned()
}
