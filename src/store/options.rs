//! How a store is opened.

use std::time::Duration;

/// sled's unit of space, fixed when a store is made. A page (a leaf of at most 16 entries, a few more while leaves are
/// merged) larger than a quarter of it goes to a file of its own, which sled never syncs: at sled's default of 512 KiB
/// that would be a leaf of articles of 8 KB. Beyond 2 MiB nothing is gained: 200,000 articles of 1 to 2 KB load in 3.6,
/// 3.4 and 3.3 s at 512 KiB, 2 MiB and 8 MiB, take 320, 331 and 346 MB of disk, and are open again 79, 86 and 102 ms after
/// a kill; buffers of a segment's size are kept in memory.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Memory for pages that were read or written.
    pub cache_bytes: u64,
    /// How often sled writes its buffers out and cleans segments up.
    pub flush_every: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { cache_bytes: 96 << 20, flush_every: Duration::from_secs(1) }
    }
}
