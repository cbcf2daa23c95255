//! Orders slots by the keys of a query. It knows no filters and no pages.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::lru::Key;
use super::query_cache::{Cached, Known, QueryCache};
use super::sort::sort_by;
use super::sorted_column::{Fallback, SortedColumn};
use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{DateColumn, FallbackColumn, SortBy, SortKey};
use crate::schema::{ColumnId, Kind, VariantNumber};
use crate::value::{ValueRef, rank_of_integer};
use crate::version::{CopySet, Version};

/// A total order of the slots of one version: no two compare equal.
pub(super) struct Sorter<'a> {
    cache: &'a QueryCache,
    version: &'a Version,
    interrupt: &'a Interrupt<'a>,
    keys: Vec<ResolvedKey<'a>>,
    /// The direction of the id, which is the last key.
    descending: bool,
    cache_key: Key,
}

/// A sort key and where its values come from.
struct ResolvedKey<'a> {
    descending: bool,
    source: KeySource<'a>,
}

enum KeySource<'a> {
    Date(DateColumn),
    /// A column whose values compare by [`ValueRef::rank`].
    Rank(SortedColumn<'a>),
    /// A column whose values compare by collation.
    Text(SortedColumn<'a>),
}

/// The values of one key for all items to sort, by index of the item.
enum KeyValues<'a> {
    /// Complemented in a descending order.
    Ranks(Vec<u64>),
    Texts(Vec<SortText<'a>>),
}

/// A text and the beginning of its collation key, complemented in a descending order.
#[derive(Clone)]
struct SortText<'a> {
    prefix: u128,
    text: Option<Cow<'a, str>>,
}

/// Up to this many changed slots are always merged into a cached order. Lower in tests, which cover both ways.
const ALWAYS_MERGED: usize = if cfg!(test) { 5 } else { 256 };

/// Up to this many changed slots are moved one by one. Lower in tests, which cover both ways.
const MOVED_ONE_BY_ONE: usize = if cfg!(test) { 2 } else { 6 };

/// How long to wait for an order that another thread computes before looking at the interrupt.
const CLAIM_PATIENCE: Duration = Duration::from_millis(20);

/// Sorts last in both directions.
const NULL_RANK: u64 = u64::MAX;
/// Sorts last in both directions.
const NULL_TEXT: SortText<'static> = SortText { prefix: u128::MAX, text: None };

