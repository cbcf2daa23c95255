//! The values of a sort key: a column of one variant, or of another variant where a column is null. It knows no orders.

use std::cmp::Ordering;

use crate::collate::Collation;
use crate::schema::{Column, ColumnId, VariantNumber};
use crate::value::ValueRef;
use crate::version::CopySet;

/// A column of the copies of one variant, with an optional fallback to another.
#[derive(Clone, Copy)]
pub(super) struct KeyColumn<'a> {
    pub(super) copies: &'a CopySet,
    pub(super) column: Column,
    pub(super) fallback: Option<KeyFallback<'a>>,
}

/// The copies of the fallback.
#[derive(Clone, Copy)]
pub(super) struct KeyFallback<'a> {
    pub(super) variant: VariantNumber,
    /// The copies of the variant; `None` if the schema lacks the variant.
    pub(super) copies: Option<&'a CopySet>,
    /// The column that must be null for the fallback to be read; `None` if it is null everywhere.
    pub(super) unless_null: Option<ColumnId>,
}

impl<'a> KeyColumn<'a> {
    /// Returns whether all values come from its own copies, whose runs store orders.
    pub(super) fn is_plain(&self) -> bool {
        self.fallback.is_none()
    }

    /// Returns the value in a slot.
    pub(super) fn value(&self, slot: u32) -> ValueRef<'a> {
        let copies = match self.fallback {
            Some(fallback) if fallback.is_used(self.copies, slot) => fallback.copies,
            _ => Some(self.copies),
        };
        copies.map_or(ValueRef::Null, |copies| copies.value_without_folded(slot, self.column.id))
    }
}

impl KeyFallback<'_> {
    /// Returns whether the fallback is read for a slot whose own copy is in `copies`.
    fn is_used(&self, copies: &CopySet, slot: u32) -> bool {
        self.unless_null.is_none_or(|column| copies.value_without_folded(slot, column).is_null())
    }
}

/// Compares texts. Nulls sort last in both directions.
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
