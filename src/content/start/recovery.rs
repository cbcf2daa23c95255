//! Brings state and index up from the store and the log.
//!
//! An index at some number of the log gets the resources that the log touched since. An index that is missing, damaged
//! or ahead of the log is rebuilt from the store. This equals `apply` for many transactions at once: the store has
//! replayed all of them, so one operation per touched resource is made from the stored data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery_access::{Accounts, Invitation, Member, PasswordHash, Session, Token, Tokens};
use bindery_log::CommitLog;
use bindery_model::blueprint::{Blueprint, render};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Assembler, Counter, Key, Prefix, Store, StoreWrite, decode_writes};

use crate::apply::{Applier, ChangeKeeper, Clock, Rebuilds};
use crate::data::blueprint_change::BlueprintChange;
use crate::data::changes::{ChangeGroup, ChangeNumbers};
use crate::data::claims::numbers_in_use;
use crate::data::feed::Feed;
use crate::data::format::check_format;
use crate::data::index_mapping::IndexMapping;
use crate::data::leader::Leader;
use crate::data::lookup::resources;
use crate::data::records::decode_id;
use crate::data::saved_view::SavedView;
use crate::data::state::{ListVersions, State, StateCell};
use crate::data::steering::SearchSteering;
use crate::data::version::{decode_epoch, decode_first_change, decode_list_version, decode_time};
use crate::data::webhook::Webhook;
use crate::maintain::sweep::{self, ObsoleteData, Sweeper};
use crate::start::error::StartError;
use crate::start::folder::index_of;
use crate::start::progress::Progress;
use crate::warm::warm;
use crate::{ContentOptions, INDEXED, WARMED};

/// Blueprint changes that have begun, by the number of their blueprint.
pub(crate) type Changes = BTreeMap<u32, Arc<BlueprintChange>>;

/// The number of operations the index is given at once.
const BATCH_OPS: usize = 512;

/// Loads what transactions are applied to, with the indexes at the end of the log, and reads ahead what the first
/// requests need.
pub(crate) fn open_applier(
    options: &ContentOptions,
    log: &dyn CommitLog,
    store: &Store,
    progress: &Progress,
) -> Result<(Applier, IndexStart), StartError> {
    let fail = |error: &dyn std::fmt::Display| StartError::folder(&options.folder, error);
    remove_superseded(store, store.applied())?;
    let indexes = bindery_index::Indexes::open(&index_of(&options.folder), options.index.clone())
        .map_err(|error| fail(&error))?;
    let blueprints = load_blueprints(store)?;
    let changes = load_changes(store, &blueprints)?;
    let report = |done, all| progress.set(INDEXED, done, all);
    let indexed = bring_up_indexes(log, store, &indexes, &blueprints, &changes, &report)?;
    let mut state = load_state(store, &indexes, &blueprints, &changes, store.applied())?;
    state.public_url = options.public_url.as_deref().map(Arc::from);
    warm(&state, &|done, all| progress.set(WARMED, done, all));
    let (numbers, removed) = load_change_numbers(store)?;
    let mut change_keeper =
        ChangeKeeper::new(Arc::new(Feed::new(numbers.last)), numbers, options.changes_kept, removed);
    change_keeper.clean(store).map_err(|error| fail(&error))?;
    let applier = Applier {
        store: store.clone(),
        indexes,
        cell: Arc::new(StateCell::new(state)),
        sweeper: Sweeper::new(obsolete(store, &blueprints, &changes)?),
        rebuilds: Rebuilds::default(),
        changes: change_keeper,
        clock: load_clock(store)?,
        due: load_working_due(store)?,
        wants_checkpoint: false,
        has_rebuilt_index: false,
    };
    Ok((applier, indexed))
}

/// Returns the blueprints that the store holds.
pub(crate) fn load_blueprints(store: &Store) -> Result<Vec<Arc<Blueprint>>, StartError> {
    Ok(all(store, Prefix::Blueprints, render::decode)?.into_iter().map(Arc::new).collect())
}

/// Returns all records of a table, in the order of their keys.
fn all<T>(store: &Store, table: Prefix, decode: fn(&[u8]) -> Result<T, String>) -> Result<Vec<T>, StartError> {
    let records = store.scan(table).map(|entry| {
        let (_, bytes) = entry.map_err(StartError::content)?;
        decode(&bytes).map_err(StartError::content)
    });
    records.collect()
}

