//! Scores titles that have the words next to each other, in order, or that are the question. It knows no filters.
//!
//! A title is a field with the greatest weight. Only resources that have all words in a title are read, if there are
//! not too many in the whole index, and only the beginnings of their titles. So the factor of a resource does not
//! depend on filters or pages.

use std::borrow::Cow;

use super::text_search::{FoundToken, TextSearch, TokensInRun};
use super::token_slots::in_all;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::text::composed;
use crate::text_query::closeness::{FORM, PART, WHOLE};
use crate::text_query::{Measure, Requirement, WantedToken};
use crate::tokens::each_raw_token;

/// With more resources that have all words in a title, none of them is read.
const MAX_READ: usize = 1_000;
/// The most words of the question that are looked for.
const MAX_WORDS: usize = 12;
/// Words are near each other if at most this many words are from one to the other.
const NEAR: usize = 3;
/// All words in a row multiply the score by one more than this.
const IN_A_ROW: f32 = 0.5;
/// The share of [`IN_A_ROW`] for words that are near each other and in order.
const NEARBY_SHARE: f32 = 0.5;
/// A title that has the words and nothing else adds this.
const IS_QUESTION: f32 = 0.5;

/// Computes the factors of scores.
pub(super) struct Nearness<'a> {
    /// The fields that are titles.
    titles: Vec<usize>,
    /// The slots that have all words in a title.
    slots: Bitmap,
    question: Question<'a>,
}

/// The most synonyms of a question whose words are looked for in a row.
const MAX_SYNONYMS: usize = 50;
/// A longer title, in lengths of the word, is not compared with a question of one word that has no synonyms.
const MAX_OF_ONE: usize = 4;

/// Finds the words of a question in titles.
struct Question<'a> {
    words: Vec<(&'a WantedToken, Measure<'a>)>,
    /// The number of words, also of those that are not looked for.
    count: usize,
}

impl<'a> TextSearch<'a> {
    /// Returns the factors of scores; `None` if all are 1.
    pub(super) fn nearness(&self) -> Result<Option<Nearness<'a>>, Error> {
        if !self.query.words.is_expanded || self.required.is_empty() {
            return Ok(None);
        }
        let titles = self.titles();
        let mut slots = Bitmap::default();
        for &title in &titles {
            slots.union(&self.having_all_in(title)?);
        }
        if slots.is_empty() || slots.count() > MAX_READ {
            return Ok(None);
        }
        let words = self.required.iter().take(MAX_WORDS);
        let words = words.map(|token| (token.wanted, token.wanted.measure())).collect();
        Ok(Some(Nearness { titles, slots, question: Question { words, count: self.required.len() } }))
    }

    /// Returns the fields that are titles: those with the greatest weight.
    fn titles(&self) -> Vec<usize> {
        let weights = || self.fields.iter().map(|field| field.of.weight);
        let greatest = weights().fold(0.0, f32::max);
        weights().enumerate().filter(|(_, weight)| *weight >= greatest).map(|of| of.0).collect()
    }

    /// Returns the slots with a title that has all words, some perhaps in another form. For these, another form is as
    /// close as the word itself: otherwise a title that says what was asked for would come after every text that
    /// mentions the words. Stop words may be missing. One word alone says too little.
    pub(super) fn titled(&self) -> Result<Bitmap, Error> {
        let mut titled = Bitmap::default();
        let words = &self.query.words;
        let is_row = |required: &Requirement| matches!(required, Requirement::Row(_));
        let wanted = self.required.iter().zip(&words.asked).filter(|(_, asked)| !asked.is_stop_word);
        let wanted: Vec<&FoundToken<'a>> = wanted.map(|(token, _)| token).collect();
        if !words.is_expanded || words.required.iter().any(is_row) || wanted.len() < 2 {
            return Ok(titled);
        }
        for title in self.titles() {
            let is_in_title = |found: &&TokensInRun<'a>| {
                found.field == title && [WHOLE, PART, FORM].contains(&found.tokens.closeness)
            };
            let having = |token: &&FoundToken<'a>| self.slots_of(token.found.iter().filter(is_in_title));
            titled.union(&in_all(wanted.iter().map(having))?);
        }
        Ok(titled)
    }

    /// Returns the slots that have all words in a field.
    fn having_all_in(&self, field: usize) -> Result<Bitmap, Error> {
        in_all(self.required.iter().map(|token| {
            let found = FoundToken::all_found(token).filter(|found| found.field == field);
            self.slots_of(found)
        }))
    }
}

