//! Parses a query string into words.
//!
//! | part | asks for |
//! |---|---|
//! | `kernel` | that word, with typos if it is long enough |
//! | `ker` at the end, with no blank after it | words that begin so |
//! | `"page cache"` | these words one after the other, as they stand |
//! | `-windows`, `-"page cache"` | none of these |
//! | `日本語` | these characters one after the other |

use super::{Requirement, Rest, WantedToken, Words};
use crate::tokens::{Token, TokenKind, each_raw_token};

/// A part of a query string: its text, whether it is quoted, and whether it is excluded.
struct Part<'a> {
    text: &'a str,
    is_quoted: bool,
    is_excluded: bool,
}

impl Words {
    /// Parses a query string. `typos` determines whether typos are allowed. Every string is valid; a string without
    /// words has none.
    pub fn parse(query: &str, typos: bool) -> Words {
        let mut words = Words::default();
        let mut rest = query;
        // True if the last part may be an unfinished word.
        let mut is_open = false;
        while let Some(part) = next_part(&mut rest) {
            is_open = false;
            match part {
                Part { text, is_excluded: true, .. } => words.excluded.extend(row(text)),
                Part { text, is_quoted: true, .. } => words.required.extend(row(text).map(Requirement::of)),
                Part { text, .. } => {
                    is_open = add_words(text, typos, &mut words.required);
                }
            }
        }
        if is_open
            && !query.ends_with(char::is_whitespace)
            && let Some(Requirement::Token(last)) = words.required.last_mut()
            && last.rest == Rest::Nothing
        {
            last.rest = Rest::Word;
        }
        words
    }
}

impl Requirement {
    /// Returns the requirement of a row of tokens.
    fn of(mut row: Vec<WantedToken>) -> Requirement {
        match (row.len(), row.pop()) {
            (1, Some(only)) => Requirement::Token(only),
            (_, last) => {
                row.extend(last);
                Requirement::Row(row)
            }
        }
    }
}

/// Returns the next part, and advances `rest`. `None` at the end.
fn next_part<'a>(rest: &mut &'a str) -> Option<Part<'a>> {
    let mut text = rest.trim_start();
    if text.is_empty() {
        return None;
    }
    let is_excluded = text.strip_prefix('-').is_some_and(|after| after.starts_with(|char: char| !char.is_whitespace()));
    if is_excluded {
        text = &text[1..];
    }
    if let Some(quoted) = text.strip_prefix('"') {
        // A quotation without a closing quote extends to the end of the string.
        let (text, after) = quoted.split_once('"').unwrap_or((quoted, ""));
        *rest = after;
        return Some(Part { text, is_quoted: true, is_excluded });
    }
    let end = text.find(|char: char| char.is_whitespace() || char == '"').unwrap_or(text.len());
    let (text, after) = text.split_at(end);
    *rest = after;
    Some(Part { text, is_quoted: false, is_excluded })
}

/// Adds the words of an unquoted part. Returns whether the last one is a word that may be unfinished.
fn add_words(text: &str, typos: bool, required: &mut Vec<Requirement>) -> bool {
    let mut tokens = tokens(text);
    let ends_with_word = tokens.last().is_some_and(|token| token.kind == TokenKind::Word);
    while !tokens.is_empty() {
        // Neighboring characters of text without spaces form one row.
        let count = match tokens[0].kind {
            TokenKind::Word => 1,
            _ => 1 + tokens.iter().take_while(|token| token.kind == TokenKind::Pair).count(),
        };
        let unit: Vec<Token<'_>> = tokens.drain(..count.min(tokens.len())).collect();
        match &unit[..] {
            [Token { kind: TokenKind::Word, text, .. }] => {
                let typos = if typos { forgiven_typos(text) } else { 0 };
                let text = text.clone().into_owned();
                required.push(Requirement::Token(WantedToken { text, typos, rest: Rest::Nothing }));
            }
            unit => required.extend(row_of(unit).map(Requirement::of)),
        }
    }
    ends_with_word
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

fn row_of(tokens: &[Token<'_>]) -> Option<Vec<WantedToken>> {
    let wanted =
        |token: &Token<'_>| WantedToken { text: token.text.clone().into_owned(), typos: 0, rest: Rest::Nothing };
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