/// Returns the blueprint changes that have begun.
pub(crate) fn load_changes(store: &Store, blueprints: &[Arc<Blueprint>]) -> Result<Changes, StartError> {
    let mut changes = BTreeMap::new();
    for entry in store.scan(Prefix::BlueprintChanges) {
        let (key, bytes) = entry.map_err(StartError::content)?;
        let Key::BlueprintChange(number) = key else { continue };
        let blueprint = blueprints.iter().find(|blueprint| blueprint.number == number);
        let blueprint = blueprint.ok_or_else(|| StartError::content("a change of a blueprint that does not exist"))?;
        let change = BlueprintChange::decode(Arc::clone(blueprint), &bytes).map_err(StartError::content)?;
        changes.insert(number, Arc::new(change));
    }
    Ok(changes)
}

/// Returns the state that readers see first.
pub(crate) fn load_state(
    store: &Store,
    indexes: &bindery_index::Indexes,
    blueprints: &[Arc<Blueprint>],
    changes: &Changes,
    number: u64,
) -> Result<State, StartError> {
    let mut tokens = Tokens::default();
    for token in all(store, Prefix::Tokens, Token::decode)? {
        tokens.insert(token);
    }
    let members = all(store, Prefix::Members, Member::decode)?.into_iter().map(|member| (member.id, member));
    let webhooks =
        all(store, Prefix::Webhooks, Webhook::decode)?.into_iter().map(|hook| (hook.id.clone(), Arc::new(hook)));
    let views = all(store, Prefix::Views, SavedView::decode)?.into_iter().map(|view| (view.id.clone(), Arc::new(view)));
    let epoch = load_epoch(store)?.unwrap_or_default();
    let released = load_clock(store)?.last_time;
    if let Some(format) = store.get(&Key::Counter(Counter::Format)).map_err(StartError::content)? {
        check_format(&format).map_err(StartError::content)?;
    }
    let leader = store.get(&Key::Counter(Counter::Leader)).map_err(StartError::content)?;
    let leader = leader.map(|bytes| Leader::decode(&bytes).map(Arc::new)).transpose().map_err(StartError::content)?;
    let mut state = State {
        number,
        released,
        epoch,
        leader,
        blueprints: BTreeMap::new(),
        tokens: Arc::new(tokens),
        members: Arc::new(members.collect()),
        webhooks: Arc::new(webhooks.collect()),
        views: Arc::new(views.collect()),
        steering: Arc::new(load_steering(store)?),
        accounts: Arc::new(load_accounts(store)?),
        public_url: None,
        _live: None,
    };
    for blueprint in blueprints {
        let index = indexes.get(blueprint.number).ok_or_else(|| StartError::content("a blueprint without an index"))?;
        let versions = load_list_versions(store, blueprint.number)?;
        state.put(Arc::clone(blueprint), index, changes.get(&blueprint.number).cloned(), versions);
    }
    Ok(state)
}

fn load_steering(store: &Store) -> Result<SearchSteering, StartError> {
    let mut steering = SearchSteering::default();
    for prefix in [Prefix::Synonyms, Prefix::SearchRules] {
        for entry in store.scan(prefix) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            match key {
                Key::Synonym(id) => steering.put_synonym(id.plain().unwrap_or_default(), Some(&bytes)),
                Key::SearchRule(id) => steering.put_rule(id.plain().unwrap_or_default(), Some(&bytes)),
                _ => Ok(()),
            }
            .map_err(StartError::content)?;
        }
    }
    Ok(steering)
}

/// The versions of a blueprint's lists: 0 before the first change that gave them one.
fn load_list_versions(store: &Store, blueprint: u32) -> Result<ListVersions, StartError> {
    let load = |is_public| -> Result<u64, StartError> {
        let stored = store.get(&Key::ListVersion { blueprint, is_public }).map_err(StartError::content)?;
        Ok(stored.map(|bytes| decode_list_version(&bytes)).transpose().map_err(StartError::content)?.unwrap_or(0))
    };
    let working = store.get(&Key::WorkingVersion(blueprint)).map_err(StartError::content)?;
    let working = working.map(|bytes| decode_list_version(&bytes)).transpose().map_err(StartError::content)?;
    Ok(ListVersions { all: load(false)?, public: load(true)?, working: working.unwrap_or(0), without_writes: 0 })
}

fn load_accounts(store: &Store) -> Result<Accounts, StartError> {
    let mut accounts = Accounts::default();
    for prefix in [Prefix::Passwords, Prefix::Invitations, Prefix::Sessions] {
        for entry in store.scan(prefix) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            match key {
                Key::Password(member) => {
                    let hash = PasswordHash::decode(&bytes).map_err(StartError::content)?;
                    accounts.set_password(member, Some(hash));
                }
                Key::Invitation(member) => {
                    let invitation = Invitation::decode(&bytes).map_err(StartError::content)?;
                    accounts.set_invitation(member, Some(invitation));
                }
                _ => accounts.insert_session(Session::decode(&bytes).map_err(StartError::content)?),
            }
        }
    }
    Ok(accounts)
}

