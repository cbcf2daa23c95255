//! The state that commands are decided against: the store plus the group's transactions that are not applied yet.

use std::collections::{BTreeSet, HashMap, HashSet};

use bindery_access::Actor;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Counter, Key, Prefix, Store, StoreWrite, WriteOp};
use serde_json::Value;

use crate::apply::{PreparedColumns, PreparedResults};
use crate::data::changes::{ChangeGroup, ChangeNumbers, ChangeOp};
use crate::data::files::{self, FileHash};
use crate::data::index_mapping::Columns;
use crate::data::lookup::Lookup;
use crate::data::records::{CopyVersion, Meta, encode_id};
use crate::data::version::{encode_list_version, encode_time};

/// A group of commands that are decided one after another and made durable together.
pub(crate) struct Overlay<'a> {
    store: &'a Store,
    /// The values that the group has written, by key; `None` for a removed key.
    values: HashMap<Key, Option<Vec<u8>>>,
    /// The writes of the transaction that is being decided, in order.
    writes: Vec<StoreWrite>,
    /// The bytes of the values in `writes`.
    bytes: usize,
    /// The entries of `values` before each of `writes`.
    undo: Vec<Undo>,
    /// Versions of copies that this transaction replaces or removes.
    superseded: Vec<Key>,
    prepared: PreparedResults,
    /// The changes that the transaction records for the change feed.
    changes: ChangeGroup,
    /// True if the change feed begins anew with this transaction.
    begins_changes: bool,
    change_numbers: ChangeNumbers,
    /// The number of the blueprint of each of the slugs in `changes`.
    blueprints: Vec<u32>,
    /// The number of the first log record of the transaction.
    pub(crate) number: u64,
    /// The time of the group; never earlier than that of a transaction before it.
    pub(crate) now: Millis,
    /// The actor who asked for the transaction; `None` for the server itself.
    pub(crate) actor: Option<Actor>,
    last_id: Option<ResourceId>,
}

/// The value that the group had written under a key before.
enum Undo {
    Nothing,
    Value(Option<Vec<u8>>),
}

/// A point of a transaction that can be returned to.
pub(crate) struct Savepoint {
    writes: usize,
    bytes: usize,
    superseded: usize,
    prepared: usize,
    changes: usize,
}

/// A decided transaction.
pub(crate) struct DecidedTransaction {
    /// The writes. Superseded versions are deleted at the end of the transaction.
    pub(crate) writes: Vec<StoreWrite>,
    /// The results that were computed from these writes already.
    pub(crate) prepared: PreparedResults,
}

impl<'a> Overlay<'a> {
    /// Makes a group whose first transaction begins at log record `number`, after the id `last_id` and the numbers of
    /// changes were given.
    pub(crate) fn new(
        store: &'a Store,
        number: u64,
        now: Millis,
        last_id: Option<ResourceId>,
        change_numbers: ChangeNumbers,
    ) -> Self {
        Overlay {
            store,
            values: HashMap::new(),
            writes: Vec::new(),
            bytes: 0,
            undo: Vec::new(),
            superseded: Vec::new(),
            prepared: PreparedResults::default(),
            changes: ChangeGroup::default(),
            begins_changes: false,
            change_numbers,
            blueprints: Vec::new(),
            number,
            now,
            actor: None,
            last_id,
        }
    }

