//! Filters on the columns of a copy: turns an operator and a column's kind into a predicate. Must not know fields.

use bindery_index::{Filter, IdSet, Kind, Predicate, Range};
use bindery_model::error::Error;
use bindery_model::id::ResourceId;

use super::super::instant;
use super::condition::{Condition, not};
use super::operator::Test;
use super::value::{closed, decimal, one_sided};
use crate::projection::ColumnRef;

/// The number of ids up to which each becomes its own condition, which the index caches.
const FEW_IDS: usize = 16;

/// Returns the filter of the operator's test on a column.
pub(super) fn column(condition: &Condition, column: &ColumnRef) -> Result<Filter, Error> {
    let value = condition.value;
    Ok(match condition.operator.test {
        Test::Equals => equals(condition, column, value)?,
        Test::OneOf => one_of(condition, column)?,
        test @ (Test::Gt | Test::Gte | Test::Lt | Test::Lte) => {
            Filter::Column(column.id, compare(test, condition, column)?)
        }
        Test::Between => between(condition, column)?,
        Test::Substring(anchor) => Filter::Column(column.id, Predicate::Substring(anchor, value.to_owned())),
        Test::Has => has(column, value.to_owned()),
        Test::HasAny => has_any(condition, column)?,
        Test::HasAll => Filter::And(has_each(&condition.list()?, column)),
        Test::Null => null(condition, column)?,
        // Not reached: the scope answers this test itself, because it concerns the related blueprint.
        Test::Dangling => return Err(condition.not_a_boolean()),
    })
}

fn equals(condition: &Condition, column: &ColumnRef, value: &str) -> Result<Filter, Error> {
    let predicate = match (column.kind, value) {
        (Kind::Instant, _) => Predicate::Instant(exactly(micros(condition, value)?)),
        (Kind::Bool, "1") => Predicate::Equals("true".to_owned()),
        (Kind::Bool, "0") => Predicate::Equals("false".to_owned()),
        _ => Predicate::Equals(value.to_owned()),
    };
    Ok(Filter::Column(column.id, predicate))
}

fn has(column: &ColumnRef, element: String) -> Filter {
    Filter::Column(column.id, Predicate::Has(element))
}

/// Returns conditions that a list contains each of the values.
fn has_each(values: &[String], column: &ColumnRef) -> Vec<Filter> {
    values.iter().map(|element| has(column, element.clone())).collect()
}

fn has_any(condition: &Condition, column: &ColumnRef) -> Result<Filter, Error> {
    let values = condition.list()?;
    Ok(any_id(&values, column).unwrap_or_else(|| Filter::Or(has_each(&values, column))))
}

/// Returns the condition that a relation names one of many resources. Returns `None` if the column is not a relation,
/// or there are few values.
fn any_id(values: &[String], column: &ColumnRef) -> Option<Filter> {
    if values.len() <= FEW_IDS || column.field.related_blueprint().is_none() {
        return None;
    }
    // A value that is not an id matches nothing.
    let ids = values.iter().filter_map(|id| ResourceId::parse(id)).map(ResourceId::as_u128);
    Some(Filter::Column(column.id, Predicate::AnyId(IdSet::of(ids))))
}

fn null(condition: &Condition, column: &ColumnRef) -> Result<Filter, Error> {
    let null = Filter::Column(column.id, Predicate::Null);
    Ok(if condition.boolean()? { null } else { not(null) })
}

/// Returns the filter of `in`, which never matches a list.
fn one_of(condition: &Condition, column: &ColumnRef) -> Result<Filter, Error> {
    let values = condition.list()?;
    if column.kind == Kind::List {
        return Ok(Filter::Nothing);
    }
    if let Some(filter) = any_id(&values, column) {
        return Ok(filter);
    }
    let mut any = Vec::new();
    for value in values {
        any.push(equals(condition, column, &value)?);
    }
    Ok(if any.len() == 1 { any.remove(0) } else { Filter::Or(any) })
}

fn compare(test: Test, condition: &Condition, column: &ColumnRef) -> Result<Predicate, Error> {
    let value = condition.value;
    if column.kind == Kind::Instant {
        return Ok(Predicate::Instant(one_sided(test, micros(condition, value)?)));
    }
    Ok(match decimal(value) {
        Some(number) => Predicate::Number(one_sided(test, number)),
        None => Predicate::Text(one_sided(test, value.to_owned())),
    })
}

fn between(condition: &Condition, column: &ColumnRef) -> Result<Filter, Error> {
    let [from, to] = condition.pair()?;
    let predicate = if column.kind == Kind::Instant {
        closed(micros(condition, &from)?, micros(condition, &to)?).map(Predicate::Instant)
    } else if let (Some(from), Some(to)) = (decimal(&from), decimal(&to)) {
        closed(from, to).map(Predicate::Number)
    } else {
        closed(from, to).map(Predicate::Text)
    };
    Ok(predicate.map_or(Filter::Nothing, |predicate| Filter::Column(column.id, predicate)))
}

fn micros(condition: &Condition, value: &str) -> Result<i64, Error> {
    instant::micros(value).ok_or_else(|| condition.not_a_time(value))
}

fn exactly(micros: i64) -> Range<i64> {
    closed(micros, micros).expect("a number is not below itself")
}