/// Returns the epoch of the content; `None` in a new folder.
pub(crate) fn load_epoch(store: &Store) -> Result<Option<u64>, StartError> {
    let epoch = store.get(&Key::Counter(Counter::Epoch)).map_err(StartError::content)?;
    epoch.map(|bytes| decode_epoch(&bytes)).transpose().map_err(StartError::content)
}

/// Returns the id and the time that were given last.
fn load_clock(store: &Store) -> Result<Clock, StartError> {
    let id = store.get(&Key::Counter(Counter::Resource)).map_err(StartError::content)?;
    let last_id = id.map(|bytes| decode_id(&bytes)).transpose().map_err(StartError::content)?;
    Ok(Clock { last_id, last_time: load_last_time(store)?.unwrap_or_default() })
}

/// Returns the time of the last transaction that has one; `None` if none has.
pub(crate) fn load_last_time(store: &Store) -> Result<Option<Millis>, StartError> {
    let time = store.get(&Key::Counter(Counter::Time)).map_err(StartError::content)?;
    Ok(time.and_then(|bytes| decode_time(&bytes).ok()))
}

/// Returns the keys of the moments at which working copies are to be published.
fn load_working_due(store: &Store) -> Result<BTreeSet<Key>, StartError> {
    store.scan(Prefix::WorkingDue).map(|entry| entry.map(|(key, _)| key).map_err(StartError::content)).collect()
}

/// Returns the number that the changes of the epoch begin with; `None` in a new folder.
pub(crate) fn load_first_change(store: &Store) -> Result<Option<u64>, StartError> {
    let first = store.get(&Key::Counter(Counter::FirstChange)).map_err(StartError::content)?;
    first.map(|bytes| decode_first_change(&bytes)).transpose().map_err(StartError::content)
}

/// Returns the numbers given to changes, and how many of those changes are no longer stored.
fn load_change_numbers(store: &Store) -> Result<(ChangeNumbers, u64), StartError> {
    let first_of_epoch = load_first_change(store)?.unwrap_or(1);
    let mut numbers = ChangeNumbers { last: first_of_epoch - 1, recorded: 0, first_of_epoch };
    let decode = |bytes: Vec<u8>| ChangeGroup::decode(&bytes).map_err(StartError::content);
    if let Some((_, last)) = store.last(Prefix::Changes).map_err(StartError::content)? {
        numbers.note(&decode(last)?);
    }
    let oldest = store.scan(Prefix::Changes).next().transpose().map_err(StartError::content)?;
    let oldest = oldest.map(|(_, bytes)| decode(bytes)).transpose()?;
    let removed = oldest.map_or(numbers.recorded, |oldest| oldest.recorded - oldest.changes.len() as u64);
    Ok((numbers, removed))
}

/// Removes the superseded versions that the last run did not remove.
fn remove_superseded(store: &Store, number: u64) -> Result<(), StartError> {
    for entry in store.scan(Prefix::Superseded) {
        let (list, bytes) = entry.map_err(StartError::content)?;
        let mut removals = decode_writes(&bytes).map_err(StartError::content)?;
        removals.push(StoreWrite::delete(list));
        // A kill may have come between removing such a version and removing its chunks.
        store.replay(number, &removals).map_err(StartError::content)?;
    }
    Ok(())
}

/// Finds data of deleted blueprints, and claims of fields that are no longer unique.
fn obsolete(store: &Store, blueprints: &[Arc<Blueprint>], changes: &Changes) -> Result<Vec<ObsoleteData>, StartError> {
    let highest = store.get(&Key::Counter(Counter::Blueprint)).map_err(StartError::content)?;
    let highest = highest.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    let highest = u32::try_from(highest).map_err(StartError::content)?;
    let is_gone = |number: &u32| blueprints.iter().all(|known| known.number != *number);
    let mut suspects: Vec<ObsoleteData> = (1..=highest).filter(is_gone).map(ObsoleteData::Blueprint).collect();
    for blueprint in blueprints {
        let in_use = numbers_in_use(blueprint, changes.get(&blueprint.number).map(|change| &*change.next));
        let unmade = (1..blueprint.next_field).filter(|claims| !in_use.contains(claims));
        suspects.extend(unmade.map(|claims| ObsoleteData::Claims { blueprint: blueprint.number, claims }));
    }
    let mut obsolete = Vec::new();
    for suspect in suspects {
        if sweep::holds_any_of(store, suspect).map_err(StartError::content)? {
            obsolete.push(suspect);
        }
    }
    Ok(obsolete)
}

