//! Finds the words of a text query in texts, in the slow and obvious way. It shares the parsing of query strings, the
//! folding and the test for forms of a word with the engine, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::fold;
use crate::text_query::{Alternatives, Requirement, Rest, SynonymPhrases, TextQuery, WantedRow, WantedToken, Words};

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// The tokens of a text.
struct NaiveText {
    tokens: Vec<String>,
    /// The rows of parts of its names.
    rows: Vec<String>,
}

/// A resource, by the texts of its fields.
type Texts = Vec<NaiveText>;

/// Returns the resources that match the query, each with its distance from it. `resources` have the texts of the
/// query's fields, and `words` those that have words of the index, all not folded.
pub(super) fn distances(
    query: &TextQuery,
    resources: &BTreeMap<u128, Vec<String>>,
    words: &[String],
) -> BTreeMap<u128, u64> {
    let naive = |text: &String| NaiveText { tokens: tokens(text), rows: rows(text) };
    let resources: BTreeMap<u128, Texts> =
        resources.iter().map(|(id, texts)| (*id, texts.iter().map(naive).collect())).collect();
    let known: BTreeSet<String> = words.iter().flat_map(|text| tokens(text)).collect();
    let Words { required, asked, excluded, .. } = query.words();
    let ways = |id: &u128| -> Vec<Option<u64>> {
        required.iter().map(|required| way(required, &resources[id], &known)).collect()
    };
    // A title with all words, some in another form, is as close as one with the words as they stand.
    let greatest = query.fields.iter().map(|field| field.weight).fold(0.0, f32::max);
    let titles: Vec<usize> = (0..query.fields.len()).filter(|field| query.fields[*field].weight >= greatest).collect();
    let wanted: Vec<&Requirement> =
        required.iter().zip(asked).filter(|(_, asked)| !asked.is_stop_word).map(|(required, _)| required).collect();
    let is_titled = |id: &u128| {
        let is_in = |title: usize| wanted.iter().all(|required| is_in_title(required, &resources[id][title]));
        query.words().is_expanded()
            && wanted.len() > 1
            && required.iter().all(|required| matches!(required, Requirement::Token(_)))
            && titles.iter().copied().any(is_in)
    };
    let sum_of_ways = |id: &u128| -> u64 {
        let counts = |way: &u64| *way != 3 || !is_titled(id);
        ways(id).into_iter().flatten().filter(counts).sum()
    };
    let allowed: Vec<u128> = resources
        .iter()
        .filter(|(_, texts)| !excluded.iter().any(|row| has_row(texts, row)))
        .map(|(id, _)| *id)
        .collect();
    let complete: Vec<u128> = allowed.iter().copied().filter(|id| !ways(id).contains(&None)).collect();
    // Of text without spaces, each pair of characters counts as a word. Each is here with its row.
    let pairs: Vec<(&WantedToken, &WantedRow)> = required
        .iter()
        .zip(asked)
        .filter(|(_, asked)| asked.can_go)
        .filter_map(|(required, _)| match required {
            Requirement::Row(row) => Some(row),
            Requirement::Token(_) => None,
        })
        .flat_map(|row| row.tokens.iter().map(move |pair| (pair, row)))
        .take(30)
        .collect();
    let can_lack = asked.iter().any(|asked| asked.can_go);
    if complete.len() >= 10 || (asked.len() < 2 && pairs.is_empty()) || !can_lack {
        return complete.into_iter().map(|id| (id, sum_of_ways(&id))).collect();
    }
    // For each word and each pair: true if the resource has it.
    let had = |id: &u128| -> Vec<bool> {
        let texts = &resources[id];
        let has_pair = |pair: &WantedToken| has_row(texts, std::slice::from_ref(pair));
        let has = |(pair, row): &(&WantedToken, &WantedRow)| has_pair(pair) || has_phrase(&row.synonyms, texts, &known);
        ways(id).iter().map(Option::is_some).chain(pairs.iter().map(has)).collect()
    };
    let (costs, distances): (Vec<u64>, Vec<u64>) = (0..asked.len() + pairs.len())
        .map(|number| {
            let having = resources.keys().filter(|id| had(id)[number]).count();
            let is_common = having >= 10 && having * 5 > resources.len();
            let counts = match asked.get(number) {
                Some(asked) => asked.can_go && !asked.is_stop_word,
                None => {
                    !pairs[number - asked.len()].0.text.chars().any(|char| ('\u{3041}'..='\u{309f}').contains(&char))
                }
            };
            match counts && having > 0 {
                true if is_common => {
                    let closest = resources.keys().filter_map(|id| *ways(id).get(number)?).min();
                    (0, if closest.is_some_and(|closest| closest > 0) { 2_055 } else { 0 })
                }
                true if !is_common => {
                    let cost = 1 + (8.0 * ((resources.len() + 1) as f64 / (having + 1) as f64).log2()) as u64;
                    (cost, cost << 18)
                }
                _ => (0, 0),
            }
        })
        .unzip();
    let is_found = |had: &[bool]| {
        let has = |number: usize| had[number];
        let numbers = || 0..asked.len();
        let firm: Vec<usize> = numbers().filter(|&number| !asked[number].can_go).collect();
        match firm.is_empty() {
            false => firm.into_iter().all(has),
            true if costs.iter().any(|cost| *cost > 0) => {
                (0..costs.len()).any(|number| costs[number] > 0 && has(number))
            }
            true => (0..costs.len()).any(has),
        }
    };
    let mut found = BTreeMap::new();
    for id in allowed {
        let had = had(&id);
        if is_found(&had) {
            let lacked =
                had.iter().zip(&distances).filter(|(has, _)| !**has).map(|(_, distance)| distance).sum::<u64>();
            found.insert(id, lacked + sum_of_ways(&id));
        }
    }
    found
}

