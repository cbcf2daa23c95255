//! Tests of the order by relevance. Only the engine computes scores, but every page must be part of one order, and no
//! resource may come before one that is closer to the query, unless it is pinned.

use super::*;

pub(super) fn check(snapshot: &Snapshot, oracle: &Oracle, query: &Query, expected: &[u128]) {
    let by_relevance = SortKey { by: SortBy::Relevance, descending: true };
    let ranked = Query { sort: vec![by_relevance], ..query.clone() };
    let Some(text) = ranked.ranks_by() else { return };
    let page = |offset: usize, limit: usize| {
        let found = snapshot.search(&ranked, offset as u64, limit).unwrap();
        assert_eq!(found.total, expected.len() as u64, "{query:?}");
        found.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    let all = page(0, usize::MAX);
    assert_eq!(IdSet::of(all.clone()), IdSet::of(expected.to_vec()), "{query:?}");
    let is_pinned = |id: &u128| text.pins.iter().any(|pin| pin.id == *id);
    let others: Vec<u128> = all.iter().copied().filter(|id| !is_pinned(id)).collect();
    assert_eq!(all, with_pins(&others, text, expected), "{query:?}");
    let distances = oracle.distances_from(query.variant, text);
    let distances: Vec<u64> = others.iter().map(|id| distances[id]).collect();
    assert!(distances.is_sorted(), "{distances:?} {query:?}");
    for (offset, limit) in [(0, 1), (0, 2), (1, 2), (2, 5), (5, 3)] {
        let end = all.len().min(offset + limit);
        assert_eq!(page(offset, limit), all.get(offset..end).unwrap_or_default(), "{offset}, {limit}: {query:?}");
    }
}

/// Puts the pinned resources of the list at their places, or behind the others if there are too few before them.
fn with_pins(others: &[u128], text: &TextQuery, list: &[u128]) -> Vec<u128> {
    let mut placed = others.to_vec();
    let mut least = 0;
    for pin in text.pins.iter().filter(|pin| list.contains(&pin.id)) {
        let place = (pin.position as usize - 1).max(least).min(placed.len());
        placed.insert(place, pin.id);
        least = place + 1;
    }
    placed
}
