//! Orders of slots. It knows no filters and no pages.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::cache::Key;
use crate::collate::Collation;
use crate::index::Shared;
use crate::query::{DateColumn, SortBy, SortKey};
use crate::schema::{Column, Kind, VariantNumber};
use crate::state::{Part, State};
use crate::value::{ValueRef, rank_of_integer};

/// An order of the slots of one state: no two are equal in it.
pub(crate) struct Sorter<'a> {
    shared: &'a Shared,
    state: &'a State,
    keys: Vec<SortedBy<'a>>,
    /// Of the id, which is the last key.
    descending: bool,
    cache_key: Key,
}

/// One key and where its values come from.
struct SortedBy<'a> {
    descending: bool,
    source: Source<'a>,
}

enum Source<'a> {
    Date(DateColumn),
    /// What compares as a number does.
    Rank(&'a Part, Column),
    /// What compares by collation.
    Text(&'a Part, Column),
}

/// The values of one key, by row; a row is whatever the caller numbers.
enum Gathered<'a> {
    Ranks(Vec<u64>),
    Texts(Vec<Text<'a>>),
}

/// A text and the beginning of its sort key, turned for the direction.
#[derive(Clone)]
struct Text<'a> {
    prefix: u128,
    text: Option<Cow<'a, str>>,
}

/// So many changed slots are always merged into a kept order. (Tests want to see both ways.)
const FEW: usize = if cfg!(test) { 5 } else { 256 };

/// So few changed slots are moved one by one.
const ONE_BY_ONE: usize = if cfg!(test) { 2 } else { 6 };

/// After everything, in both directions.
const NULL_RANK: u64 = u64::MAX;
const NULL_TEXT: Text<'static> = Text { prefix: u128::MAX, text: None };

