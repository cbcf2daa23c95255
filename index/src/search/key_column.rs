//! The values that an order compares: a column of one variant, or of another one where it is null. It knows no orders.

use std::cmp::Ordering;

use crate::collate::Collation;
use crate::schema::{Column, ColumnId, VariantNumber};
use crate::value::ValueRef;
use crate::version::CopySet;

/// A column of the copies of one variant, and perhaps of another.
#[derive(Clone, Copy)]
pub(super) struct KeyColumn<'a> {
    pub(super) copies: &'a CopySet,
    pub(super) column: Column,
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

impl<'a> KeyColumn<'a> {
    /// Tests whether all values are those of its own copies, whose runs keep their orders.
    pub(super) fn is_plain(&self) -> bool {
        self.fallback.is_none()
    }

    /// The value in a slot.
    pub(super) fn value(&self, slot: u32) -> ValueRef<'a> {
        let copies = match self.fallback {
            Some(fallback) if fallback.is_used(self.copies, slot) => fallback.copies,
            _ => Some(self.copies),
        };
        copies.map_or(ValueRef::Null, |copies| copies.value_without_folded(slot, self.column.id))
    }
}

impl Fallback<'_> {
    /// Tests whether it is read for a slot whose own copy is in `copies`.
    fn is_used(&self, copies: &CopySet, slot: u32) -> bool {
        self.unless_null.is_none_or(|column| copies.value_without_folded(slot, column).is_null())
    }
}

/// Nulls sort last in both directions.
pub(super) fn compare_texts(
    collation: &Collation,
    descending: bool,
    left: Option<&str>,
    right: Option<&str>,
) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => directed(descending, collation.compare(left, right)),
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

pub(super) fn directed(descending: bool, order: Ordering) -> Ordering {
    match descending {
        true => order.reverse(),
        false => order,
    }
}
