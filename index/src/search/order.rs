//! Sorts slots by the keys of a query. It knows no filters and no pages.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::context::SearchContext;
use super::key_column::{KeyColumn, KeyFallback, compare_texts, directed};
use super::query_cache::{CacheHit, CacheStatus, OrderResult};
use super::results::Key;
use super::slot_order::{OrderView, SlotOrder};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{DateColumn, FallbackColumn, SortBy, SortKey};
use crate::schema::{ColumnId, Kind, VariantNumber};
use crate::sort::sort_by;
use crate::value::{ValueRef, rank_of_integer};
use crate::version::{CopySet, Version};

/// A total order of the slots of one version: no two compare equal.
pub(super) struct Sorter<'a> {
    pub(super) context: &'a SearchContext,
    pub(super) version: &'a Version,
    pub(super) interrupt: &'a Interrupt<'a>,
    pub(super) keys: Vec<ResolvedKey<'a>>,
    /// The direction of the id, which is the last key.
    pub(super) descending: bool,
    /// The key of the order in the cache.
    cache_key: Key,
}

/// A sort key and the source of its values.
#[derive(Clone, Copy)]
pub(super) struct ResolvedKey<'a> {
    pub(super) descending: bool,
    pub(super) source: KeySource<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum KeySource<'a> {
    Date(DateColumn),
    /// A column whose values compare by [`ValueRef::rank`].
    Rank(KeyColumn<'a>),
    /// A column whose values compare by collation.
    Text(KeyColumn<'a>),
}

/// The values of one key for all items to sort, by index of the item.
enum KeyValues<'a> {
    /// The ranks, complemented in a descending order.
    Ranks(Vec<u64>),
    Texts(Vec<SortText<'a>>),
}

/// A text and the beginning of its collation key, complemented in a descending order.
#[derive(Clone)]
struct SortText<'a> {
    prefix: u128,
    text: Option<Cow<'a, str>>,
}

/// The time to wait for an order that another thread computes before the interrupt is checked.
const CLAIM_PATIENCE: Duration = Duration::from_millis(20);

/// Sorts last in both directions.
pub(super) const NULL_RANK: u64 = u64::MAX;
/// Sorts last in both directions.
const NULL_TEXT: SortText<'static> = SortText { prefix: u128::MAX, text: None };

