//! Options of the store.

/// The size of sled's segments, fixed when a store is created.
///
/// A page is a leaf of at most 16 entries, or a few more while leaves are merged. sled writes a page larger than a
/// quarter of a segment to a separate file, which it never syncs. At sled's default of 512 KiB, a leaf with articles of
/// 8 KB would be such a page.
///
/// Segments larger than 2 MiB bring no benefit, and sled keeps buffers of that size in memory. At 512 KiB, 2 MiB and 8
/// MiB, 200,000 articles of 1 to 2 KB load in 3.6, 3.4 and 3.3 s, take 320, 331 and 346 MB of disk, and open in 79, 86
/// and 102 ms after a kill.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;

/// The options that a store is opened with.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The size of the page caches of sled's databases, together.
    pub cache_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { cache_bytes: 32 << 20 }
    }
}
