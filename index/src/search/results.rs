//! A cache of results by key, limited by bytes. Results that were not requested again are evicted first. It does not
//! know their meaning.

use std::hash::RandomState;
use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// The key of a result.
pub(super) type Key = Arc<[u8]>;

/// Added to each result's size for the cache's own memory.
const OVERHEAD_BYTES: usize = 128;

/// The assumed size of a result. It only determines the initial size of tables.
const USUAL_BYTES: usize = 64 << 10;

/// Results, each with the version it was computed for.
#[derive(Debug)]
pub(super) struct ResultCache<T: ?Sized> {
    max_bytes: usize,
    results: Cache<Key, CachedResult<T>, Weight>,
}

#[derive(Debug)]
struct CachedResult<T: ?Sized> {
    version: u64,
    result: Arc<T>,
    bytes: usize,
}

impl<T: ?Sized> Clone for CachedResult<T> {
    fn clone(&self) -> CachedResult<T> {
        CachedResult { result: Arc::clone(&self.result), ..*self }
    }
}

#[derive(Debug, Clone)]
struct Weight;

impl<T: ?Sized> Weighter<Key, CachedResult<T>> for Weight {
    fn weight(&self, key: &Key, result: &CachedResult<T>) -> u64 {
        (key.len() + result.bytes + OVERHEAD_BYTES) as u64
    }
}

impl<T: ?Sized> ResultCache<T> {
    pub(super) fn new(max_bytes: usize) -> ResultCache<T> {
        let mut options = OptionsBuilder::new();
        options.weight_capacity(max_bytes as u64).estimated_items_capacity(max_bytes.div_ceil(USUAL_BYTES));
        // One shard only: in several, each would be too small for large orders.
        let options = options.shards(1).build().expect("both capacities are set");
        let results = Cache::with_options(options, Weight, RandomState::new(), DefaultLifecycle::default());
        ResultCache { max_bytes, results }
    }

    /// Returns the limit of the whole cache.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Returns the cached result for a key, and the version that it holds for.
    pub(super) fn get(&self, key: &Key) -> Option<(u64, Arc<T>)> {
        self.results.get(key).map(|CachedResult { version, result, .. }| (version, result))
    }

    /// Like [`ResultCache::get`], without counting as a use.
    pub(super) fn peek(&self, key: &Key) -> Option<(u64, Arc<T>)> {
        self.results.peek(key).map(|CachedResult { version, result, .. }| (version, result))
    }

    /// Caches a result of `bytes` bytes. Does nothing if a result of a later version is cached, or if this one exceeds
    /// the limit of the whole cache.
    pub(super) fn put(&self, key: &Key, version: u64, result: Arc<T>, bytes: usize) {
        // Two threads may get here at once and leave the older result. That only costs updating it again.
        if self.peek(key).is_none_or(|(cached, _)| cached <= version) {
            self.results.insert(Arc::clone(key), CachedResult { version, result, bytes });
        }
    }

    /// Drops the results whose keys begin with `prefix`.
    pub(super) fn remove_all(&self, prefix: &[u8]) {
        self.retain(|key, _| !key.starts_with(prefix));
    }

    /// Drops the results for whose keys and versions `is_wanted` does not hold. Looks at all of them.
    pub(super) fn retain(&self, is_wanted: impl Fn(&Key, u64) -> bool) {
        self.results.retain(|key, cached| is_wanted(key, cached.version));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(name: &str) -> Key {
        name.as_bytes().into()
    }

    #[test]
    fn results_are_bounded_and_those_in_use_stay() {
        let cache = ResultCache::new(10_000);
        for number in 0..100 {
            let new = key(&format!("{number:03}"));
            cache.put(&new, 1, Arc::new(0), 869);
            assert!(cache.get(&key("000")).is_some() && cache.get(&new).is_some(), "{number}");
        }
        let kept = (0..100).filter(|number| cache.peek(&key(&format!("{number:03}"))).is_some()).count();
        assert!((9..=10).contains(&kept), "{kept}");
        cache.remove_all(b"00");
        assert!(cache.get(&key("000")).is_none() && cache.get(&key("099")).is_some());
    }

    #[test]
    fn a_large_result_is_kept_beside_others_of_its_size() {
        let cache = ResultCache::new(1_000);
        for name in ["a", "b", "c"] {
            cache.put(&key(name), 1, Arc::new(0), 300);
            assert!(cache.get(&key(name)).is_some(), "{name}");
        }
        assert!(cache.get(&key("b")).is_some());
    }

    #[test]
    fn a_result_of_a_later_version_is_not_replaced() {
        let cache = ResultCache::new(1_000);
        let kept = || cache.get(&key("a")).map(|(version, result)| (version, *result));
        cache.put(&key("a"), 5, Arc::new("new"), 1);
        cache.put(&key("a"), 4, Arc::new("old"), 1);
        assert_eq!(kept(), Some((5, "new")));
        cache.put(&key("a"), 6, Arc::new("newer"), 1);
        assert_eq!(kept(), Some((6, "newer")));
    }

    #[test]
    fn a_result_larger_than_the_limit_is_not_cached() {
        let cache = ResultCache::new(1_000);
        cache.put(&key("a"), 1, Arc::new(0), 1_000);
        assert!(cache.get(&key("a")).is_none());
    }
}
