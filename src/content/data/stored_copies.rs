//! Reads stored copies for lists and single reads, with a cache of recently read copies as text: reading a copy from
//! the store takes a look-up in sled, a checksum and unpacking, which is half of the time of a page.
//!
//! A copy never changes, and its number is never used again, so cached copies are never invalidated. The cache is
//! bounded in bytes for all blueprints together. Exports bypass it, because they read everything once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_store::{Key, Store};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion};

/// The greatest number of bytes in the cache.
const MAX_BYTES: u64 = 32 << 20;
/// Larger copies are not cached: each would push out hundreds of small ones.
const MAX_COPY_BYTES: usize = 64 << 10;
/// The memory of a cached copy in addition to its text: the table entry and the reference counts.
const ENTRY_BYTES: u64 = 128;

/// The store with the cache. Clones share both.
#[derive(Clone)]
pub(crate) struct StoredCopies {
    store: Store,
    kept: Arc<Cache<Name, Copy, Weight>>,
    reads: Arc<Reads>,
}

/// The number of copies read since the start: from the cache, and from the store.
#[derive(Default)]
struct Reads {
    kept: AtomicU64,
    others: AtomicU64,
}

/// The cache key of a copy. It is unique among all copies that ever existed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    blueprint: u32,
    id: u128,
    variant: u16,
    number: u64,
}

impl Name {
    fn new(blueprint: u32, id: ResourceId, CopyVersion { variant, number }: CopyVersion) -> Name {
        Name { blueprint, id: id.as_u128(), variant, number }
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<Name, Copy> for Weight {
    fn weight(&self, _: &Name, copy: &Copy) -> u64 {
        copy.attributes.len() as u64 + ENTRY_BYTES
    }
}

impl StoredCopies {
    /// Creates an empty cache over the store.
    pub(crate) fn new(store: Store) -> StoredCopies {
        let usual = MAX_BYTES / 2048;
        StoredCopies {
            store,
            kept: Arc::new(Cache::with_weighter(usual as usize, MAX_BYTES, Weight)),
            reads: Arc::default(),
        }
    }

    /// Returns whether a copy is cached: then reading it takes microseconds.
    pub(crate) fn has(&self, blueprint: u32, id: ResourceId, version: CopyVersion) -> bool {
        self.kept.contains_key(&Name::new(blueprint, id, version))
    }

    /// Returns the number of copies read from the cache since the start, and of those read from the store.
    pub(crate) fn reads(&self) -> (u64, u64) {
        (self.reads.kept.load(Ordering::Relaxed), self.reads.others.load(Ordering::Relaxed))
    }

    /// Returns the size of the cached copies in bytes.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept.weight()
    }
}

impl Lookup for StoredCopies {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        Lookup::get(&self.store, key)
    }

    fn copy(&self, blueprint: u32, id: ResourceId, version: CopyVersion) -> Result<Copy> {
        let name = Name::new(blueprint, id, version);
        if let Some(copy) = self.kept.get(&name) {
            self.reads.kept.fetch_add(1, Ordering::Relaxed);
            return Ok(copy);
        }
        self.reads.others.fetch_add(1, Ordering::Relaxed);
        let copy = self.store.copy(blueprint, id, version)?;
        if copy.attributes.len() <= MAX_COPY_BYTES {
            self.kept.insert(name, copy.clone());
        }
        Ok(copy)
    }
}
