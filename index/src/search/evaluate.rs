//! Evaluates a filter to the bitmap of matching slots. It knows no orders and no pages.
//!
//! A filter is a tree of primitives. The bitmap of each primitive is cached, and the bitmaps are combined according to
//! the tree.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::sync::Arc;

use super::context::SearchContext;
use super::dated::dated;
use super::matches::Matches;
use super::predicate_key::{write_predicate, write_range};
use super::query_cache::{CacheHit, CacheStatus};
use super::results::Key;
use super::text_search::TextSearch;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::predicate::PreparedPredicate;
use crate::query::{DateColumn, Filter, MatchSet, Predicate, Range};
use crate::run::NumberedRun;
use crate::schema::{Column, VariantNumber};
use crate::text_query::TextQuery;
use crate::trace::StepKind;
use crate::version::{CopySet, Version};

/// Evaluates filters on one version and one variant.
pub(super) struct Evaluator<'a> {
    pub(super) context: &'a SearchContext,
    pub(super) version: &'a Version,
    variant: VariantNumber,
    /// The copies of the variant; `None` if the schema lacks the variant.
    pub(super) copies: Option<&'a CopySet>,
    interrupt: &'a Interrupt<'a>,
}

/// A filter with prepared primitives. After the look-up it has no words: then their type is `Infallible`, which has no
/// values.
pub(super) enum Node<W = Infallible> {
    All,
    Nothing,
    And(Vec<Node<W>>),
    Or(Vec<Node<W>>),
    Not(Box<Node<W>>),
    /// The slots, ascending.
    Slots(Vec<u32>),
    Found(Arc<Bitmap>),
    Words(W),
    Primitive(Box<Primitive>),
}

/// A test of one column and its key in the cache.
pub(super) struct Primitive {
    pub(super) key: Key,
    pub(super) test: Test,
    /// The bitmap of the primitive for this version, if the look-up found it; `None` before.
    pub(super) cached: Option<Arc<Bitmap>>,
}

/// A test of one value of a column, or of a date of the resource. Tests of columns never hold for null.
pub(super) enum Test {
    Date(DateColumn, Range<i64>),
    Draft,
    /// The value is not null.
    Present(Column),
    Column(Column, PreparedPredicate),
}

