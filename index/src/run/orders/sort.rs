//! Makes an order by sorting. It knows no files.

use std::ops::Range;

use super::merge::compare_texts;
use super::order::{KeyKind, OrderBuilder, RunOrder};
use crate::collate::{Collation, is_whole};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::sort::sort_by;
use crate::value::ValueRef;

impl KeyKind {
    /// Returns the key of a value; `None` if it has none of this kind.
    pub(crate) fn key(self, value: ValueRef<'_>, collation: &Collation) -> Option<u128> {
        match self {
            KeyKind::Rank => value.rank().map(u128::from),
            KeyKind::Text => value.sort_text().map(|text| collation.prefix(&text)),
        }
    }
}

impl RunOrder {
    /// Sorts the documents that have a value of this kind.
    pub(crate) fn sorted<'a>(
        kind: KeyKind,
        documents: Range<u32>,
        value: impl Fn(u32) -> ValueRef<'a>,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<RunOrder, Error> {
        let mut keyed: Vec<(u128, u32)> = Vec::with_capacity(documents.len());
        for document in documents {
            interrupt.step()?;
            keyed.extend(kind.key(value(document), collation).map(|key| (key, document)));
        }
        let compare = |&(left_key, left): &(u128, u32), &(right_key, right): &(u128, u32)| {
            left_key.cmp(&right_key).then_with(|| match kind {
                KeyKind::Text if !is_whole(left_key) => compare_texts(collation, value(left), value(right)),
                _ => std::cmp::Ordering::Equal,
            })
        };
        sort_by(&mut keyed, interrupt, |left, right| compare(left, right).then(left.1.cmp(&right.1)))?;
        let mut order = OrderBuilder::new(kind);
        let mut group = Vec::new();
        for of_one_value in keyed.chunk_by(|left, right| compare(left, right).is_eq()) {
            interrupt.step()?;
            group.clear();
            group.extend(of_one_value.iter().map(|&(_, document)| document));
            order.add(of_one_value[0].0, &group);
        }
        Ok(order.finish())
    }
}
