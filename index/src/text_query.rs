//! The query of a ranked search: the words of a query string, and the test of whether a token satisfies them. It does
//! not know how texts are stored.
//!
//! Every word must be found in some field. A match with fewer typos, or of a whole word, is closer. An [`Expansion`]
//! also finds parts of names, forms of a word, compounds and synonyms, and resources that lack some of the words.

use std::ops::Range;

use crate::query::SortBy;
use crate::schema::{ColumnId, VariantNumber};
use crate::tokens::TokenKind;
pub(crate) use closeness::Closeness;
use distance::Distance;
pub(crate) use distance::Skip;
pub(crate) use expansion::Alternatives;
pub use expansion::{Expansion, Synonymous};
pub(crate) use marks::MarkFinder;
pub use parse::{LastWord, last_word, word_count};
pub(crate) use row_tester::RowTester;
pub(crate) use scan::TokenScan;
pub(crate) use similar::{changed_beginnings, similar_to};
pub(crate) use synonyms::SynonymPhrases;
pub use synonyms::{SynonymEntry, Synonyms, row_of_words};

pub(crate) mod closeness;
mod distance;
mod expansion;
mod marks;
mod parse;
mod row_tester;
mod scan;
mod similar;
mod synonyms;
#[cfg(test)]
mod tests;

/// A text query: the wanted words, and the fields to search.
#[derive(Debug, Clone, PartialEq)]
pub struct TextQuery {
    pub(crate) fields: Vec<TextField>,
    pub(crate) words: Words,
    /// The resources that are found in any case, by place.
    pub(crate) pins: Vec<Pin>,
    /// The factors of the scores.
    pub(crate) boosts: Vec<Boost>,
}

/// A date or number of a resource that multiplies its score by one and the weighted value of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boost {
    /// The date or number, as a key of an order has it.
    pub by: SortBy,
    /// The value that it has.
    pub curve: Curve,
    /// The weight of the value.
    pub weight: f64,
}

/// A value from a date or number. It is 0 for a resource that has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Curve {
    /// 1 at the moment `now` and later, and half of it for each time that a date is so many days older.
    Recency {
        /// The moment in milliseconds.
        now: i64,
        /// The number of days.
        half_life_days: f64,
    },
    /// The logarithm of a number and 1, at most 20; 0 for numbers below 0.
    Logarithm,
    /// 0 for numbers up to `from`, 1 for numbers from `to` on, and even between them.
    Range {
        /// The number with the value 0.
        from: f64,
        /// The number with the value 1.
        to: f64,
    },
}

/// A resource that a text query finds whatever its words are, with its place in the order by relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// The id of the resource.
    pub id: u128,
    /// Its place, from 1.
    pub position: u64,
}

/// A column that is searched. It must be of kind [`Kind::Prose`](crate::Kind::Prose) or
/// [`Kind::Markup`](crate::Kind::Markup).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextField {
    /// The column.
    pub column: ColumnId,
    /// The weight of a match in it.
    pub weight: f32,
    /// The variant whose copy is searched if the column is null in the copy of the query's variant.
    pub fallback: Option<VariantNumber>,
}

/// The words of a query string.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Words {
    pub(crate) required: Vec<Requirement>,
    /// For each of `required`, the words in the query string.
    pub(crate) asked: Vec<AskedWord>,
    /// The excluded rows of tokens, which no field may contain.
    pub(crate) excluded: Vec<Vec<WantedToken>>,
    /// True if words are also found in other ways than as they stand.
    pub(crate) is_expanded: bool,
    /// The query string.
    pub(crate) source: String,
}

/// The part of the query string that a requirement comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedWord {
    /// Its positions in the query string, in bytes. It has several if equal words were merged.
    pub(crate) ranges: Vec<Range<usize>>,
    pub(crate) text: String,
    pub(crate) is_quoted: bool,
    /// True if resources without it may be found, too.
    pub(crate) can_go: bool,
    /// True if a resource without it lacks nothing.
    pub(crate) is_stop_word: bool,
}

