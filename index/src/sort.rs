//! Sorting that can be interrupted. It does not know what is sorted.

use std::cmp::Ordering;

use crate::error::Error;
use crate::interrupt::Interrupt;

/// So many items are sorted without looking at the interrupt.
const PIECE: usize = 8_192;

/// Sorts in pieces, and then merges neighbors until one piece is left. The sorts of the standard library cannot be used
/// for the whole, because they cannot be stopped early.
pub(crate) fn sort_by<T: Copy>(
    items: &mut Vec<T>,
    interrupt: &Interrupt<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Error> {
    sort_in_pieces(PIECE, items, interrupt, compare)
}

fn sort_in_pieces<T: Copy>(
    piece: usize,
    items: &mut Vec<T>,
    interrupt: &Interrupt<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Error> {
    let mut width = piece;
    for piece in items.chunks_mut(width) {
        interrupt.check()?;
        piece.sort_unstable_by(&compare);
    }
    let mut merged = Vec::with_capacity(if items.len() > width { items.len() } else { 0 });
    while width < items.len() {
        for pair in items.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, interrupt, &compare)?;
        }
        std::mem::swap(items, &mut merged);
        merged.clear();
        width *= 2;
    }
    Ok(())
}

fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    interrupt: &Interrupt<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Error> {
    // Pieces that are in order already, as ids often are, are only copied.
    let is_in_order = match (left.last(), right.first()) {
        (Some(last), Some(first)) => compare(last, first).is_le(),
        _ => true,
    };
    while let (false, [first_left, rest_left @ ..], [first_right, rest_right @ ..]) = (is_in_order, left, right) {
        interrupt.step()?;
        if compare(first_left, first_right).is_le() {
            merged.push(*first_left);
            left = rest_left;
        } else {
            merged.push(*first_right);
            right = rest_right;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn items_are_sorted_as_by_the_standard_library(mut items in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_in_pieces(4, &mut items, &Interrupt::never(), u8::cmp).unwrap();
            prop_assert_eq!(items, expected);
        }
    }

    #[test]
    fn an_interrupt_ends_a_sort_at_any_point() {
        for after in 0..20 {
            let asked = Cell::new(0);
            let is_over = || {
                asked.set(asked.get() + 1);
                asked.get() > after
            };
            let mut items: Vec<u32> = (0..2_000).rev().collect();
            let result = sort_in_pieces(4, &mut items, &Interrupt::when(&is_over), u32::cmp);
            assert!(matches!(result, Err(Error::Interrupted)));
            assert_eq!(asked.get(), after + 1);
        }
    }
}
