//! A column that resources are sorted by: which copy of a resource its value comes from. It knows no orders.

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::NumberedRun;
use crate::schema::{ColumnId, VariantNumber};
use crate::value::ValueRef;
use crate::version::CopySet;

/// A column of the copies of one variant, and perhaps of another.
#[derive(Clone, Copy)]
pub(super) struct SortedColumn<'a> {
    pub(super) copies: &'a CopySet,
    pub(super) column: ColumnId,
    pub(super) fallback: Option<Fallback<'a>>,
}

/// The copies that are read where a column is null.
#[derive(Clone, Copy)]
pub(super) struct Fallback<'a> {
    pub(super) variant: VariantNumber,
    /// `None` if the schema lacks the variant.
    pub(super) copies: Option<&'a CopySet>,
    /// `None` if it is null everywhere.
    pub(super) unless_null: Option<ColumnId>,
}

impl<'a> SortedColumn<'a> {
    /// The value in a slot.
    pub(super) fn value(&self, slot: u32) -> ValueRef<'a> {
        let copies = match self.fallback {
            Some(fallback) if fallback.is_used(self.copies, slot) => fallback.copies,
            _ => Some(self.copies),
        };
        copies.map_or(ValueRef::Null, |copies| copies.value_without_folded(slot, self.column))
    }

    /// Emits the value of every slot that has one, and some nulls. Reads run by run.
    pub(super) fn each_value(
        &self,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, ValueRef<'a>),
    ) -> Result<(), Error> {
        let Some(fallback) = self.fallback else {
            return each_current_value(self.copies, self.column, interrupt, emit);
        };
        for (copies, is_fallback) in [(Some(self.copies), false), (fallback.copies, true)] {
            let Some(copies) = copies else { continue };
            each_current_value(copies, self.column, interrupt, |slot, value| {
                if fallback.is_used(self.copies, slot) == is_fallback {
                    emit(slot, value);
                }
            })?;
        }
        Ok(())
    }
}

impl Fallback<'_> {
    /// Whether it is read for a slot whose own copy is in `copies`.
    fn is_used(&self, copies: &CopySet, slot: u32) -> bool {
        self.unless_null.is_none_or(|column| copies.value_without_folded(slot, column).is_null())
    }
}

/// Emits the value of every current copy with its slot.
fn each_current_value<'a>(
    copies: &'a CopySet,
    column: ColumnId,
    interrupt: &Interrupt<'_>,
    mut emit: impl FnMut(u32, ValueRef<'a>),
) -> Result<(), Error> {
    for NumberedRun { run, live, .. } in copies.runs.iter() {
        for doc in live.to_bitmap().iter() {
            interrupt.step()?;
            emit(run.slot(doc), run.value_without_folded(doc, column));
        }
    }
    Ok(())
}