impl<'a> Sorter<'a> {
    pub(super) fn new(
        cache: &'a QueryCache,
        version: &'a Version,
        variant: VariantNumber,
        sort: &[SortKey],
        interrupt: &'a Interrupt<'a>,
    ) -> Sorter<'a> {
        let copies = version.copy_set(variant);
        let mut keys = Vec::new();
        let mut descending = false;
        let mut cache_key = cache.new_key();
        let variant_at = cache_key.len();
        cache_key.extend_from_slice(&variant.to_be_bytes());
        for key in sort {
            descending = key.descending;
            let source = match key.by {
                SortBy::Id => break,
                SortBy::Date(date) => Some(KeySource::Date(date)),
                SortBy::Column(id) => source(version, copies, id, None),
                SortBy::ColumnOr(FallbackColumn { column, unless_null, variant }) => {
                    let unless_null = version.column(unless_null).map(|column| column.id);
                    let fallback = Fallback { variant, copies: version.copy_set(variant), unless_null };
                    source(version, copies, column, Some(fallback))
                }
            };
            let Some(source) = source else { continue };
            let (tag, number) = match &source {
                KeySource::Date(date) => (*date as u8, 0),
                KeySource::Rank(of) | KeySource::Text(of) => (if of.fallback.is_some() { 10 } else { 9 }, of.column),
            };
            cache_key.extend_from_slice(&[tag, u8::from(key.descending)]);
            cache_key.extend_from_slice(&number.to_be_bytes());
            if let KeySource::Rank(of) | KeySource::Text(of) = &source
                && let Some(fallback) = of.fallback
            {
                cache_key.extend_from_slice(&fallback.variant.to_be_bytes());
                cache_key.extend_from_slice(&fallback.unless_null.unwrap_or(ColumnId::MAX).to_be_bytes());
            }
            keys.push(ResolvedKey { descending, source });
        }
        cache_key.push(u8::from(descending));
        if keys.iter().all(|key| matches!(key.source, KeySource::Date(_))) {
            // An order that reads no copy is the same for all variants.
            cache_key[variant_at..variant_at + 2].fill(0xFF);
        }
        Sorter { cache, version, interrupt, keys, descending, cache_key: cache_key.into() }
    }

    /// Sorts these slots, without an order of all.
    pub(super) fn sort(&self, slots: Vec<u32>) -> Result<Vec<u32>, Error> {
        let values = self.values_of(&slots)?;
        let items: Vec<u32> = (0..slots.len() as u32).collect();
        let sorted = self.sorted(items, &values, |item| slots[item as usize])?;
        Ok(sorted.into_iter().map(|item| slots[item as usize]).collect())
    }

    /// All live slots in order, if that is cached and cheap to bring up to date for this version.
    pub(super) fn cached_order(&self) -> Result<Option<Arc<Vec<u32>>>, Error> {
        let (order, changed) = match self.cache.order(&self.cache_key, self.version.number) {
            None => return Ok(None),
            Some(Cached::Current(order)) => return Ok(Some(order)),
            Some(Cached::Outdated { result, changed }) => (result, changed),
        };
        if changed.len() > ALWAYS_MERGED.max(self.version.total / 64) {
            return Ok(None);
        }
        let order = Arc::new(self.merge(&order, &changed)?);
        self.cache.put_order(&self.cache_key, self.version.number, &order);
        Ok(Some(order))
    }

    /// All live slots in order, from the cache if possible. Threads that want the same order wait for the one that computes
    /// it.
    pub(super) fn order(&self) -> Result<Arc<Vec<u32>>, Error> {
        let _claim = loop {
            if let Some(order) = self.cached_order()? {
                return Ok(order);
            }
            if let Some(claim) = self.cache.claim_order(&self.cache_key, CLAIM_PATIENCE) {
                break claim;
            }
            self.interrupt.check()?;
        };
        let values = self.values_of_all()?;
        let order = Arc::new(self.sorted(self.version.live_slots.iter().collect(), &values, |slot| slot)?);
        self.cache.put_order(&self.cache_key, self.version.number, &order);
        Ok(order)
    }

    /// Whether the order of all live slots is cached.
    pub(super) fn knows_order(&self) -> Known {
        self.cache.knows_order(&self.cache_key, self.version.number)
    }

    /// How many of its keys compare texts, and how many anything else.
    pub(super) fn key_counts(&self) -> (usize, usize) {
        let texts = self.keys.iter().filter(|key| matches!(key.source, KeySource::Text(..))).count();
        (texts, self.keys.len() - texts)
    }

    /// The order with each changed slot moved to its new position, or removed if it is vacant.
    fn merge(&self, order: &[u32], changed: &[u32]) -> Result<Vec<u32>, Error> {
        if changed.len() <= MOVED_ONE_BY_ONE {
            return Ok(self.move_each(order, changed));
        }
        let is_changed: Bitmap = changed.iter().copied().collect();
        let mut rest: &[u32] = &order.iter().copied().filter(|&slot| !is_changed.contains(slot)).collect::<Vec<_>>();
        let moved: Vec<u32> = changed.iter().copied().filter(|&slot| self.version.live_slots.contains(slot)).collect();
        let mut merged = Vec::with_capacity(self.version.total);
        for slot in self.sort(moved)? {
            self.interrupt.step()?;
            let position = rest.partition_point(|&other| self.compare(other, slot).is_lt());
            merged.extend_from_slice(&rest[..position]);
            merged.push(slot);
            rest = &rest[position..];
        }
        merged.extend_from_slice(rest);
        Ok(merged)
    }

    /// Like [`Sorter::merge`], but faster for very few slots: moves blocks of memory instead of testing every slot.
    fn move_each(&self, order: &[u32], changed: &[u32]) -> Vec<u32> {
        let mut moved = order.to_vec();
        for &slot in changed {
            if let Some(position) = position_of(&moved, slot) {
                moved.remove(position);
            }
        }
        for &slot in changed.iter().filter(|&&slot| self.version.live_slots.contains(slot)) {
            let position = moved.partition_point(|&other| self.compare(other, slot).is_lt());
            moved.insert(position, slot);
        }
        moved
    }

    /// Compares two slots by reading their values.
    fn compare(&self, left: u32, right: u32) -> Ordering {
        for key in &self.keys {
            let order = match &key.source {
                KeySource::Text(of) => {
                    let text = |slot| of.value(slot).sort_text();
                    compare_texts(&of.copies.collation, key.descending, text(left).as_deref(), text(right).as_deref())
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
        let id = |slot| self.version.rows.get(slot).id;
        directed(self.descending, id(left).cmp(&id(right)))
    }

    fn rank(&self, key: &ResolvedKey<'_>, slot: u32) -> u64 {
        let rank = match &key.source {
            KeySource::Date(date) => self.version.rows.get(slot).date(*date).map(rank_of_integer),
            KeySource::Rank(of) | KeySource::Text(of) => of.value(slot).rank(),
        };
        key.directed_rank(rank)
    }

    /// Sorts items by their values, then by the ids of their slots. `slot` returns the slot of an item.
    fn sorted(&self, items: Vec<u32>, values: &[KeyValues<'a>], slot: impl Fn(u32) -> u32) -> Result<Vec<u32>, Error> {
        // Decides most comparisons without another look at the values.
        let prefix = |item: u32| match values {
            [] => 0,
            [KeyValues::Texts(texts), ..] => texts[item as usize].prefix,
            [KeyValues::Ranks(first), KeyValues::Ranks(second), ..] => {
                u128::from(first[item as usize]) << 64 | u128::from(second[item as usize])
            }
            [KeyValues::Ranks(ranks), ..] => u128::from(ranks[item as usize]) << 64,
        };
        let mut prefixed: Vec<(u128, u32)> = items.into_iter().map(|item| (prefix(item), item)).collect();
        sort_by(&mut prefixed, self.interrupt, |(left_prefix, left), (right_prefix, right)| {
            left_prefix
                .cmp(right_prefix)
                .then_with(|| self.compare_values(values, *left, *right))
                .then_with(|| self.compare_ids(slot(*left), slot(*right)))
        })?;
        Ok(prefixed.into_iter().map(|(_, item)| item).collect())
    }

    fn compare_values(&self, values: &[KeyValues<'_>], left: u32, right: u32) -> Ordering {
        let (left, right) = (left as usize, right as usize);
        for (key, values) in self.keys.iter().zip(values) {
            let order = match (values, &key.source) {
                (KeyValues::Texts(texts), KeySource::Text(of)) => {
                    let (left, right) = (&texts[left], &texts[right]);
                    left.prefix.cmp(&right.prefix).then_with(|| {
                        compare_texts(&of.copies.collation, key.descending, left.text.as_deref(), right.text.as_deref())
                    })
                }
                (KeyValues::Ranks(ranks), _) => ranks[left].cmp(&ranks[right]),
                (KeyValues::Texts(_), _) => Ordering::Equal,
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The values of some slots, by their index in the slice.
    fn values_of(&self, slots: &[u32]) -> Result<Vec<KeyValues<'a>>, Error> {
        let values = |key: &ResolvedKey<'a>| {
            if let KeySource::Text(of) = key.source {
                let mut texts = Vec::with_capacity(slots.len());
                for &slot in slots {
                    self.interrupt.step()?;
                    texts.push(key.text(of.copies, of.value(slot)));
                }
                return Ok(KeyValues::Texts(texts));
            }
            self.interrupt.check()?;
            Ok(KeyValues::Ranks(slots.iter().map(|&slot| self.rank(key, slot)).collect()))
        };
        self.keys.iter().map(values).collect()
    }

    /// The values of all slots, by slot. Reads run by run.
    fn values_of_all(&self) -> Result<Vec<KeyValues<'a>>, Error> {
        let slot_count = self.version.slot_count;
        let values = |key: &ResolvedKey<'a>| {
            self.interrupt.check()?;
            Ok(match key.source {
                KeySource::Date(_) => KeyValues::Ranks((0..slot_count).map(|slot| self.rank(key, slot)).collect()),
                KeySource::Rank(of) => {
                    let mut ranks = vec![NULL_RANK; slot_count as usize];
                    of.each_value(self.interrupt, |slot, value| {
                        ranks[slot as usize] = key.directed_rank(value.rank());
                    })?;
                    KeyValues::Ranks(ranks)
                }
                KeySource::Text(of) => {
                    let mut texts = vec![NULL_TEXT; slot_count as usize];
                    of.each_value(self.interrupt, |slot, value| {
                        texts[slot as usize] = key.text(of.copies, value);
                    })?;
                    KeyValues::Texts(texts)
                }
            })
        };
        self.keys.iter().map(values).collect()
    }
}

impl ResolvedKey<'_> {
    /// The rank, complemented in a descending order.
    fn directed_rank(&self, rank: Option<u64>) -> u64 {
        match (rank, self.descending) {
            (None, _) => NULL_RANK,
            (Some(rank), false) => rank,
            (Some(rank), true) => !rank,
        }
    }

    fn text<'a>(&self, copies: &CopySet, value: ValueRef<'a>) -> SortText<'a> {
        let Some(text) = value.sort_text() else { return NULL_TEXT };
        let prefix = copies.collation.prefix(&text);
        SortText { prefix: if self.descending { !prefix } else { prefix }, text: Some(text) }
    }
}

