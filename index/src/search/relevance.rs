//! Ranked search: orders the matches of a text query. It knows no filters.
//!
//! The order: what lacks the least of the words, the fewest typos, then the closeness of the words (whole words, parts of names,
//! forms, compounds, words that continue, synonyms), then BM25 with the weights of the fields, times the nearness of the words in
//! titles and the boosts of the query, then the newest, then the id. Resources that are too far away to be on the page are not scored, because bitmaps give
//! the distance of each. Nor are those that cannot score high enough, because they have the words only in unimportant
//! fields. For each word, only the number of occurrences of its closest form counts: in a resource with `server`,
//! `servers` adds nothing. How often a text has words that begin with one character does not count. Parts of names and other forms count half, parts also beside whole words. In a resource that has only synonyms, their words
//! count.
//!
//! The score of a resource depends only on the resources that exist: neither on the token, since the statistics of BM25
//! count drafts as well, nor on the runs, since they count no outdated documents. So two servers with the same resources
//! order them equally, whatever they have merged. The statistics are integers, and the scores of fields and words are added
//! in the same order for every resource, so scores are equal to the bit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use tantivy::query::Bm25Weight;

use super::boost::Boosts;
use super::text_search::{FoundToken, SearchedField, TextSearch, TokensInRun};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::run::{NumberedRun, RunNumber};
use crate::text_query::closeness::{Closeness, FORM, PART, SYNONYM, WHOLE, distance_of};

/// The share of a whole word that a part of a name, or another form, counts.
const SHARE: f32 = 0.5;
/// The number of times that fields of less weight are added.
const LEADING_FIELDS: usize = 2;

/// The ways in which candidates have a token, the closest first, each with the slots that have it so; `None` for all slots.
type Ways<'b> = Vec<(Closeness, Option<&'b Bitmap>)>;

/// Matches of a token that count in scores.
struct ScoredMatches<'b, 'a> {
    closeness: Closeness,
    /// The matches, all in one field.
    found: &'b [TokensInRun<'a>],
    /// Sets of slots: a match counts in those that are in one of them. `None` stands for all slots.
    within: Vec<Option<&'b Bitmap>>,
}

/// The place of a resource among those of several indexes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The distance from the question: what it lacks of the words, and how far its words are from those asked for.
    pub distance: u32,
    /// The score, as a share of an upper bound for this question in this index, before nearness and boosts.
    pub score: f32,
}

/// The first matches of a text query.
pub(super) struct Ranked {
    pub(super) first: Vec<(u32, Rank)>,
    /// The slots that are pinned, each with its place.
    pub(super) pinned: Vec<(u32, u64)>,
}

/// The slots that may be on the page.
struct NearestSlots {
    /// The slots that are certainly on the page, because they are closer than the others; fewer than requested.
    closer: Bitmap,
    /// The slots of which only the best are on the page. They are all equally far, unless all matches are requested.
    farthest: Bitmap,
    /// The distances of the slots from the query; `None` if all are equally far.
    distances: Option<Distances>,
}

/// The distances of slots from the query.
struct Distances {
    slots: RankBitmap,
    /// The distances by rank in `slots`.
    by_rank: Vec<u32>,
}

/// The scores of these slots.
pub(super) struct ScoredSlots {
    pub(super) slots: RankBitmap,
    /// The scores by rank in `slots`.
    pub(super) scores: Vec<f32>,
}

impl<'a> TextSearch<'a> {
    /// Returns the first `count` of the slots, which must be among the matches: those that are pinned at their places, and
    /// between them the others by their scores.
    pub(super) fn first(&self, slots: &Bitmap, count: usize) -> Result<Vec<u32>, Error> {
        let mut pinned: VecDeque<(u32, u64)> =
            self.pinned.iter().copied().filter(|(slot, _)| slots.contains(*slot)).collect();
        if pinned.is_empty() {
            return Ok(self.first_by_score(slots, count)?.into_iter().map(|(_, slot)| slot).collect());
        }
        let mut others = slots.clone();
        others.subtract(&pinned.iter().map(|(slot, _)| *slot).collect());
        let mut others = match others.is_empty() {
            true => Vec::new(),
            false => self.first_by_score(&others, count)?,
        }
        .into_iter()
        .map(|(_, slot)| slot);
        let mut first = Vec::new();
        while first.len() < count {
            let place = first.len() as u64 + 1;
            let is_due = pinned.front().is_some_and(|(_, position)| *position <= place);
            let other = if is_due { None } else { others.next() };
            let Some(next) = other.or_else(|| Some(pinned.pop_front()?.0)) else { break };
            first.push(next);
        }
        Ok(first)
    }

