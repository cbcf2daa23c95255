//! Makes committed transactions visible: from a transaction of the log to store writes, index operations and the state
//! that readers see.
//!
//! This is the only place that derives the effects of a transaction. It is used for transactions of this process, and
//! for those that another process appended to the same log. Nothing comes from the command that led to the transaction,
//! because a follower has no command. (A start replays the store first and then updates the index from the log, see
//! `start`. There, the same `IndexMapping` makes the index operations.)
//!
//! Versions of copies that a transaction supersedes stay in the store until no reader can need them. The log says that
//! they are deleted, the store keeps a list of them, and the sweeper deletes them.

mod access;
mod changes;
mod effects;
mod rebuild;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bindery_disk::failure;
use bindery_index::variant_of_working;
use bindery_model::blueprint::{Blueprint, render};
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Key, Store, StoreWrite, Transaction, encode_writes};

use crate::data::blueprint_change::BlueprintChange;
use crate::data::claims::numbers_in_use;
use crate::data::index_mapping::{Columns, IndexMapping, put_op};
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion};
use crate::data::state::{Collection, State, StateCell};
use crate::maintain::sweep::{Garbage, ObsoleteData, Sweeper};
pub(crate) use changes::ChangeKeeper;
use effects::{BlueprintEffect, Effects, RecordEffect, ResourceEffect};
pub(crate) use rebuild::Rebuilds;
use rebuild::RebuiltIndex;

/// Results that the thread that prepared the command already computed from a transaction's writes. They only save work:
/// a result that is missing here is computed from the writes, and is the same.
#[derive(Debug, Default)]
pub(crate) struct PreparedResults {
    /// The index columns of copies. If a copy is in the list twice, the later entry wins.
    pub(crate) copies: Vec<PreparedColumns>,
    /// The operations that fill the new columns of resources.
    pub(crate) backfills: HashMap<ResourceId, bindery_index::IndexOp>,
}

/// The index columns of a copy that a transaction writes.
#[derive(Debug)]
pub(crate) struct PreparedColumns {
    /// The number of the blueprint. Imports may give resources of several blueprints the same id.
    pub(crate) blueprint: u32,
    pub(crate) id: ResourceId,
    pub(crate) variant: u16,
    pub(crate) columns: Columns,
}

/// A transaction that is in the log.
pub(crate) struct CommittedTransaction {
    pub(crate) transaction: Transaction,
    pub(crate) prepared: PreparedResults,
}

/// The last id and the last time that were assigned. Neither ever decreases.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    pub(crate) last_id: Option<ResourceId>,
    pub(crate) last_time: Millis,
}

/// The owner of everything to which transactions are applied. One thread uses it.
pub(crate) struct Applier {
    pub(crate) store: Store,
    pub(crate) indexes: bindery_index::Indexes,
    pub(crate) cell: Arc<StateCell>,
    pub(crate) sweeper: Sweeper,
    /// The indexes that are being rebuilt.
    pub(crate) rebuilds: Rebuilds,
    pub(crate) changes: ChangeKeeper,
    pub(crate) clock: Clock,
    /// The keys of the moments at which working copies are to be published, in order.
    pub(crate) due: BTreeSet<Key>,
    /// True if an index from before the last transactions would have to be rebuilt. Then a checkpoint is due soon.
    pub(crate) wants_checkpoint: bool,
    /// True if a rebuilt index replaced a damaged one, which a checkpoint must record.
    pub(crate) has_rebuilt_index: bool,
}

/// The next state, while transactions are applied to it.
struct NextState {
    state: State,
    /// Operations that the indexes have not applied yet, by blueprint.
    pending: BTreeMap<u32, Vec<bindery_index::IndexOp>>,
    garbage: Garbage,
}