/// The work of bringing up the indexes.
pub(crate) struct IndexStart {
    /// The number of resources that were indexed.
    pub(crate) resources: u64,
    /// The log number up to which store and index are on disk; 0 if an index was rebuilt, because a rebuilt index is
    /// not on disk yet.
    pub(crate) checkpoint: u64,
}

/// Brings every blueprint's index to the end of the log.
pub(crate) fn bring_up_indexes(
    log: &dyn CommitLog,
    store: &Store,
    indexes: &bindery_index::Indexes,
    blueprints: &[Arc<Blueprint>],
    changes: &Changes,
    report: &dyn Fn(u64, u64),
) -> Result<IndexStart, StartError> {
    let at = indexes.number();
    let is_usable = at <= log.last() && at + 1 >= log.first();
    for name in indexes.names() {
        if !is_usable || blueprints.iter().all(|blueprint| blueprint.number != name) {
            indexes.remove(name);
        }
    }
    let mut touched = if is_usable { touched_since(log, at)? } else { BTreeMap::new() };
    let mut start = IndexStart { resources: 0, checkpoint: at.min(store.applied()) };
    let is_usable = |blueprint: &Blueprint| at >= blueprint.filled && indexes.get(blueprint.number).is_some();
    let rebuilt = blueprints.iter().filter(|blueprint| !is_usable(blueprint));
    // Counting takes a small part of the time that rebuilding takes.
    let all = rebuilt.map(|blueprint| resources(store, blueprint.number).count() as u64).sum();
    for blueprint in blueprints {
        let next = changes.get(&blueprint.number).map(|change| &*change.next);
        let mapping = IndexMapping { blueprint, next };
        match indexes.get(blueprint.number).filter(|_| at >= blueprint.filled) {
            Some(index) => {
                index.set_schema(mapping.schema());
                let ids = touched.remove(&blueprint.number).unwrap_or_default();
                start.resources += ids.len() as u64;
                apply_all(&index, ids.into_iter().map(|id| mapping.current(store, id)))?;
            }
            None => {
                tracing::info!(blueprint = blueprint.slug, "rebuilding the index");
                let index = indexes.create(blueprint.number, mapping.schema());
                start.resources += rebuild(store, &index, mapping, &|done| report(start.resources + done, all))?;
                start.checkpoint = 0;
            }
        }
    }
    Ok(start)
}

/// Fills an empty index from the store. Returns the number of resources.
fn rebuild(
    store: &Store,
    index: &bindery_index::Index,
    mapping: IndexMapping<'_>,
    report: &dyn Fn(u64),
) -> Result<u64, StartError> {
    let mut count = 0;
    let resources = resources(store, mapping.blueprint.number).inspect(|_| {
        count += 1;
        report(count);
    });
    apply_all(index, resources.map(|resource| resource.and_then(|(id, meta)| mapping.put(store, id, &meta))))?;
    Ok(count)
}

/// Returns the resources that the log touched after a number, by blueprint.
fn touched_since(log: &dyn CommitLog, number: u64) -> Result<BTreeMap<u32, BTreeSet<ResourceId>>, StartError> {
    let mut touched: BTreeMap<u32, BTreeSet<ResourceId>> = BTreeMap::new();
    if number >= log.last() {
        return Ok(touched);
    }
    let mut assembler = Assembler::default();
    for record in log.follow().read(number + 1, log.last()).map_err(StartError::content)? {
        let (number, record) = record.map_err(StartError::content)?;
        let Some(transaction) = assembler.push(number, &record).map_err(StartError::content)? else { continue };
        for write in transaction.writes {
            if let Key::Resource { blueprint, id } = write.key {
                touched.entry(blueprint).or_default().insert(id);
            }
        }
    }
    Ok(touched)
}

/// Applies operations in batches.
fn apply_all(
    index: &bindery_index::Index,
    ops: impl Iterator<Item = Result<bindery_index::IndexOp>>,
) -> Result<(), StartError> {
    let mut batch = Vec::with_capacity(BATCH_OPS);
    for op in ops {
        batch.push(op.map_err(StartError::content)?);
        if batch.len() == BATCH_OPS {
            index.apply(std::mem::take(&mut batch));
        }
    }
    index.apply(batch);
    Ok(())
}
