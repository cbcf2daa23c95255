//! Rebuilding the index of a blueprint whose files turned out to be damaged, while reads and writes go on.
//!
//! The damaged index stays in the state until the new one is complete: its data about each resource (id, version,
//! dates, copies) is in memory and intact, and is all that writes and reads of one resource need. Searches fail
//! meanwhile. Both indexes get every operation. Whenever the committer is idle, the new one also gets a piece of the
//! store. Must not know why an index is damaged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bindery_model::error::{Error, Result};
use bindery_store::{Key, Prefix, Store};

use crate::data::index_mapping::IndexMapping;
use crate::data::records::Meta;
use crate::data::state::{Collection, State};
use crate::warm::warm_index;

/// The most resources of one piece. Writes wait while a piece is added.
const PIECE_RESOURCES: usize = 128;

/// The indexes that are being rebuilt, by blueprint.
#[derive(Default)]
pub(crate) struct Rebuilds(BTreeMap<u32, Rebuild>);

struct Rebuild {
    index: bindery_index::Index,
    /// The last resource of the store that is in the new index.
    after: Option<Key>,
    count: u64,
    started: Instant,
    /// The time at which the rebuild continues. It is later than `started` after a failed attempt.
    continues_at: Instant,
    /// The thread that prepares the complete index for its first searches.
    warming: Option<JoinHandle<()>>,
}

/// The maximum time for preparing a rebuilt index.
const WARM_TIME: Duration = Duration::from_secs(60);

/// The time to wait after the store failed.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

/// A rebuilt index that takes the place of a damaged one.
pub(super) struct RebuiltIndex {
    pub(super) blueprint: u32,
    pub(super) index: bindery_index::Index,
}

impl Rebuilds {
    /// Returns whether an index is being rebuilt.
    pub(crate) fn is_busy(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the new index of a blueprint, which gets the same operations as the damaged one.
    pub(super) fn index(&self, blueprint: u32) -> Option<&bindery_index::Index> {
        self.0.get(&blueprint).map(|rebuild| &rebuild.index)
    }

    /// Notes that a blueprint was deleted.
    pub(super) fn forget(&mut self, blueprint: u32) {
        self.0.remove(&blueprint);
    }

    /// Begins to rebuild indexes that were found to be damaged, and rebuilds one more piece of the first one. Returns
    /// the index if it is complete. The caller puts it into the state before it applies anything else.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails. Then a later call begins the rebuild again.
    pub(super) fn step(
        &mut self,
        store: &Store,
        indexes: &bindery_index::Indexes,
        state: &State,
    ) -> Result<Option<RebuiltIndex>> {
        for collection in indexes.damaged().into_iter().filter_map(|number| state.numbered(number)) {
            self.begin(indexes, collection, Duration::ZERO);
        }
        let Some((&blueprint, rebuild)) = self.0.iter_mut().next() else { return Ok(None) };
        let Some(collection) = state.numbered(blueprint) else {
            self.forget(blueprint);
            return Ok(None);
        };
        match rebuild.piece(store, mapping(collection)) {
            Ok(false) => Ok(None),
            Ok(true) if !rebuild.is_warm(collection) => Ok(None),
            Ok(true) => {
                let Rebuild { count, started, .. } = rebuild;
                let slug = &collection.blueprint.slug;
                tracing::warn!(blueprint = slug, resources = *count, elapsed = ?started.elapsed(), "the index is rebuilt");
                Ok(self.0.remove(&blueprint).map(|Rebuild { index, .. }| RebuiltIndex { blueprint, index }))
            }
            Err(error) => {
                self.begin(indexes, collection, FAILED_PAUSE);
                Err(error)
            }
        }
    }

    fn begin(&mut self, indexes: &bindery_index::Indexes, collection: &Collection, pause: Duration) {
        let blueprint = &collection.blueprint;
        tracing::warn!(blueprint = blueprint.slug, "the index is damaged; rebuilding it from the store");
        let index = indexes.create_unfinished(blueprint.number, mapping(collection).schema());
        let started = Instant::now();
        let (continues_at, warming) = (started + pause, None);
        let rebuild = Rebuild { index, after: None, count: 0, started, continues_at, warming };
        self.0.insert(blueprint.number, rebuild);
    }
}

impl Rebuild {
    /// Is true if the complete index is prepared for its first searches. That may take seconds, so a thread does it.
    fn is_warm(&mut self, collection: &Collection) -> bool {
        if let Some(warming) = &self.warming {
            return warming.is_finished();
        }
        let (blueprint, snapshot) = (Arc::clone(&collection.blueprint), self.index.snapshot());
        let work = move || {
            bindery_index::priority::lower();
            warm_index(&blueprint, &snapshot, Instant::now() + WARM_TIME);
        };
        self.warming = std::thread::Builder::new().name("warm".to_owned()).spawn(work).ok();
        // If no thread can be started, the first search prepares the index.
        self.warming.is_none()
    }

    /// Puts the next resources of the store into the new index. Returns whether there are no more.
    fn piece(&mut self, store: &Store, mapping: IndexMapping<'_>) -> Result<bool> {
        // A piece must not make writes wait until a run is on disk, nor fill the memory while none can be written.
        if Instant::now() < self.continues_at || self.index.has_waiting_runs() {
            return Ok(false);
        }
        if self.warming.is_some() {
            return Ok(true);
        }
        let prefix = || Prefix::Resources(mapping.blueprint.number);
        let scan = match &self.after {
            Some(after) => store.scan_after(prefix(), after),
            None => store.scan(prefix()),
        };
        let mut ops = Vec::with_capacity(PIECE_RESOURCES);
        for entry in scan.take(PIECE_RESOURCES) {
            let (key, bytes) = entry.map_err(Error::internal)?;
            if let Key::Resource { id, .. } = key {
                let meta = Meta::decode(&bytes).map_err(Error::internal)?;
                ops.push(mapping.put(store, id, &meta)?);
            }
            self.after = Some(key);
        }
        let is_complete = ops.is_empty();
        self.count += ops.len() as u64;
        self.index.apply(ops);
        Ok(is_complete)
    }
}

fn mapping(collection: &Collection) -> IndexMapping<'_> {
    IndexMapping { blueprint: &collection.blueprint, next: collection.change.as_ref().map(|change| &*change.next) }
}
