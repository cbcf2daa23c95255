//! Finds rows of tokens in texts. It does not know how texts are stored.

use memchr::memmem::Finder;

use super::{Rest, WantedToken};
use crate::pieces::{CharClass, class};
use crate::tokens::each_token;

/// Finds a row among the tokens of a text, by the algorithm of Knuth, Morris and Pratt: a token takes as long in a long
/// row as in a short one, also if the row repeats itself.
pub(crate) struct RowFinder<'a> {
    /// The tokens before the last one. Only equal tokens match them.
    first: &'a [WantedToken],
    last: Option<&'a WantedToken>,
    /// For each prefix of `first`, the length of its longest proper prefix that is also its suffix.
    borders: Vec<usize>,
}

impl<'a> RowFinder<'a> {
    /// Creates a finder of a row. Only the last token of the row may match a token that is not equal to it.
    pub(crate) fn new(row: &'a [WantedToken]) -> RowFinder<'a> {
        let (last, first) = row.split_last().map_or((None, row), |(last, first)| (Some(last), first));
        let mut finder = RowFinder { first, last, borders: Vec::with_capacity(first.len()) };
        let mut border = 0;
        for (place, token) in first.iter().enumerate() {
            if place > 0 {
                border = finder.after(border, &token.text);
            }
            finder.borders.push(border);
        }
        finder
    }

    /// Returns whether the row ends with the next token of a text. `reached` is kept from token to token, and begins
    /// with 0.
    pub(crate) fn ends_with(&self, token: &str, reached: &mut usize) -> bool {
        let is_complete = *reached == self.first.len();
        let ends = is_complete && self.last.is_some_and(|last| last.closeness(token).is_some());
        *reached = self.after(*reached, token);
        ends
    }

    /// Returns the length of the longest prefix of `first` that the text ends with after `token`, if that length was
    /// `reached` before.
    fn after(&self, mut reached: usize, token: &str) -> usize {
        loop {
            if self.first.get(reached).is_some_and(|wanted| wanted.text == token) {
                return reached + 1;
            }
            match reached.checked_sub(1) {
                Some(before) => reached = self.borders[before],
                None => return 0,
            }
        }
    }
}

/// Tests whether texts contain a row of tokens.
pub(crate) struct RowTester<'a> {
    tokens: RowFinder<'a>,
    /// Set if the row consists of overlapping pairs of characters. Then a text has the row exactly if it contains these
    /// characters, such as `日本語` for the pairs `日本` and `本語`.
    characters: Option<Finder<'static>>,
}

impl<'a> RowTester<'a> {
    pub(crate) fn new(row: &'a [WantedToken]) -> RowTester<'a> {
        let characters = characters_of(row).map(|characters| Finder::new(characters.as_bytes()).into_owned());
        RowTester { tokens: RowFinder::new(row), characters }
    }

    /// Returns whether a folded text contains the tokens one after the other.
    pub(crate) fn is_in(&self, folded: &str) -> bool {
        if let Some(characters) = &self.characters {
            return characters.find(folded.as_bytes()).is_some();
        }
        let (mut reached, mut is_found) = (0, false);
        each_token(folded, |token| is_found = is_found || self.tokens.ends_with(&token.text, &mut reached));
        is_found
    }
}

/// Returns the characters of a row of overlapping pairs; `None` for other rows.
fn characters_of(row: &[WantedToken]) -> Option<String> {
    let mut characters = String::new();
    for token in row {
        let mut chars = token.text.chars();
        match (chars.next(), chars.next(), chars.next()) {
            (Some(first), Some(second), None)
                if [first, second].iter().all(|char| class(*char) == CharClass::Unspaced)
                    && token.rest == Rest::Nothing
                    && (characters.is_empty() || characters.ends_with(first)) =>
            {
                if characters.is_empty() {
                    characters.push(first);
                }
                characters.push(second);
            }
            _ => return None,
        }
    }
    Some(characters)
}
