//! The query cache: bitmaps and orders, each with the version it was computed for. It knows nothing of what they mean.
//!
//! A cached result survives writes. The cache remembers which slots recent versions changed, so a result of another
//! version is brought up to date by recomputing those slots only.

use std::sync::Arc;

use parking_lot::Mutex;

use super::changed_slots::ChangedSlots;
use super::lru::{Key, LruCache, Versioned};
use crate::bitmap::Bitmap;
use crate::options::Options;

/// Bitmaps and orders that queries of an index computed.
#[derive(Debug)]
pub(crate) struct QueryCache {
    /// The slots for which a primitive of a filter holds.
    bitmaps: LruCache<Bitmap>,
    /// All live slots, in an order.
    orders: LruCache<Vec<u32>>,
    changed: Mutex<ChangedSlots>,
}

/// A cached result, looked up for some version.
pub(super) enum Cached<T> {
    /// It holds for that version.
    Current(Arc<T>),
    /// It holds for another version. Only the `changed` slots, ascending, may differ.
    Outdated { result: Arc<T>, changed: Vec<u32> },
}

impl QueryCache {
    /// An empty cache for an index that begins with `version`.
    pub(super) fn new(version: u64, options: &Options) -> QueryCache {
        QueryCache {
            bitmaps: LruCache::new(options.bitmap_cache_bytes),
            orders: LruCache::new(options.order_cache_bytes),
            changed: Mutex::new(ChangedSlots::since(version)),
        }
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
    pub(super) fn bitmap(&self, key: &Key, version: u64) -> Option<Cached<Bitmap>> {
        self.looked_up(self.bitmaps.get(key)?, version)
    }

    pub(super) fn put_bitmap(&self, key: &Key, version: u64, bitmap: &Arc<Bitmap>) {
        self.bitmaps.put(key, version, bitmap, bitmap.bytes());
    }

    /// `None` if nothing is cached, or if it is unknown which slots changed since.
    pub(super) fn order(&self, key: &Key, version: u64) -> Option<Cached<Vec<u32>>> {
        self.looked_up(self.orders.get(key)?, version)
    }

    pub(super) fn put_order(&self, key: &Key, version: u64, order: &Arc<Vec<u32>>) {
        self.orders.put(key, version, order, order.len() * 4);
    }

    fn looked_up<T>(&self, cached: Versioned<T>, version: u64) -> Option<Cached<T>> {
        let Versioned { version: computed_for, result } = cached;
        if computed_for == version {
            return Some(Cached::Current(result));
        }
        let changed = self.changed.lock().between(computed_for, version)?;
        Some(Cached::Outdated { result, changed })
    }
}