fn has_row(texts: &[NaiveText], row: &[WantedToken]) -> bool {
    let is_wanted = |(token, wanted): (&String, &WantedToken)| as_it_stands(token, wanted).is_some();
    texts.iter().any(|text| text.tokens.windows(row.len()).any(|found| found.iter().zip(row).all(is_wanted)))
}

/// Returns whether a title has a word as it stands, as a part of a name or in another form.
fn is_in_title(required: &Requirement, title: &NaiveText) -> bool {
    let Requirement::Token(wanted) = required else { return false };
    let has = |text: &String| title.tokens.contains(text) || title.rows.contains(text);
    let is_whole = title.tokens.iter().any(|token| as_it_stands(token, wanted) == Some(0));
    is_whole
        || wanted.alternatives.as_ref().is_some_and(|alternatives| {
            let Alternatives { joined, forms, .. } = &**alternatives;
            let is_form = |text: &String| forms.as_ref().is_some_and(|forms| forms.has(text));
            title.rows.contains(&wanted.text)
                || joined.as_ref().is_some_and(has)
                || title.tokens.iter().chain(&title.rows).any(is_form)
        })
}

/// Returns how closely texts meet a requirement; `None` if they do not.
fn way(required: &Requirement, texts: &[NaiveText], known: &BTreeSet<String>) -> Option<u64> {
    match required {
        Requirement::Row(row) => {
            let by_synonym = has_phrase(&row.synonyms, texts, known).then_some(7);
            has_row(texts, &row.tokens).then_some(0).or(by_synonym)
        }
        Requirement::Token(wanted) => closeness(wanted, texts, known),
    }
}

/// Returns the closeness of the closest match of a word.
fn closeness(wanted: &WantedToken, texts: &[NaiveText], known: &BTreeSet<String>) -> Option<u64> {
    let tokens: Vec<&String> = texts.iter().flat_map(|text| &text.tokens).collect();
    let rows: Vec<&String> = texts.iter().flat_map(|text| &text.rows).collect();
    let mut ways: Vec<u64> = tokens.iter().filter_map(|token| as_it_stands(token, wanted)).collect();
    let Some(Alternatives { parts, joined, forms, has_compounds, synonyms }) = wanted.alternatives.as_deref() else {
        return ways.into_iter().min();
    };
    let has = |text: &String| tokens.contains(&text) || rows.contains(&text);
    ways.extend((rows.contains(&&wanted.text) || joined.as_ref().is_some_and(has)).then_some(0));
    ways.extend((!parts.is_empty() && parts.iter().all(|part| has(&part.text))).then_some(2));
    if let Some(forms) = forms {
        ways.extend(tokens.iter().any(|token| forms.has(token)).then_some(3));
        ways.extend(rows.iter().any(|row| forms.has(row)).then_some(3));
    }
    ways.extend((*has_compounds && tokens.iter().any(|token| is_compound(token, &wanted.text, known))).then_some(5));
    let is_begun = wanted.rest == Rest::Word && rows.iter().any(|row| row.starts_with(&wanted.text));
    ways.extend(is_begun.then_some(6));
    ways.extend(has_phrase(synonyms, texts, known).then_some(7));
    ways.into_iter().min()
}

