//! The index of one blueprint: publishes versions and hands out snapshots. Reading is in `snapshot.rs`, deciding what
//! a change does in `apply.rs`, exchanging runs in `exchange.rs`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use crate::apply::Writer;
use crate::bitmap::Bitmap;
use crate::cache::Cache;
use crate::changes::Changes;
use crate::error::Error;
use crate::options::Options;
use crate::run::Run;
use crate::schema::{IndexOp, Schema};
use crate::snapshot::Snapshot;
use crate::state::{Pins, State};

/// One index. Cheap to clone; clones are the same index.
///
/// One thread at a time calls [`Index::apply`], [`Index::backfill`] and [`Index::set_schema`]; any number take snapshots.
#[derive(Clone)]
pub struct Index {
    pub(crate) shared: Arc<Shared>,
}

/// What all clones of an index, and its snapshots, share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) writer: Mutex<Writer>,
    /// Signaled when a frozen run is no longer waiting.
    pub(crate) room: Condvar,
    /// Set when nobody will write frozen runs any more: then nobody waits for it.
    pub(crate) unbounded: AtomicBool,
    /// Called when a run was frozen.
    pub(crate) wake: Option<Wake>,
    pub(crate) state: RwLock<Arc<State>>,
    /// The slot of an id, also of ids that are gone while their slot is vacant: a snapshot asks its own row.
    pub(crate) slots: RwLock<HashMap<u128, u32>>,
    pub(crate) changes: Mutex<Changes>,
    /// Bitmaps of primitives.
    pub(crate) bitmaps: Cache<Bitmap>,
    /// All slots in an order.
    pub(crate) orders: Cache<Vec<u32>>,
}

/// Tells whoever writes frozen runs that there is one.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

impl Index {
    /// An empty index that lives in memory alone: its runs are never written out.
    pub fn in_memory(schema: Schema, options: Options) -> Index {
        Index::new(schema, options, None)
    }

    /// An empty index. With somebody to wake, frozen runs are waited for; without, they stay in memory.
    pub(crate) fn new(schema: Schema, options: Options, wake: Option<Wake>) -> Index {
        Index::of(State::new(schema, &Arc::new(Pins::default())), options, wake)
    }

    /// An index that begins with a state.
    pub(crate) fn of(state: State, options: Options, wake: Option<Wake>) -> Index {
        let mut slots = HashMap::with_capacity(state.total);
        slots.extend(state.live.iter().map(|slot| (state.rows.get(slot).id, slot)));
        let shared = Shared {
            writer: Mutex::new(Writer::new(state.clone())),
            room: Condvar::new(),
            unbounded: AtomicBool::new(wake.is_none()),
            wake,
            changes: Mutex::new(Changes::since(state.version)),
            state: RwLock::new(Arc::new(state)),
            slots: RwLock::new(slots),
            bitmaps: Cache::new(options.bitmap_cache_bytes),
            orders: Cache::new(options.order_cache_bytes),
            options,
        };
        Index { shared: Arc::new(shared) }
    }

    /// Its columns and variants.
    pub fn schema(&self) -> Schema {
        Schema::clone(&self.shared.current().schema)
    }

    /// Changes columns and variants without rebuilding anything: a new column is null everywhere, a new variant has no
    /// copies, a variant that is gone takes its copies with it. Numbers of columns that are gone must not come back,
    /// and a column never changes its kind.
    pub fn set_schema(&self, schema: Schema) {
        let mut writer = self.shared.writer.lock();
        // Kept answers stay true of the columns that stay; what variants have, and their collations, is seen in all.
        let before = Arc::clone(&writer.state.schema);
        let is_kept = |column| schema.columns.contains(column);
        let only_adds = before.variants == schema.variants && before.columns.iter().all(is_kept);
        writer.set_schema(schema);
        if !only_adds {
            *self.shared.changes.lock() = Changes::since(writer.state.version);
        }
        self.shared.publish(&mut writer);
    }

    /// Applies changes in their order. The next snapshot sees all of them at once, a snapshot taken before sees none.
    ///
    /// Copies of variants that the schema does not name are left out. Blocks while [`Options::frozen_runs`] runs wait
    /// to be written to disk.
    pub fn apply(&self, changes: Vec<IndexOp>) {
        self.write(changes, Recorded::Yes);
    }

    /// Puts resources that are there as they are, but for columns that no query has named yet: nothing that was
    /// answered before is looked at again. Else as [`Index::apply`].
    pub fn backfill(&self, changes: Vec<IndexOp>) {
        self.write(changes, Recorded::No);
    }

    /// Blocks as long as [`Index::apply`] would.
    pub fn wait_for_room(&self) {
        drop(self.shared.lock_with_room());
    }

    fn write(&self, changes: Vec<IndexOp>, recorded: Recorded) {
        if changes.is_empty() {
            return;
        }
        let shared = &*self.shared;
        let mut writer = shared.lock_with_room();
        let waiting = writer.frozen.len();
        let changed = writer.apply(changes, shared);
        if recorded == Recorded::Yes {
            shared.changes.lock().record(writer.state.version, changed);
        }
        shared.publish(&mut writer);
        if let (Some(wake), true) = (&shared.wake, writer.frozen.len() > waiting) {
            wake();
        }
    }

    /// The present version, to be read from as long as it is held.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { shared: Arc::clone(&self.shared), state: self.shared.current() }
    }

    /// Checks every file of the index against its checksums, and the terms of each run against its columns.
    pub fn verify(&self) -> Result<(), Error> {
        let state = self.shared.current();
        for (_, run) in state.parts.iter().flat_map(|part| part.runs.iter()) {
            if let Run::Disk(run) = run {
                run.verify()?;
            }
        }
        Ok(())
    }
}

/// Whether kept answers are to be brought up to date with a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recorded {
    Yes,
    No,
}

impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.current();
        formatter.debug_struct("Index").field("version", &state.version).field("total", &state.total).finish()
    }
}

impl Shared {
    /// The published state.
    pub(crate) fn current(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// The writer, once few enough frozen runs wait to be written.
    fn lock_with_room(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        while writer.frozen.len() >= self.options.frozen_runs && !self.unbounded.load(Ordering::Relaxed) {
            self.room.wait(&mut writer);
        }
        writer
    }

    /// Makes the writer's state the published one.
    pub(crate) fn publish(&self, writer: &mut Writer) {
        let state = writer.publishable();
        let before = std::mem::replace(&mut *self.state.write(), Arc::new(state));
        // Outside the lock: it may be the last of its version, with much to free.
        drop(before);
    }
}

#[cfg(test)]
mod tests;
