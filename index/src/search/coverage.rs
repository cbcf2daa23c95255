//! Decides which resources have enough of the words of a text query. It does not know their order.
//!
//! If few resources have all words, those that lack some follow, unless the words are quoted. The resources that have
//! all are counted in the whole index, before filters: so a page, its total and its facets see the same resources.

use std::borrow::Cow;
use std::sync::Arc;

use super::text_search::{FoundRequirement, FoundToken, TextSearch};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::query::WordsFound;
use crate::text_query::Requirement;
use crate::text_query::closeness::{FARTHEST, distance_of, typos_and_ways};

/// With fewer resources that have all words, those that lack some are found as well.
pub const FEW: usize = 10;
/// A word that more than one in this many resources have need not be had.
const COMMON_SHARE: usize = 5;
/// A word is never common if fewer resources than this have it.
const COMMON_FROM: usize = 10;
/// The cost of lacking a word is this for each time that it is twice as rare, plus 1.
const COST_OF_HALF: f64 = 8.0;
/// The greatest cost of lacking a word, before 1 is added: that of one that one in 32,768 resources has.
const MAX_COST: f64 = 120.0;
/// The distance of a resource that lacks a unit of cost: more than a hundred words with typos, or a hundred common
/// words that are lacked, sum up to. With the greatest costs of a hundred words and their pairs of characters, the sum
/// fits into 32 bits.
const LACKED: u32 = 1 << 18;
/// The distance of a resource that lacks a common word, if no resource has it as it stands: just behind those that have
/// it with typos.
const LACKED_COMMON: u32 = FARTHEST as u32 + 1;
/// The most pairs of characters that count as words.
const MAX_PAIRS: usize = 30;

/// The resources that match a text query.
pub(super) struct Coverage {
    pub(super) found: Arc<Bitmap>,
    /// The resources that are found only because they are pinned.
    only_pinned: Bitmap,
    /// Set if resources that lack some words are found.
    pub(super) incomplete: Option<Incomplete>,
}

/// The resources with all words, and the words that others lack.
pub(super) struct Incomplete {
    complete: Bitmap,
    pub(super) words: Vec<LackedWord>,
}

/// A word that a match may lack.
pub(super) struct LackedWord {
    /// Its number among the required words; `None` for a pair of characters of one of them.
    pub(super) number: Option<usize>,
    /// The resources that have it.
    pub(super) having: Bitmap,
    /// The cost of lacking it: more for a rarer word, 0 for a common one.
    cost: u32,
    /// The distance of a resource that lacks it.
    pub(super) distance: u32,
}

impl<'a> TextSearch<'a> {
    /// Returns the matches.
    pub(super) fn coverage(&self) -> Result<&Coverage, Error> {
        if let Some(known) = self.coverage.get() {
            return Ok(known);
        }
        let mut coverage = self.cover()?;
        let is_new = |slot: &u32| !coverage.found.contains(*slot);
        coverage.only_pinned = self.pinned.iter().map(|(slot, _)| *slot).filter(is_new).collect();
        Arc::make_mut(&mut coverage.found).union(&coverage.only_pinned);
        Ok(self.coverage.get_or_init(|| coverage))
    }

    fn cover(&self) -> Result<Coverage, Error> {
        let mut complete = self.having_all()?.unwrap_or_else(|| self.version.live_slots.to_bitmap());
        self.subtract_excluded(&mut complete)?;
        if !self.query.words.lets_go() || complete.count() >= FEW {
            return Ok(Coverage { found: Arc::new(complete), only_pinned: Bitmap::default(), incomplete: None });
        }
        let words = self.words_that_can_go()?;
        let mut found = match self.having_where(|number| !self.can_go(number))? {
            // Quoted words are never lacked, so what has them has something that was asked for.
            Some(firm) => firm,
            None => {
                let counts = |word: &&LackedWord| word.cost > 0;
                let any_counts = words.iter().any(|word| word.cost > 0);
                let mut any = Bitmap::with_room(self.version.slot_count as usize);
                words.iter().filter(|word| !any_counts || counts(word)).for_each(|word| any.union(&word.having));
                any
            }
        };
        self.subtract_excluded(&mut found)?;
        found.union(&complete);
        let incomplete = Some(Incomplete { complete, words });
        Ok(Coverage { found: Arc::new(found), only_pinned: Bitmap::default(), incomplete })
    }

