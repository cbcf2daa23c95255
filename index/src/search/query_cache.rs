//! The query cache: bitmaps and orders, each with the version it was computed for. It knows nothing of what they mean.
//!
//! A cached result survives writes. The cache remembers which slots recent versions changed, so a result of another
//! version is brought up to date by recomputing those slots only.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::changed_slots::ChangedSlots;
use super::results::{Key, ResultCache};
use super::slot_order::SlotOrder;
use crate::bitmap::Bitmap;
use crate::damage::Damage;
use crate::options::Options;
use crate::query::DateColumn;
use crate::run::RunNumber;
use crate::schema::ColumnId;

/// Bitmaps and orders that queries of all indexes of a data folder computed: one budget for all of them.
#[derive(Debug)]
pub(crate) struct Caches {
    /// The slots for which a primitive of a filter holds.
    bitmaps: ResultCache<Bitmap>,
    orders: ResultCache<CachedOrder>,
    /// Numbers the indexes.
    next_owner: AtomicU64,
}

/// Orders, and what was computed of a run: they share one budget.
#[derive(Debug)]
enum CachedOrder {
    /// Of all live slots.
    Slots(Arc<SlotOrder>),
    OfRun(Arc<dyn Any + Send + Sync>),
}

/// Something that was computed of a column of a run on disk. Runs do not change, so it has no version.
pub(super) trait RunResult: Any + Send + Sync {
    /// Tells its keys from those of others.
    const NAME: u8;

    /// Its size in memory.
    fn bytes(&self) -> usize;
}

/// The results that queries of one index computed.
#[derive(Debug)]
pub(crate) struct QueryCache {
    caches: Arc<Caches>,
    /// Begins every key of this index.
    owner: [u8; 8],
    changed: Mutex<ChangedSlots>,
    /// The orders that are being computed.
    computing: Mutex<HashSet<Key>>,
    computed: Condvar,
    /// The number of times that all resources were tested by each date.
    date_scans: [AtomicU32; 3],
    /// Nothing is cached once damage is found: it may be wrong.
    pub(crate) damage: Arc<Damage>,
}

/// The right to compute an order that no other thread computes meanwhile.
pub(super) struct Claim<'a> {
    cache: &'a QueryCache,
    key: Key,
}

impl Caches {
    /// Empty caches.
    pub(crate) fn new(options: &Options) -> Caches {
        Caches {
            bitmaps: ResultCache::new(options.bitmap_cache_bytes),
            orders: ResultCache::new(options.order_cache_bytes),
            next_owner: AtomicU64::new(0),
        }
    }
}

/// Says whether something is cached for a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheStatus {
    Current,
    Outdated,
    No,
}

/// A cached result, looked up for some version.
pub(super) enum CacheHit<T> {
    /// It holds for that version.
    Current(Arc<T>),
    /// It holds for another version. Only the `changed` slots, ascending, may differ.
    Outdated { result: Arc<T>, changed: Vec<u32> },
}

impl QueryCache {
    /// The cache of an index that begins with `version`.
    pub(crate) fn new(version: u64, caches: Arc<Caches>, damage: Arc<Damage>) -> QueryCache {
        let owner = caches.next_owner.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let changed = Mutex::new(ChangedSlots::since(version));
        let (computing, computed) = (Mutex::default(), Condvar::new());
        QueryCache { caches, owner, changed, computing, computed, date_scans: Default::default(), damage }
    }

    /// The beginning of a key, to be extended by what identifies the result within the index.
    pub(super) fn new_key(&self) -> Vec<u8> {
        self.owner.to_vec()
    }

    /// Records which slots a new version changed. Must be called before the version is published.
    pub(crate) fn record_change(&self, version: u64, slots: Vec<u32>) {
        self.changed.lock().record(version, slots);
    }

    /// Makes everything cached before `version` unusable for it. Must be called before the version is published.
    pub(crate) fn invalidate_before(&self, version: u64) {
        *self.changed.lock() = ChangedSlots::since(version);
    }

    /// `None` if nothing is cached, or if it is unknown which slots changed since.
    pub(super) fn bitmap(&self, key: &Key, version: u64) -> Option<CacheHit<Bitmap>> {
        let (computed_for, bitmap) = self.caches.bitmaps.get(key)?;
        self.looked_up(computed_for, bitmap, version)
    }

