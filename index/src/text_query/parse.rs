//! Parses a query string into words.
//!
//! | part | asks for |
//! |---|---|
//! | `kernel` | that word, with typos if it is long enough |
//! | `ker` at the end, with no blank after it | words that begin so |
//! | `"page cache"` | these words one after the other, as they stand |
//! | `-windows`, `-"page cache"` | none of these |
//! | `日本語` | these characters one after the other |

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::expansion::Synonymous;
use super::synonyms::row_of_words;
use super::{Alternatives, AskedWord, Expansion, Requirement, Rest, SynonymPhrases, WantedRow, WantedToken, Words};
use crate::text::composed;
use crate::tokens::{Token, TokenKind, each_raw_token, token_form};

/// A part of a query string: its text, whether it is quoted, and whether it is excluded.
struct Part<'a> {
    text: &'a str,
    /// Its position in the query string.
    at: usize,
    is_quoted: bool,
    is_excluded: bool,
}

impl Words {
    /// Parses a query string into words that are wanted as they stand. `typos` determines whether typos are allowed.
    /// Every string is valid; a string without words has none.
    pub fn parse(query: &str, typos: bool) -> Words {
        Parser::new(&composed(query), typos, None).parse()
    }

    /// Returns the words of the query string that are not excluded, in their order and in the form in which words are
    /// compared.
    pub fn row(&self) -> Vec<String> {
        let mut row = Vec::new();
        let mut rest = &*self.source;
        while let Some(part) = next_part(&self.source, &mut rest) {
            if !part.is_excluded {
                row.extend(row_of_words(part.text));
            }
        }
        row
    }

    /// Parses a query string into words that are also found in other ways. Quoted and excluded words are wanted as they
    /// stand.
    pub fn parse_expanded(query: &str, typos: bool, expansion: &Expansion) -> Words {
        Parser::new(&composed(query), typos, Some(expansion)).parse()
    }
}

/// Returns the number of words of a query string, also of those that are quoted, excluded or repeated. Text without
/// spaces counts as one word. Takes much less time than finding out in which ways each word is found.
pub fn word_count(query: &str) -> usize {
    let query = composed(query);
    let (mut rest, mut count) = (&*query, 0);
    while let Some(part) = next_part(&query, &mut rest) {
        count += units(part.text).len();
    }
    count
}

/// The last word of a query string that somebody may still be typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWord {
    /// Its position, in bytes.
    pub at: usize,
    /// Its text, in the form in which words are compared.
    pub text: String,
}

/// Returns the last word of a query string. `None` if it is complete, quoted, excluded, or of a script without spaces.
pub fn last_word(query: &str) -> Option<LastWord> {
    let (mut rest, mut last) = (query, None);
    while let Some(part) = next_part(query, &mut rest) {
        last = Some(part);
    }
    let part = last.filter(|part| !part.is_quoted && !part.is_excluded && part.at + part.text.len() == query.len())?;
    let token = tokens(part.text).pop().filter(|token| token.kind == TokenKind::Word)?;
    let is_last = token.range.end == part.text.len();
    is_last.then(|| LastWord { at: part.at + token.range.start, text: token.text.into_owned() })
}

struct Parser<'a> {
    query: &'a str,
    typos: bool,
    expansion: Option<&'a Expansion>,
    /// The stop words of the expansion, in the form of tokens.
    stop_words: HashSet<Cow<'a, str>>,
    words: Words,
    /// The number of words whose compounds may still be looked for.
    compounds_left: usize,
}

/// The least number of characters of a word that may continue and has forms.
const MIN_OPEN_WITH_FORMS: usize = 5;
/// The most words of a query whose compounds are looked for, since that compares all words of the index.
const MAX_WITH_COMPOUNDS: usize = 8;