impl Nearness<'_> {
    /// Returns the slots whose factor may be more than 1.
    pub(super) fn slots(&self) -> &Bitmap {
        &self.slots
    }

    /// Returns an upper bound of the factor for a slot, without reading a title.
    pub(super) fn most(&self, search: &TextSearch<'_>, slot: u32) -> f32 {
        if !self.slots.contains(slot) {
            return 1.0;
        }
        let is_question = self.titles.iter().any(|title| self.question.is_as_long(search, *title, slot));
        1.0 + IN_A_ROW + if is_question { IS_QUESTION } else { 0.0 }
    }

    /// Returns the factor for the score of a slot.
    pub(super) fn of(&mut self, search: &TextSearch<'_>, slot: u32) -> f32 {
        if !self.slots.contains(slot) {
            return 1.0;
        }
        let Nearness { titles, question, .. } = self;
        let of_title = |title: &usize| {
            let is_as_long = question.is_as_long(search, *title, slot);
            search.fields[*title].head(slot).map(|text| question.nearness(&composed(&text), is_as_long))
        };
        titles.iter().filter_map(of_title).fold(1.0, f32::max)
    }
}

impl Question<'_> {
    /// Returns whether a title has as many words as the question.
    fn is_as_long(&self, search: &TextSearch<'_>, title: usize, slot: u32) -> bool {
        // So few words are not rounded.
        self.count == self.words.len() && usize::from(search.fields[title].length_step(slot)) == self.count
    }

    fn nearness(&mut self, title: &str, is_as_long: bool) -> f32 {
        // One word has no neighbors, so only a title counts that is this word, perhaps between punctuation.
        if let [(wanted, _)] = &self.words[..]
            && title.len() > MAX_OF_ONE * wanted.text.len()
            && synonyms_of(wanted).next().is_none()
        {
            return 1.0;
        }
        let mut tokens = Vec::new();
        each_raw_token(title, |token| tokens.push(token.text));
        let is_question = is_as_long
            && tokens.len() == self.count
            && self.words.iter().zip(&tokens).all(|((wanted, _), token)| wanted.text == **token);
        let mut places = Vec::with_capacity(self.words.len());
        for (wanted, measure) in &mut self.words {
            let mut is_wanted = |token: &str| {
                let is_synonym = || synonyms_of(wanted).flatten().any(|word| is_word_or_form(word, token));
                measure.closeness(token.as_bytes()).is_some() || has_form(wanted, token) || is_synonym()
            };
            places.push(places_of(&tokens, &mut is_wanted));
        }
        let phrases = self.words.iter().flat_map(|(wanted, _)| synonyms_of(wanted)).take(MAX_SYNONYMS);
        let phrases = phrases.map(|phrase| {
            let places = phrase.into_iter().map(|word| places_of(&tokens, &mut |token| is_word_or_form(word, token)));
            in_a_row(&places.collect::<Vec<_>>())
        });
        let in_a_row = phrases.fold(in_a_row(&places), f32::max);
        1.0 + IN_A_ROW * in_a_row + if is_question { IS_QUESTION } else { 0.0 }
    }
}

/// Returns the phrases that stand for a word.
fn synonyms_of(wanted: &WantedToken) -> impl Iterator<Item = Vec<&WantedToken>> {
    wanted.alternatives.iter().flat_map(|alternatives| alternatives.synonyms.phrases())
}

fn has_form(wanted: &WantedToken, token: &str) -> bool {
    let forms = wanted.alternatives.as_ref().and_then(|alternatives| alternatives.forms.as_ref());
    forms.is_some_and(|forms| forms.has(token))
}

fn is_word_or_form(wanted: &WantedToken, token: &str) -> bool {
    wanted.text == token || has_form(wanted, token)
}

/// Returns the positions of the tokens that are wanted.
fn places_of(tokens: &[Cow<'_, str>], is_wanted: &mut dyn FnMut(&str) -> bool) -> Vec<usize> {
    tokens.iter().enumerate().filter(|(_, token)| is_wanted(token)).map(|(place, _)| place).collect()
}

/// Returns how near words are to each other and in order: 1 if each directly follows the one before it, and 0 for one
/// word.
fn in_a_row(places: &[Vec<usize>]) -> f32 {
    let pairs: f32 = places.windows(2).map(|pair| nearness_of_pair(&pair[0], &pair[1])).sum();
    match places.len() {
        0 | 1 => 0.0,
        count => pairs / (count - 1) as f32,
    }
}

/// Returns 1 for words of which one directly follows the other, less if they are near each other, and 0 otherwise.
fn nearness_of_pair(first: &[usize], second: &[usize]) -> f32 {
    let distances = first.iter().flat_map(|one| second.iter().filter_map(move |other| other.checked_sub(*one)));
    match distances.filter(|distance| *distance > 0).min() {
        Some(1) => 1.0,
        Some(distance) if distance <= NEAR => NEARBY_SHARE,
        _ => 0.0,
    }
}
