//! Tests of the order by relevance. Only the engine computes scores, but every page must be part of one order, and no
//! resource may come before one that is closer to the query.

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
    let distances = oracle.distances_from(query.variant, text);
    let distances: Vec<u64> = all.iter().map(|id| distances[id]).collect();
    assert!(distances.is_sorted(), "{distances:?} {query:?}");
    for (offset, limit) in [(0, 1), (0, 2), (1, 2), (2, 5), (5, 3)] {
        let end = all.len().min(offset + limit);
        assert_eq!(page(offset, limit), all.get(offset..end).unwrap_or_default(), "{offset}, {limit}: {query:?}");
    }
}