    /// Returns the first `count` of the slots that are not pinned, each with what orders it against resources of other
    /// indexes, and the slots that are pinned, by place.
    pub(super) fn ranked(&self, slots: &Bitmap, count: usize) -> Result<Ranked, Error> {
        let pinned: Vec<(u32, u64)> = self.pinned.iter().copied().filter(|(slot, _)| slots.contains(*slot)).collect();
        let mut others = slots.clone();
        others.subtract(&pinned.iter().map(|(slot, _)| *slot).collect());
        if others.is_empty() || count == 0 {
            return Ok(Ranked { first: Vec::new(), pinned });
        }
        let all = &self.coverage()?.found;
        let most = self.most(|_| true, &self.ways(all)?, all)?;
        let rank = |(key, slot): (u64, u32)| {
            let share = if most > 0.0 { score_of(key) / most } else { 0.0 };
            (slot, Rank { distance: distance_in(key), score: share })
        };
        let first = self.first_by_score(&others, count)?.into_iter().map(rank).collect();
        Ok(Ranked { first, pinned })
    }

    /// Returns the first `count` of the slots by their scores, each with its key, which is less for a better one.
    fn first_by_score(&self, slots: &Bitmap, count: usize) -> Result<Vec<(u64, u32)>, Error> {
        let nearest = self.nearest(slots, count)?;
        let ScoredSlots { slots, scores } = match self.leaders(&nearest, count)? {
            Some(leaders) => leaders,
            None => {
                let mut all = nearest.closer;
                all.union(&nearest.farthest);
                self.scored(all)?
            }
        };
        let boosts = self.boosts();
        let key = |slot: u32, score: f32| {
            let boost = boosts.as_ref().map_or(1.0, |boosts| boosts.of(slot));
            let distance = nearest.distances.as_ref().map_or(0, |distances| distances.of(slot));
            key_of(distance, score * boost)
        };
        let mut ranked: Vec<(u64, u32)> = Vec::with_capacity(slots.count());
        ranked.extend(slots.iter().zip(&scores).map(|(slot, &score)| (key(slot, score), slot)));
        if let Some(mut nearness) = self.nearness()? {
            // Reads the titles of those only that could become one of the first.
            let at_best = |&(key, slot): &(u64, u32)| key_of(distance_in(key), score_of(key) * nearness.most(slot));
            keep_first(&mut ranked, count, at_best);
            for (key_here, slot) in &mut ranked {
                let score = slots.rank(*slot).map_or(0.0, |rank| scores[rank]);
                *key_here = key(*slot, score * nearness.of(self, *slot));
            }
        }
        keep_first(&mut ranked, count, |(key, _)| *key);
        self.interrupt.check()?;
        ranked.sort_by_cached_key(|&(key, slot)| {
            let row = self.version.rows.get(slot);
            (key, Reverse(row.created), Reverse(row.id))
        });
        ranked.truncate(count);
        Ok(ranked)
    }

