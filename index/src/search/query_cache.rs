//! The query cache: bitmaps and orders, each with the version it was computed for. It does not know their meaning.
//!
//! A cached result survives writes. The cache remembers the slots that recent versions changed, so a result of another
//! version is updated by recomputing only those slots.

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
use crate::error::Error;
use crate::options::Options;
use crate::query::DateColumn;
use crate::run::{NumberedRun, Run, RunNumber};
use crate::schema::ColumnId;
use crate::version::Version;

/// Bitmaps and orders computed by queries of all indexes of a data folder, with one budget for all of them.
#[derive(Debug)]
pub(crate) struct Caches {
    /// The slots for which a primitive of a filter holds.
    bitmaps: ResultCache<Bitmap>,
    orders: ResultCache<AnyOrderResult>,
    /// Numbers the indexes.
    next_owner: AtomicU64,
}

/// A result in the cache of orders: an order of all live slots, matches in an order or their numbers, or a result that
/// is computed from a column of a disk run. All share one budget.
pub(super) trait OrderResult: Any + Send + Sync {
    /// The tag of its type, with which its keys begin. No two types have the same.
    const NAME: u8;

    /// Returns its size in memory.
    fn bytes(&self) -> usize;
}

type AnyOrderResult = dyn Any + Send + Sync;

/// Added to the number of a run, this is the version of a result for the run. Runs do not change, so it needs no other,
/// and no index has so many versions.
const OF_RUN: u64 = 1 << 63;

/// The results computed by queries of one index.
#[derive(Debug)]
pub(crate) struct QueryCache {
    caches: Arc<Caches>,
    /// The prefix of every key of this index.
    owner: [u8; 8],
    /// The prefix of keys of results for runs. Searches of working copies share those of the index.
    owner_of_runs: [u8; 8],
    changed: Mutex<ChangedSlots>,
    /// The orders that are being computed.
    computing: Mutex<HashSet<Key>>,
    computed: Condvar,
    /// For each date, the number of times that all resources were tested by it.
    date_scans: [AtomicU32; 3],
    /// The damage flag. Once damage is found, nothing is cached, because it may be wrong.
    pub(crate) damage: Arc<Damage>,
}

/// The exclusive right to compute an order.
pub(super) struct Claim<'a> {
    cache: &'a QueryCache,
    key: Key,
}

impl Caches {
    /// Makes empty caches.
    pub(crate) fn new(options: &Options) -> Caches {
        Caches {
            bitmaps: ResultCache::new(options.bitmap_cache_bytes),
            orders: ResultCache::new(options.order_cache_bytes),
            next_owner: AtomicU64::new(0),
        }
    }

    fn new_owner(&self) -> [u8; 8] {
        self.next_owner.fetch_add(1, Ordering::Relaxed).to_be_bytes()
    }
}

/// The state of a result in the cache, for some version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheStatus {
    Current,
    Outdated,
    No,
}

/// A cached result, looked up for some version.
pub(super) enum CacheHit<T> {
    /// The result for this version.
    Current(Arc<T>),
    /// The result for another version. Only the `changed` slots, ascending, may differ.
    Outdated { result: Arc<T>, changed: Vec<u32> },
}

impl QueryCache {
    /// Creates the cache of an index that begins with `version`.
    pub(crate) fn new(version: u64, caches: Arc<Caches>, damage: Arc<Damage>) -> QueryCache {
        let owner = caches.new_owner();
        QueryCache::owned(owner, owner, version, caches, damage)
    }

    /// Creates the cache of searches of the same index that read working copies. It begins with `version`.
    pub(super) fn of_working(&self, version: u64) -> QueryCache {
        let (caches, damage) = (Arc::clone(&self.caches), Arc::clone(&self.damage));
        QueryCache::owned(caches.new_owner(), self.owner_of_runs, version, caches, damage)
    }

    fn owned(
        owner: [u8; 8],
        owner_of_runs: [u8; 8],
        version: u64,
        caches: Arc<Caches>,
        damage: Arc<Damage>,
    ) -> QueryCache {
        let changed = Mutex::new(ChangedSlots::since(version));
        let (computing, computed) = (Mutex::default(), Condvar::new());
        QueryCache {
            caches,
            owner,
            owner_of_runs,
            changed,
            computing,
            computed,
            date_scans: Default::default(),
            damage,
        }
    }

    /// Returns the beginning of a key, to which the caller appends what identifies the result within the index.
    pub(super) fn new_key(&self) -> Vec<u8> {
        self.owner.to_vec()
    }

