//! From a filter to the bitmap of slots it holds for. It knows no orders and no pages.

use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::cache::Key;
use crate::error::Error;
use crate::index::Shared;
use crate::query::{Anchor, Bound, DateColumn, Filter, Predicate, Range};
use crate::schema::{Column, VariantNumber};
use crate::state::{Part, State};
use crate::text::fold;
use crate::value::{Prepared, rank_of_number};

/// Evaluates filters in one state and one variant.
pub(crate) struct Evaluator<'a> {
    shared: &'a Shared,
    state: &'a State,
    part: Option<&'a Part>,
}

/// A filter with its primitives made ready.
enum Node {
    All,
    Nothing,
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// Ascending.
    Slots(Vec<u32>),
    Primitive(Box<Primitive>),
}

/// What is asked of one column; holds for no null.
struct Primitive {
    key: Key,
    test: Test,
    /// Its bitmap in this state, if that was kept.
    known: Option<Arc<Bitmap>>,
}

enum Test {
    Date(DateColumn, Range<i64>),
    Draft,
    Present(Column),
    Column(Column, Prepared),
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(shared: &'a Shared, state: &'a State, variant: VariantNumber) -> Evaluator<'a> {
        Evaluator { shared, state, part: state.part(variant) }
    }

    /// The slots of the resources that the filter holds for.
    pub(crate) fn select(&self, filter: &Filter) -> Result<Arc<Bitmap>, Error> {
        let node = self.prepare(filter);
        self.bits(&node)
    }

    /// The same for what is asked this once: the answer is not kept.
    pub(crate) fn select_once(&self, filter: &Filter) -> Result<Arc<Bitmap>, Error> {
        match self.prepare(filter) {
            Node::Primitive(primitive) if primitive.known.is_none() => self.scan(&primitive.test).map(Arc::new),
            node => self.bits(&node),
        }
    }

    fn prepare(&self, filter: &Filter) -> Node {
        match filter {
            Filter::All => Node::All,
            Filter::Nothing => Node::Nothing,
            Filter::And(filters) => Node::And(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Or(filters) => Node::Or(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Not(filter) => Node::Not(Box::new(self.prepare(filter))),
            Filter::Ids(ids) => Node::Slots(self.slots(ids)),
            Filter::Date(column, range) => self.primitive(Test::Date(*column, range.clone()), |key| {
                key.push(*column as u8);
                write_range(key, range, |key, date| key.extend_from_slice(&date.to_be_bytes()));
            }),
            Filter::Draft => self.primitive(Test::Draft, |_| ()),
            Filter::Column(id, predicate) => match (self.part, self.state.column(*id), predicate) {
                (Some(_), Some(column), Predicate::Null) => {
                    Node::Not(Box::new(self.primitive(Test::Present(column), |_| ())))
                }
                (Some(_), Some(column), _) => self.primitive(Test::Column(column, Prepared::new(predicate)), |key| {
                    write_predicate(key, predicate);
                }),
                // Without copies, or without the column, all is null.
                (_, _, Predicate::Null) => Node::All,
                _ => Node::Nothing,
            },
        }
    }

    /// The slots of those ids that are there, ascending.
    fn slots(&self, ids: &[u128]) -> Vec<u32> {
        let known = self.shared.slots.read();
        let slot = |id: &u128| {
            // The map is ahead of this version; the row is of it.
            let slot = *known.get(id)?;
            (self.state.live.contains(slot) && self.state.rows.get(slot).id == *id).then_some(slot)
        };
        let mut slots: Vec<u32> = ids.iter().filter_map(slot).collect();
        slots.sort_unstable();
        slots
    }

    fn primitive(&self, test: Test, write: impl FnOnce(&mut Vec<u8>)) -> Node {
        let mut key = Vec::new();
        let (tag, column) = match &test {
            Test::Date(..) => (0, None),
            Test::Draft => (1, None),
            Test::Present(column) => (2, Some(column)),
            Test::Column(column, _) => (3, Some(column)),
        };
        key.push(tag);
        if let (Some(part), Some(column)) = (self.part, column) {
            key.extend_from_slice(&part.variant.number.to_be_bytes());
            key.extend_from_slice(&column.id.to_be_bytes());
        }
        write(&mut key);
        let key = Key::from(key);
        let known = self.known(&key, &test);
        Node::Primitive(Box::new(Primitive { key, test, known }))
    }

    /// The kept bitmap, brought to this state's version; none if there is none, or too much has changed.
    fn known(&self, key: &Key, test: &Test) -> Option<Arc<Bitmap>> {
        let (version, bits) = self.shared.bitmaps.get(key)?;
        if version == self.state.version {
            return Some(bits);
        }
        let changed = self.shared.changes.lock().between(version, self.state.version)?;
        if changed.len() > self.shared.options.asked_alone.max(self.state.total / 32) {
            return None;
        }
        let mut bits = Bitmap::clone(&bits);
        for slot in changed {
            match self.test(test, slot) {
                true => bits.insert(slot),
                false => bits.remove(slot),
            }
        }
        let bits = Arc::new(bits);
        self.keep(key, &bits);
        Some(bits)
    }

    fn keep(&self, key: &Key, bits: &Arc<Bitmap>) {
        self.shared.bitmaps.put(key, self.state.version, bits, bits.bytes());
    }

    fn bits(&self, node: &Node) -> Result<Arc<Bitmap>, Error> {
        Ok(match node {
            Node::All => Arc::clone(&self.state.live),
            Node::Nothing => Arc::new(Bitmap::default()),
            Node::And(nodes) => self.all_of(nodes)?,
            Node::Or(nodes) => {
                let mut any = Bitmap::default();
                for node in nodes {
                    any.add(&*self.bits(node)?);
                }
                Arc::new(any)
            }
            Node::Not(node) => {
                let mut bits = Bitmap::clone(&self.state.live);
                bits.take_out(&*self.bits(node)?);
                Arc::new(bits)
            }
            Node::Slots(slots) => Arc::new(slots.iter().copied().collect()),
            Node::Primitive(primitive) => match &primitive.known {
                Some(bits) => Arc::clone(bits),
                None => {
                    let bits = Arc::new(self.scan(&primitive.test)?);
                    self.keep(&primitive.key, &bits);
                    bits
                }
            },
        })
    }

    /// Cheap ones first; once few are left, the others are asked of those alone.
    fn all_of(&self, nodes: &[Node]) -> Result<Arc<Bitmap>, Error> {
        let mut nodes: Vec<&Node> = nodes.iter().collect();
        nodes.sort_by_key(|node| node.cost());
        let mut left = Arc::clone(&self.state.live);
        for (place, node) in nodes.iter().enumerate() {
            if node.cost() > 0 && left.count() <= self.shared.options.asked_alone {
                let rest = &nodes[place..];
                let holds = |&slot: &u32| rest.iter().all(|node| self.holds(node, slot));
                return Ok(Arc::new(left.iter().filter(holds).collect()));
            }
            match node {
                Node::Not(node) => Arc::make_mut(&mut left).take_out(&*self.bits(node)?),
                node => Arc::make_mut(&mut left).keep(&*self.bits(node)?),
            }
        }
        Ok(left)
    }

    /// Asks every document of the part, or every row.
    fn scan(&self, test: &Test) -> Result<Bitmap, Error> {
        let mut bits = Bitmap::with_room(self.state.slots as usize);
        let (Some(part), Test::Present(column) | Test::Column(column, _)) = (self.part, test) else {
            for slot in self.state.live.iter().filter(|&slot| self.test(test, slot)) {
                bits.insert(slot);
            }
            return Ok(bits);
        };
        for (number, run) in part.runs.iter() {
            let mut emit = |doc| {
                let slot = run.slot(doc);
                if part.is_alive(slot, *number, doc) {
                    bits.insert(slot);
                }
            };
            match test {
                Test::Column(column, predicate) => run.evaluate(*column, predicate, &mut emit)?,
                _ => run.present(column.id, &mut emit),
            }
        }
        Ok(bits)
    }

    /// Whether the node holds for a live slot.
    fn holds(&self, node: &Node, slot: u32) -> bool {
        match node {
            Node::All => true,
            Node::Nothing => false,
            Node::And(nodes) => nodes.iter().all(|node| self.holds(node, slot)),
            Node::Or(nodes) => nodes.iter().any(|node| self.holds(node, slot)),
            Node::Not(node) => !self.holds(node, slot),
            Node::Slots(slots) => slots.binary_search(&slot).is_ok(),
            Node::Primitive(primitive) => match &primitive.known {
                Some(bits) => bits.contains(slot),
                None => self.test(&primitive.test, slot),
            },
        }
    }

    /// Asks one slot; a vacant one has neither dates nor values.
    fn test(&self, test: &Test, slot: u32) -> bool {
        let value = |column: &Column| self.part.map(|part| part.value(slot, column.id));
        match test {
            Test::Date(column, range) => self.state.rows.get(slot).date(*column).is_some_and(|date| range.holds(&date)),
            Test::Draft => {
                let row = self.state.rows.get(slot);
                row.is_live() && row.date(DateColumn::Published).is_none()
            }
            Test::Present(column) => value(column).is_some_and(|value| !value.is_null()),
            Test::Column(column, predicate) => value(column).is_some_and(|value| predicate.matches(column.kind, value)),
        }
    }
}

impl Node {
    /// What it costs to make its bitmap, roughly; zero for what is there already.
    fn cost(&self) -> u32 {
        match self {
            Node::All | Node::Nothing | Node::Slots(_) => 0,
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().map(Node::cost).fold(0, u32::saturating_add),
            Node::Not(node) => node.cost(),
            Node::Primitive(primitive) if primitive.known.is_some() => 0,
            Node::Primitive(primitive) => match &primitive.test {
                Test::Present(_) => 1,
                Test::Date(..) | Test::Draft => 3,
                Test::Column(_, Prepared::Equals { .. } | Prepared::Has(_)) => 2,
                Test::Column(_, Prepared::Number(_) | Prepared::Instant(_)) => 4,
                Test::Column(_, Prepared::Text(_)) => 8,
                Test::Column(..) => 6,
            },
        }
    }
}

/// Bytes that only equal predicates share. Needles are folded, so those that differ in case alone share theirs.
fn write_predicate(key: &mut Vec<u8>, predicate: &Predicate) {
    match predicate {
        Predicate::Null => key.push(0),
        Predicate::Equals(text) => {
            key.push(1);
            write_text(key, text);
        }
        Predicate::Number(range) => {
            key.push(2);
            write_range(key, range, |key, number| key.extend_from_slice(&rank_of_number(*number).to_be_bytes()));
        }
        Predicate::Text(range) => {
            key.push(3);
            write_range(key, range, |key, text| write_text(key, text));
        }
        Predicate::Instant(range) => {
            key.push(4);
            write_range(key, range, |key, micros| key.extend_from_slice(&micros.to_be_bytes()));
        }
        Predicate::Substring(place, needle) => {
            key.extend_from_slice(&[
                5,
                match place {
                    Anchor::Anywhere => 0,
                    Anchor::Start => 1,
                    Anchor::End => 2,
                },
            ]);
            write_text(key, &fold(needle));
        }
        Predicate::Has(element) => {
            key.push(6);
            write_text(key, element);
        }
    }
}

fn write_text(key: &mut Vec<u8>, text: &str) {
    key.extend_from_slice(&(text.len() as u64).to_be_bytes());
    key.extend_from_slice(text.as_bytes());
}

fn write_range<T>(key: &mut Vec<u8>, range: &Range<T>, write: impl Fn(&mut Vec<u8>, &T)) {
    for bound in [&range.from, &range.to] {
        match bound {
            None => key.push(0),
            Some(Bound::Included(bound)) => {
                key.push(1);
                write(key, bound);
            }
            Some(Bound::Excluded(bound)) => {
                key.push(2);
                write(key, bound);
            }
        }
    }
}

#[cfg(test)]
mod tests;
