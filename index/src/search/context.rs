//! The data that all searches of an index share, on any version. It knows no queries.

use std::sync::Arc;

use super::query_cache::QueryCache;
use crate::options::Options;
use crate::slots::SlotMap;
use crate::version::Version;

/// The data that all searches of an index share.
#[derive(Debug)]
pub(crate) struct SearchContext {
    pub(crate) options: Options,
    /// Shared with the writer.
    pub(crate) slots: Arc<SlotMap>,
    pub(crate) cache: QueryCache,
}

impl SearchContext {
    /// Makes the context of an index that begins with `version`.
    pub(crate) fn new(version: &Version, cache: QueryCache, options: Options) -> SearchContext {
        SearchContext { options, slots: Arc::new(SlotMap::of(version)), cache }
    }
}
