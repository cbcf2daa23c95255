//! Scores the matches of a text query by BM25 with the weights of the fields. It knows neither distances nor the
//! nearness of words.
//!
//! Scores are sums of parts: of one word, in one field, found in one way. The parts that can add most come first. If
//! only the best of many matches are wanted, those that cannot be among them, whatever the other parts add, are left
//! out after each part. Few of the articles with two frequent words have them in the title, where they count most, and
//! most of the others need not be looked for in the bodies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tantivy::query::Bm25Weight;

use super::text_search::{FoundToken, RowSynonyms, SearchedField, TextSearch, TokensInRun};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::run::{NumberedRun, RunNumber};
use crate::text_query::closeness::{Closeness, FORM, PART, SYNONYM, WHOLE};

/// The share of a whole word that a part of a name, or another form, counts.
const SHARE: f32 = 0.5;
/// Sums of floats have rounding errors, which are smaller than this.
pub(super) const ROUNDED: f32 = 1.001;

/// The ways in which candidates have a token, the closest first, each with the slots that have it so; `None` for all
/// slots.
pub(super) type Ways<'b> = Vec<(Closeness, Option<&'b Bitmap>)>;

/// The scores of these slots.
pub(super) struct ScoredSlots {
    pub(super) slots: RankBitmap,
    /// The scores by rank in `slots`.
    pub(super) scores: Vec<f32>,
}

/// Matches that count in scores: of one word, in one field, found in one way.
pub(super) struct ScoredPart<'b, 'a> {
    /// The number of the word. Of its parts, a resource has those of one closeness; but parts of names also count
    /// beside whole words.
    word: usize,
    closeness: Closeness,
    /// The matches, all in one field.
    found: &'b [TokensInRun<'a>],
    /// Sets of slots: a match counts in those that are in one of them. `None` stands for all slots.
    within: Vec<Option<&'b Bitmap>>,
    weight: Bm25Weight,
    /// An upper bound of what it adds to a score.
    most: f32,
}

/// The places that are wanted of many.
pub(super) struct Competition<'b> {
    /// The number of the best slots that are wanted beside `closer`.
    pub(super) wanted: usize,
    /// The slots that have a place anyway.
    pub(super) closer: &'b Bitmap,
    /// The slots that are kept, whatever their scores.
    pub(super) kept: Bitmap,
    /// An upper bound of the factor by which a score is multiplied later, which is at least 1.
    pub(super) boost: f32,
}

impl<'a> TextSearch<'a> {
    /// Scores these slots; if there are `places`, at least those that can have one.
    pub(super) fn scored(&self, slots: Bitmap, places: Option<&Competition<'_>>) -> Result<ScoredSlots, Error> {
        let by_synonyms = self.only_by_synonyms(&slots)?;
        let parts = self.scored_parts(&self.ways(&slots)?, &by_synonyms)?;
        let slots = RankBitmap::of(slots);
        let mut scored = ScoredSlots { scores: vec![0f32; slots.count()], slots };
        let mut of_runs = BTreeMap::new();
        for (part, added) in parts.iter().zip(1..) {
            self.add_part(part, &mut scored, &mut of_runs)?;
            if let Some(places) = places
                && let Some(left) = scored.left(places, most_of(&parts[added..]))
            {
                scored = left;
                of_runs.clear();
            }
            self.interrupt.check()?;
        }
        Ok(scored)
    }