/// Returns whether texts have all words of a phrase that stands for others.
fn has_phrase(synonyms: &SynonymPhrases, texts: &[NaiveText], known: &BTreeSet<String>) -> bool {
    let has_word = |word: &usize| closeness(&synonyms.words[*word], texts, known).is_some();
    synonyms.phrases.iter().any(|phrase| phrase.iter().all(has_word))
}

fn is_compound(token: &str, word: &str, known: &BTreeSet<String>) -> bool {
    let links = ["", "s", "es", "n", "en", "er", "e"];
    known.iter().filter(|other| other.chars().count() > 1).any(|other| {
        links.iter().any(|link| token == format!("{word}{link}{other}") || token == format!("{other}{link}{word}"))
    })
}

/// Returns the closeness of a token to a word without its alternatives.
fn as_it_stands(token: &str, wanted: &WantedToken) -> Option<u64> {
    let WantedToken { text, typos, rest, .. } = wanted;
    let (text, token): (Vec<char>, Vec<char>) = (text.chars().collect(), token.chars().collect());
    let beginnings = match rest {
        Rest::Nothing => token.len()..=token.len(),
        Rest::Word | Rest::OfPair => 0..=token.len(),
    };
    let of_beginning = |end: usize| {
        let beginning = &token[..end];
        let begun = if *rest == Rest::Word && end < token.len() { 6 } else { 0 };
        if *beginning == text[..] {
            return Some(begun);
        }
        let distance = distance(&text, beginning);
        let is_close = *typos > 0 && beginning.first() == text.first() && distance <= *typos;
        is_close.then_some(1_024 * distance as u64 + begun)
    };
    beginnings.filter_map(of_beginning).min()
}

/// Returns the rows of parts of the names in a text.
fn rows(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for word in text.split(is_unspaced).flat_map(|part| part.unicode_words()) {
        let parts = parts(word);
        let with_digit = parts.iter().filter(|part| part.starts_with(|first: char| !first.is_alphabetic())).count();
        if !(2..=64).contains(&parts.len()) || (parts.len() > 8 && with_digit * 3 > parts.len()) {
            continue;
        }
        let parts: Vec<String> = parts.iter().map(|part| without_diacritics(&fold(part))).collect();
        for first in 0..parts.len() {
            for end in first + 1..=parts.len().min(first + 4) {
                let row = parts[first..end].concat();
                if row.chars().count() > 1 && row != without_diacritics(&fold(word)) {
                    rows.push(row);
                }
            }
        }
    }
    rows
}

/// Cuts a word of letters, digits and separators into the parts of a name.
fn parts(word: &str) -> Vec<String> {
    // The characters, each with the marks and the invisible characters behind it. A zero-width non-joiner separates.
    let mut chars: Vec<(char, String)> = Vec::new();
    for char in word.chars() {
        let category = CATEGORIES.get(char);
        let is_invisible = category == GeneralCategory::Format && char != '\u{200c}';
        match (is_invisible || GeneralCategoryGroup::Mark.contains(category), chars.last_mut()) {
            (true, None) => {}
            (true, Some((_, text))) => text.push(char),
            (false, _) => chars.push((char, char.to_string())),
        }
    }
    let mut parts = vec![String::new()];
    for (at, (char, text)) in chars.iter().enumerate() {
        let is =
            |at: Option<usize>, test: fn(char) -> bool| at.and_then(|at| chars.get(at)).is_some_and(|of| test(of.0));
        let before = at.checked_sub(1);
        if !char.is_alphanumeric() {
            let last = chars[..at].iter().rev().find(|of| of.0.is_alphanumeric());
            let next = chars[at..].iter().find(|of| of.0.is_alphanumeric());
            let is_digit = |of: Option<&(char, String)>| of.is_some_and(|of| !of.0.is_alphabetic());
            match is_digit(last) && is_digit(next) {
                true => parts.last_mut().expect("a part").push_str(text),
                false => parts.push(String::new()),
            }
            continue;
        }
        let is_hump = char.is_uppercase() && is(before, char::is_lowercase);
        let is_number = match char.is_alphabetic() {
            true => is(before, |char| char.is_numeric() && !char.is_alphabetic()),
            false => is(before, char::is_alphabetic),
        };
        // The last letter of an acronym begins the next word.
        let ends_acronym = char.is_uppercase()
            && is(before, char::is_uppercase)
            && is(Some(at + 1), char::is_lowercase)
            && is(Some(at + 2), char::is_lowercase);
        if is_hump || is_number || ends_acronym {
            parts.push(String::new());
        }
        parts.last_mut().expect("a part").push_str(text);
    }
    parts.retain(|part| !part.is_empty());
    parts
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
        if CATEGORIES.get(char) == GeneralCategory::Format {
            continue;
        }
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
