//! Ranges of ranks: finds the groups of an order with a value in a range. It knows no predicates.

use std::ops::Range as Indexes;

use super::order::RunOrder;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Bound, Range};
use crate::value::{rank_of_integer, rank_of_number};

/// The number of documents that are added between two checks of the interrupt.
const CHECK_EVERY: usize = 4_096;

/// The number of documents up to which the interrupt is not checked, because checking takes longer.
const FEW: usize = 16;

/// A half-open range of ranks: its end is excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankRange {
    from: u128,
    to: u128,
}

impl RankRange {
    /// Returns the ranks of the numbers in a range.
    pub(crate) fn of_numbers(range: &Range<f64>) -> RankRange {
        let is_nan = |bound: &Option<Bound<f64>>| matches!(bound, Some(Bound::Included(number) | Bound::Excluded(number)) if number.is_nan());
        match is_nan(&range.from) || is_nan(&range.to) {
            // A NaN bound makes the range empty, because nothing compares with NaN.
            true => RankRange { from: 0, to: 0 },
            false => RankRange::of(range, |number| rank_of_number(*number)),
        }
    }

    /// Returns the ranks of the integers in a range.
    pub(crate) fn of_integers(range: &Range<i64>) -> RankRange {
        RankRange::of(range, |integer| rank_of_integer(*integer))
    }

    /// Returns the rank of a number.
    pub(crate) fn of_number(number: f64) -> RankRange {
        let only = || Some(Bound::Included(number));
        RankRange::of_numbers(&Range { from: only(), to: only() })
    }

    /// Returns the ranks that are in both.
    pub(crate) fn and(self, other: RankRange) -> RankRange {
        let from = self.from.max(other.from);
        RankRange { from, to: self.to.min(other.to).max(from) }
    }

    fn of<T>(range: &Range<T>, rank: impl Fn(&T) -> u64) -> RankRange {
        let rank = |value: &T| u128::from(rank(value));
        RankRange {
            from: match &range.from {
                None => 0,
                Some(Bound::Included(from)) => rank(from),
                Some(Bound::Excluded(from)) => rank(from) + 1,
            },
            to: match &range.to {
                None => u128::MAX,
                Some(Bound::Included(to)) => rank(to) + 1,
                Some(Bound::Excluded(to)) => rank(to),
            },
        }
    }
}

impl RunOrder {
    /// Returns the groups with a value in the range. Only for orders of ranks.
    pub(crate) fn groups_in(&self, range: &RankRange) -> Indexes<usize> {
        let start = self.groups_before(|key| key < range.from);
        start..self.groups_before(|key| key < range.to).max(start)
    }

    /// Adds the documents with a value in the range. `all` returns every document of the order. Only for orders of
    /// ranks.
    pub(crate) fn add_in_range(
        &self,
        range: &RankRange,
        all: impl FnOnce() -> Bitmap,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        let inside = self.of_groups(self.groups_in(range));
        if inside.len() <= self.len() / 2 {
            return self.each_in(inside, interrupt, |document| documents.insert(document));
        }
        let mut found = all();
        self.each_in(0..inside.start, interrupt, |document| found.remove(document))?;
        self.each_in(inside.end..self.len(), interrupt, |document| found.remove(document))?;
        documents.union(&found);
        Ok(())
    }

    /// Counts the documents at these indexes that are in another set.
    pub(crate) fn count_among(
        &self,
        indexes: Indexes<usize>,
        others: &Bitmap,
        interrupt: &Interrupt<'_>,
    ) -> Result<u64, Error> {
        let mut count = 0;
        if indexes.len() <= FEW {
            for index in indexes {
                interrupt.step()?;
                count += u64::from(others.contains(self.document(index)));
            }
            return Ok(count);
        }
        self.each_in(indexes, interrupt, |document| count += u64::from(others.contains(document)))?;
        Ok(count)
    }

    /// Emits all documents, in order.
    pub(crate) fn each_document(&self, interrupt: &Interrupt<'_>, emit: impl FnMut(u32)) -> Result<(), Error> {
        self.each_in(0..self.len(), interrupt, emit)
    }

    fn each_in(
        &self,
        indexes: Indexes<usize>,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32),
    ) -> Result<(), Error> {
        for start in indexes.clone().step_by(CHECK_EVERY) {
            interrupt.check()?;
            self.documents.each(start..indexes.end.min(start + CHECK_EVERY), &mut emit);
        }
        Ok(())
    }

    /// Returns the number of documents with a value in the range. Only for orders of ranks.
    pub(crate) fn count_in(&self, range: &RankRange) -> usize {
        self.of_groups(self.groups_in(range)).len()
    }
}
