//! Answers that are kept, by key, with the version they are true of; what was longest unused goes first. It knows
//! nothing of what the answers mean.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes that stand for what was asked.
pub(crate) type Key = Arc<[u8]>;

/// Kept answers, limited by bytes.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    limit: usize,
    kept: Mutex<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    entries: HashMap<Key, Entry<T>>,
    /// By the time of last use.
    uses: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    version: u64,
    answer: Arc<T>,
    bytes: usize,
    used: u64,
}

impl<T> Cache<T> {
    /// Keeps at most so many bytes.
    pub(crate) fn new(limit: usize) -> Cache<T> {
        let kept = Kept { entries: HashMap::new(), uses: BTreeMap::new(), clock: 0, bytes: 0 };
        Cache { limit, kept: Mutex::new(kept) }
    }

    /// The kept answer and the version it is true of.
    pub(crate) fn get(&self, key: &Key) -> Option<(u64, Arc<T>)> {
        let mut kept = self.kept.lock();
        let kept = &mut *kept;
        let entry = kept.entries.get_mut(key)?;
        kept.clock += 1;
        kept.uses.remove(&entry.used);
        kept.uses.insert(kept.clock, Arc::clone(key));
        entry.used = kept.clock;
        Some((entry.version, Arc::clone(&entry.answer)))
    }

    /// Keeps an answer, unless one of a later version is kept or it alone is over the limit.
    pub(crate) fn put(&self, key: &Key, version: u64, answer: &Arc<T>, bytes: usize) {
        let bytes = bytes + key.len() + 128;
        let mut kept = self.kept.lock();
        if bytes > self.limit || kept.entries.get(key).is_some_and(|entry| entry.version > version) {
            return;
        }
        kept.remove(key);
        while kept.bytes + bytes > self.limit {
            let Some(oldest) = kept.uses.first_key_value().map(|(_, key)| Arc::clone(key)) else { break };
            kept.remove(&oldest);
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.bytes += bytes;
        kept.uses.insert(used, Arc::clone(key));
        kept.entries.insert(Arc::clone(key), Entry { version, answer: Arc::clone(answer), bytes, used });
    }
}

impl<T> Kept<T> {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.uses.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        name.as_bytes().into()
    }

    #[test]
    fn the_longest_unused_answer_goes_first() {
        let cache = Cache::new(3 * 200);
        for name in ["a", "b", "c"] {
            cache.put(&key(name), 1, &Arc::new(0), 60);
        }
        cache.get(&key("a"));
        cache.put(&key("d"), 1, &Arc::new(0), 60);
        let kept: Vec<_> = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).is_some()).into();
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn an_answer_of_a_later_version_stays() {
        let cache = Cache::new(1_000);
        cache.put(&key("a"), 5, &Arc::new("new"), 1);
        cache.put(&key("a"), 4, &Arc::new("old"), 1);
        assert_eq!(cache.get(&key("a")), Some((5, Arc::new("new"))));
        cache.put(&key("a"), 6, &Arc::new("newer"), 1);
        assert_eq!(cache.get(&key("a")), Some((6, Arc::new("newer"))));
    }

    #[test]
    fn what_is_over_the_limit_alone_is_not_kept() {
        let cache = Cache::new(1_000);
        cache.put(&key("a"), 1, &Arc::new(0), 1_000);
        assert_eq!(cache.get(&key("a")), None);
    }
}
