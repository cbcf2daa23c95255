//! One ranked list over several blueprints (`API.md` 4.17): the matches of each, and their common order. Must not know
//! how they are found.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bindery_index::{FEW_MATCHES, Hit, Rank, RankedHits, Snapshot};
use bindery_model::error::{Error, Result};
use bindery_query::Aggregation;
use serde_json::Value;

use crate::read::explain::Explanation;
use crate::read::list::ListRequest;
use crate::read::view::{View, ViewSearch};

/// The matches of one blueprint.
pub struct BlueprintMatches {
    found: RankedHits,
    /// The snapshot that was searched.
    snapshot: Snapshot,
    /// The weight of the blueprint.
    weight: f32,
    /// The explanation of the search, if it was asked for.
    pub explained: Option<Explanation>,
}

/// A match, by the position of its blueprint among those that were searched.
#[derive(Debug, Clone, Copy)]
pub struct RankedMatch {
    /// The position of the blueprint.
    pub blueprint: usize,
    hit: Hit,
}

/// The matches of all blueprints that are not pinned, merged: by distance, then by score, then the newest first, then
/// by id. A page may begin behind a million of them, so they are not copied.
struct CommonOrder<'a> {
    parts: &'a [BlueprintMatches],
    /// The next match of each blueprint that has one, the best on top.
    next: BinaryHeap<NextMatch>,
}

/// A match, greater than those that come after it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NextMatch {
    distance: Reverse<u32>,
    /// The bits of the score with the weight: those of non-negative floats are ordered as the floats are.
    score: u32,
    created: i64,
    id: u128,
    blueprint: Reverse<usize>,
    slot: u32,
    /// Its place in its blueprint.
    place: usize,
}

impl BlueprintMatches {
    /// Returns the number of matches.
    pub fn total(&self) -> u64 {
        self.found.total
    }

    /// Returns the number of matches that have all words.
    pub fn matched_all(&self) -> u64 {
        self.found.words.matched_all
    }

    /// Returns the match at a place among those that are not pinned.
    fn at(&self, place: usize, blueprint: usize) -> Option<NextMatch> {
        let (slot, Rank { distance, score }) = *self.found.first.get(place)?;
        let Hit { id, stamps, .. } = self.snapshot.hit(slot);
        let score = (score * self.weight).to_bits();
        let (distance, blueprint) = (Reverse(distance), Reverse(blueprint));
        Some(NextMatch { distance, score, created: stamps.created, id, blueprint, slot, place })
    }
}

impl View {
    /// Finds the matches of a list by relevance, at least those among the first `count`. Their scores are multiplied by
    /// `weight`.
    ///
    /// # Errors
    /// The errors of [`View::list_in_time`].
    pub async fn ranked_in_time(
        &self,
        request: &Arc<ListRequest>,
        count: usize,
        weight: f32,
    ) -> Result<BlueprintMatches> {
        let search = move |searching: &ViewSearch<'_>, request: &ListRequest| {
            request.explain_steering(searching.resolver);
            searching.run(|snapshot, interrupt| snapshot.ranked(searching.query, count, interrupt))
        };
        let (found, explained) =
            self.search(request, count as u64, &Aggregation::default(), request.is_explained, search).await?;
        Ok(BlueprintMatches { found, snapshot: self.collection.snapshot.clone(), weight, explained })
    }

    /// Returns a question with similar words that finds more in this blueprint than a list does, with the number of
    /// resources that have all of them.
    ///
    /// # Errors
    /// The errors of [`View::list_in_time`].
    pub async fn meant_in_time(
        &self,
        request: &Arc<ListRequest>,
        matches: &BlueprintMatches,
    ) -> Result<Option<(String, u64)>> {
        let matched_all = matches.matched_all();
        let search = move |searching: &ViewSearch<'_>, _: &ListRequest| {
            searching.run(|snapshot, interrupt| snapshot.meant(searching.query, matched_all, interrupt))
        };
        Ok(self.search(request, 0, &Aggregation::default(), false, search).await?.0)
    }

    /// Returns the resource objects of matches of this blueprint, as its list has them.
    ///
    /// # Errors
    /// The errors of [`View::list_in_time`].
    pub async fn show_matches(&self, request: &ListRequest, matches: &[RankedMatch]) -> Result<Vec<Value>> {
        let hits: Vec<Hit> = matches.iter().map(|found| found.hit).collect();
        let objects = self.objects(&hits, self.list_presentation(&request.params)).await?;
        serde_json::from_str(&format!("[{objects}]")).map_err(Error::internal)
    }
}