    pub(super) fn put_bitmap(&self, key: &Key, version: u64, bitmap: &Arc<Bitmap>) {
        if !self.damage.is_found() {
            self.caches.bitmaps.put(key, version, bitmap, bitmap.bytes());
        }
    }

    /// `None` if nothing is cached, or if it is unknown which slots changed since.
    pub(super) fn order(&self, key: &Key, version: u64) -> Option<CacheHit<SlotOrder>> {
        let (computed_for, result) = self.caches.orders.get(key)?;
        match &*result {
            CachedOrder::Slots(order) => self.looked_up(computed_for, Arc::clone(order), version),
            CachedOrder::OfRun(_) => None,
        }
    }

    pub(super) fn put_order(&self, key: &Key, version: u64, order: &Arc<SlotOrder>) {
        if !self.damage.is_found() {
            let bytes = SlotOrder::bytes_of(order.len());
            self.caches.orders.put(key, version, &Arc::new(CachedOrder::Slots(Arc::clone(order))), bytes);
        }
    }

    /// Tests whether an order of so many slots is small enough to be kept for long, beside others.
    pub(super) fn keeps_order_of(&self, slots: usize) -> bool {
        self.caches.orders.max_bytes() / 4 >= SlotOrder::bytes_of(slots)
    }

    /// Counts a test of all resources by a date. Returns how many there were before.
    pub(super) fn count_date_scan(&self, date: DateColumn) -> u32 {
        self.date_scans[date as usize].fetch_add(1, Ordering::Relaxed)
    }

    /// The key of something that was computed of a column of a run. `rest` tells it from others of its type.
    pub(super) fn key_of_run<T: RunResult>(&self, run: RunNumber, column: ColumnId, rest: &[u8]) -> Key {
        let mut key = self.new_key();
        // The keys of orders of all slots begin otherwise.
        key.push(T::NAME);
        key.extend_from_slice(&run.to_be_bytes());
        key.extend_from_slice(&column.to_be_bytes());
        key.extend_from_slice(rest);
        key.into()
    }

    /// The results that were computed of a run.
    pub(super) fn of_run<T: RunResult>(&self, key: &Key) -> Option<Arc<T>> {
        match &*self.caches.orders.get(key)?.1 {
            CachedOrder::OfRun(result) => Arc::clone(result).downcast().ok(),
            CachedOrder::Slots(_) => None,
        }
    }

    pub(super) fn put_of_run<T: RunResult>(&self, key: &Key, result: &Arc<T>) {
        if !self.damage.is_found() {
            let cached = CachedOrder::OfRun(Arc::clone(result) as Arc<dyn Any + Send + Sync>);
            self.caches.orders.put(key, 0, &Arc::new(cached), result.bytes());
        }
    }

    /// Tests whether the bitmap is cached.
    pub(super) fn knows_bitmap(&self, key: &Key, version: u64) -> CacheStatus {
        known(self.caches.bitmaps.peek(key), version)
    }

    /// Tests whether the order is cached.
    pub(super) fn knows_order(&self, key: &Key, version: u64) -> CacheStatus {
        known(self.caches.orders.peek(key), version)
    }

    /// The right to compute an order. `None`, after a wait of at most `patience`, if another thread computes it: then it may
    /// be cached now.
    pub(super) fn claim_order(&self, key: &Key, patience: Duration) -> Option<Claim<'_>> {
        let mut computing = self.computing.lock();
        if computing.insert(Arc::clone(key)) {
            return Some(Claim { cache: self, key: Arc::clone(key) });
        }
        self.computed.wait_for(&mut computing, patience);
        None
    }

    fn looked_up<T>(&self, computed_for: u64, result: Arc<T>, version: u64) -> Option<CacheHit<T>> {
        if computed_for == version {
            return Some(CacheHit::Current(result));
        }
        let changed = self.changed.lock().between(computed_for, version)?;
        Some(CacheHit::Outdated { result, changed })
    }
}

impl Drop for QueryCache {
    fn drop(&mut self) {
        self.caches.bitmaps.remove_all(&self.owner);
        self.caches.orders.remove_all(&self.owner);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.cache.computing.lock().remove(&self.key);
        self.cache.computed.notify_all();
    }
}

fn known(cached: Option<u64>, version: u64) -> CacheStatus {
    match cached {
        None => CacheStatus::No,
        Some(cached) if cached == version => CacheStatus::Current,
        Some(_) => CacheStatus::Outdated,
    }
}