    /// Returns the current values of a variant's copy, if it was ever written.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn values_of(
        &self,
        blueprint: &Blueprint,
        id: ResourceId,
        meta: &Meta,
        variant: u16,
    ) -> Result<Option<Vec<Value>>> {
        meta.copy(variant).map(|version| self.values(blueprint, id, version)).transpose()
    }

    /// Returns the id that was given last.
    pub(crate) fn last_id(&self) -> Option<ResourceId> {
        self.last_id
    }

    /// Sets a key.
    pub(crate) fn put(&mut self, key: Key, value: Vec<u8>) {
        self.bytes += value.len();
        self.remember(&key, Some(value.clone()));
        self.writes.push(StoreWrite::put(key, value));
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: Key) {
        self.remember(&key, None);
        self.writes.push(StoreWrite::delete(key));
    }

    /// Sets or removes a key.
    pub(crate) fn write(&mut self, StoreWrite { key, op }: StoreWrite) {
        match op {
            WriteOp::Put(value) => self.put(key, value),
            WriteOp::Delete => self.remove(key),
            WriteOp::Reindex => {}
        }
    }

    /// Returns the number of bytes of the values that the transaction has set so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if the group has written the key, and false if the group has removed it; `None` otherwise.
    pub(crate) fn writes_of(&self, key: &Key) -> Option<bool> {
        self.values.get(key).map(Option::is_some)
    }

    /// Returns the resources of a blueprint that the group has written or removed.
    pub(crate) fn resources_of(&self, blueprint: u32) -> impl Iterator<Item = ResourceId> {
        self.values.keys().filter_map(move |key| match key {
            Key::Resource { blueprint: of, id } if *of == blueprint => Some(*id),
            _ => None,
        })
    }

    /// Returns the resources in the trash of a blueprint with the lowest ids, at most `most`.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn first_trashed(&self, blueprint: u32, most: usize) -> Result<Vec<ResourceId>> {
        let id_of = |key: &Key| match key {
            Key::Trashed { blueprint: of, id } if *of == blueprint => Some(*id),
            _ => None,
        };
        let written = self.values.iter().filter(|(_, value)| value.is_some());
        let mut ids: BTreeSet<ResourceId> = written.filter_map(|(key, _)| id_of(key)).collect();
        let mut n_stored = 0;
        for entry in self.store.scan(Prefix::Trash(blueprint)) {
            let (key, _) = entry.map_err(Error::internal)?;
            if self.writes_of(&key) != Some(false) {
                ids.extend(id_of(&key));
                n_stored += 1;
            }
            if n_stored == most {
                break;
            }
        }
        Ok(ids.into_iter().take(most).collect())
    }

    /// Returns the notes of copies that name a media resource: those that are stored, and those of the group.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn media_users(&self, media: ResourceId) -> Result<Vec<Key>> {
        let stored = self.store.scan(Prefix::MediaUsers(media)).map(|entry| entry.map(|(key, _)| key));
        let mut keys = stored.collect::<std::result::Result<Vec<Key>, _>>().map_err(Error::internal)?;
        let is_of_media = |key: &&Key| matches!(key, Key::MediaUser { media: of, .. } if *of == media);
        keys.extend(self.values.keys().filter(is_of_media).cloned());
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| self.writes_of(key) != Some(false));
        Ok(keys)
    }

    /// Returns the notes of resources that named a file. Only for the first command of a group: it reads the store.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn file_owners(&self, hash: FileHash) -> Result<Vec<Key>> {
        files::owners(self.store, hash)
    }

    /// Makes the index read a resource again once the transaction is applied, with the operation `index_op`.
    pub(crate) fn reindex(&mut self, blueprint: u32, id: ResourceId, index_op: bindery_index::IndexOp) {
        let key = Key::Resource { blueprint, id };
        let value = self.values.get(&key).cloned();
        self.undo.push(value.map_or(Undo::Nothing, Undo::Value));
        self.writes.push(StoreWrite::reindex(key));
        self.prepared.backfills.insert(id, index_op);
    }

    fn remember(&mut self, key: &Key, value: Option<Vec<u8>>) {
        let before = self.values.insert(key.clone(), value);
        self.undo.push(before.map_or(Undo::Nothing, Undo::Value));
    }

    /// Notes a stored version that snapshots from this transaction on no longer need.
    pub(crate) fn supersede(&mut self, blueprint: u32, id: ResourceId, version: CopyVersion) {
        self.superseded.push(version.key(blueprint, id));
    }

    /// Removes a version of a copy that is no longer named: at once if this transaction wrote it, and when no snapshot
    /// needs it otherwise.
    pub(crate) fn retire(&mut self, blueprint: u32, id: ResourceId, version: CopyVersion) {
        match version.number == self.number {
            true => self.remove(version.key(blueprint, id)),
            false => self.supersede(blueprint, id, version),
        }
    }

    /// Notes the index columns of a copy that this transaction writes.
    pub(crate) fn note_columns(&mut self, blueprint: u32, id: ResourceId, variant: u16, columns: Columns) {
        self.prepared.copies.push(PreparedColumns { blueprint, id, variant, columns });
    }

    /// Records a change of a resource for the change feed. The flags say whether readers without `preview` see it
    /// before and after.
    pub(crate) fn note_change(
        &mut self,
        blueprint: &Blueprint,
        id: ResourceId,
        op: ChangeOp,
        was_public: bool,
        is_public: bool,
    ) {
        self.changes.note(&blueprint.slug, id, op, was_public, is_public);
        // Slugs stay when changes are taken back.
        if self.blueprints.len() < self.changes.slugs.len() {
            self.blueprints.push(blueprint.number);
        }
    }

    /// Gives the lists of a blueprint a new version: those that readers without `preview` see, and also those of all
    /// others.
    pub(crate) fn change_lists(&mut self, blueprint: u32, concerns_the_public: bool) {
        for is_public in [false, true].into_iter().filter(|is_public| !is_public || concerns_the_public) {
            self.put(Key::ListVersion { blueprint, is_public }, encode_list_version(self.number));
        }
    }

    /// Returns the number of the last change before this transaction.
    pub(crate) fn last_change(&self) -> u64 {
        self.change_numbers.last
    }

    /// Makes the change feed begin anew with this transaction: its readers must read everything again.
    pub(crate) fn begin_changes_anew(&mut self) {
        self.begins_changes = true;
    }

    /// Makes a new id, greater than every one before it.
    ///
    /// # Errors
    /// `INTERNAL` if the system's generator fails.
    pub(crate) fn new_id(&mut self) -> Result<ResourceId> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let id = ResourceId::next(self.last_id, self.now, random);
        self.last_id = Some(id);
        Ok(id)
    }

    /// Takes the next number of a counter. Counters begin at 1, and no number is used twice.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn next_of(&mut self, counter: Counter) -> Result<u64> {
        let key = Key::Counter(counter);
        let last = match self.get(&key)? {
            Some(bytes) => {
                u64::from_le_bytes(bytes.try_into().map_err(|_| Error::internal("a counter of the wrong length"))?)
            }
            None => 0,
        };
        self.put(key, (last + 1).to_le_bytes().to_vec());
        Ok(last + 1)
    }

    /// Returns the current point of the transaction.
    pub(crate) fn savepoint(&self) -> Savepoint {
        let (writes, bytes, superseded) = (self.writes.len(), self.bytes, self.superseded.len());
        let (prepared, changes) = (self.prepared.copies.len(), self.changes.changes.len());
        Savepoint { writes, bytes, superseded, prepared, changes }
    }

    /// Returns the keys that the transaction has removed since then.
    pub(crate) fn removed_since(&self, savepoint: &Savepoint) -> impl Iterator<Item = &Key> {
        let writes = self.writes[savepoint.writes..].iter();
        writes.filter(|write| write.op == WriteOp::Delete).map(|write| &write.key)
    }

    /// Undoes the writes of the transaction since then. (Ids that it was given are not given again.)
    pub(crate) fn roll_back_to(&mut self, savepoint: &Savepoint) {
        let writes = self.writes.drain(savepoint.writes..);
        for (write, before) in writes.zip(self.undo.drain(savepoint.writes..)).rev() {
            match before {
                Undo::Value(value) => self.values.insert(write.key, value),
                Undo::Nothing => self.values.remove(&write.key),
            };
        }
        self.bytes = savepoint.bytes;
        self.superseded.truncate(savepoint.superseded);
        self.prepared.copies.truncate(savepoint.prepared);
        self.changes.changes.truncate(savepoint.changes);
    }

    /// Undoes all writes of the transaction.
    pub(crate) fn roll_back(&mut self) {
        self.roll_back_to(&Savepoint { writes: 0, bytes: 0, superseded: 0, prepared: 0, changes: 0 });
        self.prepared = PreparedResults::default();
        self.begins_changes = false;
    }

    /// Ends the transaction; returns `None` if it wrote nothing. The transaction includes its author, and the last id
    /// and time that were given, so that neither ever goes back. The next transaction begins at [`Overlay::number`],
    /// which the caller advances.
    pub(crate) fn finish(&mut self) -> Option<DecidedTransaction> {
        let superseded = std::mem::take(&mut self.superseded);
        let prepared = std::mem::take(&mut self.prepared);
        let changes = std::mem::take(&mut self.changes);
        let blueprints = std::mem::take(&mut self.blueprints);
        if self.writes.is_empty() && changes.changes.is_empty() {
            return None;
        }
        self.change_lists_of(&changes, &blueprints);
        self.record(changes);
        if let Some(id) = self.last_id {
            self.put(Key::Counter(Counter::Resource), encode_id(id));
        }
        self.put(Key::Counter(Counter::Time), encode_time(self.now));
        if let Some(actor) = &self.actor {
            let mut encoded = Vec::new();
            actor.encode_to(&mut encoded);
            self.put(Key::Counter(Counter::Actor), encoded);
        }
        self.undo.clear();
        self.bytes = 0;
        let mut writes = last_of_each(std::mem::take(&mut self.writes));
        writes.extend(superseded.into_iter().map(StoreWrite::delete));
        Some(DecidedTransaction { writes, prepared })
    }
}

