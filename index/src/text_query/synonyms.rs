//! Synonyms: words and phrases that stand for each other. They are applied to the words of a query string, so a change
//! of them needs no change of an index.

use std::collections::HashMap;
use std::sync::Arc;

use super::parse::{row_of, units};
use super::{Alternatives, Rest, WantedToken, Words};
use crate::language::Language;
use crate::text::composed;
use crate::tokens::{Token, TokenKind, each_raw_token};

/// The most phrases that synonyms add to one query string. Each word of a phrase is looked up in every field.
const MAX_PHRASES: usize = 500;
/// A phrase within text without spaces has synonyms if at most this many characters are left of the text.
const MAX_LEFT: usize = 30;

/// Words and phrases that stand for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynonymEntry {
    /// The id of the entry, by which entries are ordered.
    id: String,
    /// The slug of the variant in which they do; `None` for all.
    pub variant: Option<String>,
    phrases: Vec<Phrase>,
    /// True if the first one stands for the others, but not the others for it.
    is_one_way: bool,
}

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phrase {
    text: String,
    /// Its words in the form in which words are compared.
    row: Vec<String>,
}

/// All synonyms, by the first word of each phrase that has others. They are divided into parts, so that a change copies
/// little.
#[derive(Debug, Clone, PartialEq)]
pub struct Synonyms(Vec<Arc<ByFirst>>);

/// For each first word the entries, each with the number of the phrase that begins with it, by id and number.
type ByFirst = HashMap<String, Vec<(Arc<SynonymEntry>, usize)>>;

/// The number of parts.
const PARTS: usize = 256;

impl Default for Synonyms {
    fn default() -> Synonyms {
        Synonyms(vec![Arc::default(); PARTS])
    }
}

/// The phrases that stand for a word of a query string.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SynonymPhrases {
    /// The words of the phrases, each once.
    pub(crate) words: Vec<WantedToken>,
    /// The phrases, each by the positions of its words.
    pub(crate) phrases: Vec<Vec<usize>>,
}

/// Returns the words of a text in the form in which a query string's words are compared: without case and diacritics.
pub fn row_of_words(text: &str) -> Vec<String> {
    let text = composed(text);
    units(&text).iter().filter_map(|unit| row_of(unit)).flatten().map(|token| token.text).collect()
}

impl SynonymEntry {
    /// Creates an entry of these words and phrases.
    pub fn new(id: &str, variant: Option<String>, phrases: &[String], is_one_way: bool) -> SynonymEntry {
        let phrase = |text: &String| Phrase { text: composed(text).into_owned(), row: row_of_words(text) };
        SynonymEntry { id: id.to_owned(), variant, phrases: phrases.iter().map(phrase).collect(), is_one_way }
    }

    /// Returns the rows of words that others stand for, each with the number of the others.
    pub fn sources(&self) -> impl Iterator<Item = (&[String], usize)> {
        let count = if self.is_one_way { 1 } else { self.phrases.len() };
        self.phrases.iter().take(count).map(|phrase| (&phrase.row[..], self.phrases.len() - 1))
    }

    /// Returns the phrases that stand for the phrase of this number.
    fn others(&self, number: usize) -> impl Iterator<Item = &Phrase> {
        self.phrases.iter().enumerate().filter(move |(other, _)| *other != number).map(|(_, phrase)| phrase)
    }
}

impl Synonyms {
    /// Adds an entry, whose id must be new.
    pub fn insert(&mut self, entry: &Arc<SynonymEntry>) {
        for (number, (row, _)) in entry.sources().enumerate() {
            let Some(first) = row.first() else { continue };
            let entries = self.part_mut(first).entry(first.clone()).or_default();
            let at = entries.partition_point(|(other, of)| (&other.id, *of) < (&entry.id, number));
            entries.insert(at, (Arc::clone(entry), number));
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: &SynonymEntry) {
        for (row, _) in entry.sources() {
            let Some(first) = row.first() else { continue };
            let part = self.part_mut(first);
            if let Some(entries) = part.get_mut(first) {
                entries.retain(|(other, _)| other.id != entry.id);
                if entries.is_empty() {
                    part.remove(first);
                }
            }
        }
    }

    fn part_mut(&mut self, first: &str) -> &mut ByFirst {
        Arc::make_mut(&mut self.0[part_of(first)])
    }

    fn beginning_with(&self, first: &str) -> &[(Arc<SynonymEntry>, usize)] {
        self.0[part_of(first)].get(first).map_or(&[], |entries| entries)
    }

    /// Adds the phrases that stand for words of a query string. A row of words has a synonym if its words stand one
    /// after the other there, not quoted; then the phrases stand for each of these words. In text without spaces, which
    /// has no words, a row of characters may also be a part of the text; then a phrase and what is left of the text
    /// stand for all of it.
    pub(super) fn add_to(&self, words: &mut Words, variant: Option<&str>, language: Option<Language>) {
        let mut left = MAX_PHRASES;
        let asked = words.open_tokens();
        for (first, token) in asked.iter().enumerate() {
            let found = token.as_ref().map_or(&[][..], |token| self.beginning_with(&token.text));
            for (entry, number) in found {
                let row = &entry.phrases[*number].row;
                let is_of_variant = entry.variant.as_deref().is_none_or(|slug| Some(slug) == variant);
                let is_asked = |(text, token): (&String, &Option<OpenToken>)| {
                    token.as_ref().is_some_and(|token| token.text == *text)
                };
                let covered = asked.get(first..first + row.len()).unwrap_or_default();
                if !is_of_variant || covered.is_empty() || !row.iter().zip(covered).all(is_asked) {
                    continue;
                }
                let phrases: Vec<Vec<WantedToken>> =
                    entry.others(*number).take(left).map(|phrase| wanted(&phrase.text, language)).collect();
                left -= phrases.len();
                for token in
                    covered.iter().flatten().filter(|token| token.at == 0 || covered[0].as_ref() == Some(*token))
                {
                    words.add_synonyms(token, covered, &phrases, language);
                }
            }
        }
    }
}

/// A token of a query string that is not quoted.
#[derive(Debug, Clone, PartialEq)]
struct OpenToken {
    text: String,
    /// The number of its requirement.
    number: usize,
    /// Its position in the requirement.
    at: usize,
}

/// Returns the part that a first word belongs to.
fn part_of(first: &str) -> usize {
    first.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % PARTS)
}