    fn can_go(&self, number: usize) -> bool {
        self.query.words.asked.get(number).is_some_and(|asked| asked.can_go)
    }

    /// Returns the slots that have everything required; `None` if nothing is.
    fn having_all(&self) -> Result<Option<Bitmap>, Error> {
        self.having_where(|_| true)
    }

    /// Returns the slots that have everything required whose number satisfies `is_wanted`; `None` if there is nothing.
    fn having_where(&self, is_wanted: impl Fn(usize) -> bool) -> Result<Option<Bitmap>, Error> {
        let numbered = self.requirements().enumerate();
        let mut required: Vec<_> = numbered.filter(|(number, _)| is_wanted(*number)).map(|(_, each)| each).collect();
        // Rows come last, because their texts must be read, and then fewer candidates are left.
        required.sort_by_key(|each| matches!(each.required, Requirement::Row(_)));
        let mut having: Option<Bitmap> = None;
        for each in required {
            let found = self.slots_of_requirement(each, having.as_ref())?;
            having = Some(match having {
                None => found.into_owned(),
                Some(mut having) => {
                    having.intersect(&found);
                    having
                }
            });
        }
        Ok(having)
    }

    fn words_that_can_go(&self) -> Result<Vec<LackedWord>, Error> {
        let mut words = Vec::new();
        let mut pairs_left = MAX_PAIRS;
        for (number, found) in self.requirements().enumerate().filter(|(number, _)| self.can_go(*number)) {
            self.interrupt.check()?;
            let having = self.slots_of_requirement(found, None)?.into_owned();
            let FoundRequirement { required, tokens, synonyms } = found;
            let cost = match self.query.words.asked[number].is_stop_word {
                true => 0,
                false => cost_of_lacking(having.count(), self.version.total),
            };
            let distance = match cost {
                // Common, or a stop word. If it is not there as it stands, those that have it in another way come
                // first.
                0 if !self.query.words.asked[number].is_stop_word && self.is_far(tokens)? => LACKED_COMMON,
                cost => LACKED.saturating_mul(cost),
            };
            words.push(LackedWord { number: Some(number), having, cost, distance });
            // Text without spaces may have several words. So of such text, each pair of characters counts as a word.
            let pairs = if matches!(required, Requirement::Row(_)) { tokens } else { &[] };
            for pair in pairs.iter().take(pairs_left) {
                pairs_left -= 1;
                let mut having = self.slots_of_token(pair)?.clone();
                if let Some(synonyms) = synonyms {
                    having.union(self.slots_of_row_synonyms(synonyms)?);
                }
                let cost = match pair.wanted.text.chars().any(is_hiragana) {
                    // Japanese writes endings and words without a meaning of their own so.
                    true => 0,
                    false => cost_of_lacking(having.count(), self.version.total),
                };
                let distance = LACKED.saturating_mul(cost);
                words.push(LackedWord { number: None, having, cost, distance });
            }
        }
        Ok(words)
    }