impl Overlay<'_> {
    /// Gives the lists that these changes concern a new version. `blueprints` are the numbers of the blueprints of
    /// `slugs`.
    fn change_lists_of(&mut self, changes: &ChangeGroup, blueprints: &[u32]) {
        let mut concerns_the_public = vec![None; blueprints.len()];
        let mut is_edited = vec![false; blueprints.len()];
        for change in &changes.changes {
            if change.op.is_of_working_copy() {
                is_edited[usize::from(change.slug)] = true;
                continue;
            }
            let concerns = concerns_the_public[usize::from(change.slug)].get_or_insert(false);
            *concerns |= change.was_public || change.is_public;
        }
        for ((&blueprint, concerns), is_edited) in blueprints.iter().zip(concerns_the_public).zip(is_edited) {
            let is_deleted = self.writes_of(&Key::Blueprint(blueprint)) == Some(false);
            if is_edited && !is_deleted {
                self.put(Key::WorkingVersion(blueprint), encode_list_version(self.number));
            }
            if let Some(concerns) = concerns.filter(|_| !is_deleted) {
                self.change_lists(blueprint, concerns);
            }
        }
    }

    /// Numbers the changes of the transaction and adds them to it.
    fn record(&mut self, mut changes: ChangeGroup) {
        changes.at = self.now;
        match (std::mem::take(&mut self.begins_changes), changes.changes.is_empty()) {
            (true, _) => self.change_numbers.give_beginning(&mut changes),
            (false, true) => return,
            (false, false) => self.change_numbers.give(&mut changes),
        }
        self.writes.push(StoreWrite::put(Key::Changes(changes.last), changes.encode()));
    }
}

impl Lookup for Overlay<'_> {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        match self.values.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.store.get(key).map_err(Error::internal),
        }
    }
}

/// Returns the last write of each key, in order. So a reader of the store sees each value as it was before or after the
/// transaction, and no value in between.
fn last_of_each(writes: Vec<StoreWrite>) -> Vec<StoreWrite> {
    let mut seen = HashSet::with_capacity(writes.len());
    let is_value = |write: &StoreWrite| write.op != WriteOp::Reindex;
    let mut is_last: Vec<bool> = writes.iter().rev().map(|write| !is_value(write) || seen.insert(&write.key)).collect();
    is_last.reverse();
    writes.into_iter().zip(is_last).filter_map(|(write, is_last)| is_last.then_some(write)).collect()
}
