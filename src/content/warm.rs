//! Prepares the structures of an index that its first ranked search needs. In an index that was just rebuilt this may
//! take seconds, because it collects the words of texts that are not on disk yet. Must not know why an index is new.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_index::{Filter, Interrupt, Query, Snapshot, SortBy, SortKey, TextField, TextQuery, Words};
use bindery_model::blueprint::Blueprint;
use bindery_query::projection::{ranked_columns, schema};

use crate::data::state::State;

/// The longest time that a start waits for all indexes together. The first search prepares the rest.
const TIME: Duration = Duration::from_secs(60);

/// Prepares all indexes. Calls `report` with the number of prepared indexes and of all.
pub(crate) fn warm(state: &State, report: &dyn Fn(u64, u64)) {
    let until = Instant::now() + TIME;
    let all = state.blueprints.len() as u64;
    for (done, collection) in (1..).zip(state.blueprints.values()) {
        warm_index(&collection.blueprint, &collection.snapshot, until);
        report(done, all);
    }
}

/// Prepares the index of a blueprint, until the time `until`. Ignores errors: the first search reports them.
pub(crate) fn warm_index(blueprint: &Blueprint, snapshot: &Snapshot, until: Instant) {
    let columns = ranked_columns(blueprint);
    if columns.is_empty() || snapshot.total() == 0 {
        return;
    }
    let is_over = || Instant::now() >= until;
    let field = |&(column, weight): &_| TextField { column, weight, fallback: None };
    // Any word will do: a search for one word makes the index collect all words.
    let words = Arc::new(TextQuery::new(Words::parse("a", false), columns.iter().map(field).collect()));
    for variant in schema(blueprint).variants {
        let sort = vec![SortKey { by: SortBy::Relevance, descending: true }];
        let query = Query { variant: variant.number, filter: Filter::Words(Arc::clone(&words)), sort };
        let _ = snapshot.search_with(&query, 0, 1, &Interrupt::when(&is_over));
    }
}