impl<'a> Sorter<'a> {
    pub(super) fn new(
        context: &'a SearchContext,
        version: &'a Version,
        variant: VariantNumber,
        sort: &[SortKey],
        interrupt: &'a Interrupt<'a>,
    ) -> Sorter<'a> {
        let copies = version.copy_set(variant);
        let mut keys = Vec::new();
        let mut descending = false;
        for key in sort {
            descending = key.descending;
            let source = match key.by {
                SortBy::Id => break,
                // The text search itself orders the results.
                SortBy::Relevance => None,
                SortBy::Date(date) => Some(KeySource::Date(date)),
                SortBy::Column(id) => source(version, copies, id, None),
                SortBy::ColumnOr(FallbackColumn { column, unless_null, variant }) => {
                    let unless_null = version.column(unless_null).map(|column| column.id);
                    let fallback = KeyFallback { variant, copies: version.copy_set(variant), unless_null };
                    source(version, copies, column, Some(fallback))
                }
            };
            keys.extend(source.map(|source| ResolvedKey { descending, source }));
        }
        Sorter::of(context, version, keys, descending, interrupt)
    }

    /// Creates a sorter whose keys all read one variant.
    fn of(
        context: &'a SearchContext,
        version: &'a Version,
        keys: Vec<ResolvedKey<'a>>,
        descending: bool,
        interrupt: &'a Interrupt<'a>,
    ) -> Sorter<'a> {
        let cache_key = cache_key(context.cache.new_order_key::<SlotOrder>(), &keys, descending);
        Sorter { context, version, interrupt, keys, descending, cache_key }
    }

    /// Creates a sorter by a date, ascending.
    pub(super) fn by_date(
        context: &'a SearchContext,
        version: &'a Version,
        date: DateColumn,
        interrupt: &'a Interrupt<'a>,
    ) -> Sorter<'a> {
        let keys = vec![ResolvedKey { descending: false, source: KeySource::Date(date) }];
        Sorter::of(context, version, keys, false, interrupt)
    }

    /// Sorts these slots by their values, then by their ids, without an order of all slots.
    pub(super) fn sort(&self, slots: Vec<u32>) -> Result<Vec<u32>, Error> {
        let values = self.values_of(&slots)?;
        // The prefix decides most comparisons without reading the values again.
        let prefix = |item: u32| match &values[..] {
            [] => 0,
            [KeyValues::Texts(texts), ..] => texts[item as usize].prefix,
            [KeyValues::Ranks(first), KeyValues::Ranks(second), ..] => {
                u128::from(first[item as usize]) << 64 | u128::from(second[item as usize])
            }
            [KeyValues::Ranks(ranks), ..] => u128::from(ranks[item as usize]) << 64,
        };
        let mut prefixed: Vec<(u128, u32)> = (0..slots.len() as u32).map(|item| (prefix(item), item)).collect();
        sort_by(&mut prefixed, self.interrupt, |(left_prefix, left), (right_prefix, right)| {
            left_prefix
                .cmp(right_prefix)
                .then_with(|| self.compare_values(&values, *left, *right))
                .then_with(|| self.compare_ids(slots[*left as usize], slots[*right as usize]))
        })?;
        Ok(prefixed.into_iter().map(|(_, item)| slots[item as usize]).collect())
    }

    /// Sorts slots that have the same value of the first key.
    pub(super) fn sort_ties(&self, slots: &mut Vec<u32>) -> Result<(), Error> {
        if slots.len() < 2 {
            return Ok(());
        }
        if self.keys.len() > 1 {
            let rest = Sorter { keys: self.keys[1..].to_vec(), cache_key: Arc::clone(&self.cache_key), ..*self };
            *slots = rest.sort(std::mem::take(slots))?;
            return Ok(());
        }
        let mut with_ids: Vec<(u128, u32)> = slots.iter().map(|&slot| (self.version.rows.get(slot).id, slot)).collect();
        sort_by(&mut with_ids, self.interrupt, |left, right| directed(self.descending, left.0.cmp(&right.0)))?;
        slots.clear();
        slots.extend(with_ids.into_iter().map(|(_, slot)| slot));
        Ok(())
    }

    /// Returns all live slots in order, if that is cached and cheap to update for this version.
    pub(super) fn cached_order(&self) -> Result<Option<OrderView>, Error> {
        let stored = self.stored();
        Ok(stored.cached()?.map(|order| self.view(&stored, order)))
    }

    /// Returns all live slots in order, from the cache if possible. Threads that need the same order wait for the one
    /// that computes it.
    pub(super) fn order(&self) -> Result<OrderView, Error> {
        let (stored, cache) = (self.stored(), &self.context.cache);
        let _claim = loop {
            if let Some(order) = stored.cached()? {
                return Ok(self.view(&stored, order));
            }
            if let Some(claim) = cache.claim_order(&stored.cache_key, CLAIM_PATIENCE) {
                break claim;
            }
            self.interrupt.check()?;
        };
        let slots = match stored.merged_order()? {
            Some(slots) => slots,
            None => stored.sort(self.version.live_slots.to_bitmap().iter().collect())?,
        };
        let order = Arc::new(SlotOrder::of(&slots));
        cache.put_order_result(&stored.cache_key, self.version.number, Arc::clone(&order));
        Ok(self.view(&stored, order))
    }

    /// Returns the sorter of the cached order. An order by one key, or by the id, is cached in ascending direction, and
    /// read from its end if necessary.
    fn stored(&self) -> Sorter<'a> {
        let (mut keys, mut descending) = (self.keys.clone(), self.descending);
        if self.is_cached_ascending() {
            descending = false;
            keys.iter_mut().for_each(|key| key.descending = false);
        }
        Sorter::of(self.context, self.version, keys, descending, self.interrupt)
    }

    /// Returns a key for what is cached about this order beside the order itself.
    pub(super) fn key_beside_order<T: OrderResult>(&self) -> Vec<u8> {
        let mut key = self.context.cache.new_order_key::<T>();
        let order = self.stored().cache_key;
        key.extend_from_slice(&(order.len() as u32).to_be_bytes());
        key.extend_from_slice(&order);
        key
    }

    fn is_cached_ascending(&self) -> bool {
        // If there is a key, the id after it may have another direction.
        self.keys.len() < 2 && self.keys.iter().all(|key| key.descending == self.descending)
    }

    fn view(&self, stored: &Sorter<'_>, order: Arc<SlotOrder>) -> OrderView {
        let valued = match &stored.keys[..] {
            [key] => order.partition_point(|slot| !stored.is_null(key, slot)),
            _ => order.len(),
        };
        OrderView { order, valued, is_reversed: self.is_cached_ascending() && self.descending }
    }

    fn cached(&self) -> Result<Option<Arc<SlotOrder>>, Error> {
        let cache = &self.context.cache;
        let (order, changed) = match cache.order_result::<SlotOrder>(&self.cache_key, self.version.number) {
            None => return Ok(None),
            Some(CacheHit::Current(order)) => return Ok(Some(order)),
            Some(CacheHit::Outdated { result, changed }) => (result, changed),
        };
        if changed.len() > self.context.options.thresholds.always_moved.max(self.version.total / 64) {
            return Ok(None);
        }
        let is_live = |slot| self.version.live_slots.contains(slot);
        let compare = |left, right| self.compare(left, right);
        let order = Arc::new(order.updated(&changed, is_live, compare, self.interrupt)?);
        cache.put_order_result(&self.cache_key, self.version.number, Arc::clone(&order));
        Ok(Some(order))
    }

    /// Tests whether the order of all live slots is cached.
    pub(super) fn knows_order(&self) -> CacheStatus {
        self.context.cache.knows_order(&self.stored().cache_key, self.version.number)
    }

    pub(super) fn is_null(&self, key: &ResolvedKey<'_>, slot: u32) -> bool {
        match key.source {
            KeySource::Text(of) => !of.value(slot).has_sort_text(),
            KeySource::Date(_) | KeySource::Rank(_) => self.rank(key, slot) == NULL_RANK,
        }
    }

    /// Compares two slots by their values.
    pub(super) fn compare(&self, left: u32, right: u32) -> Ordering {
        for key in &self.keys {
            let order = match &key.source {
                KeySource::Text(of) => {
                    let (left, right) = (of.value(left).sort_text(), of.value(right).sort_text());
                    compare_texts(&of.copies.collation, key.descending, left.as_deref(), right.as_deref())
                }
                KeySource::Date(_) | KeySource::Rank(_) => self.rank(key, left).cmp(&self.rank(key, right)),
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

    /// Returns the rank of a slot, complemented in a descending order.
    pub(super) fn rank(&self, key: &ResolvedKey<'_>, slot: u32) -> u64 {
        let rank = match &key.source {
            KeySource::Date(date) => self.version.rows.get(slot).date(*date).map(rank_of_integer),
            KeySource::Rank(of) | KeySource::Text(of) => of.value(slot).rank(),
        };
        match (rank, key.descending) {
            (None, _) => NULL_RANK,
            (Some(rank), false) => rank,
            (Some(rank), true) => !rank,
        }
    }

    fn compare_values(&self, values: &[KeyValues<'_>], left: u32, right: u32) -> Ordering {
        let (left, right) = (left as usize, right as usize);
        for (key, values) in self.keys.iter().zip(values) {
            let order = match (values, &key.source) {
                (KeyValues::Texts(texts), KeySource::Text(of)) => {
                    let (left, right) = (&texts[left], &texts[right]);
                    left.prefix.cmp(&right.prefix).then_with(|| {
                        let collation = &of.copies.collation;
                        compare_texts(collation, key.descending, left.text.as_deref(), right.text.as_deref())
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

    /// Returns the values of some slots, by their index in the slice.
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
}

impl ResolvedKey<'_> {
    fn text<'a>(&self, copies: &CopySet, value: ValueRef<'a>) -> SortText<'a> {
        let Some(text) = value.sort_text() else { return NULL_TEXT };
        let prefix = copies.collation.prefix(&text);
        SortText { prefix: if self.descending { !prefix } else { prefix }, text: Some(text) }
    }
}

/// Returns the cache key of an order: its sort keys, and their variant unless all are dates, which are the same for all
/// variants.
fn cache_key(mut name: Vec<u8>, keys: &[ResolvedKey<'_>], descending: bool) -> Key {
    let variant = keys.iter().find_map(|key| match key.source {
        KeySource::Date(_) => None,
        KeySource::Rank(of) | KeySource::Text(of) => Some(of.copies.variant.number),
    });
    name.extend_from_slice(&variant.unwrap_or(VariantNumber::MAX).to_be_bytes());
    for ResolvedKey { descending, source } in keys {
        let (tag, number) = match source {
            KeySource::Date(date) => (*date as u8, 0),
            KeySource::Rank(of) | KeySource::Text(of) => (if of.fallback.is_some() { 10 } else { 9 }, of.column.id),
        };
        name.extend_from_slice(&[tag, u8::from(*descending)]);
        name.extend_from_slice(&number.to_be_bytes());
        if let KeySource::Rank(of) | KeySource::Text(of) = source
            && let Some(fallback) = of.fallback
        {
            name.extend_from_slice(&fallback.variant.to_be_bytes());
            name.extend_from_slice(&fallback.unless_null.unwrap_or(ColumnId::MAX).to_be_bytes());
        }
    }
    name.push(u8::from(descending));
    name.into()
}

/// Returns the source of a column's values; `None` if they are all null.
fn source<'a>(
    version: &Version,
    copies: Option<&'a CopySet>,
    id: ColumnId,
    fallback: Option<KeyFallback<'a>>,
) -> Option<KeySource<'a>> {
    let (copies, column) = (copies?, version.column(id)?);
    let of = KeyColumn { copies, column, fallback };
    Some(match column.kind {
        Kind::Number | Kind::Bool | Kind::Instant => KeySource::Rank(of),
        Kind::Text | Kind::Prose | Kind::Plain | Kind::Markup | Kind::List => KeySource::Text(of),
    })
}
