//! The index of one blueprint: writes versions, publishes them, and hands out snapshots. It knows no files and no
//! queries.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use crate::bitmap::Bitmap;
use crate::damage::Damage;
use crate::error::Error;
use crate::live_set::LiveSet;
use crate::options::Options;
use crate::pins::Pins;
use crate::run::{DiskRun, FrozenRun, NumberedRun, Run, RunNumber};
use crate::schema::{IndexOp, Schema, VariantNumber};
use crate::search::{Caches, QueryCache, SearchContext, Snapshot};
use crate::slot_table::SlotTable;
use crate::version::{Location, Row, Version};
pub(crate) use replace::ReplacedRun;
use replace::Replacement;
use writer::IndexWriter;

mod replace;
#[cfg(test)]
mod tests;
mod writer;

/// One index. Cheap to clone; all clones are the same index.
///
/// Only one thread at a time may call [`Index::apply`], [`Index::backfill`] and [`Index::set_schema`]. Any number of
/// threads may take snapshots.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    context: Arc<SearchContext>,
    writer: Mutex<IndexWriter>,
    /// The published version.
    current: RwLock<Arc<Version>>,
    /// True if writers wait while too many frozen runs are not written to disk.
    has_backpressure: AtomicBool,
    /// Set for good once nobody writes frozen runs to disk any more.
    is_released: AtomicBool,
    /// Signaled when a frozen run has been replaced, and when `has_backpressure` changes.
    room: Condvar,
    /// The function that is called after a run was frozen.
    wake: Option<Wake>,
}

/// Wakes the thread that writes frozen runs to disk.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The objects that an index shares with others, or with its owner.
pub(crate) struct IndexContext {
    /// Shared with all indexes of a data folder.
    pub(crate) caches: Arc<Caches>,
    /// The flag where its runs report damage.
    pub(crate) damage: Arc<Damage>,
    pub(crate) options: Options,
    /// The function that is called after a run was frozen. Without it, frozen runs stay in memory and writers never
    /// wait for them.
    pub(crate) wake: Option<Wake>,
}

impl IndexContext {
    /// Returns the shared objects of an index with its own caches.
    pub(crate) fn alone(options: Options, wake: Option<Wake>) -> IndexContext {
        IndexContext { caches: Arc::new(Caches::new(&options)), damage: Arc::default(), options, wake }
    }
}

/// The copies of one variant as read from disk.
#[derive(Debug)]
pub(crate) struct LoadedCopies {
    pub(crate) variant: VariantNumber,
    pub(crate) locations: SlotTable<Location>,
    pub(crate) runs: Vec<LoadedRun>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadedRun {
    pub(crate) number: RunNumber,
    pub(crate) run: Arc<DiskRun>,
}

/// A version whose memory runs are all frozen.
pub(crate) struct FrozenVersion {
    pub(crate) version: Arc<Version>,
    /// The memory runs of the version, oldest first.
    pub(crate) runs: Vec<FrozenRun>,
}

/// The treatment of cached results after a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CachedResults {
    MayChange,
    Unaffected,
}

impl Index {
    /// Returns an empty index that is only in memory: its runs are never written to disk.
    pub fn in_memory(schema: Schema, options: Options) -> Index {
        Index::new(schema, IndexContext::alone(options, None))
    }

    /// Makes an empty index.
    pub(crate) fn new(schema: Schema, shared: IndexContext) -> Index {
        Index::of(Version::empty(schema, &Arc::new(Pins::default())), shared)
    }

    /// Returns an index as read from disk. Every location must name a run of its variant and a document of that run.
    pub(crate) fn load(
        schema: Schema,
        rows: SlotTable<Row>,
        copy_sets: Vec<LoadedCopies>,
        shared: IndexContext,
    ) -> Index {
        let mut version = Version::empty(schema, &Arc::new(Pins::default()));
        let live_slots: Bitmap = (0..rows.len() as u32).filter(|&slot| rows.get(slot).is_live()).collect();
        version.total = live_slots.count();
        version.slot_count = live_slots.iter().last().map_or(0, |slot| slot + 1);
        version.live_slots = LiveSet::of(&live_slots);
        version.rows = rows;
        for LoadedCopies { variant, locations, runs } in copy_sets {
            let Some(copies) = version.copy_set_mut(variant) else { continue };
            let mut live: HashMap<RunNumber, Bitmap> = HashMap::new();
            for location in locations.entries().filter(Location::is_copy) {
                live.entry(location.run).or_default().insert(location.doc);
            }
            let numbered = |LoadedRun { number, run }| {
                let mut numbered = NumberedRun::new(number, Run::Disk(run));
                numbered.live = live.get(&number).map(LiveSet::of).unwrap_or_default();
                numbered
            };
            let mut runs: Vec<NumberedRun> = runs.into_iter().map(numbered).collect();
            runs.sort_by_key(|run| run.number);
            copies.locations = locations;
            copies.runs = Arc::new(runs);
        }
        Index::of(version, shared)
    }

