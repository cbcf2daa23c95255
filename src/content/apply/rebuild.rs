//! Rebuilding the index of a blueprint whose files turned out to be damaged, while reads and writes go on.
//!
//! The damaged index stays in the state until the new one is complete: what it knows of each resource (id, version, dates,
//! copies) is in memory and sound, and is all that writes and reads of one resource need. Searches fail meanwhile. Both
//! indexes get every operation; beside that, the new one gets a piece of what the store holds whenever the committer is
//! idle. Must not know why an index is damaged.

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

/// The most resources of one piece: writes wait for it.
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
    /// Later than `started` if an attempt failed just before.
    continues_at: Instant,
    /// Prepares the complete index for its first searches.
    warming: Option<JoinHandle<()>>,
}

/// The most that preparing a rebuilt index may take.
const WARM_TIME: Duration = Duration::from_secs(60);

/// The time to wait after the store failed.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

/// A rebuilt index that takes the place of a damaged one.
pub(super) struct RebuiltIndex {
    pub(super) blueprint: u32,
    pub(super) index: bindery_index::Index,
}

impl Rebuilds {
    /// Tests whether there is anything to do.
    pub(crate) fn is_busy(&self) -> bool {
        !self.0.is_empty()
    }

    /// The new index of a blueprint, which gets the same operations as the damaged one.
    pub(super) fn index(&self, blueprint: u32) -> Option<&bindery_index::Index> {
        self.0.get(&blueprint).map(|rebuild| &rebuild.index)
    }

    /// Notes that a blueprint was deleted.
    pub(super) fn forget(&mut self, blueprint: u32) {
        self.0.remove(&blueprint);
    }

    /// Begins to rebuild indexes that were found to be damaged, and carries the first rebuild on by one piece. Returns an
    /// index that is complete. The caller puts it into the state before anything else is applied.
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
    /// True if the complete index is prepared for its first searches. That may take seconds, so a thread does it.
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
        // Without a thread, the first search does it.
        self.warming.is_none()
    }

    /// Puts the next resources of the store into the new index. Returns whether there are no more.
    fn piece(&mut self, store: &Store, mapping: IndexMapping<'_>) -> Result<bool> {
        if Instant::now() < self.continues_at {
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
