//! Counts and adds up the values of some documents of a disk run, using its columns and orders. It knows no filters.

use super::disk_run::DiskRun;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::period::{day_of_micros, micros_of_day};
use crate::query::Period;
use crate::run::columns::{Encoding, StoredColumn};
use crate::run::orders::RunOrder;
use crate::run::ordinals::{Ordinals, text_at};
use crate::run::tally::{CountedValue, Tally};
use crate::schema::ColumnId;
use crate::value::{ValueRef, integer_of_rank, number_of_rank, rank_of_integer};

/// The number of numbers that one call reads.
const READ_TOGETHER: usize = 128;

impl DiskRun {
    /// Counts the values of documents in a column of booleans, numbers or instants, without reading each. Returns
    /// false, and counts nothing, if the column has other values, or several encodings.
    pub(crate) fn tally_ranks(
        &self,
        column: ColumnId,
        period: Option<Period>,
        documents: &Bitmap,
        interrupt: &Interrupt<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<bool, Error> {
        let ([stored], Some(order)) = (self.columns.column(column), self.orders.ranks(column)) else {
            return Ok(false);
        };
        match (stored.encoding, period) {
            (Encoding::Bool, _) => tally_bools(stored, documents, tally),
            (Encoding::Number, _) => {
                for group in 0..order.groups() {
                    let count = order.count_among(order.group(group), documents, interrupt)?;
                    if count > 0 {
                        tally.add(CountedValue::of_number(number_of_rank(order.key(group) as u64)), count);
                        tally.valued += count;
                    }
                }
            }
            (Encoding::Instant, Some(period)) => tally_periods(order, period, documents, interrupt, tally)?,
            _ => return Ok(false),
        }
        interrupt.check()?;
        Ok(true)
    }

    /// Returns whether the ordinals of a column are stored in its file, which makes reading them fast.
    pub(crate) fn has_ordinals(&self, column: ColumnId) -> bool {
        matches!(self.columns.column(column), [stored] if stored.ordinals.is_some())
    }

    /// Returns the ordinals of a column of texts or lists. Returns `None` if the column has other values, or several
    /// encodings, or if the file is damaged, which is reported.
    pub(crate) fn ordinals(&self, column: ColumnId, interrupt: &Interrupt<'_>) -> Result<Option<Ordinals>, Error> {
        let are_lists = match self.columns.column(column) {
            [StoredColumn { ordinals: Some(ordinals), .. }] => return Ok(ordinals.read()),
            [stored] if stored.encoding == Encoding::Text => false,
            [stored] if stored.encoding == Encoding::List => true,
            _ => return Ok(None),
        };
        let value = |document| self.value_without_folded(document, column);
        Ordinals::of(self.len(), value, are_lists, usize::MAX, interrupt)
    }

    /// Counts the texts of documents in a column with these ordinals.
    pub(crate) fn tally_texts<'a>(
        &'a self,
        column: ColumnId,
        ordinals: &Ordinals,
        period: Option<Period>,
        documents: &Bitmap,
        interrupt: &Interrupt<'_>,
        tally: &mut Tally<'a>,
    ) -> Result<(), Error> {
        let (counts, valued) = ordinals.count(documents, interrupt)?;
        tally.valued += valued;
        for (ordinal, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            interrupt.step()?;
            let (document, element) = ordinals.place(ordinal);
            let text = text_at(self.value_without_folded(document, column), element);
            if let Some(counted) = CountedValue::of_text(text, period) {
                tally.add(counted, u64::from(count));
                tally.unpacked.check()?;
            }
        }
        Ok(())
    }

    /// Emits the numbers of documents in a column. Skips values of other kinds.
    pub(crate) fn each_number(
        &self,
        column: ColumnId,
        documents: &Bitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, f64),
    ) -> Result<(), Error> {
        if let [stored] = self.columns.column(column)
            && let Some(numbers) = stored.numbers()
        {
            let mut documents = documents.clone();
            documents.intersect(&stored.presence.to_bitmap());
            let (mut together, mut elements) = (Vec::with_capacity(READ_TOGETHER), [0.0; READ_TOGETHER]);
            let mut read = |together: &mut Vec<u32>| {
                numbers.get_all(together, &mut elements[..together.len()]);
                together.iter().zip(&elements).for_each(|(&document, &number)| emit(document, number));
                together.clear();
            };
            let check = || interrupt.check();
            documents.each(check, |document| {
                together.push(document);
                if together.len() == READ_TOGETHER {
                    read(&mut together);
                }
            })?;
            read(&mut together);
            return Ok(());
        }
        documents.each(
            || interrupt.check(),
            |document| {
                if let ValueRef::Number(number) = self.value_without_folded(document, column) {
                    emit(document, number);
                }
            },
        )
    }
}

fn tally_bools(stored: &StoredColumn, documents: &Bitmap, tally: &mut Tally<'_>) {
    let mut documents = documents.clone();
    documents.intersect(&stored.presence.to_bitmap());
    let valued = documents.count() as u64;
    documents.intersect(&stored.bools().map(|bits| bits.to_bitmap()).unwrap_or_default());
    let yes = documents.count() as u64;
    tally.valued += valued;
    for (value, count) in [(true, yes), (false, valued - yes)] {
        if count > 0 {
            tally.add(CountedValue::Bool(value), count);
        }
    }
}

/// Counts periods. Each is a slice of the order.
fn tally_periods(
    order: &RunOrder,
    period: Period,
    documents: &Bitmap,
    interrupt: &Interrupt<'_>,
    tally: &mut Tally<'_>,
) -> Result<(), Error> {
    let mut group = 0;
    while group < order.groups() {
        let day = day_of_micros(integer_of_rank(order.key(group) as u64));
        let end = u128::from(rank_of_integer(micros_of_day(period.end(day))));
        // Advances by at least one, in case the file is damaged.
        let next = order.groups_before(|key| key < end).max(group + 1);
        let count = order.count_among(order.of_groups(group..next), documents, interrupt)?;
        if count > 0 {
            tally.add(CountedValue::Period(period.start(day)), count);
            tally.valued += count;
        }
        group = next;
    }
    Ok(())
}