    fn of(version: Version, shared: IndexContext) -> Index {
        let IndexContext { caches, damage, options, wake } = shared;
        let cache = QueryCache::new(version.number, caches, damage);
        let context = Arc::new(SearchContext::new(&version, cache, options.clone()));
        let inner = Inner {
            writer: Mutex::new(IndexWriter::new(version.clone(), Arc::clone(&context.slots), options)),
            context,
            current: RwLock::new(Arc::new(version)),
            has_backpressure: AtomicBool::new(wake.is_some()),
            is_released: AtomicBool::new(false),
            room: Condvar::new(),
            wake,
        };
        Index { inner: Arc::new(inner) }
    }

    /// Returns its columns and variants.
    pub fn schema(&self) -> Schema {
        Schema::clone(&self.version().schema)
    }

    /// Returns the limits that it was created with.
    pub(crate) fn options(&self) -> &Options {
        &self.inner.context.options
    }

    /// Changes columns and variants without rebuilding anything. A new column is null everywhere, and a new variant has
    /// no copies. Removing a variant removes its copies.
    ///
    /// The number of a removed column must not be used again, and a column must not change its kind.
    pub fn set_schema(&self, schema: Schema) {
        let mut writer = self.inner.writer.lock();
        // Cached results stay valid if columns are only added. A change of variants can affect any of them, through
        // copies and collations.
        let before = Arc::clone(&writer.version.schema);
        let is_kept = |column| schema.columns.contains(column);
        let only_adds_columns = before.variants == schema.variants && before.columns.iter().all(is_kept);
        writer.set_schema(schema);
        if !only_adds_columns {
            self.inner.context.invalidate_before(writer.version.number);
        }
        let before = self.inner.publish(&mut writer);
        drop(writer);
        drop(before);
    }

    /// Applies operations in order. The next snapshot includes all of them; earlier snapshots include none. Nothing is
    /// durable until a [`Checkpoint`](crate::Checkpoint) is written.
    ///
    /// Ignores copies of variants that the schema does not name. Blocks while [`Options::frozen_runs`] runs wait to be
    /// written to disk.
    pub fn apply(&self, ops: Vec<IndexOp>) {
        self.write(ops, CachedResults::MayChange);
    }

    /// Like [`Index::apply`], but keeps cached results as they are. Only for operations that fill columns which no
    /// query has named yet: after any other change, cached results would be wrong.
    pub fn backfill(&self, ops: Vec<IndexOp>) {
        self.write(ops, CachedResults::Unaffected);
    }

    /// Returns whether runs are written to disk more slowly than they come: [`Index::apply`] blocks once one more is
    /// frozen. Writes that can wait then should, so that others need not.
    pub fn is_behind(&self) -> bool {
        self.inner.has_no_room(&self.inner.writer.lock(), 1)
    }

    /// Returns whether as many runs wait to be written as may, also if they cannot be written, for which other writes do
    /// not wait. For work that can wait until they can, and would fill the memory.
    pub fn has_waiting_runs(&self) -> bool {
        self.inner.has_waiting_runs(&self.inner.writer.lock(), 1)
    }

    /// Blocks while the index [is behind](Index::is_behind).
    pub fn wait_for_room(&self) {
        drop(self.inner.lock_writer_with_room(1));
    }

    fn write(&self, ops: Vec<IndexOp>, cached_results: CachedResults) {
        if ops.is_empty() {
            return;
        }
        let inner = &*self.inner;
        let mut writer = inner.lock_writer_with_room(0);
        let frozen_before = writer.frozen.len();
        let changed = writer.apply(ops);
        let changes = changed.len();
        if cached_results == CachedResults::MayChange {
            inner.context.record_change(writer.version.number, changed);
        }
        let before = inner.publish(&mut writer);
        if let (Some(wake), true) = (&inner.wake, writer.frozen.len() > frozen_before) {
            wake();
        }
        drop(writer);
        drop(inner.context.recent.keep(before, changes));
        inner.context.forget_outdated(&self.version());
    }