    /// Returns scored slots that include the first `count`, if they can be found without scoring most of the nearest.
    ///
    /// Few of the articles with a frequent word have it in the title, where it counts most. If enough of these score
    /// higher than any article without it in the title can, no others have to be scored.
    fn leaders(&self, nearest: &NearestSlots, count: usize) -> Result<Option<ScoredSlots>, Error> {
        let NearestSlots { closer, farthest, .. } = nearest;
        let all = farthest.count();
        let wanted = count.saturating_sub(closer.count());
        let thresholds = &self.context.options.thresholds;
        if all < thresholds.leaders_from || wanted == 0 {
            return Ok(None);
        }
        let boosts = self.boosts();
        let mut weights: Vec<f32> = self.fields.iter().map(|field| field.of.weight).collect();
        weights.sort_unstable_by(|one, other| other.total_cmp(one));
        weights.dedup();
        // Removes the least weight, because with it no field would be left out.
        weights.pop();
        let ways = self.ways(farthest)?;
        for least in weights.into_iter().take(LEADING_FIELDS) {
            let leads = |found: &&TokensInRun<'_>| self.fields[found.field].of.weight >= least;
            let matches = self.required.iter().zip(&ways).flat_map(|(token, ways)| scored_matches(token, ways));
            let synonyms = self.row_synonyms.iter().flat_map(|synonyms| &synonyms.words);
            let found = matches.flat_map(|matches| matches.found).chain(synonyms.flat_map(FoundToken::all_found));
            let mut leading = self.slots_of(found.filter(leads))?;
            leading.intersect(farthest);
            let some = leading.count();
            if some > all / thresholds.leading_share {
                return Ok(None);
            }
            if some < wanted {
                continue;
            }
            let bound =
                self.most(|weight| weight < least, &ways, farthest)? * boosts.as_ref().map_or(1.0, Boosts::most);
            if self.most(|weight| weight >= least, &ways, farthest)? < bound * thresholds.least_lead {
                continue;
            }
            let mut with_closer = leading.clone();
            with_closer.union(closer);
            let scored = self.scored(with_closer)?;
            let boosted = |slot, score: f32| score * boosts.as_ref().map_or(1.0, |boosts| boosts.of(slot));
            let is_better = |(slot, score): (u32, &f32)| leading.contains(slot) && boosted(slot, *score) > bound;
            if scored.slots.iter().zip(&scored.scores).filter(|of| is_better(*of)).count() >= wanted {
                return Ok(Some(scored));
            }
        }
        Ok(None)
    }

