//! How much an index may hold in memory before it writes to disk or forgets.

/// Limits of every index of a set; they never change an answer, only its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A memory run with this many entries is frozen and written to disk.
    pub memory_run_entries: usize,
    /// A memory run with this many bytes of text is frozen and written to disk.
    pub memory_run_bytes: usize,
    /// So many frozen runs of one index may wait to be written; then `apply` blocks.
    pub frozen_runs: usize,
    /// So many disk runs of about one size are merged into one.
    pub merge_fan_in: usize,
    /// Once so few resources are left of a conjunction, the rest of it is asked of each of them.
    pub asked_alone: usize,
    /// Results up to this size are sorted by themselves where no order of all is known.
    pub sorted_alone: usize,
    /// Results up to this size are sorted by themselves in any case.
    pub always_alone: usize,
    /// Bytes of cached bitmaps, per index.
    pub bitmap_cache_bytes: usize,
    /// Bytes of cached orders, per index.
    pub order_cache_bytes: usize,
}

impl Options {
    /// Limits at which a handful of resources takes every path: what tests of the whole compare answers under.
    pub fn tiny() -> Options {
        Options {
            memory_run_entries: 7,
            merge_fan_in: 2,
            asked_alone: 4,
            sorted_alone: 8,
            always_alone: 2,
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
            memory_run_bytes: 8 << 20,
            frozen_runs: 4,
            merge_fan_in: 8,
            asked_alone: 2_000,
            sorted_alone: 5_000,
            always_alone: 64,
            bitmap_cache_bytes: 64 << 20,
            order_cache_bytes: 64 << 20,
        }
    }
}