    /// Returns the current version, which can be read as long as the snapshot is held.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { context: Arc::clone(&self.inner.context), version: self.version(), live: None }
    }

    /// Returns whether runs of this snapshot were replaced by others with the same copies. If so, a new snapshot gives
    /// the same answers and lets the memory and files of those runs be freed.
    pub fn has_replaced_runs_of(&self, snapshot: &Snapshot) -> bool {
        let current = self.version();
        current.number == snapshot.version.number && !Arc::ptr_eq(&current, &snapshot.version)
    }

    /// Returns the published version.
    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.inner.current.read())
    }

    /// Returns whether its files were found to be damaged: searches fail, and it must be rebuilt. Operations are still
    /// applied.
    pub fn is_damaged(&self) -> bool {
        self.damage().is_found()
    }

    /// Returns where its runs report damage.
    pub(crate) fn damage(&self) -> &Arc<Damage> {
        &self.inner.context.cache.damage
    }

    /// Checks every file of the index against its checksums, and the inverted index of each run against its columns.
    /// Writes nothing.
    pub fn verify(&self) -> Result<(), Error> {
        let version = self.version();
        for numbered in version.copy_sets.iter().flat_map(|copies| copies.runs.iter()) {
            if let Run::Disk(run) = &numbered.run {
                run.verify()?;
            }
        }
        Ok(())
    }

    /// Freezes the growing memory runs. The version returned includes every operation applied so far.
    pub(crate) fn freeze(&self) -> FrozenVersion {
        let mut writer = self.inner.writer.lock();
        writer.freeze_all();
        let before = self.inner.publish(&mut writer);
        let frozen = FrozenVersion { version: self.version(), runs: writer.frozen.clone() };
        drop(writer);
        drop(before);
        frozen
    }

    /// Returns the frozen runs that are not replaced by disk runs yet, oldest first.
    pub(crate) fn frozen(&self) -> Vec<FrozenRun> {
        self.inner.writer.lock().frozen.clone()
    }

    /// Returns a number for a new run.
    pub(crate) fn take_run_number(&self) -> RunNumber {
        self.inner.writer.lock().take_run_number()
    }

    /// Replaces runs with a new one, or removes them if there is none. Does not make a new version, since no query sees
    /// the difference.
    ///
    /// The new run must hold the live documents of the replaced runs, one run after another. Copies written or deleted
    /// since those were collected stay as they are. Returns false and changes nothing if a run no longer exists, for
    /// example because its variant was removed.
    pub(crate) fn replace(&self, variant: VariantNumber, replaced: &[ReplacedRun], new: Option<NumberedRun>) -> bool {
        let version = self.version();
        let Some(copies) = version.copy_set(variant) else { return false };
        let replacement = Replacement::new(copies, replaced, new);
        let mut writer = self.inner.writer.lock();
        let is_replaced = writer.version.copy_set_mut(variant).is_some_and(|copies| replacement.apply(copies));
        if !is_replaced {
            return false;
        }
        let is_written = |frozen: &mut FrozenRun| replaced.iter().any(|replaced| replaced.number == frozen.number);
        let written: Vec<FrozenRun> = writer.frozen.extract_if(.., is_written).collect();
        let before = self.inner.publish(&mut writer);
        drop(writer);
        self.inner.room.notify_all();
        // After the lock is released: these may be the last references to runs, with much memory to free.
        drop((before, version, written, self.inner.context.recent.forget()));
        true
    }

    /// Makes writers wait while too many frozen runs are not written to disk. An index with `wake` starts this way.
    pub(crate) fn enable_backpressure(&self) {
        self.inner.set_backpressure(true);
    }

    /// Lets writers continue regardless of how many runs are frozen: for when runs cannot be written to disk.
    pub(crate) fn disable_backpressure(&self) {
        self.inner.set_backpressure(false);
    }

    /// Lets writers continue for good: nobody writes frozen runs to disk any more. A thread that has just written one
    /// may still enable backpressure, to no effect.
    pub(crate) fn release(&self) {
        self.inner.is_released.store(true, Ordering::SeqCst);
        self.inner.set_backpressure(false);
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version();
        formatter.debug_struct("Index").field("version", &version.number).field("total", &version.total).finish()
    }
}

impl Inner {
    /// Locks the writer after waiting until so few runs are frozen that `spare` more may be without blocking others.
    fn lock_writer_with_room(&self, spare: usize) -> MutexGuard<'_, IndexWriter> {
        let mut writer = self.writer.lock();
        while self.has_no_room(&writer, spare) {
            self.room.wait(&mut writer);
        }
        writer
    }

    fn has_no_room(&self, writer: &IndexWriter, spare: usize) -> bool {
        self.has_waiting_runs(writer, spare) && self.has_backpressure.load(Ordering::Relaxed)
    }

    fn has_waiting_runs(&self, writer: &IndexWriter, spare: usize) -> bool {
        writer.frozen.len() >= self.context.options.frozen_runs.saturating_sub(spare).max(1)
    }

    /// Publishes the writer's version. Returns the previous one, which must be dropped after the writer's lock is
    /// released: it may be the last reference to runs, with much memory to free.
    #[must_use]
    fn publish(&self, writer: &mut IndexWriter) -> Arc<Version> {
        let version = Arc::new(writer.publishable());
        std::mem::replace(&mut *self.current.write(), version)
    }

    fn set_backpressure(&self, enabled: bool) {
        // Under the lock, so that no writer is between reading the flag and waiting.
        let writer = self.writer.lock();
        let is_released = self.is_released.load(Ordering::SeqCst);
        self.has_backpressure.store(enabled && !is_released, Ordering::Relaxed);
        drop(writer);
        self.room.notify_all();
    }
}
