//! Compares facets, statistics and positions in an order with counting one by one.

use super::*;
use crate::period::{day_of_micros, day_of_millis};
use crate::query::{Facet, FacetBy, FacetValue, Period, Stats};
use crate::sum::ExactSum;

/// The facet value of a value: its text form and itself.
type TextAndValue = (String, FacetValue);

pub(super) fn check(snapshot: &Snapshot, oracle: &Oracle, query: &Query, expected: &[u128]) {
    let never = Interrupt::never();
    let found = snapshot.find(query.variant, &query.filter, &never).unwrap();
    let mut aggregates = snapshot.aggregates(&found, query.variant, &never);
    for column in [0, 3, 5, 7, UNKNOWN] {
        let own = |id: u128| oracle.value(id, query.variant, column).map(|(_, value)| value.clone());
        let count = |value: Option<Value>| value.map(|value| counted(&value, None)).unwrap_or_default();
        let by = FacetBy::Column(column);
        for limit in [1, 3, 100] {
            let facet = aggregates.facet(by, None, limit).unwrap();
            assert_eq!(facet, naive(expected, limit, |id| count(own(id))), "{column} {query:?}");
        }
        let monthly = aggregates.facet(FacetBy::Period(column, Period::Month), None, 1).unwrap();
        let instants = |id: u128| {
            let value = own(id).filter(|value| matches!(value, Value::Instant { .. }));
            value.map(|value| counted(&value, Some(Period::Month))).unwrap_or_default()
        };
        if oracle.schema.columns.iter().any(|known| known.id == column && known.kind == Kind::Instant) {
            let mut wanted = naive(expected, 100, instants);
            wanted.values.sort_by(|left, right| format!("{:?}", left.0).cmp(&format!("{:?}", right.0)));
            assert_eq!(monthly, wanted, "{query:?}");
        }
        let fallback = FallbackColumn { column, unless_null: 3, variant: 2 };
        if query.variant == 1 {
            let read = |id: u128| oracle.value_or(id, 1, fallback).map(|(_, value)| value.clone());
            let facet = aggregates.facet(by, Some(fallback), 3).unwrap();
            assert_eq!(facet, naive(expected, 3, |id| count(read(id))), "{column} or fallback {query:?}");
            assert_eq!(aggregates.stats(column, Some(fallback)).unwrap(), naive_stats(expected, read));
        }
        assert_eq!(aggregates.stats(column, None).unwrap(), naive_stats(expected, own), "{query:?}");
        let texts = |id: u128| match oracle.value(id, query.variant, 4) {
            Some((_, Value::Text(text))) => text.to_string(),
            _ => String::new(),
        };
        let is_text =
            oracle.schema.columns.iter().any(|known| known.id == 4 && matches!(known.kind, Kind::Text | Kind::Plain));
        if is_text && oracle.schema.columns.iter().any(|known| known.id == column) {
            let with_text = |id: &u128| matches!(oracle.value(*id, query.variant, 4), Some((_, Value::Text(_))));
            let known: Vec<u128> = expected.iter().copied().filter(with_text).collect();
            let mut wanted = BTreeMap::new();
            for text in known.iter().map(|id| texts(*id)) {
                let same: Vec<u128> = known.iter().copied().filter(|id| texts(*id) == text).collect();
                wanted.extend(naive_stats(&same, own).map(|stats| (text, stats)));
            }
            let mut by_text = aggregates.stats_by(column, 4, None).unwrap();
            // Numbers with no text beside them count under an empty text, which money never has.
            by_text.retain(|(text, _)| !text.is_empty());
            wanted.remove("");
            assert_eq!(by_text, wanted.into_iter().collect::<Vec<_>>(), "{query:?}");
        }
    }
    for date in [DateColumn::Created, DateColumn::Published] {
        let facet = aggregates.facet(FacetBy::Date(date, Period::Day), None, 1).unwrap();
        let name = |date: i64| Period::Day.name(day_of_millis(date));
        let read =
            |id| oracle.date(id, date).map(|date| (name(date), FacetValue::Text(name(date)))).into_iter().collect();
        assert_eq!(facet, naive(expected, 100, read), "{date:?} {query:?}");
    }
}

/// Checks the pages after each resource, and the neighbors of each.
pub(super) fn check_places(snapshot: &Snapshot, query: &Query, expected: &[u128], limit: usize) {
    let never = Interrupt::never();
    let found = snapshot.find(query.variant, &query.filter, &never).unwrap();
    for (at, &id) in expected.iter().enumerate() {
        let slot = snapshot.get(id).unwrap().slot;
        let position = snapshot.position(query, slot);
        let page = snapshot.page_behind(&found, query, &position, limit, &never).unwrap();
        let ids: Vec<u128> = page.hits.iter().map(|hit| hit.id).collect();
        let end = expected.len().min(at + 1 + limit);
        assert_eq!((page.total, &ids[..]), (expected.len() as u64, &expected[at + 1..end]), "{query:?}");
        let neighbors = snapshot.neighbors(&found, query, slot, &never).unwrap().unwrap();
        let beside = [neighbors.previous, neighbors.next].map(|hit| hit.map(|hit| hit.id));
        let previous = at.checked_sub(1).map(|before| expected[before]);
        assert_eq!(beside, [previous, expected.get(at + 1).copied()], "{query:?}");
        assert_eq!((neighbors.position, neighbors.total), (at as u64 + 1, expected.len() as u64));
    }
    for id in (0..24).filter(|id| !expected.contains(id)) {
        if let Some(hit) = snapshot.get(id) {
            assert_eq!(snapshot.neighbors(&found, query, hit.slot, &never).unwrap(), None);
        }
    }
}

fn counted(value: &Value, period: Option<Period>) -> Vec<TextAndValue> {
    let text = |text: &str| (text.to_owned(), FacetValue::Text(text.to_owned()));
    match value {
        Value::Number(number) => vec![(number_text(*number), FacetValue::Number(*number))],
        Value::Bool(value) => vec![(value.to_string(), FacetValue::Bool(*value))],
        Value::Instant { micros, .. } if period.is_some() => {
            vec![text(&period.unwrap().name(day_of_micros(*micros)))]
        }
        Value::List(elements) => {
            let elements: std::collections::BTreeSet<_> = elements.iter().collect();
            elements.into_iter().map(|element| text(element)).collect()
        }
        value => vec![text(&text_form(value))],
    }
}

fn naive(ids: &[u128], limit: usize, read: impl Fn(u128) -> Vec<TextAndValue>) -> Facet {
    let mut counts: BTreeMap<String, (FacetValue, u64)> = BTreeMap::new();
    let mut null = 0;
    for id in ids {
        let values = read(*id);
        null += u64::from(values.is_empty());
        for (text, value) in values {
            counts.entry(text).or_insert((value, 0)).1 += 1;
        }
    }
    let distinct = counts.len() as u64;
    // The sort is stable, so equally frequent values stay in the order of their texts.
    let mut values: Vec<(FacetValue, u64)> = counts.into_values().collect();
    values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    values.truncate(limit);
    Facet { values, distinct, null }
}

fn naive_stats(ids: &[u128], read: impl Fn(u128) -> Option<Value>) -> Option<Stats> {
    let numbers = ids.iter().filter_map(|id| match read(*id) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    });
    let numbers: Vec<f64> = numbers.collect();
    let mut sum = ExactSum::default();
    numbers.iter().for_each(|number| sum.add(*number));
    let min = numbers.iter().copied().reduce(f64::min)?;
    let max = numbers.iter().copied().reduce(f64::max)?;
    Some(Stats { count: numbers.len() as u64, min, max, sum: sum.rounded() })
}