/// Returns the words, as they were asked for, that some of the matches lack, each once.
pub fn ignored_words(parts: &[BlueprintMatches]) -> Vec<String> {
    let mut ignored: Vec<String> = Vec::new();
    for word in parts.iter().flat_map(|part| &part.found.words.ignored) {
        if !ignored.contains(word) {
            ignored.push(word.clone());
        }
    }
    ignored
}

/// Returns a question that finds more in all blueprints together, if few resources have all words of this one. `lists`
/// are those of `parts`.
///
/// # Errors
/// The errors of [`View::list_in_time`].
pub async fn did_you_mean(lists: &[(View, Arc<ListRequest>)], parts: &[BlueprintMatches]) -> Result<Option<String>> {
    let matched_all: u64 = parts.iter().map(BlueprintMatches::matched_all).sum();
    if matched_all >= FEW_MATCHES as u64 {
        return Ok(None);
    }
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for ((view, request), part) in lists.iter().zip(parts) {
        match view.meant_in_time(request, part).await? {
            Some((question, count)) => *found.entry(question).or_default() += count,
            // The words stand in this blueprint as they were asked for.
            None if part.matched_all() > 0 => return Ok(None),
            None => {}
        }
    }
    let best = found.into_iter().filter(|(_, count)| *count > matched_all).max_by_key(|(_, count)| *count);
    Ok(best.map(|(question, _)| question))
}

/// Returns the matches at these places, from 0, in the common order of all blueprints. `parts` must have enough of
/// each.
pub fn in_common_order(parts: &[BlueprintMatches], places: Range<usize>) -> Vec<RankedMatch> {
    let pinned = parts
        .iter()
        .enumerate()
        .flat_map(|(blueprint, part)| part.found.pinned.iter().map(move |(slot, place)| ((blueprint, *slot), *place)));
    let mut pinned: Vec<((usize, u32), u64)> = pinned.collect();
    pinned.sort_by_key(|(_, place)| *place);
    let (mut pinned, mut others) = (VecDeque::from(pinned), CommonOrder::of(parts));
    let mut page = Vec::new();
    for place in 0..places.end {
        let is_due = pinned.front().is_some_and(|(_, due)| *due <= place as u64 + 1);
        let other = if is_due { None } else { others.next() };
        let Some((blueprint, slot)) = other.or_else(|| Some(pinned.pop_front()?.0)) else { break };
        if place >= places.start {
            page.push(RankedMatch { blueprint, hit: parts[blueprint].snapshot.hit(slot) });
        }
    }
    page
}

impl<'a> CommonOrder<'a> {
    fn of(parts: &'a [BlueprintMatches]) -> CommonOrder<'a> {
        let next = parts.iter().enumerate().filter_map(|(blueprint, part)| part.at(0, blueprint)).collect();
        CommonOrder { parts, next }
    }
}

impl Iterator for CommonOrder<'_> {
    type Item = (usize, u32);

    fn next(&mut self) -> Option<(usize, u32)> {
        let NextMatch { blueprint: Reverse(blueprint), slot, place, .. } = self.next.pop()?;
        self.next.extend(self.parts[blueprint].at(place + 1, blueprint));
        Some((blueprint, slot))
    }
}