impl<'a> Sorter<'a> {
    pub(crate) fn new(shared: &'a Shared, state: &'a State, variant: VariantNumber, sort: &[SortKey]) -> Sorter<'a> {
        let part = state.part(variant);
        let mut keys = Vec::new();
        let mut descending = false;
        let mut cache_key = variant.to_be_bytes().to_vec();
        for key in sort {
            descending = key.descending;
            let source = match key.by {
                SortBy::Id => break,
                SortBy::Date(date) => Some(Source::Date(date)),
                SortBy::Column(id) => source(state, part, id),
            };
            let Some(source) = source else { continue };
            let (tag, number) = match &source {
                Source::Date(date) => (*date as u8, 0),
                Source::Rank(_, column) | Source::Text(_, column) => (9, column.id),
            };
            cache_key.extend_from_slice(&[tag, u8::from(key.descending)]);
            cache_key.extend_from_slice(&number.to_be_bytes());
            keys.push(SortedBy { descending, source });
        }
        cache_key.push(u8::from(descending));
        if keys.iter().all(|key| matches!(key.source, Source::Date(_))) {
            // All variants share what looks at no copy.
            cache_key[..2].fill(0xFF);
        }
        Sorter { shared, state, keys, descending, cache_key: cache_key.into() }
    }

    /// A few slots in order.
    pub(crate) fn sort(&self, slots: Vec<u32>) -> Vec<u32> {
        let gathered = self.gather(&slots);
        let rows: Vec<u32> = (0..slots.len() as u32).collect();
        let sorted = self.sorted(rows, &gathered, |row| slots[row as usize]);
        sorted.into_iter().map(|row| slots[row as usize]).collect()
    }

    /// All slots in order, if that was kept and can cheaply be brought to this state's version.
    pub(crate) fn known(&self) -> Option<Arc<Vec<u32>>> {
        let (version, order) = self.shared.orders.get(&self.cache_key)?;
        if version == self.state.version {
            return Some(order);
        }
        let changed = self.shared.changes.lock().between(version, self.state.version)?;
        if changed.len() > FEW.max(self.state.total / 64) {
            return None;
        }
        let order = Arc::new(self.merge(&order, &changed));
        self.keep(&order);
        Some(order)
    }

    /// All slots in order, known or made.
    pub(crate) fn order(&self) -> Arc<Vec<u32>> {
        if let Some(order) = self.known() {
            return order;
        }
        let gathered = self.gather_all();
        let order = Arc::new(self.sorted(self.state.live.iter().collect(), &gathered, |row| row));
        self.keep(&order);
        order
    }

    fn keep(&self, order: &Arc<Vec<u32>>) {
        self.shared.orders.put(&self.cache_key, self.state.version, order, order.len() * 4);
    }

    /// The order with the changed slots at their new places, or gone.
    fn merge(&self, order: &[u32], changed: &[u32]) -> Vec<u32> {
        if changed.len() <= ONE_BY_ONE {
            return self.move_each(order, changed);
        }
        let is_changed: Bitmap = changed.iter().copied().collect();
        let mut rest: &[u32] = &order.iter().copied().filter(|&slot| !is_changed.contains(slot)).collect::<Vec<_>>();
        let moved: Vec<u32> = changed.iter().copied().filter(|&slot| self.state.live.contains(slot)).collect();
        let mut merged = Vec::with_capacity(self.state.total);
        for slot in self.sort(moved) {
            let place = rest.partition_point(|&other| self.compare(other, slot).is_lt());
            merged.extend_from_slice(&rest[..place]);
            merged.push(slot);
            rest = &rest[place..];
        }
        merged.extend_from_slice(rest);
        merged
    }

    /// The same, faster for very few: blocks are moved instead of asking each slot.
    fn move_each(&self, order: &[u32], changed: &[u32]) -> Vec<u32> {
        let mut moved = order.to_vec();
        for &slot in changed {
            if let Some(place) = place_of(&moved, slot) {
                moved.remove(place);
            }
        }
        for &slot in changed.iter().filter(|&&slot| self.state.live.contains(slot)) {
            let place = moved.partition_point(|&other| self.compare(other, slot).is_lt());
            moved.insert(place, slot);
        }
        moved
    }

    /// Compares two slots by reading their values.
    fn compare(&self, left: u32, right: u32) -> Ordering {
        for key in &self.keys {
            let order = match &key.source {
                Source::Text(part, column) => {
                    let text = |slot| part.unfolded(slot, column.id).collated();
                    compare_texts(&part.collation, key.descending, text(left).as_deref(), text(right).as_deref())
                }
                _ => self.rank(key, left).cmp(&self.rank(key, right)),
            };
            if order.is_ne() {
                return order;
            }
        }
        self.compare_ids(left, right)
    }

    fn compare_ids(&self, left: u32, right: u32) -> Ordering {
        let id = |slot| self.state.rows.get(slot).id;
        turn(self.descending, id(left).cmp(&id(right)))
    }

    fn rank(&self, key: &SortedBy<'_>, slot: u32) -> u64 {
        let rank = match &key.source {
            Source::Date(date) => self.state.rows.get(slot).date(*date).map(rank_of_integer),
            Source::Rank(part, column) | Source::Text(part, column) => part.unfolded(slot, column.id).ranked(),
        };
        key.turned(rank)
    }

    /// Sorts rows by what was gathered for them, then by the ids of their slots.
    fn sorted(&self, rows: Vec<u32>, gathered: &[Gathered<'a>], slot: impl Fn(u32) -> u32) -> Vec<u32> {
        let first = |row: u32| match gathered {
            [] => 0,
            [Gathered::Texts(texts), ..] => texts[row as usize].prefix,
            [Gathered::Ranks(first), Gathered::Ranks(second), ..] => {
                u128::from(first[row as usize]) << 64 | u128::from(second[row as usize])
            }
            [Gathered::Ranks(ranks), ..] => u128::from(ranks[row as usize]) << 64,
        };
        let mut entries: Vec<(u128, u32)> = rows.into_iter().map(|row| (first(row), row)).collect();
        entries.sort_unstable_by(|(left_first, left), (right_first, right)| {
            left_first
                .cmp(right_first)
                .then_with(|| self.compare_gathered(gathered, *left, *right))
                .then_with(|| self.compare_ids(slot(*left), slot(*right)))
        });
        entries.into_iter().map(|(_, row)| row).collect()
    }

    fn compare_gathered(&self, gathered: &[Gathered<'_>], left: u32, right: u32) -> Ordering {
        let (left, right) = (left as usize, right as usize);
        for (key, gathered) in self.keys.iter().zip(gathered) {
            let order = match (gathered, &key.source) {
                (Gathered::Texts(texts), Source::Text(part, _)) => {
                    let (left, right) = (&texts[left], &texts[right]);
                    left.prefix.cmp(&right.prefix).then_with(|| {
                        compare_texts(&part.collation, key.descending, left.text.as_deref(), right.text.as_deref())
                    })
                }
                (Gathered::Ranks(ranks), _) => ranks[left].cmp(&ranks[right]),
                (Gathered::Texts(_), _) => Ordering::Equal,
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The values of some slots, by their place in the slice.
    fn gather(&self, slots: &[u32]) -> Vec<Gathered<'a>> {
        let mut buffer = Vec::new();
        let gather = |key: &SortedBy<'a>| match key.source {
            Source::Text(part, column) => {
                let text = |&slot: &u32| key.text(part, part.unfolded(slot, column.id), &mut buffer);
                Gathered::Texts(slots.iter().map(text).collect())
            }
            _ => Gathered::Ranks(slots.iter().map(|&slot| self.rank(key, slot)).collect()),
        };
        self.keys.iter().map(gather).collect()
    }

    /// The values of all slots, by slot, run by run.
    fn gather_all(&self) -> Vec<Gathered<'a>> {
        let slots = self.state.slots as usize;
        let mut buffer = Vec::new();
        let mut gather = |key: &SortedBy<'a>| match key.source {
            Source::Date(_) => Gathered::Ranks((0..self.state.slots).map(|slot| self.rank(key, slot)).collect()),
            Source::Rank(part, column) => {
                let mut ranks = vec![NULL_RANK; slots];
                each_alive(part, column, |slot, value| ranks[slot as usize] = key.turned(value.ranked()));
                Gathered::Ranks(ranks)
            }
            Source::Text(part, column) => {
                let mut texts = vec![NULL_TEXT; slots];
                each_alive(part, column, |slot, value| texts[slot as usize] = key.text(part, value, &mut buffer));
                Gathered::Texts(texts)
            }
        };
        self.keys.iter().map(&mut gather).collect()
    }
}