impl Applier {
    /// Applies transactions in log order. Readers see all of them at once when this returns, and none of them before.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails or a transaction is malformed. Nothing may be applied afterwards.
    pub(crate) fn apply(&mut self, group: Vec<CommittedTransaction>) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let before = self.cell.load();
        let mut next =
            NextState { state: State::clone(&before), pending: BTreeMap::new(), garbage: Garbage::default() };
        for committed in group {
            self.apply_one(&mut next, committed)?;
        }
        let numbers: Vec<u32> = next.pending.keys().copied().collect();
        for number in numbers {
            self.flush(&mut next, number);
        }
        let NextState { state, garbage, .. } = next;
        self.cell.publish(state);
        self.sweeper.replaced(&before, garbage);
        self.changes.publish(&self.store)
    }

    /// Publishes new snapshots in the place of those that keep replaced runs in use. Readers see no difference, but the
    /// memory and the files of those runs are released, also if nobody writes.
    pub(crate) fn release_replaced_runs(&mut self) {
        let before = self.cell.load();
        let numbers = before.with_replaced_runs();
        if numbers.is_empty() {
            return;
        }
        let mut state = State::clone(&before);
        numbers.into_iter().for_each(|number| state.refresh(number));
        self.cell.publish(state);
        self.sweeper.replaced(&before, Garbage::default());
    }

    /// Rebuilds one more piece of the damaged indexes. A new index that is complete replaces the damaged one. It also
    /// holds the writes made during the rebuild.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails. This may be called again.
    pub(crate) fn rebuild_damaged(&mut self) -> Result<()> {
        let before = self.cell.load();
        let rebuilt = self.rebuilds.step(&self.store, &self.indexes, &before)?;
        if let Some(RebuiltIndex { blueprint, index }) = rebuilt {
            let mut state = State::clone(&before);
            state.replace_index(blueprint, index);
            self.cell.publish(state);
            self.sweeper.replaced(&before, Garbage::default());
            self.indexes.finish(blueprint);
            self.has_rebuilt_index = true;
        }
        Ok(())
    }

    fn apply_one(&mut self, next: &mut NextState, committed: CommittedTransaction) -> Result<()> {
        let CommittedTransaction { transaction, prepared } = committed;
        let number = transaction.last;
        let writes = self.store_writes(transaction, &next.state, &mut next.garbage)?;
        let effects = Effects::of(&writes)?;
        self.store.apply(number, &writes).map_err(Error::internal)?;
        failure::point("apply::stored").map_err(Error::internal)?;
        for (blueprint, effect) in &effects.blueprints {
            self.flush(next, *blueprint);
            self.apply_blueprint(next, *blueprint, effect)?;
        }
        self.apply_resources(next, &effects, prepared)?;
        for &(blueprint, is_public, version) in &effects.list_versions {
            let is_written = effects.resources.iter().any(|(written, ..)| *written == blueprint);
            next.state.change_lists(blueprint, is_public, version, is_written);
        }
        for &(blueprint, version) in &effects.working_versions {
            next.state.change_working_lists(blueprint, version);
        }
        for (due, is_planned) in &effects.working_due {
            match is_planned {
                true => self.due.insert(due.clone()),
                false => self.due.remove(due),
            };
        }
        access::apply(&mut next.state, &effects)?;
        if let Some(id) = effects.last_id {
            self.clock.last_id = self.clock.last_id.max(Some(id));
        }
        self.clock.last_time = self.clock.last_time.max(effects.last_time);
        self.changes.note(effects.first_change, effects.changes);
        next.state.released = next.state.released.max(effects.last_time);
        if let Some(leader) = effects.leader {
            next.state.leader = Some(Arc::new(leader));
        }
        next.state.epoch = effects.epoch.unwrap_or(next.state.epoch);
        next.state.number = number;
        Ok(())
    }

    /// Returns the writes that the store makes at once: those of the transaction, except that versions and keys that
    /// readers may still need stay. Those are listed for the sweeper and for the next start.
    fn store_writes(&self, transaction: Transaction, state: &State, garbage: &mut Garbage) -> Result<Vec<StoreWrite>> {
        let Transaction { first, last, writes, .. } = transaction;
        let former_keys = self.former_import_keys(state, &writes, first)?;
        let mut kept: Vec<Key> = former_keys.iter().map(|write| write.key.clone()).collect();
        let mut store_writes = Vec::with_capacity(writes.len() + 2);
        let (superseded, writes): (Vec<StoreWrite>, Vec<StoreWrite>) =
            writes.into_iter().partition(effects::supersedes);
        kept.extend(superseded.into_iter().map(|write| write.key));
        if !kept.is_empty() {
            let list = Key::Superseded(last);
            let deletes: Vec<StoreWrite> = kept.iter().cloned().map(StoreWrite::delete).collect();
            store_writes.push(StoreWrite::put(list.clone(), encode_writes(&deletes)));
            garbage.superseded.extend(kept.into_iter().chain([list]));
        }
        // Must come after the list that names them, and before the meta records that replace them.
        store_writes.extend(former_keys);
        store_writes.extend(writes);
        Ok(store_writes)
    }

    /// Keeps the import keys that the transaction replaces, for readers of older snapshots. An empty key stands for
    /// none. Resources that the published state lacks are skipped: they are new, or their keys were kept when they were
    /// deleted.
    fn former_import_keys(&self, state: &State, writes: &[StoreWrite], number: u64) -> Result<Vec<StoreWrite>> {
        let mut kept = Vec::new();
        if !writes.iter().any(effects::may_change_import_keys) {
            return Ok(kept);
        }
        for write in writes {
            let Key::Resource { blueprint, id } = write.key else { continue };
            let collection = state.numbered(blueprint);
            if collection.is_none_or(|collection| collection.snapshot.get(id.as_u128()).is_none()) {
                continue;
            }
            let Some(before) = self.store.meta(blueprint, id)? else { continue };
            let key_after = match effects::resource_effect(&write.op)? {
                ResourceEffect::Put(meta) => meta.key,
                ResourceEffect::Deleted => None,
                ResourceEffect::Reindex => continue,
            };
            if key_after != before.key {
                let former = before.key.unwrap_or_default();
                kept.push(StoreWrite::put(Key::FormerImportKey { blueprint, id, number }, former));
            }
        }
        Ok(kept)
    }

    fn apply_blueprint(&mut self, next: &mut NextState, number: u32, effect: &BlueprintEffect<'_>) -> Result<()> {
        let before = next.state.numbered(number).cloned();
        if effect.is_deleted() {
            next.state.remove(number);
            self.indexes.remove(number);
            self.rebuilds.forget(number);
            next.garbage.obsolete.push(ObsoleteData::Blueprint(number));
            return Ok(());
        }
        let blueprint = match (effect.blueprint()?, &before) {
            (Some(blueprint), _) => Arc::new(blueprint),
            (None, Some(before)) => Arc::clone(&before.blueprint),
            (None, None) => return Err(Error::internal("a change of a blueprint that does not exist")),
        };
        let change = effect.change(&blueprint, before.as_deref())?;
        let schema = mapping(&blueprint, change.as_deref()).schema();
        let index = match &before {
            Some(before) => before.index.clone(),
            None => self.indexes.create(number, schema.clone()),
        };
        for index in [Some(&index), self.rebuilds.index(number)].into_iter().flatten() {
            if index.schema() != schema {
                index.set_schema(schema.clone());
            }
        }
        let versions = before.as_ref().map(|before| before.versions).unwrap_or_default();
        if let Some(before) = &before {
            next.garbage.obsolete.extend(released_claims(before, &blueprint, change.as_deref()));
            self.wants_checkpoint |= before.blueprint.filled != blueprint.filled;
            if before.blueprint.history != blueprint.history {
                self.sweeper.look_for_revisions();
            }
        }
        next.state.put(blueprint, index, change, versions);
        Ok(())
    }

    fn apply_resources(&self, next: &mut NextState, effects: &Effects<'_>, prepared: PreparedResults) -> Result<()> {
        let PreparedResults { copies, mut backfills } = prepared;
        let mut columns: HashMap<(u32, ResourceId, u16), Columns> =
            copies.into_iter().map(|copy| ((copy.blueprint, copy.id, copy.variant), copy.columns)).collect();
        let mut filled: BTreeMap<u32, Vec<bindery_index::IndexOp>> = BTreeMap::new();
        for (number, id, effect) in &effects.resources {
            // Resources of a deleted blueprint are swept from the store; no index has them any more.
            let Some(collection) = next.state.numbered(*number).cloned() else { continue };
            let mapping = mapping(&collection.blueprint, collection.change.as_deref());
            let op = match effect {
                ResourceEffect::Deleted => bindery_index::IndexOp::Delete { id: id.as_u128() },
                ResourceEffect::Put(meta) => {
                    let mut written = Vec::new();
                    let is_live = |(variant, ..): &(u16, _, _)| variant_of_working(*variant).is_none();
                    for (variant, copy_number, copy) in effects.copies_of(*number, *id).filter(is_live) {
                        let columns = match columns.remove(&(*number, *id, variant)) {
                            Some(columns) => columns,
                            None => mapping
                                .columns(&Copy::decode(copy).map_err(Error::internal)?.values(mapping.blueprint)?),
                        };
                        written.push((CopyVersion { variant, number: copy_number }, columns));
                    }
                    let is_written = |variant| effects.copies_of(*number, *id).any(|(written, ..)| written == variant);
                    let working = mapping.working_copies(&self.store, *id, meta, is_written)?;
                    put_op(*id, meta, written, working)
                }
                ResourceEffect::Reindex => {
                    let op = match backfills.remove(id) {
                        Some(op) => op,
                        None => mapping.current(&self.store, *id)?,
                    };
                    filled.entry(*number).or_default().push(op);
                    continue;
                }
            };
            next.pending.entry(*number).or_default().push(op);
            let published = if let ResourceEffect::Put(meta) = effect { meta.published } else { None };
            if let Some(published) = published.filter(|_| collection.blueprint.scheduled) {
                collection.releases.add(published, effects.last_time);
            }
        }
        for (number, ops) in filled {
            self.flush(next, number);
            if let Some(collection) = next.state.numbered(number) {
                if let Some(rebuilt) = self.rebuilds.index(number) {
                    rebuilt.backfill(ops.clone());
                }
                collection.index.backfill(ops);
            }
        }
        Ok(())
    }

    /// Makes the index of a blueprint apply the operations that are pending for it.
    fn flush(&self, next: &mut NextState, number: u32) {
        let Some(ops) = next.pending.remove(&number) else { return };
        if let Some(collection) = next.state.numbered(number) {
            if let Some(rebuilt) = self.rebuilds.index(number) {
                rebuilt.apply(ops.clone());
            }
            collection.index.apply(ops);
        }
        next.state.refresh(number);
    }
}