    /// Like [`QueryCache::new_key`], for a result in the cache of orders.
    pub(super) fn new_order_key<T: OrderResult>(&self) -> Vec<u8> {
        let mut key = self.new_key();
        key.push(T::NAME);
        key
    }

    /// Records the slots that a new version changed. Must be called before the version is published.
    pub(crate) fn record_change(&self, version: u64, slots: Vec<u32>) {
        self.changed.lock().record(version, slots);
    }

    /// Makes everything cached before `version` unusable for it. Must be called before the version is published.
    pub(crate) fn invalidate_before(&self, version: u64) {
        *self.changed.lock() = ChangedSlots::since(version);
    }

    /// Drops the results that neither this version nor a later one can use: those of versions after which changes are
    /// forgotten, and those for other runs. Does so once for many changes, since it looks at all results.
    pub(crate) fn forget_outdated(&self, version: &Version) {
        let Some(known_since) = self.changed.lock().newly_forgotten() else { return };
        let is_run = |run| version.copy_sets.iter().any(|copies| copies.numbered(run).is_some());
        let is_usable = |key: &Key, version: u64| match version.checked_sub(OF_RUN) {
            Some(run) => is_run(run as RunNumber) || !key.starts_with(&self.owner_of_runs),
            None => version >= known_since || !key.starts_with(&self.owner),
        };
        self.caches.bitmaps.retain(is_usable);
        self.caches.orders.retain(is_usable);
    }

    /// `None` if nothing is cached, or if it is unknown which slots changed since.
    pub(super) fn bitmap(&self, key: &Key, version: u64) -> Option<CacheHit<Bitmap>> {
        let (computed_for, bitmap) = self.caches.bitmaps.get(key)?;
        self.looked_up(computed_for, bitmap, version)
    }

    pub(super) fn put_bitmap(&self, key: &Key, version: u64, bitmap: &Arc<Bitmap>) {
        if !self.damage.is_found() {
            self.caches.bitmaps.put(key, version, Arc::clone(bitmap), bitmap.bytes());
        }
    }

    /// Returns what is cached in the cache of orders for some version. `None` if nothing is, or if it is unknown which
    /// slots changed since.
    pub(super) fn order_result<T: OrderResult>(&self, key: &Key, version: u64) -> Option<CacheHit<T>> {
        let (computed_for, result) = self.caches.orders.get(key)?;
        self.looked_up(computed_for, result.downcast().ok()?, version)
    }

    /// Returns what is cached in the cache of orders for any version, without counting as a use.
    pub(super) fn peek_order_result<T: OrderResult>(&self, key: &Key) -> Option<Arc<T>> {
        self.caches.orders.peek(key)?.1.downcast().ok()
    }

    pub(super) fn put_order_result<T: OrderResult>(&self, key: &Key, version: u64, result: Arc<T>) {
        if !self.damage.is_found() {
            let bytes = result.bytes();
            self.caches.orders.put(key, version, result, bytes);
        }
    }

    /// Returns whether an order of this many slots is small enough to stay in the cache together with others.
    pub(super) fn keeps_order_of(&self, slots: usize) -> bool {
        self.caches.orders.max_bytes() / 4 >= SlotOrder::bytes_of(slots)
    }

    /// Counts a test of all resources by a date. Returns the number of earlier ones.
    pub(super) fn count_date_scan(&self, date: DateColumn) -> u32 {
        self.date_scans[date as usize].fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the key of a result for a column of a run. `rest` distinguishes results of the same type.
    pub(super) fn key_of_run<T: OrderResult>(&self, run: RunNumber, column: ColumnId, rest: &[u8]) -> Key {
        let mut key = self.owner_of_runs.to_vec();
        key.push(T::NAME);
        key.extend_from_slice(&run.to_be_bytes());
        key.extend_from_slice(&column.to_be_bytes());
        key.extend_from_slice(rest);
        key.into()
    }

    /// Returns a cached result for a run.
    pub(super) fn of_run<T: OrderResult>(&self, key: &Key) -> Option<Arc<T>> {
        self.caches.orders.get(key)?.1.downcast().ok()
    }

    /// Caches a result for a run. `key` must be its [`QueryCache::key_of_run`].
    pub(super) fn put_of_run<T: OrderResult>(&self, key: &Key, run: RunNumber, result: &Arc<T>) {
        self.put_order_result(key, OF_RUN + u64::from(run), Arc::clone(result));
    }

    /// Returns what `find` computes from a column of a run. Kept for disk runs: those do not change. `rest`
    /// distinguishes results of the same type.
    pub(super) fn kept_or_found<T: OrderResult>(
        &self,
        run: &NumberedRun,
        column: ColumnId,
        rest: &[u8],
        find: impl FnOnce() -> Result<Arc<T>, Error>,
    ) -> Result<Arc<T>, Error> {
        if matches!(run.run, Run::Memory(_)) {
            return find();
        }
        let key = self.key_of_run::<T>(run.number, column, rest);
        if let Some(kept) = self.of_run(&key) {
            return Ok(kept);
        }
        let found = find()?;
        self.put_of_run(&key, run.number, &found);
        Ok(found)
    }

    /// Tests whether the bitmap is cached.
    pub(super) fn knows_bitmap(&self, key: &Key, version: u64) -> CacheStatus {
        known(self.caches.bitmaps.peek(key), version)
    }

    /// Tests whether anything is cached for a key of orders, whatever the version.
    pub(super) fn is_kept(&self, key: &Key) -> bool {
        self.caches.orders.peek(key).is_some()
    }

    /// Tests whether the order is cached.
    pub(super) fn knows_order(&self, key: &Key, version: u64) -> CacheStatus {
        known(self.caches.orders.peek(key), version)
    }

    /// Claims the computation of an order. Returns `None`, after waiting at most `patience`, if another thread computes
    /// it: the order may be cached then.
    pub(super) fn claim_order(&self, key: &Key, patience: Duration) -> Option<Claim<'_>> {
        let mut computing = self.computing.lock();
        if computing.insert(Arc::clone(key)) {
            return Some(Claim { cache: self, key: Arc::clone(key) });
        }
        self.computed.wait_for(&mut computing, patience);
        None
    }