impl SortedBy<'_> {
    /// The rank in this direction.
    fn turned(&self, rank: Option<u64>) -> u64 {
        match (rank, self.descending) {
            (None, _) => NULL_RANK,
            (Some(rank), false) => rank,
            (Some(rank), true) => !rank,
        }
    }

    fn text<'a>(&self, part: &Part, value: ValueRef<'a>, buffer: &mut Vec<u8>) -> Text<'a> {
        let Some(text) = value.collated() else { return NULL_TEXT };
        let prefix = part.collation.prefix(&text, buffer);
        Text { prefix: if self.descending { !prefix } else { prefix }, text: Some(text) }
    }
}

/// Where a column's values come from; none if they are all null.
fn source<'a>(state: &State, part: Option<&'a Part>, id: u32) -> Option<Source<'a>> {
    let (part, column) = (part?, state.column(id)?);
    Some(match column.kind {
        Kind::Number | Kind::Bool | Kind::Instant => Source::Rank(part, column),
        Kind::Text | Kind::Plain | Kind::Markup | Kind::List => Source::Text(part, column),
    })
}

fn each_alive<'a>(part: &'a Part, column: Column, mut take: impl FnMut(u32, ValueRef<'a>)) {
    for (number, run) in part.runs.iter() {
        for doc in 0..run.len() {
            let slot = run.slot(doc);
            if part.is_alive(slot, *number, doc) {
                take(slot, run.unfolded(doc, column.id));
            }
        }
    }
}

/// Looks at blocks as wholes, which compiles to wide comparisons.
fn place_of(slots: &[u32], wanted: u32) -> Option<usize> {
    const BLOCK: usize = 512;
    let has = |block: &[u32]| block.iter().fold(false, |found, &slot| found | (slot == wanted));
    let block = slots.chunks(BLOCK).position(has)? * BLOCK;
    Some(block + slots[block..].iter().position(|&slot| slot == wanted)?)
}

/// Nulls last in both directions.
fn compare_texts(collation: &Collation, descending: bool, left: Option<&str>, right: Option<&str>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => turn(descending, collation.compare(left, right)),
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

fn turn(descending: bool, order: Ordering) -> Ordering {
    match descending {
        true => order.reverse(),
        false => order,
    }
}