/// Checks that the effects of a transaction can be derived.
///
/// # Errors
/// `INTERNAL` if it is malformed.
pub(crate) fn check_effects(transaction: &Transaction) -> Result<()> {
    Effects::of(&transaction.writes).map(|_| ())
}

fn mapping<'a>(blueprint: &'a Blueprint, change: Option<&'a BlueprintChange>) -> IndexMapping<'a> {
    IndexMapping { blueprint, next: change.map(|change| &*change.next) }
}

/// Returns the claims of fields that are no longer claimed under their number.
fn released_claims(before: &Collection, blueprint: &Blueprint, change: Option<&BlueprintChange>) -> Vec<ObsoleteData> {
    let held = numbers_in_use(&before.blueprint, before.change.as_ref().map(|change| &*change.next));
    let in_use = numbers_in_use(blueprint, change.map(|change| &*change.next));
    held.difference(&in_use)
        .map(|claims| ObsoleteData::Claims { blueprint: blueprint.number, claims: *claims })
        .collect()
}

impl BlueprintEffect<'_> {
    /// Returns the blueprint that the transaction puts, if it puts one.
    fn blueprint(&self) -> Result<Option<Blueprint>> {
        match self.blueprint {
            RecordEffect::Put(bytes) => Ok(Some(render::decode(bytes).map_err(Error::internal)?)),
            RecordEffect::Untouched | RecordEffect::Deleted => Ok(None),
        }
    }

    /// Returns the change that is under way after the transaction.
    fn change(&self, blueprint: &Arc<Blueprint>, before: Option<&Collection>) -> Result<Option<Arc<BlueprintChange>>> {
        match self.change {
            RecordEffect::Untouched => Ok(before.and_then(|before| before.change.clone())),
            RecordEffect::Deleted => Ok(None),
            RecordEffect::Put(bytes) => {
                let change = BlueprintChange::decode(Arc::clone(blueprint), bytes).map_err(Error::internal)?;
                Ok(Some(Arc::new(change)))
            }
        }
    }
}

impl CommittedTransaction {
    /// Returns a transaction without prepared results.
    pub(crate) fn unprepared(transaction: Transaction) -> CommittedTransaction {
        CommittedTransaction { transaction, prepared: PreparedResults::default() }
    }
}