    /// Returns the slots in which two versions may differ, ascending; `None` if they are unknown.
    pub(super) fn changed(&self, one: u64, other: u64) -> Option<Vec<u32>> {
        self.changed.lock().between(one, other)
    }

    fn looked_up<T>(&self, computed_for: u64, result: Arc<T>, version: u64) -> Option<CacheHit<T>> {
        if computed_for == version {
            return Some(CacheHit::Current(result));
        }
        let changed = self.changed(computed_for, version)?;
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

fn known<T>(cached: Option<(u64, T)>, version: u64) -> CacheStatus {
    match cached {
        None => CacheStatus::No,
        Some((cached, _)) if cached == version => CacheStatus::Current,
        Some(_) => CacheStatus::Outdated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::MemoryRun;
    use crate::schema::{Schema, Variant};

    #[derive(Debug)]
    struct Found;

    impl OrderResult for Found {
        const NAME: u8 = b'f';

        fn bytes(&self) -> usize {
            1
        }
    }

    #[test]
    fn results_that_no_later_version_can_use_are_dropped() {
        let caches = Arc::new(Caches::new(&Options::default()));
        let [cache, other] = [0, 0].map(|version| QueryCache::new(version, Arc::clone(&caches), Arc::default()));
        let key = |of: &QueryCache, name: u8| Key::from([of.new_key(), vec![name]].concat());
        let (early, late, of_other) = (key(&cache, 1), key(&cache, 2), key(&other, 1));
        let [of_current, of_merged] = [3, 4].map(|run| cache.key_of_run::<Found>(run, 0, &[]));
        let mut version = Version::empty(
            Schema { columns: Vec::new(), variants: vec![Variant { number: 1, locale: None }] },
            &Arc::default(),
        );
        let run = NumberedRun::new(3, Run::Memory(Arc::new(MemoryRun::new(1, 1))));
        version.copy_sets[0].runs = Arc::new(vec![run]);

        let (bitmap, found) = (Arc::new(Bitmap::default()), Arc::new(Found));
        cache.put_bitmap(&early, 1, &bitmap);
        other.put_bitmap(&of_other, 1, &bitmap);
        cache.record_change(2, (0..100_000).collect());
        cache.put_bitmap(&late, 2, &bitmap);
        cache.put_of_run(&of_current, 3, &found);
        cache.put_of_run(&of_merged, 4, &found);
        cache.forget_outdated(&version);
        let known = [cache.knows_bitmap(&early, 2), cache.knows_bitmap(&late, 2), other.knows_bitmap(&of_other, 1)];
        assert_eq!(known, [CacheStatus::No, CacheStatus::Current, CacheStatus::Current]);
        let are_known = [of_current, of_merged].map(|key| cache.of_run::<Found>(&key).is_some());
        assert_eq!(are_known, [true, false]);

        cache.put_of_run(&cache.key_of_run::<Found>(4, 0, &[]), 4, &found);
        cache.forget_outdated(&version);
        let is_known = cache.of_run::<Found>(&cache.key_of_run::<Found>(4, 0, &[])).is_some();
        assert!(is_known, "nothing was forgotten since, so nothing was looked at");
    }
}
