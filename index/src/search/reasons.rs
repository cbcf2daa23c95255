//! Explains an order by relevance: how a resource has each word of the question, and what counts for its place. It
//! knows no filters.

use std::collections::BTreeSet;

use super::coverage::{LackedWord, parts_of_distance};
use super::scores::ScoredSlots;
use super::text_search::{FoundRequirement, FoundToken, TextSearch};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::names::{MARK, rows_where};
use crate::schema::ColumnId;
use crate::text::{composed, first_chars};
use crate::text_query::closeness::{
    BEGUN, COMPOUND, Closeness, FORM, PART, PARTS, SYNONYM, WHOLE, distance_of, typos_of, without_typos,
};
use crate::text_query::{MarkFinder, Measure, Requirement, RowTester, SynonymPhrases, WantedToken};
use crate::tokens::{Token, each_raw_token};

/// The number of bytes of a text in which words are looked for, so that long texts do not take long.
const READ_BYTES: usize = 64 << 10;
/// The most words of a resource that are returned for a word of the question.
const MAX_SHOWN: usize = 3;
/// The most characters of such a word.
const MAX_CHARS: usize = 100;

/// The reasons for the place of a resource. Of two that are not pinned, the one with the lower `lacks` comes first;
/// then the one with fewer `typos`, then with lower `ways`, then with the higher `score`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// The words and quotations of the question, in its order.
    pub words: Vec<WordReason>,
    /// The sum of the costs of words that it lacks.
    pub lacks: u32,
    /// The number of typos in its words.
    pub typos: u32,
    /// The sum of the distances of the ways in which its words were found.
    pub ways: u32,
    /// The score.
    pub score: f32,
    /// The factor of the score for a title with the words near each other.
    pub nearness: f32,
    /// The factor of the score by dates and numbers.
    pub boost: f32,
}

/// The way in which a resource has a word of the question.
#[derive(Debug, Clone, PartialEq)]
pub struct WordReason {
    /// The word or quotation as it was asked for.
    pub asked: String,
    /// The kind of what was found; `None` if the resource lacks it.
    pub found: Option<FoundWord>,
    /// False if lacking it costs nothing.
    pub is_missed: bool,
}

/// The way in which a word of the question was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundWord {
    /// The way in which it was found.
    pub way: Way,
    /// The number of typos.
    pub typos: usize,
    /// The words of the resource, as they are written there, at most 3. Empty for what was found as it stands, and if
    /// the words are far behind the beginning of a text.
    pub words: Vec<String>,
    /// The columns that have them.
    pub columns: Vec<ColumnId>,
}

/// The way in which a word was found, the closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The word, or a quotation, or text without spaces, perhaps with typos.
    Whole,
    /// A part of a name, or several in a row.
    Part,
    /// All parts of a name, not in a row.
    Parts,
    /// Another form of the word.
    Form,
    /// A compound that has the word.
    Compound,
    /// A word that begins so.
    Beginning,
    /// A synonym.
    Synonym,
}

impl Way {
    /// Returns the name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Way::Whole => "whole",
            Way::Part => "part",
            Way::Parts => "parts",
            Way::Form => "form",
            Way::Compound => "compound",
            Way::Beginning => "beginning",
            Way::Synonym => "synonym",
        }
    }

    fn of(closeness: Closeness) -> Way {
        match without_typos(closeness) {
            PART => Way::Part,
            PARTS => Way::Parts,
            FORM => Way::Form,
            COMPOUND => Way::Compound,
            BEGUN => Way::Beginning,
            SYNONYM => Way::Synonym,
            _ => Way::Whole,
        }
    }
}

/// A requirement, with what is needed to explain it in each of the resources.
struct Explained<'b, 'a> {
    found: FoundRequirement<'b, 'a>,
    asked: &'a str,
    lacked: Option<&'b LackedWord>,
    /// The slots that have a row as it stands.
    row: Bitmap,
    /// The slots that have all words of each phrase that stands for it, as far as they are needed.
    phrases: Vec<Bitmap>,
    compounds: BTreeSet<String>,
}