impl Words {
    /// Returns the required tokens, in order; `None` for what is quoted.
    fn open_tokens(&self) -> Vec<Option<OpenToken>> {
        let mut tokens = Vec::new();
        for (number, (required, asked)) in self.required.iter().zip(&self.asked).enumerate() {
            let open = |(at, token): (usize, &WantedToken)| OpenToken { text: token.text.clone(), number, at };
            match asked.is_quoted {
                true => tokens.push(None),
                false => tokens.extend(required.tokens().iter().enumerate().map(open).map(Some)),
            }
        }
        tokens
    }

    /// Adds phrases that stand for the requirement of a token. `covered` are the tokens that the phrases stand for.
    fn add_synonyms(
        &mut self,
        of: &OpenToken,
        covered: &[Option<OpenToken>],
        phrases: &[Vec<WantedToken>],
        language: Option<Language>,
    ) {
        let (Some(required), Some(asked)) = (self.required.get_mut(of.number), self.asked.get(of.number)) else {
            return;
        };
        let count = covered.iter().flatten().filter(|token| token.number == of.number).count();
        let mut rest = Vec::new();
        if count < required.tokens().len() {
            let [before, after] = around(&asked.text, of.at, count);
            if before.chars().count() + after.chars().count() > MAX_LEFT {
                return;
            }
            rest = [wanted(before, language), wanted(after, language)].concat();
        }
        phrases.iter().for_each(|phrase| required.add_synonym(&[&phrase[..], &rest].concat()));
    }
}

/// Returns what is left of text without spaces before and after some of its pairs of characters.
fn around(text: &str, first: usize, count: usize) -> [&str; 2] {
    let mut ranges = Vec::new();
    each_raw_token(text, |token| ranges.push(token.range));
    let (start, end) = match (ranges.get(first), ranges.get(first + count - 1)) {
        (Some(first), Some(last)) => (first.start, last.end),
        _ => (0, text.len()),
    };
    [&text[..start], &text[end..]]
}

impl SynonymPhrases {
    pub(super) fn add(&mut self, phrase: &[WantedToken]) {
        let mut row = Vec::with_capacity(phrase.len());
        for word in phrase {
            let known = self.words.iter().position(|known| known == word);
            let number = known.unwrap_or_else(|| {
                self.words.push(word.clone());
                self.words.len() - 1
            });
            if !row.contains(&number) {
                row.push(number);
            }
        }
        if !row.is_empty() && !self.phrases.contains(&row) {
            self.phrases.push(row);
        }
    }

    /// Returns the phrases, each as its words.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = Vec<&WantedToken>> {
        self.phrases.iter().map(|phrase| phrase.iter().filter_map(|word| self.words.get(*word)).collect())
    }
}

/// Returns the words of a phrase. Other forms of them are found, but they have no typos, and are not begun. Text
/// without spaces is wanted as it stands.
fn wanted(phrase: &str, language: Option<Language>) -> Vec<WantedToken> {
    let word = |token: &Token<'_>| {
        let alternatives = Alternatives::of(token, &phrase[token.range.clone()], language);
        let alternatives = Some(Box::new(Alternatives { has_compounds: false, ..alternatives }));
        WantedToken { text: token.text.clone().into_owned(), typos: 0, rest: Rest::Nothing, alternatives }
    };
    let mut words = Vec::new();
    for unit in units(phrase) {
        match &unit[..] {
            [token @ Token { kind: TokenKind::Word, .. }] => words.push(word(token)),
            unit => words.extend(row_of(unit).into_iter().flatten()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, phrases: &[&str]) -> Arc<SynonymEntry> {
        let phrases: Vec<String> = phrases.iter().map(|phrase| (*phrase).to_owned()).collect();
        Arc::new(SynonymEntry::new(id, None, &phrases, false))
    }

    #[test]
    fn a_table_depends_only_on_its_entries() {
        let entries = [entry("1", &["a b", "c"]), entry("2", &["a", "d", "a c"]), entry("3", &["c", "a"])];
        let mut in_order = Synonyms::default();
        entries.iter().for_each(|entry| in_order.insert(entry));
        let mut changed = Synonyms::default();
        entries.iter().rev().for_each(|entry| changed.insert(entry));
        changed.remove(&entries[1]);
        assert_ne!(changed, in_order);
        changed.insert(&entries[1]);
        assert_eq!(changed, in_order);
        entries.iter().for_each(|entry| changed.remove(entry));
        assert_eq!(changed, Synonyms::default());
    }
}
