//! The resources with a date in a range, or without that date. It knows no filters.

use super::context::SearchContext;
use super::order::Sorter;
use super::slot_order::OrderView;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Bound, DateColumn, Range};
use crate::version::Version;

/// The number of tests of all resources by a date after which an order by that date is made.
const DATE_SCANS: u32 = 2;

/// Returns the resources with a date in the range, or those without that date. Uses a slice of an order by the date if
/// one is cached or worth making: a write updates it at little cost. Otherwise, tests all resources.
pub(super) fn dated(
    context: &SearchContext,
    version: &Version,
    date: DateColumn,
    range: Option<&Range<i64>>,
    interrupt: &Interrupt<'_>,
) -> Result<Bitmap, Error> {
    let sorter = Sorter::by_date(context, version, date, interrupt);
    if let Some(order) = sorter.order_worth_keeping(date)? {
        return slice_by_date(version, &order, date, range, interrupt);
    }
    let mut bits = Bitmap::with_room(version.slot_count as usize);
    for slot in version.live_slots.to_bitmap().iter() {
        interrupt.step()?;
        let date = version.rows.get(slot).date(date);
        if range.map_or(date.is_none(), |range| date.is_some_and(|date| range.holds(&date))) {
            bits.insert(slot);
        }
    }
    Ok(bits)
}

impl Sorter<'_> {
    /// Returns the order by a date if it is cached or worth making: a write updates it at little cost.
    pub(super) fn order_worth_keeping(&self, date: DateColumn) -> Result<Option<OrderView>, Error> {
        let cache = &self.context.cache;
        match self.cached_order()? {
            None if cache.keeps_order_of(self.version.total) && cache.count_date_scan(date) >= DATE_SCANS => {
                self.order().map(Some)
            }
            order => Ok(order),
        }
    }
}

fn slice_by_date(
    version: &Version,
    OrderView { order, valued, .. }: &OrderView,
    date: DateColumn,
    range: Option<&Range<i64>>,
    interrupt: &Interrupt<'_>,
) -> Result<Bitmap, Error> {
    let date = |slot| version.rows.get(slot).date(date);
    let before = |limit: i64| order.partition_point(|slot| date(slot).is_some_and(|date| date < limit));
    let through = |limit: i64| order.partition_point(|slot| date(slot).is_some_and(|date| date <= limit));
    let slice = range.map_or(*valued..order.len(), |Range { from, to }| {
        let start = match from {
            None => 0,
            Some(Bound::Included(from)) => before(*from),
            Some(Bound::Excluded(from)) => through(*from),
        };
        let end = match to {
            None => *valued,
            Some(Bound::Included(to)) => through(*to),
            Some(Bound::Excluded(to)) => before(*to),
        };
        start..end.max(start)
    });
    if slice.is_empty() {
        return Ok(Bitmap::default());
    }
    if slice.len() <= order.len() / 2 {
        let mut bits = Bitmap::with_room(version.slot_count as usize);
        for slots in order.slices(slice) {
            interrupt.check()?;
            slots.iter().for_each(|&slot| bits.insert(slot));
        }
        return Ok(bits);
    }
    let mut bits = version.live_slots.to_bitmap();
    for slots in order.slices(0..slice.start).chain(order.slices(slice.end..order.len())) {
        interrupt.check()?;
        slots.iter().for_each(|&slot| bits.remove(slot));
    }
    Ok(bits)
}
