//! Merges the orders of runs into one, from either end and only as far as it is read. It knows nothing of what the merged
//! order is for.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::order::{KeyKind, OrderBuilder, RunOrder};
use crate::collate::{Collation, is_whole};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::value::ValueRef;

/// An order that goes into a merge.
pub(crate) struct OrderInput<'a> {
    pub(crate) order: Arc<RunOrder>,
    /// The groups to merge.
    pub(crate) groups: Range<usize>,
    /// What stands for a document in the merged order; `None` leaves it out.
    pub(crate) number: Box<dyn Fn(u32) -> Option<u32> + 'a>,
    pub(crate) value: Box<dyn Fn(u32) -> ValueRef<'a> + 'a>,
}

/// A merged order, read from its beginning group by group.
pub(crate) struct MergedOrder<'a, 'i> {
    collation: &'a Collation,
    descending: bool,
    interrupt: &'a Interrupt<'a>,
    /// The inputs that are not at their end, the one with the next group last.
    heads: Vec<Head<'i>>,
    /// How many more documents are looked at.
    steps_left: usize,
}

/// An input and its first group that was not read yet.
struct Head<'a> {
    input: OrderInput<'a>,
    key: u128,
    /// A document of the group.
    document: u32,
    numbers: Vec<u32>,
}

impl<'a, 'i> MergedOrder<'a, 'i> {
    /// Looks at about `max_steps` documents at most; then the order ends, and [`MergedOrder::is_cut`] says so.
    pub(crate) fn new(
        inputs: Vec<OrderInput<'i>>,
        collation: &'a Collation,
        descending: bool,
        max_steps: usize,
        interrupt: &'a Interrupt<'a>,
    ) -> Result<MergedOrder<'a, 'i>, Error> {
        let mut merged = MergedOrder { collation, descending, interrupt, heads: Vec::new(), steps_left: max_steps };
        for input in inputs {
            let head = Head { input, key: 0, document: 0, numbers: Vec::new() };
            merged.put_back(head)?;
        }
        Ok(merged)
    }

    /// Whether the order ended before all of it was read.
    pub(crate) fn is_cut(&self) -> bool {
        self.steps_left == 0
    }

    /// Replaces `numbers` by those with the next value, in no particular order. Returns the value's key; `None` at the end.
    pub(crate) fn next_group(&mut self, numbers: &mut Vec<u32>) -> Result<Option<u128>, Error> {
        numbers.clear();
        let Some(mut head) = self.heads.pop() else { return Ok(None) };
        let key = head.key;
        std::mem::swap(numbers, &mut head.numbers);
        let mut equal = Vec::new();
        while self.heads.last().is_some_and(|next| self.compare(&head, next).is_eq()) {
            equal.extend(self.heads.pop());
        }
        // The last input comes first, so the numbers of the others are put before its.
        for other in equal {
            numbers.extend_from_slice(&other.numbers);
            self.put_back(other)?;
        }
        self.put_back(head)?;
        Ok(if self.is_cut() { None } else { Some(key) })
    }

    /// Moves a head to its next group with documents and puts it in its place; drops it at its end.
    fn put_back(&mut self, mut head: Head<'i>) -> Result<(), Error> {
        if !head.advance(self.descending, &mut self.steps_left, self.interrupt)? {
            return Ok(());
        }
        // The next of a long input often comes before all others.
        let place = self.heads.iter().rposition(|other| self.compare(&head, other).is_lt());
        self.heads.insert(place.map_or(0, |place| place + 1), head);
        Ok(())
    }

    fn compare(&self, left: &Head<'_>, right: &Head<'_>) -> Ordering {
        let order = left.key.cmp(&right.key).then_with(|| match left.input.order.kind {
            KeyKind::Text if !is_whole(left.key) => compare_texts(self.collation, left.value(), right.value()),
            _ => Ordering::Equal,
        });
        if self.descending { order.reverse() } else { order }
    }
}

impl<'a> Head<'a> {
    fn value(&self) -> ValueRef<'a> {
        (self.input.value)(self.document)
    }

    /// Moves to the next group that has documents. Returns false at the end.
    fn advance(&mut self, descending: bool, steps_left: &mut usize, interrupt: &Interrupt<'_>) -> Result<bool, Error> {
        self.numbers.clear();
        let OrderInput { order, groups, number, .. } = &mut self.input;
        while *steps_left > 0 {
            let Some(group) = (if descending { groups.next_back() } else { groups.next() }) else { return Ok(false) };
            for index in order.group(group) {
                interrupt.step()?;
                if *steps_left == 0 {
                    return Ok(false);
                }
                let document = order.document(index);
                if let Some(number) = number(document) {
                    self.numbers.push(number);
                    self.document = document;
                }
                *steps_left -= 1;
            }
            if !self.numbers.is_empty() {
                self.key = order.key(group);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl RunOrder {
    /// Merges orders of one kind into that of a new run.
    pub(crate) fn merge(
        kind: KeyKind,
        inputs: Vec<OrderInput<'_>>,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<RunOrder, Error> {
        let mut merged = MergedOrder::new(inputs, collation, false, usize::MAX, interrupt)?;
        let mut order = OrderBuilder::new(kind);
        let mut documents = Vec::new();
        while let Some(key) = merged.next_group(&mut documents)? {
            order.add(key, &documents);
        }
        Ok(order.finish())
    }
}

/// Compares what two values are sorted by as texts.
pub(super) fn compare_texts(collation: &Collation, left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    let text = |value: &ValueRef<'_>| value.sort_text().map(Cow::into_owned);
    match (left, right) {
        // Without a copy of the text.
        (
            ValueRef::Text(left) | ValueRef::Markup { text: left, .. },
            ValueRef::Text(right) | ValueRef::Markup { text: right, .. },
        ) => collation.compare(left.head, right.head),
        (left, right) => match (text(&left), text(&right)) {
            (Some(left), Some(right)) => collation.compare(&left, &right),
            (left, right) => left.is_none().cmp(&right.is_none()),
        },
    }
}