impl<'a> TextSearch<'a> {
    /// Returns the reasons for the places of these slots, which must be among the matches.
    pub(super) fn reasons(&self, slots: &[u32]) -> Result<Vec<Reason>, Error> {
        let among: Bitmap = slots.iter().copied().collect();
        let explained = self.explained(&among)?;
        let (lacked, titled) = (self.lacked_words()?, self.titled()?);
        let ScoredSlots { slots: ranks, scores } = self.scored(among, None)?;
        let mut nearness = self.nearness()?;
        let boosts = self.boosts();
        let mut reasons = Vec::with_capacity(slots.len());
        for &slot in slots {
            self.interrupt.check()?;
            let far = lacked.iter().filter(|word| !word.having.contains(slot)).map(|word| word.distance);
            let mut distance = far.fold(0u32, u32::saturating_add);
            let mut words = Vec::with_capacity(explained.len());
            for word in &explained {
                let (reason, closeness) = self.word_reason(word, slot)?;
                let closeness = closeness.filter(|closeness| *closeness != FORM || !titled.contains(slot));
                distance = distance.saturating_add(closeness.map_or(0, distance_of));
                words.push(reason);
            }
            let nearness = nearness.as_mut().map_or(1.0, |nearness| nearness.of(self, slot));
            let boost = boosts.as_ref().map_or(1.0, |boosts| boosts.of(slot));
            let score = ranks.rank(slot).and_then(|rank| scores.get(rank)).copied().unwrap_or_default();
            let [lacks, typos, ways] = parts_of_distance(distance);
            reasons.push(Reason { words, lacks, typos, ways, score: score * nearness * boost, nearness, boost });
        }
        Ok(reasons)
    }

    fn explained(&self, among: &Bitmap) -> Result<Vec<Explained<'_, 'a>>, Error> {
        let lacked = self.words_that_may_lack()?;
        let mut all = Vec::new();
        for (number, found) in self.requirements().enumerate() {
            self.interrupt.check()?;
            let asked = self.query.words.asked.get(number).map_or("", |asked| asked.text.as_str());
            let lacked = lacked.iter().find(|word| word.number == Some(number)).copied();
            let mut explained = Explained {
                found,
                asked,
                lacked,
                row: Bitmap::default(),
                phrases: Vec::new(),
                compounds: BTreeSet::new(),
            };
            let (words, has_synonyms) = match found.required {
                Requirement::Row(row) => {
                    explained.row = self.slots_of_row(&row.tokens, found.tokens, Some(among))?;
                    (found.synonyms.map_or(&[][..], |synonyms| &synonyms.words[..]), found.synonyms.is_some())
                }
                Requirement::Token(wanted) => {
                    let has = |closeness| {
                        let group = self.group(&found.tokens[0], closeness)?;
                        Ok::<_, Error>(group.is_some_and(|slots| slots.meets(among)))
                    };
                    if has(COMPOUND)? {
                        explained.compounds = self.compounds(&wanted.text)?.into_iter().collect();
                    }
                    (&found.tokens[0].synonyms[..], has(SYNONYM)?)
                }
            };
            if let Some(synonyms) = found.required.synonyms().filter(|_| has_synonyms) {
                explained.phrases = self.slots_of_each_phrase(synonyms, words)?;
            }
            all.push(explained);
        }
        Ok(all)
    }

    /// Returns the reason of a word in a resource, and the closeness in which it was found.
    fn word_reason(&self, word: &Explained<'_, 'a>, slot: u32) -> Result<(WordReason, Option<Closeness>), Error> {
        let Explained { found, asked, lacked, row, phrases, .. } = word;
        let closeness = match found.required {
            Requirement::Token(_) => self.closest(&found.tokens[0], slot)?,
            Requirement::Row(_) if row.contains(slot) => Some(WHOLE),
            Requirement::Row(_) => phrases.iter().any(|phrase| phrase.contains(slot)).then_some(SYNONYM),
        };
        let is_missed = lacked.is_none_or(|lacked| lacked.distance > 0);
        let found = match closeness {
            None => None,
            Some(closeness) => {
                let (words, columns) = self.words_found_by(word, slot, closeness)?;
                let words = if closeness == WHOLE { Vec::new() } else { words };
                Some(FoundWord { way: Way::of(closeness), typos: typos_of(closeness), words, columns })
            }
        };
        Ok((WordReason { asked: (*asked).to_owned(), found, is_missed }, closeness))
    }

    /// Returns the closeness of the closest match of a token in a slot; `None` if the slot does not have it.
    fn closest(&self, token: &FoundToken<'a>, slot: u32) -> Result<Option<Closeness>, Error> {
        if !self.slots_of_token(token)?.contains(slot) {
            return Ok(None);
        }
        for group in self.groups(token) {
            let (closeness, slots) = group?;
            if slots.contains(slot) {
                return Ok(Some(closeness));
            }
        }
        Ok(None)
    }

