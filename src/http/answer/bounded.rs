//! Caches that are bounded in bytes. Entries that were not requested again are evicted first. Must not know what they
//! hold.

use std::hash::{Hash, RandomState};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// The assumed size of an entry. It only determines the initial size of tables.
const USUAL_BYTES: u64 = 4 << 10;

/// Creates a cache of `max_bytes` with this many parts. Each part has a lock and an equal share of the bytes, so an
/// entry must fit into one part. The default is one part per core, which would make the largest possible entry depend
/// on the machine.
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