    /// Returns an upper bound of the score from all fields whose weight satisfies `weights`, for any of the slots, which have the
    /// tokens in these ways.
    fn most(&self, weights: impl Fn(f32) -> bool, ways: &[Ways<'_>], slots: &Bitmap) -> Result<f32, Error> {
        let mut sum = 0.0;
        for (token, ways) in self.required.iter().zip(ways) {
            // Only the closest form of a word counts.
            let mut by_closeness: BTreeMap<Closeness, f32> = BTreeMap::new();
            for ScoredMatches { closeness, found, .. } in scored_matches(token, ways) {
                let field = &self.fields[found[0].field];
                if weights(field.of.weight) {
                    // The bound is reached by a short text that consists only of the token.
                    let most = field.of.weight * field.bm25(found, self.interrupt)?.score(0, u32::MAX);
                    *by_closeness.entry(closeness).or_default() += most;
                    // Parts count beside whole words, too.
                    if closeness == PART {
                        *by_closeness.entry(WHOLE).or_default() += most;
                    }
                }
            }
            sum += by_closeness.into_values().fold(0.0, f32::max);
        }
        for synonyms in &self.row_synonyms {
            if !self.slots_of_row_synonyms(synonyms)?.meets(slots) {
                continue;
            }
            for found in synonyms.words.iter().flat_map(|word| equal_parts(&word.found)) {
                let field = &self.fields[found[0].field];
                if weights(field.of.weight) {
                    sum += field.of.weight * field.bm25(found, self.interrupt)?.score(0, u32::MAX);
                }
            }
        }
        // Sums of floats have rounding errors, which are smaller than this.
        Ok(sum * 1.001)
    }

    /// Scores these slots.
    pub(super) fn scored(&self, slots: Bitmap) -> Result<ScoredSlots, Error> {
        let slots = RankBitmap::of(slots);
        let mut scores = vec![0f32; slots.count()];
        let mut of_runs = BTreeMap::new();
        for (token, ways) in self.required.iter().zip(self.ways(slots.members())?) {
            for ScoredMatches { closeness, found, within } in scored_matches(token, &ways) {
                let share = if [PART, FORM].contains(&closeness) { SHARE } else { 1.0 };
                self.score_found(found, share, &within, &slots, &mut of_runs, &mut scores)?;
            }
        }
        for (synonyms, only) in self.only_by_synonyms(slots.members())? {
            for found in synonyms.words.iter().flat_map(|word| equal_parts(&word.found)) {
                self.score_found(found, 1.0, &[Some(&only)], &slots, &mut of_runs, &mut scores)?;
            }
        }
        Ok(ScoredSlots { slots, scores })
    }

    /// Returns the slots that are close enough to be among the first `count`.
    fn nearest(&self, slots: &Bitmap, count: usize) -> Result<NearestSlots, Error> {
        let mut far = Bitmap::default();
        let loose = || self.required.iter().filter(|token| token.wanted.has_degrees());
        let titled = self.titled()?;
        for token in loose() {
            far.union(&self.far_of(token, &titled)?);
        }
        let lacked = self.lacked_words()?;
        for word in &lacked {
            let mut lacking = slots.clone();
            lacking.subtract(&word.having);
            far.union(&lacking);
        }
        let by_synonyms = self.only_by_synonyms(slots)?;
        by_synonyms.iter().for_each(|(_, only)| far.union(only));
        let mut nearest = slots.clone();
        nearest.subtract(&far);
        if far.is_empty() || nearest.count() >= count {
            return Ok(NearestSlots { closer: Bitmap::default(), farthest: nearest, distances: None });
        }
        // At most one word of a query may continue, so the sum orders by typos first.
        let mut distances = Distances::zero(slots.clone());
        for word in lacked {
            let mut lacking = slots.clone();
            lacking.subtract(&word.having);
            distances.add(&lacking, word.distance, self.interrupt)?;
        }
        for token in loose() {
            for group in self.groups(token) {
                let (closeness, having) = group?;
                let mut here = slots.clone();
                here.intersect(having);
                if closeness == FORM {
                    here.subtract(&titled);
                }
                distances.add(&here, distance_of(closeness), self.interrupt)?;
            }
        }
        for (_, only) in by_synonyms {
            distances.add(&only, distance_of(SYNONYM), self.interrupt)?;
        }
        let mut counts = BTreeMap::new();
        distances.by_rank.iter().for_each(|distance| *counts.entry(*distance).or_insert(0usize) += 1);
        let mut so_far = 0;
        let farthest = counts.iter().find_map(|(distance, here)| {
            so_far += here;
            (so_far >= count).then_some(*distance)
        });
        let (closer, farthest) = match farthest {
            None => (Bitmap::default(), slots.clone()),
            Some(farthest) => {
                let having = |is_wanted: &dyn Fn(u32) -> bool| {
                    let found = slots.iter().zip(&distances.by_rank).filter(|(_, distance)| is_wanted(**distance));
                    found.map(|(slot, _)| slot).collect()
                };
                (having(&|distance| distance < farthest), having(&|distance| distance == farthest))
            }
        };
        Ok(NearestSlots { closer, farthest, distances: Some(distances) })
    }

    /// Returns the slots that have a token only in ways that make a distance. `titled` are those of [`TextSearch::titled`].
    fn far_of(&self, token: &FoundToken<'a>, titled: &Bitmap) -> Result<Bitmap, Error> {
        let mut far = self.slots_of_token(token)?.clone();
        for near in [WHOLE, PART] {
            if let Some(slots) = self.group(token, near)? {
                far.subtract(slots);
            }
        }
        if far.meets(titled)
            && let Some(forms) = self.group(token, FORM)?
        {
            let mut near = forms.clone();
            near.intersect(titled);
            far.subtract(&near);
        }
        Ok(far)
    }

    /// Returns the ways in which candidates have each required token.
    fn ways(&self, candidates: &Bitmap) -> Result<Vec<Ways<'_>>, Error> {
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

    /// Adds the score of tokens that were found in one field, times `factor`, to those of the candidates that are in one of the sets,
    /// of which `None` has all. `scores` are by the ranks of the candidates. `of_runs` caches the candidates' documents.
    fn score_found(
        &self,
        found: &[TokensInRun<'a>],
        factor: f32,
        within: &[Option<&Bitmap>],
        candidates: &RankBitmap,
        of_runs: &mut BTreeMap<RunNumber, RankBitmap>,
        scores: &mut [f32],
    ) -> Result<(), Error> {
        let field = &self.fields[found[0].field];
        let weight = field.bm25(found, self.interrupt)?;
        for TokensInRun { is_fallback, run: numbered, tokens, .. } in found {
            let NumberedRun { run, number, .. } = numbered;
            let steps = run.length_steps(field.of.column);
            let nulls = field.fallback.as_ref().filter(|_| *is_fallback).map(|fallback| &fallback.nulls);
            let documents =
                of_runs.entry(*number).or_insert_with(|| RankBitmap::of(numbered.current_in(candidates.members())));
            run.each_counted(tokens, documents, self.interrupt, |document, count| {
                let slot = run.slot(document);
                let is_in = |slots: Option<&Bitmap>| slots.is_none_or(|slots| slots.contains(slot));
                let is_within = || within.iter().any(|slots| is_in(*slots)) && is_in(nulls);
                if let Some(rank) = candidates.rank(slot).filter(|_| is_within()) {
                    scores[rank] += factor * field.of.weight * weight.score(steps.get(document), count);
                }
            })?;
        }
        Ok(())
    }
}

impl Distances {
    fn zero(slots: Bitmap) -> Distances {
        let slots = RankBitmap::of(slots);
        Distances { by_rank: vec![0; slots.count()], slots }
    }

    fn of(&self, slot: u32) -> u32 {
        self.slots.rank(slot).map_or(0, |rank| self.by_rank[rank])
    }

    /// Adds to the distances of some slots.
    fn add(&mut self, slots: &Bitmap, more: u32, interrupt: &Interrupt<'_>) -> Result<(), Error> {
        let Distances { slots: known, by_rank } = self;
        let check = || interrupt.check();
        slots.each(check, |slot| {
            if let Some(rank) = known.rank(slot) {
                by_rank[rank] = by_rank[rank].saturating_add(more);
            }
        })
    }
}

/// Returns a key by which closer slots come first, then higher scores.
fn key_of(distance: u32, score: f32) -> u64 {
    // The bits of non-negative floats are ordered as the floats are.
    u64::from(distance) << 32 | u64::from(!score.max(0.0).to_bits())
}

/// Returns the distance that a key was made of.
fn distance_in(key: u64) -> u32 {
    (key >> 32) as u32
}

/// Returns the score that a key was made of.
fn score_of(key: u64) -> f32 {
    f32::from_bits(!(key as u32))
}

/// Removes slots whose key is greater than those of `count` others even if `at_best` is its key. Keeps all that are as good as the
/// last wanted one: their dates decide.
fn keep_first(ranked: &mut Vec<(u64, u32)>, count: usize, at_best: impl Fn(&(u64, u32)) -> u64) {
    if count < ranked.len() {
        let (_, &mut (last, _), _) = ranked.select_nth_unstable(count);
        ranked.retain(|of| at_best(of) <= last);
    }
}

/// Groups the matches of a token by field and closeness.
fn equal_parts<'b, 'a>(found: &'b [TokensInRun<'a>]) -> impl Iterator<Item = &'b [TokensInRun<'a>]> {
    found.chunk_by(|a, b| (a.field, a.tokens.closeness) == (b.field, b.tokens.closeness))
}