/// A requirement that some field must meet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Requirement {
    Token(WantedToken),
    /// All of the tokens, one after the other in one text.
    Row(WantedRow),
}

/// A wanted row of tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WantedRow {
    pub(crate) tokens: Vec<WantedToken>,
    /// The phrases that stand for all of it.
    pub(crate) synonyms: SynonymPhrases,
}

/// A wanted token: its text, and the deviations that are allowed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WantedToken {
    pub(crate) text: String,
    /// The number of typos that are forgiven.
    pub(crate) typos: usize,
    pub(crate) rest: Rest,
    /// The other ways in which the word is found; `None` for a word that is wanted as it stands.
    pub(crate) alternatives: Option<Box<Alternatives>>,
}

/// The text that may follow the wanted text in a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    /// More of the word. A token with more text is less close.
    Word,
    /// The second character of a pair, which is not part of the wanted text.
    OfPair,
}

/// A match in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The position in bytes of the text.
    pub range: Range<usize>,
    /// The number of the word that it matches, from 0.
    pub word: usize,
}

impl TextQuery {
    /// Creates a search for these words in these fields.
    pub fn new(words: Words, fields: Vec<TextField>) -> TextQuery {
        TextQuery { fields, words, pins: Vec::new(), boosts: Vec::new() }
    }

    /// Makes dates and numbers count into the scores.
    pub fn with_boosts(mut self, boosts: Vec<Boost>) -> TextQuery {
        self.boosts = boosts;
        self
    }

    /// Makes it find these resources, too. Each is at its place in the order by relevance, if there are enough others
    /// before it. Of two with the same place, the first one comes first.
    pub fn with_pins(mut self, mut pins: Vec<Pin>) -> TextQuery {
        pins.sort_by_key(|pin| pin.position);
        self.pins = pins;
        self
    }

    /// Returns its words.
    pub fn words(&self) -> &Words {
        &self.words
    }
}

impl Words {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.excluded.is_empty()
    }

    /// Removes duplicates of words. Each would take as long as the first, and find the same.
    pub fn merge_equal(&mut self) {
        let mut asked = std::mem::take(&mut self.asked).into_iter();
        for required in std::mem::take(&mut self.required) {
            let Some(asked) = asked.next() else { break };
            match self.required.iter().position(|other| *other == required) {
                Some(number) => self.asked[number].ranges.extend(asked.ranges),
                None => {
                    self.required.push(required);
                    self.asked.push(asked);
                }
            }
        }
        for row in std::mem::take(&mut self.excluded) {
            if !self.excluded.contains(&row) {
                self.excluded.push(row);
            }
        }
    }

    /// Returns whether they are found in other ways than as they stand; see [`Expansion`].
    pub fn is_expanded(&self) -> bool {
        self.is_expanded
    }

    /// Returns whether resources that lack some of the words may be found.
    pub fn lets_go(&self) -> bool {
        let lacked = self.required.iter().zip(&self.asked).filter(|(_, asked)| asked.can_go);
        self.asked.len() > 1 && self.asked.iter().any(|asked| asked.can_go)
            || lacked.into_iter().any(|(required, _)| matches!(required, Requirement::Row(_)))
    }
}

impl Requirement {
    /// Returns its tokens.
    pub(crate) fn tokens(&self) -> &[WantedToken] {
        match self {
            Requirement::Token(token) => std::slice::from_ref(token),
            Requirement::Row(row) => &row.tokens,
        }
    }

    /// Returns the phrases that stand for it; `None` for a word that is wanted as it stands.
    pub(crate) fn synonyms(&self) -> Option<&SynonymPhrases> {
        match self {
            Requirement::Token(token) => token.alternatives.as_ref().map(|alternatives| &alternatives.synonyms),
            Requirement::Row(row) => Some(&row.synonyms),
        }
    }

