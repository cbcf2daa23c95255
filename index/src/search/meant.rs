//! Suggests another question, in which words are replaced by similar words of the index, if it finds more.
//!
//! Only resources that the request could have found count, so a suggestion shows no word of others.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::text_search::{FoundRequirement, FoundToken, TextSearch};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::text_query::closeness::{WHOLE, typos_of};
use crate::text_query::{Requirement, WantedToken, changed_beginnings, similar_to};

/// The most words that are replaced.
const MAX_REPLACED: usize = 3;
/// The most similar words that are counted for each word.
const MAX_SIMILAR: usize = 100;
/// The least number of characters of a word that is replaced.
const MIN_CHARS: usize = 3;

/// A word in place of one that was asked for.
struct Replacement {
    /// The number of the word among the required ones.
    number: usize,
    text: String,
    having: Bitmap,
}

impl<'a> TextSearch<'a> {
    /// Returns the question that was probably meant, with the number of resources that have all of its words.
    /// `matched_all` of the resources have all words of this one; the other question finds more of `all`, the resources
    /// that the filters of the request allow.
    pub(super) fn meant(&self, matched_all: usize, all: &Bitmap) -> Result<Option<(String, usize)>, Error> {
        let mut replacements = Vec::new();
        for (number, FoundRequirement { required, tokens, .. }) in self.requirements().enumerate() {
            let Requirement::Token(wanted) = required else { continue };
            if replacements.len() == MAX_REPLACED || self.query.words.asked[number].is_quoted || !is_replaceable(wanted)
            {
                continue;
            }
            if self.is_had(&tokens[0], all)? {
                continue;
            }
            replacements.extend(self.replacement(number, wanted, all)?);
        }
        if replacements.is_empty() {
            return Ok(None);
        }
        let mut found = all.clone();
        for (number, required) in self.requirements().enumerate() {
            match replacements.iter().find(|other| other.number == number) {
                Some(other) => found.intersect(&other.having),
                None => {
                    let having = self.slots_of_requirement(required, Some(&found))?;
                    found.intersect(&having);
                }
            }
        }
        self.subtract_excluded(&mut found)?;
        let count = found.count();
        Ok((count > matched_all).then(|| (self.question_with(&replacements), count)))
    }

    /// Returns whether some of the resources have the word without typos.
    fn is_had(&self, token: &FoundToken<'a>, all: &Bitmap) -> Result<bool, Error> {
        for group in self.groups(token) {
            let (closeness, slots) = group?;
            if typos_of(closeness) > 0 {
                break;
            }
            if slots.meets(all) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the similar word that the most resources have.
    fn replacement(&self, number: usize, wanted: &WantedToken, all: &Bitmap) -> Result<Option<Replacement>, Error> {
        let like = similar_to(&wanted.text);
        let mut similar: BTreeSet<(usize, String)> = BTreeSet::new();
        self.each_run(|field, _, run| {
            let column = self.fields[field].of.column;
            similar.extend(run.run.similar_tokens(column, &like, self.interrupt)?);
            Ok(())
        })?;
        similar.extend(changed_beginnings(&wanted.text).into_iter().map(|text| (1, text)));
        let mut best: Option<(usize, usize, Replacement)> = None;
        let mut counted = 0;
        for (typos, text) in similar {
            let is_worse = best.as_ref().is_some_and(|(least, ..)| typos > *least);
            if is_worse || counted == MAX_SIMILAR {
                break;
            }
            let mut having = self.slots_of_equal(&text)?;
            having.intersect(all);
            let count = having.count();
            if count == 0 {
                continue;
            }
            counted += 1;
            if best.as_ref().is_none_or(|(_, most, _)| count > *most) {
                best = Some((typos, count, Replacement { number, text, having }));
            }
        }
        Ok(best.map(|(_, _, replacement)| replacement))
    }

    /// Returns the slots that have a token as it stands.
    fn slots_of_equal(&self, text: &str) -> Result<Bitmap, Error> {
        let found = self.find_equal(&[text.to_owned()], WHOLE)?;
        self.slots_of(found.iter())
    }

    fn question_with(&self, replacements: &[Replacement]) -> String {
        let words = &self.query.words;
        let ranges = replacements.iter().flat_map(|Replacement { number, text, .. }| {
            words.asked[*number].ranges.iter().map(move |range| (range.clone(), text))
        });
        let mut ranges: Vec<(Range<usize>, &String)> = ranges.collect();
        // From the end on, so that the positions before stay what they are.
        ranges.sort_by_key(|(range, _)| Reverse(range.start));
        let mut question = words.source.clone();
        ranges.into_iter().for_each(|(range, text)| question.replace_range(range, text));
        question
    }
}

fn is_replaceable(wanted: &WantedToken) -> bool {
    wanted.text.chars().count() >= MIN_CHARS && wanted.text.chars().all(char::is_alphabetic)
}
