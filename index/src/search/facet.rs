//! Facets: selects and orders the counted values; and counts the dates of resources, which are in no run. It knows no
//! runs.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::order::Sorter;
use super::slot_order::OrderView;
use super::snapshot::Snapshot;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::period::{day_of_millis, millis_of_day};
use crate::query::{DateColumn, Facet, FacetValue, Period};
use crate::run::{CountedValue, Tally};
use crate::text::{bool_text, number_text};

/// A counted value with its sort keys.
struct FacetEntry<'a> {
    count: u64,
    /// The text form.
    text: Cow<'a, str>,
    /// The value, unless it is that text.
    value: Option<FacetValue>,
}

/// Returns the facet of these counts. `total` is the number of resources.
pub(super) fn facet_of(
    tally: Tally<'_>,
    total: u64,
    period: Option<Period>,
    limit: usize,
    interrupt: &Interrupt<'_>,
) -> Result<Facet, Error> {
    let (distinct, null) = (tally.counts.len() as u64, total.saturating_sub(tally.valued));
    if let Some(period) = period {
        return Ok(Facet { values: periods(tally, period), distinct, null });
    }
    let mut entries = Vec::with_capacity(tally.counts.len());
    for (value, count) in tally.counts {
        interrupt.step()?;
        let (text, value) = match value {
            CountedValue::Text(text) => (text, None),
            CountedValue::Number(bits) => {
                let number = f64::from_bits(bits);
                (Cow::Owned(number_text(number)), Some(FacetValue::Number(number)))
            }
            CountedValue::Bool(value) => (Cow::Borrowed(bool_text(value)), Some(FacetValue::Bool(value))),
            CountedValue::Period(_) => continue,
        };
        entries.push(FacetEntry { count, text, value });
    }
    interrupt.check()?;
    if entries.len() > limit && limit > 0 {
        entries.select_nth_unstable_by(limit - 1, compare);
    }
    entries.truncate(limit);
    entries.sort_unstable_by(compare);
    let value_of =
        |value: Option<FacetValue>, text: Cow<'_, str>| value.unwrap_or_else(|| FacetValue::Text(text.into_owned()));
    let shown = entries.into_iter().map(|FacetEntry { count, text, value }| (value_of(value, text), count));
    Ok(Facet { values: shown.collect(), distinct, null })
}

/// Orders the most frequent first. Texts compare by code point, which is the order of their bytes.
fn compare(left: &FacetEntry<'_>, right: &FacetEntry<'_>) -> Ordering {
    right.count.cmp(&left.count).then_with(|| left.text.cmp(&right.text))
}

fn periods(tally: Tally<'_>, period: Period) -> Vec<(FacetValue, u64)> {
    let days = tally.counts.into_iter().filter_map(|(value, count)| match value {
        CountedValue::Period(day) => Some((day, count)),
        _ => None,
    });
    let mut days: Vec<(i64, u64)> = days.collect();
    days.sort_unstable();
    days.into_iter().map(|(day, count)| (FacetValue::Text(period.name(day)), count)).collect()
}

/// Counts the resources with a date in each period.
pub(super) fn tally_dates(
    snapshot: &Snapshot,
    slots: &Bitmap,
    date: DateColumn,
    period: Period,
    interrupt: &Interrupt<'_>,
) -> Result<Tally<'static>, Error> {
    let mut tally = Tally::default();
    let version = &snapshot.version;
    if slots.count() >= version.total / snapshot.context.options.thresholds.walked_share {
        let sorter = Sorter::by_date(&snapshot.context, version, date, interrupt);
        if let Some(order) = sorter.order_worth_keeping(date)? {
            tally_order(snapshot, &order, slots, date, period, interrupt, &mut tally)?;
            return Ok(tally);
        }
    }
    // Neighbors in the table often have dates in the same period.
    let (mut from, mut to, mut first, mut count) = (0, 0, 0, 0);
    slots.each(
        || interrupt.check(),
        |slot| {
            let Some(date) = version.rows.get(slot).date(date) else { return };
            tally.valued += 1;
            if date < from || date >= to {
                if count > 0 {
                    tally.add(CountedValue::Period(first), count);
                }
                let day = day_of_millis(date);
                (first, count) = (period.start(day), 0);
                (from, to) = (millis_of_day(first), millis_of_day(period.end(day)));
            }
            count += 1;
        },
    )?;
    if count > 0 {
        tally.add(CountedValue::Period(first), count);
    }
    Ok(tally)
}

/// Does the same with an order by the date: each period is a slice of it.
fn tally_order(
    snapshot: &Snapshot,
    OrderView { order, valued, .. }: &OrderView,
    slots: &Bitmap,
    date: DateColumn,
    period: Period,
    interrupt: &Interrupt<'_>,
    tally: &mut Tally<'_>,
) -> Result<(), Error> {
    let date = |slot| snapshot.version.rows.get(slot).date(date);
    let mut start = 0;
    while start < *valued {
        let first = order.slices(start..start + 1).flatten().next();
        let Some(day) = first.and_then(|&slot| date(slot)).map(day_of_millis) else { break };
        let to = millis_of_day(period.end(day));
        let end = order.partition_point(|slot| date(slot).is_some_and(|date| date < to)).max(start + 1);
        let mut count = 0;
        for slice in order.slices(start..end) {
            interrupt.check()?;
            count += slice.iter().filter(|&&slot| slots.contains(slot)).count() as u64;
        }
        if count > 0 {
            tally.add(CountedValue::Period(period.start(day)), count);
            tally.valued += count;
        }
        start = end;
    }
    Ok(())
}
