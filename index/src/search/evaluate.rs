//! Evaluates a filter to the bitmap of slots it holds for. It knows no orders and no pages.
//!
//! A filter is a tree of primitives. Each primitive's bitmap is cached, and combined with the others as the tree says.

use std::borrow::Borrow;
use std::sync::Arc;

use super::context::SearchContext;
use super::lru::Key;
use super::predicate_key::{write_predicate, write_range};
use super::query_cache::Cached;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::predicate::PreparedPredicate;
use crate::query::{DateColumn, Filter, Found, Predicate, Range};
use crate::run::NumberedRun;
use crate::schema::{Column, VariantNumber};
use crate::version::{CopySet, Version};

/// Evaluates filters on one version and one variant.
pub(super) struct Evaluator<'a> {
    context: &'a SearchContext,
    version: &'a Version,
    /// `None` if the schema lacks the variant.
    copies: Option<&'a CopySet>,
    interrupt: &'a Interrupt<'a>,
}

/// A filter with prepared primitives.
pub(super) enum Node {
    All,
    Nothing,
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// Ascending.
    Slots(Vec<u32>),
    Found(Arc<Bitmap>),
    Primitive(Box<Primitive>),
}

/// A test of one column and its key in the cache.
pub(super) struct Primitive {
    pub(super) key: Key,
    pub(super) test: Test,
    /// Its bitmap for this version, if it was cached when the filter was prepared.
    cached: Option<Arc<Bitmap>>,
}