    /// Adds a phrase that stands for it.
    fn add_synonym(&mut self, phrase: &[WantedToken]) {
        match self {
            Requirement::Token(token) => token.alternatives.get_or_insert_default().synonyms.add(phrase),
            Requirement::Row(row) => row.synonyms.add(phrase),
        }
    }
}

impl WantedToken {
    /// Creates a token that is wanted as it stands.
    pub(crate) fn exact(text: String) -> WantedToken {
        WantedToken { text, typos: 0, rest: Rest::Nothing, alternatives: None }
    }

    /// Returns the closeness of a token; `None` if it does not match as it stands.
    pub(crate) fn closeness(&self, token: &str) -> Option<Closeness> {
        self.measure().closeness(token.as_bytes())
    }

    /// Returns a measure for several tokens. It is fastest if they are in ascending order.
    pub(crate) fn measure(&self) -> Measure<'_> {
        Measure { wanted: self, distance: (self.typos > 0).then(|| Distance::new(&self.text, self.typos)) }
    }

    /// Returns whether tokens other than exactly its text may match.
    pub(crate) fn is_loose(&self) -> bool {
        self.typos > 0 || self.rest != Rest::Nothing
    }

    /// Returns whether it is one character with which a word may begin. Texts have it as a key of its own, so it does
    /// not count how often they have words that begin so, unless words are wanted as they stand.
    pub(crate) fn is_vague(&self) -> bool {
        self.rest == Rest::Word && self.alternatives.is_some() && self.text.chars().nth(1).is_none()
    }

    /// Returns whether matching tokens may differ in closeness.
    pub(crate) fn has_degrees(&self) -> bool {
        self.typos > 0 || self.rest == Rest::Word || self.alternatives.is_some()
    }

    /// Returns the text with which every matching token begins.
    pub(crate) fn beginning(&self) -> &str {
        match self.typos {
            0 => &self.text,
            // Typos in the first character are not allowed.
            _ => crate::text::first_chars(&self.text, 1),
        }
    }

    /// Returns the part of a token that is marked. If only the first character of a pair is wanted, the other is left
    /// out.
    fn shown(&self, kind: TokenKind, range: &Range<usize>, text: &str) -> Range<usize> {
        match (kind, self.rest) {
            (TokenKind::Pair, Rest::OfPair) => {
                let first = text[range.clone()].chars().next().map_or(0, char::len_utf8);
                range.start..range.start + first
            }
            _ => range.clone(),
        }
    }
}

/// Computes the closeness of tokens.
pub(crate) struct Measure<'a> {
    wanted: &'a WantedToken,
    /// The test for typing errors, if they are allowed.
    distance: Option<Distance>,
}

impl Measure<'_> {
    /// Returns the closeness of a token in UTF-8; `None` if it does not match.
    pub(crate) fn closeness(&mut self, token: &[u8]) -> Option<Closeness> {
        let rest = self.wanted.rest;
        let Some(distance) = &mut self.distance else {
            return match (token.strip_prefix(self.wanted.text.as_bytes())?, rest) {
                ([], _) | (_, Rest::OfPair) => Some(closeness::WHOLE),
                (_, Rest::Word) => Some(closeness::BEGUN),
                (_, Rest::Nothing) => None,
            };
        };
        let found = distance.to(token)?;
        let whole = found.whole.map(|typos| closeness::with_typos(closeness::WHOLE, typos));
        let begun = found.begun.filter(|_| rest == Rest::Word);
        let begun = begun.map(|typos| closeness::with_typos(closeness::BEGUN, typos));
        whole.into_iter().chain(begun).min()
    }

    /// Returns the place of the next token that may match, if the last one does not, and none that directly follows it
    /// in an ascending list.
    pub(crate) fn skip(&self) -> Option<Skip> {
        self.distance.as_ref().and_then(|distance| distance.skip(self.wanted.rest == Rest::Word))
    }
}