    /// Returns whether resources have a word only in ways that count as distance, such as with typos.
    fn is_far(&self, tokens: &[FoundToken<'a>]) -> Result<bool, Error> {
        let [token] = tokens else { return Ok(false) };
        for group in self.groups(token) {
            let (closeness, slots) = group?;
            if !slots.is_empty() {
                return Ok(distance_of(closeness) > 0);
            }
        }
        Ok(false)
    }

    /// Returns the words that put a match farther away if it lacks them.
    pub(super) fn lacked_words(&self) -> Result<Vec<&LackedWord>, Error> {
        let mut words = self.words_that_may_lack()?;
        words.retain(|word| word.distance > 0);
        Ok(words)
    }

    /// Returns the words that a match may lack.
    pub(super) fn words_that_may_lack(&self) -> Result<Vec<&LackedWord>, Error> {
        if !self.query.words.lets_go() {
            return Ok(Vec::new());
        }
        Ok(self.coverage()?.incomplete.iter().flat_map(|incomplete| &incomplete.words).collect())
    }

    /// Returns which words the resources of a list have. `list` holds those of the matches that the filters of the
    /// request allow, and `all` returns all resources that they allow.
    pub(super) fn words_found(
        &self,
        list: &Bitmap,
        all: impl FnOnce() -> Result<Arc<Bitmap>, Error>,
    ) -> Result<WordsFound, Error> {
        let mut words = self.words_had(list)?;
        if words.matched_all < FEW as u64 {
            words.did_you_mean = self.meant(words.matched_all as usize, &*all()?)?.map(|(question, _)| question);
        }
        Ok(words)
    }

    /// Like [`TextSearch::words_found`], without a question that finds more.
    pub(super) fn words_had(&self, list: &Bitmap) -> Result<WordsFound, Error> {
        let only_pinned = &self.coverage()?.only_pinned;
        let mut by_words = Cow::Borrowed(list);
        if !only_pinned.is_empty() {
            by_words.to_mut().subtract(only_pinned);
        }
        let list = &*by_words;
        let incomplete = if self.query.words.lets_go() { self.coverage()?.incomplete.as_ref() } else { None };
        let Some(Incomplete { complete, words }) = incomplete else {
            return Ok(WordsFound { matched_all: list.count() as u64, ..WordsFound::default() });
        };
        let mut matched_all = list.clone();
        matched_all.intersect(complete);
        let is_lacked = |word: &&LackedWord| {
            let mut lacking = list.clone();
            lacking.subtract(&word.having);
            !lacking.is_empty()
        };
        let text = |word: &LackedWord| Some(self.query.words.asked[word.number?].text.clone());
        Ok(WordsFound {
            matched_all: matched_all.count() as u64,
            ignored: words.iter().filter(|word| word.number.is_some()).filter(is_lacked).filter_map(text).collect(),
            did_you_mean: None,
        })
    }
}

/// Returns the parts of a distance, of which the first ones count most: the cost of what is lacked, the number of
/// typos, and the ways in which words were found.
pub(super) fn parts_of_distance(distance: u32) -> [u32; 3] {
    let [typos, ways] = typos_and_ways(distance % LACKED);
    [distance / LACKED, typos, ways]
}

fn is_hiragana(char: char) -> bool {
    ('\u{3041}'..='\u{309f}').contains(&char)
}

/// Returns the cost of lacking a word that `having` of `total` resources have.
fn cost_of_lacking(having: usize, total: usize) -> u32 {
    let is_common = having >= COMMON_FROM && having.saturating_mul(COMMON_SHARE) > total;
    // A word that no resource has distinguishes none.
    if is_common || having == 0 {
        return 0;
    }
    let rarity = ((total.max(having) + 1) as f64 / (having + 1) as f64).log2();
    1 + (rarity * COST_OF_HALF).min(MAX_COST) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarer_a_word_the_more_it_costs_to_lack_it() {
        assert_eq!(cost_of_lacking(300, 1_000), 0);
        assert_eq!(cost_of_lacking(200, 1_000), 19);
        assert_eq!(cost_of_lacking(1, 1_000), 72);
        assert_eq!(cost_of_lacking(0, 1_000), 0);
        // A few resources are too few to say that a word is common.
        assert_eq!(cost_of_lacking(3, 3), 1);
    }
}
