//! A cache of results by key, limited by bytes, that evicts the least recently used result first. It knows nothing of
//! what the results mean.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

/// Identifies what was computed.
pub(super) type Key = Arc<[u8]>;

/// Added to each result's size for the cache's own memory.
const OVERHEAD_BYTES: usize = 128;

/// Results, each with the version it was computed for.
#[derive(Debug)]
pub(super) struct LruCache<T> {
    max_bytes: usize,
    contents: Mutex<Contents<T>>,
}

/// A result and the version it holds for.
#[derive(Debug, PartialEq)]
pub(super) struct Versioned<T> {
    pub(super) version: u64,
    pub(super) result: Arc<T>,
}

#[derive(Debug)]
struct Contents<T> {
    results: HashMap<Key, CachedResult<T>>,
    /// Keys by the time of their last use.
    uses: BTreeMap<u64, Key>,
    /// Counts uses.
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedResult<T> {
    version: u64,
    result: Arc<T>,
    bytes: usize,
    last_used: u64,
}

impl<T> LruCache<T> {
    pub(super) fn new(max_bytes: usize) -> LruCache<T> {
        let contents = Contents { results: HashMap::new(), uses: BTreeMap::new(), clock: 0, bytes: 0 };
        LruCache { max_bytes, contents: Mutex::new(contents) }
    }

    /// The limit of the whole cache.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The cached result for a key, of any version.
    pub(super) fn get(&self, key: &Key) -> Option<Versioned<T>> {
        let mut contents = self.contents.lock();
        let contents = &mut *contents;
        let cached = contents.results.get_mut(key)?;
        contents.clock += 1;
        contents.uses.remove(&cached.last_used);
        contents.uses.insert(contents.clock, Arc::clone(key));
        cached.last_used = contents.clock;
        Some(Versioned { version: cached.version, result: Arc::clone(&cached.result) })
    }

    /// Caches a result of `bytes` bytes. Does nothing if a result of a later version is cached, or if this one exceeds
    /// the limit of the whole cache.
    pub(super) fn put(&self, key: &Key, version: u64, result: &Arc<T>, bytes: usize) {
        let bytes = bytes + key.len() + OVERHEAD_BYTES;
        let mut contents = self.contents.lock();
        if bytes > self.max_bytes || contents.results.get(key).is_some_and(|cached| cached.version > version) {
            return;
        }
        contents.remove(key);
        while contents.bytes + bytes > self.max_bytes {
            let Some(oldest) = contents.uses.first_key_value().map(|(_, key)| Arc::clone(key)) else { break };
            contents.remove(&oldest);
        }
        contents.clock += 1;
        let last_used = contents.clock;
        contents.bytes += bytes;
        contents.uses.insert(last_used, Arc::clone(key));
        let cached = CachedResult { version, result: Arc::clone(result), bytes, last_used };
        contents.results.insert(Arc::clone(key), cached);
    }
}

impl<T> LruCache<T> {
    /// The version of a cached result, without using it.
    pub(super) fn peek(&self, key: &Key) -> Option<u64> {
        self.contents.lock().results.get(key).map(|cached| cached.version)
    }

    /// Drops the results whose keys begin with `prefix`.
    pub(super) fn remove_all(&self, prefix: &[u8]) {
        let mut contents = self.contents.lock();
        let keys: Vec<Key> = contents.results.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        keys.iter().for_each(|key| contents.remove(key));
    }
}

impl<T> Contents<T> {
    fn remove(&mut self, key: &Key) {
        if let Some(cached) = self.results.remove(key) {
            self.uses.remove(&cached.last_used);
            self.bytes -= cached.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        name.as_bytes().into()
    }

    fn versioned(version: u64, result: &'static str) -> Option<Versioned<&'static str>> {
        Some(Versioned { version, result: Arc::new(result) })
    }

    #[test]
    fn the_least_recently_used_result_is_evicted_first() {
        let cache = LruCache::new(3 * 200);
        for name in ["a", "b", "c"] {
            cache.put(&key(name), 1, &Arc::new(0), 60);
        }
        cache.get(&key("a"));
        cache.put(&key("d"), 1, &Arc::new(0), 60);
        let kept: Vec<_> = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).is_some()).into();
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn a_result_of_a_later_version_is_not_replaced() {
        let cache = LruCache::new(1_000);
        cache.put(&key("a"), 5, &Arc::new("new"), 1);
        cache.put(&key("a"), 4, &Arc::new("old"), 1);
        assert_eq!(cache.get(&key("a")), versioned(5, "new"));
        cache.put(&key("a"), 6, &Arc::new("newer"), 1);
        assert_eq!(cache.get(&key("a")), versioned(6, "newer"));
    }

    #[test]
    fn a_result_larger_than_the_limit_is_not_cached() {
        let cache = LruCache::new(1_000);
        cache.put(&key("a"), 1, &Arc::new(0), 1_000);
        assert_eq!(cache.get(&key("a")), None);
    }
}