impl Node<&TextQuery> {
    /// Appends bytes that identify the matches of the filter within a version. Returns false if it has words, or names
    /// resources: then there are none.
    pub(super) fn write_key(&self, key: &mut Vec<u8>) -> bool {
        let mut write_all = |tag: u8, nodes: &[Node<&TextQuery>]| {
            key.push(tag);
            key.extend_from_slice(&(nodes.len() as u32).to_be_bytes());
            nodes.iter().all(|node| node.write_key(key))
        };
        match self {
            Node::All => write_all(0, &[]),
            Node::Nothing => write_all(1, &[]),
            Node::And(nodes) => write_all(2, nodes),
            Node::Or(nodes) => write_all(3, nodes),
            Node::Not(node) => write_all(4, std::slice::from_ref(node)),
            Node::Primitive(primitive) => {
                key.push(5);
                key.extend_from_slice(&(primitive.key.len() as u32).to_be_bytes());
                key.extend_from_slice(&primitive.key);
                true
            }
            Node::Slots(_) | Node::Found(_) | Node::Words(_) => false,
        }
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        context: &'a SearchContext,
        version: &'a Version,
        variant: VariantNumber,
        interrupt: &'a Interrupt<'a>,
    ) -> Evaluator<'a> {
        Evaluator { context, version, variant, copies: version.copy_set(variant), interrupt }
    }

    /// Returns the slots of the resources that the filter holds for.
    pub(super) fn select(&self, filter: &Filter) -> Result<Matches, Error> {
        self.matches(&self.look_up(self.prepare(filter))?)
    }

    /// Like [`Evaluator::select`], but does not cache the bitmap of a single primitive: for filters used only once.
    pub(super) fn select_once(&self, filter: &Filter) -> Result<Matches, Error> {
        match self.look_up(self.prepare(filter))? {
            Node::Primitive(primitive) if primitive.cached.is_none() => {
                self.bitmap_of(&primitive.test).map(|bits| Matches::Some(Arc::new(bits)))
            }
            node => self.matches(&node),
        }
    }

    /// Prepares the primitives of a filter, without looking them up in the cache.
    pub(super) fn prepare<'f>(&self, filter: &'f Filter) -> Node<&'f TextQuery> {
        match filter {
            Filter::All => Node::All,
            Filter::Nothing => Node::Nothing,
            Filter::And(filters) => Node::And(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Or(filters) => Node::Or(filters.iter().map(|filter| self.prepare(filter)).collect()),
            Filter::Not(filter) => Node::Not(Box::new(self.prepare(filter))),
            Filter::Ids(ids) => Node::Slots(self.context.slots.find_all(self.version, ids)),
            Filter::Found(MatchSet(bits)) => Node::Found(Arc::clone(bits)),
            Filter::Words(query) => Node::Words(query),
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
                // If the variant or the column does not exist, every value is null.
                (_, _, Predicate::Null) => Node::All,
                _ => Node::Nothing,
            },
        }
    }

    /// Prepares a filter for tests of single slots, which use neither the cache nor what other searches found. `None`
    /// if it has words, or if it names what a search of another version found.
    pub(super) fn testable(&self, filter: &Filter) -> Option<Node> {
        fn without_words(node: Node<&TextQuery>) -> Option<Node> {
            let all = |nodes: Vec<Node<_>>| nodes.into_iter().map(without_words).collect::<Option<Vec<Node>>>();
            Some(match node {
                Node::All => Node::All,
                Node::Nothing => Node::Nothing,
                Node::And(nodes) => Node::And(all(nodes)?),
                Node::Or(nodes) => Node::Or(all(nodes)?),
                Node::Not(node) => Node::Not(Box::new(without_words(*node)?)),
                Node::Slots(slots) => Node::Slots(slots),
                Node::Primitive(primitive) => Node::Primitive(primitive),
                Node::Found(_) | Node::Words(_) => return None,
            })
        }
        without_words(self.prepare(filter))
    }

    /// Returns a node for a test. `write` appends the test's operands to its cache key.
    fn primitive<W>(&self, test: Test, write: impl FnOnce(&mut Vec<u8>)) -> Node<W> {
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

    /// Looks all primitives up in the cache, and evaluates text queries.
    fn look_up(&self, node: Node<&TextQuery>) -> Result<Node, Error> {
        let all = |nodes: Vec<Node<_>>| nodes.into_iter().map(|node| self.look_up(node)).collect::<Result<_, _>>();
        Ok(match node {
            Node::All => Node::All,
            Node::Nothing => Node::Nothing,
            Node::And(nodes) => Node::And(all(nodes)?),
            Node::Or(nodes) => Node::Or(all(nodes)?),
            Node::Not(node) => Node::Not(Box::new(self.look_up(*node)?)),
            Node::Slots(slots) => Node::Slots(slots),
            Node::Found(bits) => Node::Found(bits),
            Node::Words(query) => Node::Found(self.text_matches(query)?.1),
            Node::Primitive(mut primitive) => {
                let Primitive { key, test, cached } = &mut *primitive;
                let step = |bits: &Option<Arc<Bitmap>>| Some(test.step("cache", bits.as_ref()?));
                *cached = self.interrupt.traced(|| self.cached(key, test), step)?;
                Node::Primitive(primitive)
            }
        })
    }

    /// Returns the cached bitmap, updated for this version. `None` if there is none or too many slots changed.
    fn cached(&self, key: &Key, test: &Test) -> Result<Option<Arc<Bitmap>>, Error> {
        let (bits, changed) = match self.context.cache.bitmap(key, self.version.number) {
            None => return Ok(None),
            Some(CacheHit::Current(bits)) => return Ok(Some(bits)),
            Some(CacheHit::Outdated { result, changed }) => (result, changed),
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

    /// Looks up the tokens of a text query.
    pub(super) fn text_search(&self, query: &'a TextQuery) -> Result<TextSearch<'a>, Error> {
        let nulls = |column| Ok(self.select(&Filter::Column(column, Predicate::Null))?.to_bitmap(self.version));
        TextSearch::new(self.version, self.context, self.variant, query, self.interrupt, nulls)
    }

    /// Looks up the tokens of a text query, and finds its matches.
    pub(super) fn text_matches(&self, query: &'a TextQuery) -> Result<(TextSearch<'a>, Arc<Bitmap>), Error> {
        let find = || {
            let search = self.text_search(query)?;
            let matches = search.matches()?;
            Ok((search, matches))
        };
        self.interrupt.traced(find, |(_, matches)| Some((StepKind::Words, "index", matches.count() as u64)))
    }

    fn matches(&self, node: &Node) -> Result<Matches, Error> {
        self.interrupt.check()?;
        Ok(match node {
            Node::All => Matches::All,
            Node::Nothing => Matches::none(),
            Node::And(nodes) => self.all_of(nodes)?,
            Node::Or(nodes) => {
                let mut any = Bitmap::default();
                for node in nodes {
                    match self.matches(node)? {
                        Matches::All => return Ok(Matches::All),
                        Matches::Some(slots) => any.union(&slots),
                    }
                }
                Matches::Some(Arc::new(any))
            }
            Node::Not(node) => Matches::All.and_not(&self.matches(node)?, self.version),
            Node::Slots(slots) => Matches::Some(Arc::new(slots.iter().copied().collect())),
            Node::Found(bits) => Matches::Some(Arc::clone(bits)),
            Node::Words(none) => match *none {},
            Node::Primitive(primitive) => Matches::Some(match &primitive.cached {
                Some(bits) => Arc::clone(bits),
                None => {
                    let Primitive { test, .. } = &**primitive;
                    let step = |bits: &Bitmap| Some(test.step("index", bits));
                    let bits = Arc::new(self.interrupt.traced(|| self.bitmap_of(test), step)?);
                    self.context.cache.put_bitmap(&primitive.key, self.version.number, &bits);
                    bits
                }
            }),
        })
    }

    /// Combines nodes by And: evaluates cheap nodes first. Once few candidates are left, tests the remaining nodes on
    /// each.
    fn all_of(&self, nodes: &[Node]) -> Result<Matches, Error> {
        let known = |primitive: &Primitive| match primitive.cached {
            Some(_) => CacheStatus::Current,
            None => CacheStatus::No,
        };
        let mut nodes: Vec<(u64, &Node)> = nodes.iter().map(|node| (self.cost(node, &known), node)).collect();
        nodes.sort_by_key(|(cost, _)| *cost);
        let mut left = Matches::All;
        for (index, (cost, node)) in nodes.iter().enumerate() {
            if *cost > 0
                && let count = left.count(self.version)
                && count <= self.context.options.candidate_limit
                && count as u64 * self.context.options.thresholds.test_nanoseconds < *cost
            {
                let rest: Vec<&Node> = nodes[index..].iter().map(|(_, node)| *node).collect();
                let done = StepKind::Tested { candidates: count as u64 };
                let step = |left: &Matches| Some((done, "values", left.count(self.version) as u64));
                return self.interrupt.traced(|| self.test_each(&left.to_bitmap(self.version), &rest), step);
            }
            left = match node {
                Node::Not(node) => left.and_not(&self.matches(node)?, self.version),
                node => left.and(&self.matches(node)?),
            };
        }
        Ok(left)
    }

    /// Returns the candidates for which all nodes hold.
    fn test_each(&self, candidates: &Bitmap, nodes: &[&Node]) -> Result<Matches, Error> {
        let mut left = Bitmap::default();
        for slot in candidates.iter() {
            if self.all_hold(nodes, slot)? {
                left.insert(slot);
            }
        }
        Ok(Matches::Some(Arc::new(left)))
    }

    /// Computes the bitmap of a test from every run of the variant, or from the table of resources.
    fn bitmap_of(&self, test: &Test) -> Result<Bitmap, Error> {
        let (column, predicate) = match (test, self.copies) {
            (Test::Date(date, range), _) => {
                return dated(self.context, self.version, *date, Some(range), self.interrupt);
            }
            (Test::Draft, _) => return dated(self.context, self.version, DateColumn::Published, None, self.interrupt),
            (Test::Present(_) | Test::Column(..), None) => return Ok(Bitmap::default()),
            (Test::Present(column), Some(_)) => (column, None),
            (Test::Column(column, predicate), Some(_)) => (column, Some(predicate)),
        };
        let mut bits = Bitmap::with_room(self.version.slot_count as usize);
        for NumberedRun { run, live, .. } in self.copies.into_iter().flat_map(|copies| copies.runs.iter()) {
            let mut documents = Bitmap::with_room(run.len() as usize);
            match predicate {
                Some(predicate) => run.evaluate(*column, predicate, self.interrupt, &mut documents)?,
                None => run.present(column.id, self.interrupt, &mut documents)?,
            }
            live.retain_in(&mut documents);
            run.add_slots(&documents, &mut bits);
        }
        Ok(bits)
    }

    /// Tests whether the node holds for a live slot.
    pub(super) fn holds(&self, node: &Node, slot: u32) -> Result<bool, Error> {
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
            Node::Words(none) => match *none {},
            Node::Primitive(primitive) => match &primitive.cached {
                Some(bits) => bits.contains(slot),
                None => {
                    match &primitive.test {
                        // To unpack a long text and search it takes longer than all small steps between two questions.
                        Test::Column(_, PreparedPredicate::Substring(_)) => self.interrupt.check()?,
                        _ => self.interrupt.step()?,
                    }
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