/// Returns the matches of a token that count in the scores of candidates which have it in these ways. In each candidate, those of its
/// closest way count; parts of names also count beside whole words.
fn scored_matches<'b, 'a>(
    token: &'b FoundToken<'a>,
    ways: &[(Closeness, Option<&'b Bitmap>)],
) -> impl Iterator<Item = ScoredMatches<'b, 'a>> {
    let own = equal_parts(&token.found).map(|found| (found[0].tokens.closeness, found));
    let others = token.others().flat_map(|(way, other)| equal_parts(&other.found).map(move |found| (way, found)));
    own.chain(others).filter_map(|(closeness, found)| {
        let counts = |way: Closeness| way == closeness || (closeness == PART && way == WHOLE);
        let within: Vec<_> = ways.iter().filter(|(way, _)| counts(*way)).map(|(_, slots)| *slots).collect();
        (!within.is_empty()).then_some(ScoredMatches { closeness, found, within })
    })
}

impl SearchedField<'_> {
    /// Returns the BM25 weight of tokens that were found in this field.
    fn bm25(&self, found: &[TokensInRun<'_>], interrupt: &Interrupt<'_>) -> Result<Bm25Weight, Error> {
        let lengths = self.lengths();
        let mut having = 0;
        for found in found {
            having += found.count(interrupt)? as u64;
        }
        // A document with a token has a length, unless a file is damaged; BM25 panics on more documents with a token than
        // documents.
        let documents = lengths.documents.max(having).max(1);
        let average = lengths.tokens.max(1) as f32 / documents as f32;
        Ok(Bm25Weight::for_one_term_without_explain(having, documents, average))
    }
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;