impl<'a> Parser<'a> {
    fn new(query: &'a str, typos: bool, expansion: Option<&'a Expansion>) -> Parser<'a> {
        let stop_words = expansion.into_iter().flat_map(|expansion| &expansion.stop_words);
        let stop_words = stop_words.map(|word| token_form(word)).collect();
        let words = Words::default();
        Parser { query, typos, expansion, stop_words, words, compounds_left: MAX_WITH_COMPOUNDS }
    }

    fn parse(mut self) -> Words {
        let query = self.query;
        let mut rest = query;
        // True if the last part may be an unfinished word.
        let mut is_open = false;
        while let Some(part) = next_part(query, &mut rest) {
            is_open = false;
            match part {
                Part { text, is_excluded: true, .. } => self.words.excluded.extend(row(text)),
                Part { text, at, is_quoted: true, .. } => {
                    if let Some(row) = row(text) {
                        self.require(Requirement::of(row), at..at + text.len(), true);
                    }
                }
                Part { text, at, .. } => is_open = self.add_words(text, at),
            }
        }
        let mut words = self.words;
        words.is_expanded = self.expansion.is_some();
        words.source = query.to_owned();
        if is_open
            && !query.ends_with(char::is_whitespace)
            && let Some(Requirement::Token(last)) = words.required.last_mut()
            && last.rest == Rest::Nothing
        {
            last.rest = Rest::Word;
            // A short word that is still typed is found as a beginning. Many words begin as its stem does.
            if last.text.chars().count() < MIN_OPEN_WITH_FORMS
                && let Some(alternatives) = &mut last.alternatives
            {
                alternatives.forms = None;
            }
        }
        if let Some(Expansion { synonyms: Some(Synonymous { synonyms, variant }), language, .. }) = self.expansion {
            synonyms.add_to(&mut words, variant.as_deref(), *language);
        }
        words
    }

    fn require(&mut self, required: Requirement, range: Range<usize>, is_quoted: bool) {
        let can_go = !is_quoted && self.expansion.is_some_and(|expansion| expansion.lets_go);
        let text = self.query[range.clone()].to_owned();
        let is_stop_word = match (&required, self.expansion) {
            (Requirement::Token(wanted), Some(expansion)) => {
                let is_of_language = expansion.language.is_some_and(|language| language.is_stop_word(&wanted.text));
                can_go && (is_of_language || self.stop_words.contains(wanted.text.as_str()))
            }
            _ => false,
        };
        self.words.asked.push(AskedWord { ranges: vec![range], text, is_quoted, can_go, is_stop_word });
        self.words.required.push(required);
    }

    /// Adds the words of an unquoted part. Returns whether the last one is a word that may be unfinished.
    fn add_words(&mut self, text: &str, at: usize) -> bool {
        let units = units(text);
        let ends_with_word =
            units.last().and_then(|unit| unit.last()).is_some_and(|token| token.kind == TokenKind::Word);
        for unit in units {
            let range = at + unit[0].range.start..at + unit[unit.len() - 1].range.end;
            match &unit[..] {
                [token @ Token { kind: TokenKind::Word, .. }] => {
                    let wanted = self.wanted(token, &text[token.range.clone()]);
                    self.require(Requirement::Token(wanted), range, false);
                }
                unit => {
                    if let Some(row) = row_of(unit) {
                        self.require(Requirement::of(row), range, false);
                    }
                }
            }
        }
        ends_with_word
    }

    fn wanted(&mut self, token: &Token<'_>, raw: &str) -> WantedToken {
        let typos = if self.typos { forgiven_typos(&token.text) } else { 0 };
        let mut alternatives = self.expansion.map(|expansion| Alternatives::of(token, raw, expansion.language));
        if let Some(alternatives) = &mut alternatives {
            alternatives.has_compounds &= self.compounds_left > 0;
            self.compounds_left -= usize::from(alternatives.has_compounds);
        }
        let alternatives = alternatives.map(Box::new);
        WantedToken { text: token.text.clone().into_owned(), typos, rest: Rest::Nothing, alternatives }
    }
}

impl Requirement {
    /// Returns the requirement of a row of tokens.
    fn of(mut row: Vec<WantedToken>) -> Requirement {
        match (row.len(), row.pop()) {
            (1, Some(only)) => Requirement::Token(only),
            (_, last) => {
                row.extend(last);
                Requirement::Row(WantedRow { tokens: row, synonyms: SynonymPhrases::default() })
            }
        }
    }
}

/// Returns the next part, and advances `rest`. `None` at the end.
fn next_part<'a>(query: &'a str, rest: &mut &'a str) -> Option<Part<'a>> {
    let mut text = rest.trim_start();
    if text.is_empty() {
        return None;
    }
    let is_excluded = text.strip_prefix('-').is_some_and(|after| after.starts_with(|char: char| !char.is_whitespace()));
    if is_excluded {
        text = &text[1..];
    }
    let at = |text: &str| query.len() - text.len();
    if let Some(quoted) = text.strip_prefix('"') {
        let at = at(quoted);
        // A quotation without a closing quote extends to the end of the string.
        let (text, after) = quoted.split_once('"').unwrap_or((quoted, ""));
        *rest = after;
        return Some(Part { text, at, is_quoted: true, is_excluded });
    }
    let end = text.find(|char: char| char.is_whitespace() || char == '"').unwrap_or(text.len());
    let at = at(text);
    let (text, after) = text.split_at(end);
    *rest = after;
    Some(Part { text, at, is_quoted: false, is_excluded })
}

/// Returns the tokens of a text in units: a word, or neighboring characters of text without spaces, which form one row.
pub(super) fn units(text: &str) -> Vec<Vec<Token<'_>>> {
    let mut units: Vec<Vec<Token<'_>>> = Vec::new();
    for token in tokens(text) {
        // Another token of the same text without spaces always follows a pair.
        let unit = units.last_mut().filter(|unit| unit.last().is_some_and(|last| last.kind == TokenKind::Pair));
        match unit {
            Some(unit) => unit.push(token),
            None => units.push(vec![token]),
        }
    }
    units
}

/// Returns the number of allowed typos in a word: depends on its length in characters; none in numbers.
fn forgiven_typos(word: &str) -> usize {
    match word.chars().count() {
        _ if word.chars().all(char::is_numeric) => 0,
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

/// Returns the tokens of a text as an exact row. `None` if it has none.
fn row(text: &str) -> Option<Vec<WantedToken>> {
    row_of(&tokens(text))
}

/// Returns these tokens as an exact row. `None` if there are none.
pub(super) fn row_of(tokens: &[Token<'_>]) -> Option<Vec<WantedToken>> {
    let wanted = |token: &Token<'_>| WantedToken::exact(token.text.clone().into_owned());
    let mut row: Vec<WantedToken> = tokens.iter().map(wanted).collect();
    // Other characters may follow the last one of text without spaces. If there is a character before it, it is in a
    // pair already.
    match tokens {
        [.., Token { kind: TokenKind::Pair, .. }, Token { kind: TokenKind::Last, .. }] => {
            row.pop();
        }
        [.., Token { kind: TokenKind::Last, .. }] => {
            if let Some(last) = row.last_mut() {
                last.rest = Rest::OfPair;
            }
        }
        _ => {}
    }
    (!row.is_empty()).then_some(row)
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    each_raw_token(text, |token| tokens.push(token));
    tokens
}