    /// Returns the ways in which candidates have each required token.
    pub(super) fn ways(&self, candidates: &Bitmap) -> Result<Vec<Ways<'_>>, Error> {
        self.required.iter().map(|token| self.ways_of(token, candidates)).collect()
    }

    fn ways_of<'b>(&self, token: &'b FoundToken<'a>, candidates: &Bitmap) -> Result<Ways<'b>, Error> {
        if !token.wanted.has_degrees() {
            return Ok(vec![(WHOLE, None)]);
        }
        let mut rest = candidates.clone();
        rest.intersect(self.slots_of_token(token)?);
        let mut ways = Vec::new();
        let mut groups = self.groups(token);
        while !rest.is_empty()
            && let Some(group) = groups.next()
        {
            let (closeness, slots) = group?;
            if rest.meets(slots) {
                ways.push((closeness, Some(slots)));
                rest.subtract(slots);
            }
        }
        Ok(ways)
    }

    /// Returns the parts of the scores of slots that have the required words in these ways, or only by synonyms of
    /// rows. The order depends on nothing but the resources that exist.
    pub(super) fn scored_parts<'b>(
        &'b self,
        ways: &[Ways<'b>],
        by_synonyms: &'b [(&'b RowSynonyms<'a>, Bitmap)],
    ) -> Result<Vec<ScoredPart<'b, 'a>>, Error> {
        let mut parts = Vec::new();
        for (word, (token, ways)) in self.required.iter().zip(ways).enumerate() {
            let own = equal_parts(&token.found).map(|found| (found[0].tokens.closeness, found));
            let others =
                token.others().flat_map(|(way, other)| equal_parts(&other.found).map(move |found| (way, found)));
            for (closeness, found) in own.chain(others) {
                let counts = |way: Closeness| way == closeness || (closeness == PART && way == WHOLE);
                let within: Vec<_> = ways.iter().filter(|(way, _)| counts(*way)).map(|(_, slots)| *slots).collect();
                if !within.is_empty() {
                    parts.push(self.scored_part(word, closeness, found, within)?);
                }
            }
        }
        for ((synonyms, only), word) in by_synonyms.iter().zip(self.required.len()..) {
            let found = synonyms.words.iter().flat_map(|word| equal_parts(&word.found));
            for found in found.filter(|_| !only.is_empty()) {
                parts.push(self.scored_part(word, SYNONYM, found, vec![Some(only)])?);
            }
        }
        // Stable, so the order of parts that can add equally much does not change either.
        parts.sort_by(|one, other| other.most.total_cmp(&one.most));
        Ok(parts)
    }

    fn scored_part<'b>(
        &'b self,
        word: usize,
        closeness: Closeness,
        found: &'b [TokensInRun<'a>],
        within: Vec<Option<&'b Bitmap>>,
    ) -> Result<ScoredPart<'b, 'a>, Error> {
        let field = &self.fields[found[0].field];
        let weight = field.bm25(found, self.interrupt)?;
        // The bound is reached by a short text that consists only of the word.
        let most = field.of.weight * weight.score(0, u32::MAX);
        Ok(ScoredPart { word, closeness, found, within, weight, most })
    }

    /// Adds a part to the scores. `of_runs` caches the documents of the scored slots.
    fn add_part(
        &self,
        part: &ScoredPart<'_, 'a>,
        scored: &mut ScoredSlots,
        of_runs: &mut BTreeMap<RunNumber, RankBitmap>,
    ) -> Result<(), Error> {
        let ScoredPart { closeness, found, within, weight, .. } = part;
        let ScoredSlots { slots: candidates, scores } = scored;
        let field = &self.fields[found[0].field];
        let share = if [PART, FORM].contains(closeness) { SHARE } else { 1.0 };
        for TokensInRun { is_fallback, run: numbered, tokens, .. } in *found {
            let NumberedRun { run, number, .. } = numbered;
            let steps = run.length_steps(field.of.column);
            let nulls = field.fallback.as_ref().filter(|_| *is_fallback).map(|fallback| &*fallback.nulls);
            let documents =
                of_runs.entry(*number).or_insert_with(|| RankBitmap::of(numbered.current_in(candidates.members())));
            run.each_counted(tokens, documents, self.interrupt, |document, count| {
                let slot = run.slot(document);
                let is_in = |slots: Option<&Bitmap>| slots.is_none_or(|slots| slots.contains(slot));
                let is_within = || within.iter().any(|slots| is_in(*slots)) && is_in(nulls);
                if let Some(rank) = candidates.rank(slot).filter(|_| is_within()) {
                    scores[rank] += share * field.of.weight * weight.score(steps.get(document), count);
                }
            })?;
        }
        Ok(())
    }
}