/// A test of one column. Holds for no null.
pub(super) enum Test {
    Date(DateColumn, Range<i64>),
    Draft,
    /// The value is not null.
    Present(Column),
    Column(Column, PreparedPredicate),
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        context: &'a SearchContext,
        version: &'a Version,
        variant: VariantNumber,
        interrupt: &'a Interrupt<'a>,
    ) -> Evaluator<'a> {
        Evaluator { context, version, copies: version.copy_set(variant), interrupt }
    }

    /// The slots of the resources that the filter holds for.
    pub(super) fn select(&self, filter: &Filter) -> Result<Arc<Bitmap>, Error> {
        let mut node = self.prepare(filter);
        self.look_up(&mut node)?;
        self.bits(&node)
    }

    /// Like [`Evaluator::select`], but does not cache the bitmap of a single primitive: for filters used only once.
    pub(super) fn select_once(&self, filter: &Filter) -> Result<Arc<Bitmap>, Error> {
        let mut node = self.prepare(filter);
        self.look_up(&mut node)?;
        match node {
            Node::Primitive(primitive) if primitive.cached.is_none() => self.scan(&primitive.test).map(Arc::new),
            node => self.bits(&node),
        }
    }

    /// The filter with prepared primitives, of which none is looked up in the cache yet.
    pub(super) fn prepare(&self, filter: &Filter) -> Node {
        match filter {
            Filter::All => Node::All,
            Filter::Nothing => Node::Nothing,
            Filter::And(filters) => Node::And(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Or(filters) => Node::Or(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Not(filter) => Node::Not(Box::new(self.prepare(filter))),
            Filter::Ids(ids) => Node::Slots(self.context.slots.find_all(self.version, ids)),
            Filter::Found(Found(bits)) => Node::Found(Arc::clone(bits)),
            Filter::Date(column, range) => self.primitive(Test::Date(*column, range.clone()), |key| {
                key.push(*column as u8);
                write_range(key, range, |key, date| key.extend_from_slice(&date.to_be_bytes()));
            }),
            Filter::Draft => self.primitive(Test::Draft, |_| ()),
            Filter::Column(id, predicate) => match (self.copies, self.version.column(*id), predicate) {
                (Some(_), Some(column), Predicate::Null) => {
                    Node::Not(Box::new(self.primitive(Test::Present(column), |_| ())))
                }
                (Some(_), Some(column), _) => {
                    let test = Test::Column(column, PreparedPredicate::new(predicate));
                    self.primitive(test, |key| write_predicate(key, predicate))
                }
                // Without the variant or the column, every value is null.
                (_, _, Predicate::Null) => Node::All,
                _ => Node::Nothing,
            },
        }
    }

    /// `write` appends what identifies the test's operands to its key.
    fn primitive(&self, test: Test, write: impl FnOnce(&mut Vec<u8>)) -> Node {
        let mut key = self.context.cache.new_key();
        let (tag, column) = match &test {
            Test::Date(..) => (0, None),
            Test::Draft => (1, None),
            Test::Present(column) => (2, Some(column)),
            Test::Column(column, _) => (3, Some(column)),
        };
        key.push(tag);
        if let (Some(copies), Some(column)) = (self.copies, column) {
            key.extend_from_slice(&copies.variant.number.to_be_bytes());
            key.extend_from_slice(&column.id.to_be_bytes());
        }
        write(&mut key);
        Node::Primitive(Box::new(Primitive { key: key.into(), test, cached: None }))
    }

    /// Looks all primitives up in the cache.
    fn look_up(&self, node: &mut Node) -> Result<(), Error> {
        match node {
            Node::And(nodes) | Node::Or(nodes) => nodes.iter_mut().try_for_each(|node| self.look_up(node)),
            Node::Not(node) => self.look_up(node),
            Node::Primitive(primitive) => {
                primitive.cached = self.cached(&primitive.key, &primitive.test)?;
                Ok(())
            }
            Node::All | Node::Nothing | Node::Slots(_) | Node::Found(_) => Ok(()),
        }
    }

    /// The cached bitmap, brought up to date for this version. `None` if there is none or too many slots changed.
    fn cached(&self, key: &Key, test: &Test) -> Result<Option<Arc<Bitmap>>, Error> {
        let (bits, changed) = match self.context.cache.bitmap(key, self.version.number) {
            None => return Ok(None),
            Some(Cached::Current(bits)) => return Ok(Some(bits)),
            Some(Cached::Outdated { result, changed }) => (result, changed),
        };
        if changed.len() > self.context.options.candidate_limit.max(self.version.total / 32) {
            return Ok(None);
        }
        let mut bits = Bitmap::clone(&bits);
        for slot in changed {
            self.interrupt.step()?;
            match self.test(test, slot) {
                true => bits.insert(slot),
                false => bits.remove(slot),
            }
        }
        let bits = Arc::new(bits);
        self.context.cache.put_bitmap(key, self.version.number, &bits);
        Ok(Some(bits))
    }

    fn bits(&self, node: &Node) -> Result<Arc<Bitmap>, Error> {
        self.interrupt.check()?;
        Ok(match node {
            Node::All => Arc::clone(&self.version.live_slots),
            Node::Nothing => Arc::new(Bitmap::default()),
            Node::And(nodes) => self.all_of(nodes)?,
            Node::Or(nodes) => {
                let mut any = Bitmap::default();
                for node in nodes {
                    any.union(&*self.bits(node)?);
                }
                Arc::new(any)
            }
            Node::Not(node) => {
                let mut bits = Bitmap::clone(&self.version.live_slots);
                bits.subtract(&*self.bits(node)?);
                Arc::new(bits)
            }
            Node::Slots(slots) => Arc::new(slots.iter().copied().collect()),
            Node::Found(bits) => Arc::clone(bits),
            Node::Primitive(primitive) => match &primitive.cached {
                Some(bits) => Arc::clone(bits),
                None => {
                    let bits = Arc::new(self.scan(&primitive.test)?);
                    self.context.cache.put_bitmap(&primitive.key, self.version.number, &bits);
                    bits
                }
            },
        })
    }

    /// Evaluates cheap nodes first. Once few candidates are left, tests the remaining nodes on each of those.
    fn all_of(&self, nodes: &[Node]) -> Result<Arc<Bitmap>, Error> {
        let mut nodes: Vec<&Node> = nodes.iter().collect();
        nodes.sort_by_key(|node| node.cost());
        let mut left = Arc::clone(&self.version.live_slots);
        for (index, node) in nodes.iter().enumerate() {
            if node.cost() > 0 && left.count() <= self.context.options.candidate_limit {
                return self.test_each(&left, &nodes[index..]).map(Arc::new);
            }
            match node {
                Node::Not(node) => Arc::make_mut(&mut left).subtract(&*self.bits(node)?),
                node => Arc::make_mut(&mut left).intersect(&*self.bits(node)?),
            }
        }
        Ok(left)
    }

    /// The candidates for which all nodes hold.
    fn test_each(&self, candidates: &Bitmap, nodes: &[&Node]) -> Result<Bitmap, Error> {
        let mut left = Bitmap::default();
        for slot in candidates.iter() {
            if self.all_hold(nodes, slot)? {
                left.insert(slot);
            }
        }
        Ok(left)
    }

    /// Computes the bitmap of a test: from every run of the variant, or from every row.
    fn scan(&self, test: &Test) -> Result<Bitmap, Error> {
        let mut bits = Bitmap::with_room(self.version.slot_count as usize);
        let (Some(copies), Test::Present(column) | Test::Column(column, _)) = (self.copies, test) else {
            for slot in self.version.live_slots.iter() {
                self.interrupt.step()?;
                if self.test(test, slot) {
                    bits.insert(slot);
                }
            }
            return Ok(bits);
        };
        for NumberedRun { run, live, .. } in copies.runs.iter() {
            let mut documents = Bitmap::with_room(run.len() as usize);
            match test {
                Test::Column(column, predicate) => {
                    run.evaluate(*column, predicate, self.interrupt, &mut documents)?;
                }
                _ => run.present(column.id, self.interrupt, &mut documents)?,
            }
            live.retain_in(&mut documents);
            run.add_slots(&documents, &mut bits);
        }
        Ok(bits)
    }

    /// Whether the node holds for a live slot.
    fn holds(&self, node: &Node, slot: u32) -> Result<bool, Error> {
        Ok(match node {
            Node::All => true,
            Node::Nothing => false,
            Node::And(nodes) => self.all_hold(nodes, slot)?,
            Node::Or(nodes) => {
                for node in nodes {
                    if self.holds(node, slot)? {
                        return Ok(true);
                    }
                }
                false
            }
            Node::Not(node) => !self.holds(node, slot)?,
            Node::Slots(slots) => slots.binary_search(&slot).is_ok(),
            Node::Found(bits) => bits.contains(slot),
            Node::Primitive(primitive) => match &primitive.cached {
                Some(bits) => bits.contains(slot),
                None => {
                    self.interrupt.step()?;
                    self.test(&primitive.test, slot)
                }
            },
        })
    }

    fn all_hold<N: Borrow<Node>>(&self, nodes: &[N], slot: u32) -> Result<bool, Error> {
        for node in nodes {
            if !self.holds(node.borrow(), slot)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tests one slot. A vacant slot has neither dates nor values.
    fn test(&self, test: &Test, slot: u32) -> bool {
        let value = |column: &Column| self.copies.map(|copies| copies.value(slot, column.id));
        match test {
            Test::Date(column, range) => {
                self.version.rows.get(slot).date(*column).is_some_and(|date| range.holds(&date))
            }
            Test::Draft => {
                let row = self.version.rows.get(slot);
                row.is_live() && row.date(DateColumn::Published).is_none()
            }
            Test::Present(column) => value(column).is_some_and(|value| !value.is_null()),
            Test::Column(column, predicate) => value(column).is_some_and(|value| predicate.matches(column.kind, value)),
        }
    }
}

impl Node {
    /// A rough estimate of what computing its bitmap costs; zero if it is known already.
    fn cost(&self) -> u32 {
        match self {
            Node::All | Node::Nothing | Node::Slots(_) | Node::Found(_) => 0,
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().map(Node::cost).fold(0, u32::saturating_add),
            Node::Not(node) => node.cost(),
            Node::Primitive(primitive) if primitive.cached.is_some() => 0,
            Node::Primitive(primitive) => match &primitive.test {
                Test::Present(_) => 1,
                Test::Date(..) | Test::Draft => 3,
                Test::Column(_, PreparedPredicate::Equals { .. } | PreparedPredicate::Has(_)) => 2,
                Test::Column(_, PreparedPredicate::Number(_) | PreparedPredicate::Instant(_)) => 4,
                Test::Column(_, PreparedPredicate::AnyId(_)) => 5,
                Test::Column(_, PreparedPredicate::Text(_)) => 8,
                Test::Column(..) => 6,
            },
        }
    }
}