    /// Returns the words of a resource by which a word of the question was found, and their columns.
    fn words_found_by(
        &self,
        word: &Explained<'_, 'a>,
        slot: u32,
        closeness: Closeness,
    ) -> Result<(Vec<String>, Vec<ColumnId>), Error> {
        let (mut words, mut columns) = (Vec::new(), Vec::new());
        if let (Requirement::Row(row), WHOLE) = (word.found.required, closeness) {
            let tester = RowTester::new(&row.tokens);
            let fields = self.fields.iter().filter(|field| field.with_text(slot, |text| tester.is_in(text)));
            return Ok((words, fields.map(|field| field.of.column).collect()));
        }
        let mut finder = Finder::new(word, slot, closeness);
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for field in &self.fields {
            let Some(text) = field.whole(slot) else { continue };
            let text = &*composed(beginning(&text));
            let mut tokens = Vec::new();
            each_raw_token(text, |token| tokens.push(token));
            for token in tokens {
                self.interrupt.step()?;
                if !finder.is_found(&token, text) {
                    continue;
                }
                if !columns.contains(&field.of.column) {
                    columns.push(field.of.column);
                }
                if seen.len() < MAX_SHOWN && seen.insert(token.text.to_string()) {
                    words.push(first_chars(&text[token.range], MAX_CHARS).to_owned());
                }
            }
        }
        Ok((words, columns))
    }
}

/// Finds the words of a text by which a word of the question was found.
enum Finder<'b> {
    /// With these typos, or as they begin.
    Typed(Measure<'b>, &'b WantedToken, Closeness),
    Part(&'b WantedToken),
    Form(&'b WantedToken),
    Compound(&'b BTreeSet<String>),
    /// Any of several words: the parts of a name, or the words of a synonym.
    Any(Vec<MarkFinder<'b>>),
}

impl<'b> Finder<'b> {
    fn new(word: &'b Explained<'_, '_>, slot: u32, closeness: Closeness) -> Finder<'b> {
        let any = |words: &mut dyn Iterator<Item = &'b WantedToken>| Finder::Any(words.map(MarkFinder::new).collect());
        let wanted = match word.found.required {
            Requirement::Token(wanted) if closeness != SYNONYM => wanted,
            required => {
                let number = word.phrases.iter().position(|phrase| phrase.contains(slot));
                let mut phrases = required.synonyms().into_iter().flat_map(SynonymPhrases::phrases);
                let phrase = number.and_then(|number| phrases.nth(number)).unwrap_or_default();
                return any(&mut phrase.into_iter());
            }
        };
        match closeness {
            PART => Finder::Part(wanted),
            PARTS => any(&mut wanted.alternatives.iter().flat_map(|alternatives| &alternatives.parts)),
            FORM => Finder::Form(wanted),
            COMPOUND => Finder::Compound(&word.compounds),
            _ => Finder::Typed(wanted.measure(), wanted, closeness),
        }
    }

    fn is_found(&mut self, token: &Token<'_>, text: &str) -> bool {
        let raw = &text[token.range.clone()];
        let has_row = |is_wanted: &mut dyn FnMut(&str) -> bool| {
            !rows_where(raw, token.kind, |row| is_wanted(row.strip_prefix(MARK).unwrap_or(row))).is_empty()
        };
        match self {
            Finder::Typed(measure, wanted, closeness) => {
                let is_begun = *closeness == BEGUN;
                measure.closeness(token.text.as_bytes()) == Some(*closeness)
                    || (is_begun && has_row(&mut |row| row.starts_with(&wanted.text)))
            }
            Finder::Part(wanted) => {
                let joined = wanted.alternatives.as_ref().and_then(|alternatives| alternatives.joined.as_deref());
                joined == Some(&*token.text) || has_row(&mut |row| row == wanted.text || joined == Some(row))
            }
            Finder::Form(wanted) => {
                let forms = wanted.alternatives.as_ref().and_then(|alternatives| alternatives.forms.as_ref());
                forms.is_some_and(|forms| forms.has(&token.text) || has_row(&mut |row| forms.has(row)))
            }
            Finder::Compound(compounds) => compounds.contains(&*token.text),
            Finder::Any(finders) => finders.iter_mut().any(|finder| !finder.find(token, text).is_empty()),
        }
    }
}

/// Returns the beginning of a text that is read.
fn beginning(text: &str) -> &str {
    let end = (0..=READ_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
