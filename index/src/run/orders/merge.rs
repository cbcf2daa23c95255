//! Merges the orders of runs into one, from either end and only as far as it is read. It does not know what the merged
//! order is for.

use std::borrow::Cow;
use std::cell::OnceCell;
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
    /// Returns the number of a document in the merged order; `None` leaves it out.
    pub(crate) number: Box<dyn Fn(u32) -> Option<u32> + 'a>,
    pub(crate) value: Box<dyn Fn(u32) -> ValueRef<'a> + 'a>,
}

/// A merged order, read from its beginning group by group.
pub(crate) struct MergedOrder<'a, 'i> {
    collation: &'a Collation,
    descending: bool,
    interrupt: &'a Interrupt<'a>,
    heads: Vec<Head<'i>>,
    /// The indexes of the heads that are not at their end, the one with the next group last.
    queue: Vec<usize>,
    /// The number of documents that may still be read.
    steps_left: usize,
}

/// An input and its first unread group.
struct Head<'i> {
    input: OrderInput<'i>,
    key: u128,
    /// A document of the group.
    document: u32,
    /// The text that the group is sorted by. Read only when needed, because reading it takes longer than comparing it.
    text: OnceCell<Option<Cow<'i, str>>>,
    numbers: Vec<u32>,
}

impl<'a, 'i> MergedOrder<'a, 'i> {
    /// Creates a merge that reads about `max_steps` documents at most. Then the order ends, and [`MergedOrder::is_cut`]
    /// returns true.
    pub(crate) fn new(
        inputs: Vec<OrderInput<'i>>,
        collation: &'a Collation,
        descending: bool,
        max_steps: usize,
        interrupt: &'a Interrupt<'a>,
    ) -> Result<MergedOrder<'a, 'i>, Error> {
        let head = |input| Head { input, key: 0, document: 0, text: OnceCell::new(), numbers: Vec::new() };
        let heads: Vec<Head<'i>> = inputs.into_iter().map(head).collect();
        let indexes = 0..heads.len();
        let queue = Vec::new();
        let mut merged = MergedOrder { collation, descending, interrupt, heads, queue, steps_left: max_steps };
        for index in indexes {
            merged.advance(index)?;
        }
        Ok(merged)
    }

    /// Returns whether the order ended before all of it was read.
    pub(crate) fn is_cut(&self) -> bool {
        self.steps_left == 0
    }

    /// Replaces `numbers` by the documents with the next value, in no particular order. Returns the value's key; `None`
    /// at the end.
    pub(crate) fn next_group(&mut self, numbers: &mut Vec<u32>) -> Result<Option<u128>, Error> {
        numbers.clear();
        let Some(first) = self.queue.pop() else { return Ok(None) };
        let key = self.heads[first].key;
        std::mem::swap(numbers, &mut self.heads[first].numbers);
        // Heads with the same value are at the end of the queue.
        let others = self.queue.iter().rev().take_while(|&&other| self.compare(first, other).is_eq()).count();
        let others = self.queue.split_off(self.queue.len() - others);
        for other in others {
            numbers.extend_from_slice(&self.heads[other].numbers);
            self.advance(other)?;
        }
        self.advance(first)?;
        Ok(if self.is_cut() { None } else { Some(key) })
    }

    /// Moves a head to its next group with documents and puts it into the queue, unless it is at its end.
    fn advance(&mut self, index: usize) -> Result<(), Error> {
        if !self.heads[index].advance(self.descending, &mut self.steps_left, self.interrupt)? {
            return Ok(());
        }
        let comes_before = |&other: &usize| self.compare(index, other).is_lt();
        // The next group of a long input often comes before all others.
        let place = match self.queue.last().is_none_or(comes_before) {
            true => self.queue.len(),
            false => self.queue.partition_point(comes_before),
        };
        self.queue.insert(place, index);
        Ok(())
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        let (left, right) = (&self.heads[left], &self.heads[right]);
        let order = left.key.cmp(&right.key).then_with(|| match left.input.order.kind {
            KeyKind::Text if !is_whole(left.key) => match (left.text(), right.text()) {
                (Some(left), Some(right)) => self.collation.compare(left, right),
                (left, right) => left.is_none().cmp(&right.is_none()),
            },
            _ => Ordering::Equal,
        });
        if self.descending { order.reverse() } else { order }
    }
}

impl Head<'_> {
    fn text(&self) -> Option<&str> {
        self.text.get_or_init(|| (self.input.value)(self.document).sort_text()).as_deref()
    }

    /// Moves to the next group that has documents. Returns false at the end.
    fn advance(&mut self, descending: bool, steps_left: &mut usize, interrupt: &Interrupt<'_>) -> Result<bool, Error> {
        self.numbers.clear();
        self.text.take();
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
        // Reserves everything: a vector that grows is copied, which takes half as much memory again for a moment.
        let documents = inputs.iter().map(|input| input.order.len()).sum();
        let groups = inputs.iter().map(|input| input.order.groups()).sum();
        let mut order = OrderBuilder::with_room(kind, documents, groups);
        let mut merged = MergedOrder::new(inputs, collation, false, usize::MAX, interrupt)?;
        let mut documents = Vec::new();
        while let Some(key) = merged.next_group(&mut documents)? {
            order.add(key, &documents);
        }
        Ok(order.finish())
    }
}

/// Compares two values by their sort texts.
pub(super) fn compare_texts(collation: &Collation, left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    match (left.sort_text(), right.sort_text()) {
        (Some(left), Some(right)) => collation.compare(&left, &right),
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}
