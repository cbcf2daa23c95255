//! Filters on the three system dates and on `published`. Every operator except `between` compares UTC days. Must not
//! know blueprints.

use bindery_index::{Bound, DateColumn, Filter, Range};
use bindery_model::error::Error;
use bindery_model::time::{Millis, day_start, next_day_start};

use super::super::{instant, raw};
use super::condition::{Condition, not};
use super::operator::Test;
use super::value::closed;

/// Returns the test of `filter[published]`: published today or earlier. Returns `None` for a value that is not a
/// boolean, which is ignored.
pub(super) fn published(condition: &Condition, now: Millis) -> Option<Filter> {
    let wanted = raw::boolean(condition.value)?;
    let published = before(DateColumn::Published, next_day_start(now));
    Some(if wanted { published } else { not(published) })
}

/// Returns the filter of the operator's test on a date.
pub(super) fn date(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    match condition.operator.test {
        Test::Null => null(condition, date),
        Test::Between => between(condition, date),
        _ => by_day(condition, date),
    }
}

fn by_day(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let sent = millis(condition, condition.value)?;
    let (start, next) = (day_start(sent), next_day_start(sent));
    Ok(match condition.operator.test {
        Test::Gt => since(date, next),
        Test::Gte => since(date, start),
        Test::Lt => before(date, start),
        Test::Lte => before(date, next),
        _ => Filter::Date(date, Range { from: Some(Bound::Included(start)), to: Some(Bound::Excluded(next)) }),
    })
}

/// Returns the filter of `between`, which compares instants. A date without a time is its midnight UTC.
fn between(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let [from, to] = condition.pair()?;
    let range = closed(millis(condition, &from)?, millis(condition, &to)?);
    Ok(range.map_or(Filter::Nothing, |range| Filter::Date(date, range)))
}

/// Returns the filter of `null`. Only the publication date can be null; then the resource is a draft.
fn null(condition: &Condition, date: DateColumn) -> Result<Filter, Error> {
    let null = if date == DateColumn::Published { Filter::Draft } else { Filter::Nothing };
    Ok(if condition.boolean()? { null } else { not(null) })
}

fn since(date: DateColumn, start: Millis) -> Filter {
    Filter::Date(date, Range { from: Some(Bound::Included(start)), to: None })
}

fn before(date: DateColumn, end: Millis) -> Filter {
    Filter::Date(date, Range { from: None, to: Some(Bound::Excluded(end)) })
}

fn millis(condition: &Condition, value: &str) -> Result<Millis, Error> {
    instant::millis(value).ok_or_else(|| condition.not_a_time(value))
}
