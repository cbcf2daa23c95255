//! Filters on the three system dates and `published`: by UTC day, but for `between`.

use bindery_index::{Bound, DateColumn, Filter, Range};

use super::super::{instant, raw};
use super::column::pair;
use super::operator::Operator;
use super::value::closed;
use super::{Condition, asks_for_null, not, not_a_time};
use crate::model::error::Error;
use crate::model::time::{Millis, day_start, next_day_start};

/// `filter[published]`: published today or before. A value that is no boolean filters nothing.
pub(super) fn published(condition: &Condition, now: Millis) -> Filter {
    let Some(wanted) = raw::switch(condition.value) else { return Filter::All };
    let published = before(DateColumn::Published, next_day_start(now));
    if wanted == (condition.operator == Operator::Eq) { published } else { not(published) }
}

/// A filter on a date.
pub(super) fn date(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    match condition.operator {
        Operator::Null => null(condition, date),
        Operator::Between => between(condition, date),
        _ => by_day(condition, date),
    }
}

fn by_day(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let sent = millis(condition, condition.value)?;
    let (start, next) = (day_start(sent), next_day_start(sent));
    let on = || Filter::Date(date, Range { from: Some(Bound::Included(start)), to: Some(Bound::Excluded(next)) });
    Ok(match condition.operator {
        Operator::Ne => not(on()),
        Operator::Gt => since(date, next),
        Operator::Gte => since(date, start),
        Operator::Lt => before(date, start),
        Operator::Lte => before(date, next),
        _ => on(),
    })
}

/// By instant: a bare date is its midnight.
fn between(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let [from, to] = pair(condition)?;
    let range = closed(millis(condition, &from)?, millis(condition, &to)?);
    Ok(range.map_or(Filter::Nothing, |range| Filter::Date(date, range)))
}

/// Of the three dates only that of publication can be null, and then the resource is a draft.
fn null(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let null = if date == DateColumn::Published { Filter::Draft } else { Filter::Nothing };
    Ok(if asks_for_null(condition)? { null } else { not(null) })
}

fn since(date: DateColumn, start: Millis) -> Filter {
    Filter::Date(date, Range { from: Some(Bound::Included(start)), to: None })
}

fn before(date: DateColumn, end: Millis) -> Filter {
    Filter::Date(date, Range { from: None, to: Some(Bound::Excluded(end)) })
}

fn millis(condition: &Condition, value: &str) -> Result<Millis, Error> {
    instant::millis(value).ok_or_else(|| not_a_time(condition, value))
}
