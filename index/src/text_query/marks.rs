//! Finds the words of a query in a text that is shown.

use std::ops::Range;

use super::row_tester::RowFinder;
use super::{Alternatives, Mark, Measure, Requirement, Rest, SynonymPhrases, WantedRow, WantedToken, Words};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::language::each_rest;
use crate::names::{MARK, rows_where};
use crate::tokens::{Token, each_raw_token, token_form};

/// The most bytes of a compound, with its invisible characters, in which the word is looked for: each of its parts is
/// compared. A compound of the index has far fewer.
const MAX_COMPARED: usize = 256;

impl Words {
    /// Returns the matches in a text that is [`composed`](crate::composed), but not folded, by position. Matches of
    /// different words may overlap.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn marks(&self, text: &str, interrupt: &Interrupt<'_>) -> Result<Vec<Mark>, Error> {
        interrupt.check()?;
        let mut tokens = Vec::new();
        each_raw_token(text, |token| tokens.push(token));
        let mut marks = Vec::new();
        for (word, required) in self.required.iter().enumerate() {
            let found = match required {
                Requirement::Token(wanted) => found_of(wanted, &tokens, text, interrupt)?,
                Requirement::Row(WantedRow { tokens: row, .. }) => found_of_row(row, &tokens, text, interrupt)?,
            };
            marks.extend(found.into_iter().map(|range| Mark { range, word }));
            for phrase in required.synonyms().into_iter().flat_map(SynonymPhrases::phrases) {
                let ranges = found_of_phrase(&phrase, &tokens, text, interrupt)?;
                marks.extend(ranges.into_iter().map(|range| Mark { range, word }));
            }
        }
        marks.sort_by_key(|mark| (mark.range.start, mark.range.end));
        Ok(marks)
    }
}

/// Returns the places of a word.
fn found_of(
    wanted: &WantedToken,
    tokens: &[Token<'_>],
    text: &str,
    interrupt: &Interrupt<'_>,
) -> Result<Vec<Range<usize>>, Error> {
    let mut finder = MarkFinder::new(wanted);
    let mut found = Vec::new();
    for token in tokens {
        interrupt.step()?;
        found.extend(finder.find(token, text));
    }
    Ok(found)
}

/// Returns the places of the tokens of a row.
fn found_of_row(
    row: &[WantedToken],
    tokens: &[Token<'_>],
    text: &str,
    interrupt: &Interrupt<'_>,
) -> Result<Vec<Range<usize>>, Error> {
    let Some(last) = row.last() else { return Ok(Vec::new()) };
    let finder = RowFinder::new(row);
    let mut found = Vec::new();
    let (mut reached, mut end) = (0, 0);
    for (place, token) in tokens.iter().enumerate() {
        interrupt.step()?;
        if finder.ends_with(&token.text, &mut reached) {
            // Rows overlap if a row repeats itself. Their common tokens are not found again and again.
            let start = (place + 1 - row.len()).max(end);
            found.extend(tokens[start..place].iter().map(|token| token.range.clone()));
            found.push(last.shown(token.kind, &token.range, text));
            end = place;
        }
    }
    Ok(found)
}

/// Returns the places of the words of a synonym, if the text has all of them.
fn found_of_phrase(
    phrase: &[&WantedToken],
    tokens: &[Token<'_>],
    text: &str,
    interrupt: &Interrupt<'_>,
) -> Result<Vec<Range<usize>>, Error> {
    let mut all = Vec::new();
    for word in phrase {
        let found = found_of(word, tokens, text, interrupt)?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        all.extend(found);
    }
    Ok(all)
}

/// Finds a word, its forms and compounds, and the parts of names that it is found by.
pub(crate) struct MarkFinder<'a> {
    wanted: &'a WantedToken,
    measure: Measure<'a>,
    /// The rows of parts that it is found by, each after [`MARK`]. The first one is the word itself.
    rows: Vec<String>,
}

impl<'a> MarkFinder<'a> {
    pub(crate) fn new(wanted: &'a WantedToken) -> MarkFinder<'a> {
        let texts = wanted.alternatives.iter().flat_map(|alternatives| {
            let parts = alternatives.parts.iter().map(|part| part.text.as_str());
            [wanted.text.as_str()].into_iter().chain(alternatives.joined.as_deref()).chain(parts)
        });
        let rows = texts.map(|text| format!("{MARK}{text}")).collect();
        MarkFinder { wanted, measure: wanted.measure(), rows }
    }

    /// Returns the parts of a token that match.
    pub(crate) fn find(&mut self, token: &Token<'_>, text: &str) -> Vec<Range<usize>> {
        if self.measure.closeness(token.text.as_bytes()).is_some() {
            return vec![self.wanted.shown(token.kind, &token.range, text)];
        }
        let Some(alternatives) = &self.wanted.alternatives else { return Vec::new() };
        let Alternatives { joined, forms, parts, has_compounds, .. } = &**alternatives;
        let is_whole = joined.as_deref() == Some(&*token.text)
            || parts.iter().any(|part| part.text == token.text)
            || forms.as_ref().is_some_and(|forms| forms.has(&token.text));
        if is_whole {
            return vec![token.range.clone()];
        }
        if *has_compounds && let Some(range) = within_compound(token, &self.wanted.text, text) {
            return vec![range];
        }
        let raw = &text[token.range.clone()];
        let is_wanted = |row: &str| {
            let is_form = || forms.as_ref().is_some_and(|forms| forms.has(row.strip_prefix(MARK).unwrap_or(row)));
            self.rows.iter().any(|wanted| wanted == row) || is_form()
        };
        let mut found = rows_where(raw, token.kind, is_wanted);
        if self.wanted.rest == Rest::Word {
            let is_begun = |row: &str| self.rows.first().is_some_and(|word| row.starts_with(word));
            // Longer rows from the same part on begin so, too.
            let mut begun = rows_where(raw, token.kind, is_begun);
            begun.dedup_by_key(|row| row.start);
            begun.retain(|row| !found.contains(row));
            found.extend(begun);
        }
        found.into_iter().map(|range| token.range.start + range.start..token.range.start + range.end).collect()
    }
}

/// Returns the position of a word at the beginning or end of a compound: the whole compound if the word ends inside a
/// character, as in `Straße`. `None` if the token is no compound of the word.
fn within_compound(token: &Token<'_>, word: &str, text: &str) -> Option<Range<usize>> {
    let mut is_compound = false;
    each_rest(&token.text, word, |_| is_compound = true);
    if !is_compound {
        return None;
    }
    let Range { start, end } = token.range;
    let raw = &text[start..end];
    if raw.len() > MAX_COMPARED {
        return Some(start..end);
    }
    let begins = token.text.starts_with(word);
    let parts = raw.char_indices().skip(1).map(|(at, _)| if begins { start..start + at } else { start + at..end });
    // The last one: marks on a letter belong to the word, and invisible characters before it do not.
    let found = parts.filter(|part| token_form(&text[part.clone()]) == word).last();
    Some(found.unwrap_or(start..end))
}