impl ScoredSlots {
    /// Returns the slots that can still have a place, with their scores so far; `None` if that would not leave out most
    /// of them. `rest` is the most that scores can still get.
    fn left(&self, places: &Competition<'_>, rest: f32) -> Option<ScoredSlots> {
        let Competition { wanted, closer, kept, boost } = places;
        let so_far = self.scores.iter().fold(0f32, |best, score| best.max(*score));
        if rest == 0.0 || so_far <= rest {
            return None;
        }
        let last = self.worst_of_best(*wanted, closer)?;
        let is_left = |slot: u32, score: f32| (score + rest) * boost >= last || kept.contains(slot);
        let left = || {
            let scored = self.slots.iter().zip(self.scores.iter().copied());
            scored.filter(|(slot, score)| is_left(*slot, *score))
        };
        let count = left().count();
        if count > self.slots.count() / 2 {
            return None;
        }
        let (mut slots, mut scores) = (Bitmap::default(), Vec::with_capacity(count));
        left().for_each(|(slot, score)| {
            slots.insert(slot);
            scores.push(score);
        });
        Some(ScoredSlots { slots: RankBitmap::of(slots), scores })
    }

    /// Returns the least of the `wanted` best scores of slots that are not `closer`; `None` if there are fewer.
    fn worst_of_best(&self, wanted: usize, closer: &Bitmap) -> Option<f32> {
        let mut best = BinaryHeap::with_capacity(wanted + 1);
        let mut least = 0;
        let mut add = |score: &f32| {
            // The bits of non-negative floats are ordered as the floats are.
            let score = score.max(0.0).to_bits();
            if best.len() < wanted || score > least {
                best.push(Reverse(score));
                if best.len() > wanted {
                    best.pop();
                }
                least = best.peek().map_or(0, |Reverse(least)| *least);
            }
        };
        match closer.is_empty() {
            true => self.scores.iter().for_each(add),
            false => {
                let competing = self.slots.iter().zip(&self.scores).filter(|(slot, _)| !closer.contains(*slot));
                competing.for_each(|(_, score)| add(score));
            }
        }
        (best.len() == wanted).then(|| f32::from_bits(least))
    }
}

/// Returns an upper bound of the sum of parts, for any resource.
pub(super) fn most_of(parts: &[ScoredPart<'_, '_>]) -> f32 {
    let mut by_way: BTreeMap<(usize, Closeness), f32> = BTreeMap::new();
    for ScoredPart { word, closeness, most, .. } in parts {
        *by_way.entry((*word, *closeness)).or_default() += most;
        if *closeness == PART {
            *by_way.entry((*word, WHOLE)).or_default() += most;
        }
    }
    let mut by_word: BTreeMap<usize, f32> = BTreeMap::new();
    for ((word, _), most) in by_way {
        // Only the closest form of a word counts.
        let most_of_word = by_word.entry(word).or_default();
        *most_of_word = most_of_word.max(most);
    }
    by_word.into_values().sum::<f32>() * ROUNDED
}

/// Groups the matches of a token by field and closeness.
fn equal_parts<'b, 'a>(found: &'b [TokensInRun<'a>]) -> impl Iterator<Item = &'b [TokensInRun<'a>]> {
    found.chunk_by(|a, b| (a.field, a.tokens.closeness) == (b.field, b.tokens.closeness))
}

impl SearchedField<'_> {
    /// Returns the BM25 weight of tokens that were found in this field.
    fn bm25(&self, found: &[TokensInRun<'_>], interrupt: &Interrupt<'_>) -> Result<Bm25Weight, Error> {
        let lengths = self.lengths();
        let mut having = 0;
        for found in found {
            having += found.count(interrupt)? as u64;
        }
        // A document with a token has a length, unless a file is damaged; BM25 panics on more documents with a token
        // than documents.
        let documents = lengths.documents.max(having).max(1);
        let average = lengths.tokens.max(1) as f32 / documents as f32;
        Ok(Bm25Weight::for_one_term_without_explain(having, documents, average))
    }
}
