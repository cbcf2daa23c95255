//! Caches that are bounded in bytes. What was not asked for again leaves first. Must not know what they keep.

use std::hash::{Hash, RandomState};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// What an entry usually takes: only the size of tables at the beginning depends on it.
const USUAL_BYTES: u64 = 4 << 10;

/// A cache of `max_bytes` in this many parts. Each part has a lock and an equal share of the bytes, which its largest entry
/// must fit into: by default there would be as many parts as the machine has cores, so that large entries were kept on small
/// machines only.
pub(crate) fn bounded<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone>(
    max_bytes: u64,
    parts: usize,
    weighter: W,
) -> Cache<K, V, W> {
    let mut options = OptionsBuilder::new();
    options.weight_capacity(max_bytes).estimated_items_capacity((max_bytes / USUAL_BYTES) as usize).shards(parts);
    let options = options.build().expect("both capacities are set");
    Cache::with_options(options, weighter, RandomState::new(), DefaultLifecycle::default())
}
