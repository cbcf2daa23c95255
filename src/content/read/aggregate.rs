//! Facets and statistics of an answer (`API.md` 4.2.7), computed from the resources found. Must not know how resources
//! are searched for.

use bindery_index::{self as index, Aggregates, FacetValue};
use bindery_model::error::{Code, Error};
use bindery_model::number::canonical;
use bindery_query::{Aggregation, Facet, Query, Stats};
use serde_json::{Map, Value, json};

use crate::data::state::Collection;
use crate::read::resolve::{Resolver, Result, StopReason, stopped};

/// The most bytes that all facet values of an answer may take.
const MAX_VALUE_BYTES: usize = 8 << 20;
/// The most periods of a facet by dates.
const MAX_PERIODS: usize = 100_000;

/// Returns the keys `facets` and `stats` of `meta`, if they were asked for.
///
/// # Errors
/// If a search fails or is interrupted, or the values are too large.
pub(super) fn aggregate(
    resolver: &Resolver<'_>,
    collection: &Collection,
    query: &Query,
    aggregation: &Aggregation,
    found: &index::MatchSet,
) -> Result<Map<String, Value>> {
    let snapshot = &collection.snapshot;
    let variant = query.copies.variant;
    let failed = |error| stopped(collection, error);
    let mut aggregates = snapshot.aggregates(found, variant, resolver.interrupt);
    let mut facets = Map::new();
    let mut bytes = 0;
    for facet in &aggregation.facets {
        let count = || match &facet.filter {
            None => facet_of(&mut aggregates, facet).map_err(failed),
            Some(filter) => {
                let found = resolver.find_visible(collection, query.copies, filter)?;
                let mut aggregates = snapshot.aggregates(&found, variant, resolver.interrupt);
                facet_of(&mut aggregates, facet).map_err(failed)
            }
        };
        let counted = resolver.step("facet", &facet.key, count, |facet| facet.distinct)?;
        bytes += counted.values.iter().map(|(value, _)| bytes_of(value)).sum::<usize>();
        check_size(facet, &counted, bytes).map_err(StopReason::Failed)?;
        facets.insert(facet.key.clone(), facet_json(counted));
    }
    let mut stats = Map::new();
    for of_field in &aggregation.stats {
        let total = found.len();
        let add_up = || stats_json(&mut aggregates, of_field, total).map_err(failed);
        stats.insert(of_field.key.clone(), resolver.step("stats", &of_field.key, add_up, |_| total)?);
    }
    let mut meta = Map::new();
    for (key, object, is_asked) in
        [("facets", facets, !aggregation.facets.is_empty()), ("stats", stats, !aggregation.stats.is_empty())]
    {
        if is_asked {
            meta.insert(key.to_owned(), Value::Object(object));
        }
    }
    Ok(meta)
}

fn facet_of(aggregates: &mut Aggregates<'_>, facet: &Facet) -> std::result::Result<index::Facet, index::Error> {
    aggregates.facet(facet.by, facet.fallback, facet.limit)
}

fn bytes_of(value: &FacetValue) -> usize {
    match value {
        FacetValue::Text(text) => text.len(),
        FacetValue::Number(_) | FacetValue::Bool(_) => 8,
    }
}

fn check_size(facet: &Facet, counted: &index::Facet, bytes: usize) -> std::result::Result<(), Error> {
    let key = &facet.key;
    let problem = if counted.values.len() > MAX_PERIODS {
        format!("the facet `{key}` has more than {MAX_PERIODS} values; count by a longer unit, or filter by a range")
    } else if bytes > MAX_VALUE_BYTES {
        format!("the values of the facets up to `{key}` have more than {MAX_VALUE_BYTES} bytes; ask for fewer")
    } else {
        return Ok(());
    };
    Err(Error::new(Code::InvalidParameter, problem))
}

fn facet_json(facet: index::Facet) -> Value {
    let values = facet.values.into_iter().map(|(value, count)| {
        let value = match value {
            FacetValue::Text(text) => Value::String(text),
            FacetValue::Number(number) => Value::Number(canonical(number)),
            FacetValue::Bool(value) => Value::Bool(value),
        };
        json!({ "value": value, "count": count })
    });
    json!({ "values": values.collect::<Vec<_>>(), "distinct": facet.distinct, "null": facet.null })
}

/// Returns the statistics as JSON. `total` counts all resources found, with and without a number in the field.
fn stats_json(
    aggregates: &mut Aggregates<'_>,
    of_field: &Stats,
    total: u64,
) -> std::result::Result<Value, index::Error> {
    let Stats { column, by, fallback, .. } = of_field;
    let number = |number: f64| Value::Number(canonical(number));
    let average = |stats: &index::Stats| number(stats.sum / stats.count as f64);
    let Some(by) = by else {
        return Ok(match aggregates.stats(*column, *fallback)? {
            None => json!({ "count": 0, "null": total, "min": null, "max": null, "sum": 0, "avg": null }),
            Some(stats) => json!({
                "count": stats.count, "null": total - stats.count,
                "min": number(stats.min), "max": number(stats.max), "sum": number(stats.sum), "avg": average(&stats),
            }),
        });
    };
    let mut left = total;
    let mut currencies = Map::new();
    for (currency, stats) in aggregates.stats_by(*column, *by, *fallback)? {
        left -= stats.count;
        let shown = json!({
            "count": stats.count,
            "min": number(stats.min), "max": number(stats.max), "sum": number(stats.sum), "avg": average(&stats),
        });
        currencies.insert(currency, shown);
    }
    Ok(json!({ "null": left, "currencies": currencies }))
}
