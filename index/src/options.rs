//! Limits of an index: how much stays in memory, and when one way to evaluate or sort is chosen over another.

/// Limits of an index. They never change a result, only its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A memory run with this many entries is frozen and written to disk.
    pub memory_run_entries: usize,
    /// A memory run with this many bytes of text is frozen and written to disk.
    pub memory_run_bytes: usize,
    /// [`Index::apply`](crate::Index::apply) blocks while this many frozen runs wait to be written.
    pub frozen_runs: usize,
    /// This many disk runs of similar size are merged into one.
    pub merge_fan_in: usize,
    /// Once a conjunction has at most this many candidates left, its other conditions are tested on each of them.
    pub candidate_limit: usize,
    /// Results of at most this size are sorted, unless filtering a cached order of all resources is cheaper.
    pub sort_limit: usize,
    /// Results of at most this size are always sorted.
    pub always_sort_limit: usize,
    /// A walk along the orders of runs may always take this many steps to find a page.
    pub always_walk_limit: usize,
    /// It may also take one step for this many resources. If even what is left after counting what comes before the page takes
    /// more than both, an order of all resources is made and cached.
    pub walk_share: usize,
    /// Memory for cached bitmaps, of all indexes of a data folder.
    pub bitmap_cache_bytes: usize,
    /// Memory for cached orders, of all indexes of a data folder.
    pub order_cache_bytes: usize,
}

impl Options {
    /// Limits so low that a handful of resources exercises every code path. For tests.
    pub fn tiny() -> Options {
        Options {
            memory_run_entries: 7,
            merge_fan_in: 2,
            candidate_limit: 4,
            sort_limit: 8,
            always_sort_limit: 2,
            always_walk_limit: 3,
            walk_share: 2,
            bitmap_cache_bytes: 4_000,
            order_cache_bytes: 4_000,
            ..Options::default()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_run_entries: 32_768,
            memory_run_bytes: 16 << 20,
            frozen_runs: 3,
            merge_fan_in: 8,
            candidate_limit: 2_000,
            sort_limit: 5_000,
            always_sort_limit: 64,
            always_walk_limit: 2_000,
            walk_share: 16,
            bitmap_cache_bytes: 64 << 20,
            order_cache_bytes: 64 << 20,
        }
    }
}
