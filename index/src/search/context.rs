//! The data that all searches of an index share, on any version. It knows no queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::kept_page::RecentVersions;
use super::query_cache::QueryCache;
use crate::options::Options;
use crate::schema::VariantNumber;
use crate::slots::SlotMap;
use crate::version::Version;
use crate::working::WorkingBase;

/// The data that all searches of an index share.
#[derive(Debug)]
pub(crate) struct SearchContext {
    pub(crate) options: Options,
    /// Shared with the writer.
    pub(crate) slots: Arc<SlotMap>,
    pub(crate) cache: QueryCache,
    /// Versions that pages can be compared with.
    pub(crate) recent: RecentVersions,
    working: Mutex<WorkingContexts>,
    /// The tables from which the next version with working copies is made.
    pub(crate) working_base: Mutex<Option<WorkingBase>>,
}

/// The contexts of searches that read working copies: their results differ from those of live copies.
#[derive(Debug)]
struct WorkingContexts {
    /// The last version whose changes were recorded.
    recorded: u64,
    by_variant: BTreeMap<VariantNumber, Arc<SearchContext>>,
}

impl SearchContext {
    /// Makes the context of an index that begins with `version`.
    pub(crate) fn new(version: &Version, cache: QueryCache, options: Options) -> SearchContext {
        SearchContext::of(version.number, Arc::new(SlotMap::of(version)), cache, options)
    }

    fn of(version: u64, slots: Arc<SlotMap>, cache: QueryCache, options: Options) -> SearchContext {
        let working = Mutex::new(WorkingContexts { recorded: version, by_variant: BTreeMap::new() });
        let recent = RecentVersions::default();
        SearchContext { options, slots, cache, recent, working, working_base: Mutex::default() }
    }

    /// Returns the context of searches that read the working copies of a variant.
    pub(crate) fn working(&self, variant: VariantNumber) -> Arc<SearchContext> {
        let mut contexts = self.working.lock();
        let recorded = contexts.recorded;
        let context = contexts.by_variant.entry(variant).or_insert_with(|| {
            let (slots, cache) = (Arc::clone(&self.slots), self.cache.of_working(recorded));
            Arc::new(SearchContext::of(recorded, slots, cache, self.options.clone()))
        });
        Arc::clone(context)
    }

    /// Records the slots that a new version changed. Must be called before the version is published.
    pub(crate) fn record_change(&self, version: u64, slots: Vec<u32>) {
        let mut contexts = self.working.lock();
        contexts.recorded = version;
        contexts.by_variant.values().for_each(|context| context.cache.record_change(version, slots.clone()));
        self.cache.record_change(version, slots);
    }

    /// Drops cached results that neither this version nor a later one can use, once many changes were forgotten.
    pub(crate) fn forget_outdated(&self, version: &Version) {
        let working: Vec<_> = self.working.lock().by_variant.values().cloned().collect();
        working.iter().for_each(|context| context.cache.forget_outdated(version));
        self.cache.forget_outdated(version);
    }

    /// Makes everything cached before `version` unusable for it. Must be called before the version is published.
    pub(crate) fn invalidate_before(&self, version: u64) {
        let mut contexts = self.working.lock();
        contexts.recorded = version;
        contexts.by_variant.values().for_each(|context| context.cache.invalidate_before(version));
        self.cache.invalidate_before(version);
    }
}