/// Where a column's values come from; `None` if they are all null.
fn source<'a>(
    version: &Version,
    copies: Option<&'a CopySet>,
    id: ColumnId,
    fallback: Option<Fallback<'a>>,
) -> Option<KeySource<'a>> {
    let column = version.column(id)?;
    let of = SortedColumn { copies: copies?, column: column.id, fallback };
    Some(match column.kind {
        Kind::Number | Kind::Bool | Kind::Instant => KeySource::Rank(of),
        Kind::Text | Kind::Plain | Kind::Markup | Kind::List => KeySource::Text(of),
    })
}

/// The position of a slot. Tests whole blocks first, which compiles to wide comparisons.
fn position_of(slots: &[u32], wanted: u32) -> Option<usize> {
    const BLOCK: usize = 512;
    let has = |block: &[u32]| block.iter().fold(false, |found, &slot| found | (slot == wanted));
    let block = slots.chunks(BLOCK).position(has)? * BLOCK;
    Some(block + slots[block..].iter().position(|&slot| slot == wanted)?)
}

/// Nulls sort last in both directions.
fn compare_texts(collation: &Collation, descending: bool, left: Option<&str>, right: Option<&str>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => directed(descending, collation.compare(left, right)),
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

fn directed(descending: bool, order: Ordering) -> Ordering {
    match descending {
        true => order.reverse(),
        false => order,
    }
}
