//! Ranked search: orders the matches of a text query. It knows no filters.
//!
//! The order: what lacks the least of the words, the fewest typos, then the closeness of the words (whole words, parts
//! of names, forms, compounds, words that continue, synonyms), then BM25 with the weights of the fields, times the
//! nearness of the words in titles and the boosts of the query, then the newest, then the id. Resources that are too
//! far away to be on the page are not scored, because bitmaps give the distance of each. For each word, only the number
//! of occurrences of its closest form counts: in a resource with `server`, `servers` adds nothing. Words that begin
//! with one character count once, however many a text has. Parts of names and other forms count half, parts also beside
//! whole words. In a resource that has only synonyms, their words count.
//!
//! The score of a resource depends only on the resources that exist: neither on the token, since the statistics of BM25
//! count drafts as well, nor on the runs, since they count no outdated documents. So two servers with the same
//! resources order them equally, whatever they have merged. The statistics are integers, and the scores of fields and
//! words are added in the same order for every resource, so scores are equal to the bit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::boost::Boosts;
use super::nearness::Nearness;
use super::scores::{Competition, ROUNDED, ScoredSlots, most_of};
use super::text_search::{FoundToken, TextSearch};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::text_query::closeness::{FORM, PART, SYNONYM, WHOLE, distance_of};

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

impl<'a> TextSearch<'a> {
    /// Returns the first `count` of the slots, which must be among the matches: those that are pinned at their places,
    /// and between them the others by their scores.
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
        let by_synonyms = self.only_by_synonyms(all)?;
        let most = most_of(&self.scored_parts(&self.ways(all)?, &by_synonyms)?);
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
        let (nearness, boosts) = (self.nearness()?, self.boosts());
        let ScoredSlots { slots, scores } = self.best(&nearest, count, nearness.as_ref(), boosts.as_ref())?;
        let key = |slot: u32, score: f32| {
            let boost = boosts.as_ref().map_or(1.0, |boosts| boosts.of(slot));
            let distance = nearest.distances.as_ref().map_or(0, |distances| distances.of(slot));
            key_of(distance, score * boost)
        };
        let mut ranked: Vec<(u64, u32)> = Vec::with_capacity(slots.count());
        ranked.extend(slots.iter().zip(&scores).map(|(slot, &score)| (key(slot, score), slot)));
        if let Some(mut nearness) = nearness {
            let contenders = self.at_best(&nearness, ranked, count);
            let with_nearness = |slot: u32| {
                let score = slots.rank(slot).map_or(0.0, |rank| scores[rank]);
                key(slot, score * nearness.of(self, slot))
            };
            ranked = keep_first_of(contenders, count, with_nearness);
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

    /// Returns the slots that can be among the first `count`, each with its key at best, the best first.
    fn at_best(&self, nearness: &Nearness<'_>, mut ranked: Vec<(u64, u32)>, count: usize) -> Vec<(u64, u32)> {
        let at_best = |&(key, slot): &(u64, u32)| {
            let most = nearness.most(self, slot) * ROUNDED;
            key_of(distance_in(key), score_of(key) * most)
        };
        keep_first(&mut ranked, count, at_best);
        let mut all: Vec<(u64, u32)> = ranked.iter().map(|of| (at_best(of), of.1)).collect();
        all.sort_unstable();
        all
    }

    /// Scores the slots that can be among the first `count`.
    fn best(
        &self,
        nearest: &NearestSlots,
        count: usize,
        nearness: Option<&Nearness<'_>>,
        boosts: Option<&Boosts<'_>>,
    ) -> Result<ScoredSlots, Error> {
        let NearestSlots { closer, farthest, .. } = nearest;
        let mut all = farthest.clone();
        all.union(closer);
        let wanted = count.saturating_sub(closer.count());
        let thresholds = &self.context.options.thresholds;
        let compete = farthest.count();
        if wanted == 0 || compete < thresholds.compared_from || wanted > compete / thresholds.compared_share {
            return self.scored(all, None);
        }
        let mut kept = closer.clone();
        nearness.into_iter().for_each(|nearness| kept.union(nearness.slots()));
        let boost = boosts.map_or(1.0, Boosts::most);
        self.scored(all, Some(&Competition { wanted, closer, kept, boost }))
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

    /// Returns the slots that have a token only in ways that make a distance. `titled` are those of
    /// [`TextSearch::titled`].
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

/// Removes slots whose key is greater than those of `count` others even if `at_best` is its key. Keeps all that are as
/// good as the last wanted one: their dates decide.
fn keep_first(ranked: &mut Vec<(u64, u32)>, count: usize, at_best: impl Fn(&(u64, u32)) -> u64) {
    if count < ranked.len() {
        let (_, &mut (last, _), _) = ranked.select_nth_unstable(count);
        ranked.retain(|of| at_best(of) <= last);
    }
}

/// Returns slots with their keys, beginning with those whose key is least at best, until none of the others can be
/// among the first `count`. So as few as possible are computed.
fn keep_first_of(at_best: Vec<(u64, u32)>, count: usize, mut key: impl FnMut(u32) -> u64) -> Vec<(u64, u32)> {
    let mut kept = Vec::new();
    let mut first = BinaryHeap::new();
    for (at_best, slot) in at_best {
        if first.len() == count && first.peek().is_none_or(|last| *last < at_best) {
            break;
        }
        let key = key(slot);
        kept.push((key, slot));
        first.push(key);
        if first.len() > count {
            first.pop();
        }
    }
    kept
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;
