//! The start: store and index are brought to the end of the log.
//!
//! The store is brought up first (`base::recover`). The index is then a pure function of it: an index that stands at a
//! number of the log gets the resources that the log touched since; one that is missing, broken or ahead of the log is
//! built anew from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::access::{Member, Token, Tokens};
use crate::content::change::Pending;
use crate::content::entry::Shape;
use crate::content::read;
use crate::content::state::State;
use crate::content::sweep::{self, Lost};
use crate::log::Log;
use crate::model::blueprint::{Blueprint, render};
use crate::model::error::Result;
use crate::model::id::ResourceId;
use crate::store::{Change, Counter, Key, Prefix, Store, decode_changes};

/// Changes that were begun, by the number of their blueprint.
pub(crate) type Begun = BTreeMap<u32, Arc<Pending>>;

/// How many resources go to the index at once.
const BATCH_RESOURCES: usize = 512;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used.
    #[error("the data folder {folder} cannot be used: {cause}")]
    Folder {
        /// The folder.
        folder: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Another server has the folder open.
    #[error("the data folder {0} is in use by another bindery process; talk to that one with `--url`")]
    InUse(String),
    /// What is stored cannot be read.
    #[error("the stored content cannot be read: {0}")]
    Content(String),
}

fn content(cause: impl std::fmt::Display) -> StartError {
    StartError::Content(cause.to_string())
}

/// The blueprints that the store holds.
pub(crate) fn load_blueprints(store: &Store) -> Result<Vec<Arc<Blueprint>>, StartError> {
    let mut blueprints = Vec::new();
    for entry in store.scan(Prefix::Blueprints) {
        let (_, bytes) = entry.map_err(content)?;
        blueprints.push(Arc::new(render::decode(&bytes).map_err(content)?));
    }
    Ok(blueprints)
}

/// The changes of blueprints that were begun, by the blueprint's number.
pub(crate) fn load_changes(store: &Store, blueprints: &[Arc<Blueprint>]) -> Result<Begun, StartError> {
    let mut changes = BTreeMap::new();
    for entry in store.scan(Prefix::Changes) {
        let (key, bytes) = entry.map_err(content)?;
        let Key::Change(number) = key else { continue };
        let blueprint = blueprints.iter().find(|blueprint| blueprint.number == number);
        let blueprint = blueprint.ok_or_else(|| content("a change of a blueprint that is not there"))?;
        let pending = Pending::decode(Arc::clone(blueprint), &bytes).map_err(content)?;
        changes.insert(number, Arc::new(pending));
    }
    Ok(changes)
}

/// The state that readers see first.
pub(crate) fn load_state(
    store: &Store,
    indexes: &bindery_index::Indexes,
    blueprints: &[Arc<Blueprint>],
    changes: &Begun,
    version: u64,
) -> Result<State, StartError> {
    let mut tokens = Tokens::default();
    for entry in store.scan(Prefix::Tokens) {
        let (_, bytes) = entry.map_err(content)?;
        tokens.insert(Token::decode(&bytes).map_err(content)?);
    }
    let mut members = BTreeMap::new();
    for entry in store.scan(Prefix::Members) {
        let (_, bytes) = entry.map_err(content)?;
        let member = Member::decode(&bytes).map_err(content)?;
        members.insert(member.id, member);
    }
    let mut state = State { blueprints: BTreeMap::new(), tokens: Arc::new(tokens), members: Arc::new(members) };
    for blueprint in blueprints {
        let index = indexes.get(blueprint.number).ok_or_else(|| content("a blueprint without an index"))?;
        state.put(Arc::clone(blueprint), index, version);
        if let Some(pending) = changes.get(&blueprint.number) {
            state.set_pending(Arc::clone(blueprint), Some(Arc::clone(pending)));
        }
    }
    Ok(state)
}

/// The id and the time that were given last, so that neither ever goes back.
pub(crate) fn load_clock(store: &Store) -> Result<(Option<ResourceId>, i64), StartError> {
    let id = store.get(&Key::Counter(Counter::Resource)).map_err(content)?;
    let id = id.and_then(|bytes| bytes.try_into().ok()).map(|bytes| ResourceId::from_u128(u128::from_be_bytes(bytes)));
    let time = store.get(&Key::Counter(Counter::Time)).map_err(content)?;
    let time = time.and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_le_bytes);
    Ok((id, time))
}

/// Removes the versions that were superseded before the last end and that nobody came to remove.
pub(crate) fn remove_superseded(store: &Store, number: u64) -> Result<(), StartError> {
    for entry in store.scan(Prefix::Superseded) {
        let (list, bytes) = entry.map_err(content)?;
        let mut removals = decode_changes(&bytes).map_err(content)?;
        removals.push(Change::delete(list));
        store.apply(number, &removals).map_err(content)?;
    }
    Ok(())
}

/// What the store still holds of deleted blueprints, and of claims that nothing makes any more.
pub(crate) fn lost(store: &Store, blueprints: &[Arc<Blueprint>], changes: &Begun) -> Result<Vec<Lost>, StartError> {
    let highest = store.get(&Key::Counter(Counter::Blueprint)).map_err(content)?;
    let highest = highest.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    let highest = u32::try_from(highest).map_err(content)?;
    let is_gone = |number: &u32| blueprints.iter().all(|known| known.number != *number);
    let mut suspects: Vec<Lost> = (1..=highest).filter(is_gone).map(Lost::Blueprint).collect();
    for blueprint in blueprints {
        let next = changes.get(&blueprint.number).map(|pending| &pending.next);
        let fields = || blueprint.fields.iter().chain(next.iter().flat_map(|next| &next.fields));
        let is_made = |claims: u32| fields().any(|field| field.claims == Some(claims));
        let unmade = (1..blueprint.next_field).filter(|claims| !is_made(*claims));
        suspects.extend(unmade.map(|claims| Lost::Claims { blueprint: blueprint.number, claims }));
    }
    let mut lost = Vec::new();
    for suspect in suspects {
        if sweep::holds_any_of(store, suspect).map_err(content)? {
            lost.push(suspect);
        }
    }
    Ok(lost)
}

/// Brings every blueprint's index to the end of the log. Returns how many resources were indexed for it.
pub(crate) fn bring_up_indexes(
    log: &Log,
    store: &Store,
    indexes: &bindery_index::Indexes,
    blueprints: &[Arc<Blueprint>],
    changes: &Begun,
) -> Result<u64, StartError> {
    let at = indexes.number();
    let is_usable = at <= log.last() && at + 1 >= log.first();
    for name in indexes.names() {
        if !is_usable || blueprints.iter().all(|blueprint| blueprint.number != name) {
            indexes.remove(name);
        }
    }
    let mut touched = if is_usable { touched_since(log, at)? } else { BTreeMap::new() };
    let mut indexed = 0;
    for blueprint in blueprints {
        let next = changes.get(&blueprint.number).map(|pending| &*pending.next);
        let shape = Shape { blueprint, next };
        match indexes.get(blueprint.number).filter(|_| at >= blueprint.filled) {
            Some(index) => {
                index.set_schema(shape.schema());
                let ids = touched.remove(&blueprint.number).unwrap_or_default();
                indexed += ids.len() as u64;
                apply_all(&index, ids.into_iter().map(|id| shape.current_change(store, id)))?;
            }
            None => {
                tracing::info!(blueprint = blueprint.slug, "building the index anew");
                let index = indexes.create(blueprint.number, shape.schema());
                indexed += rebuild(store, &index, shape)?;
            }
        }
    }
    Ok(indexed)
}

/// Fills an empty index from the store. Returns the number of resources.
fn rebuild(store: &Store, index: &bindery_index::Index, shape: Shape<'_>) -> Result<u64, StartError> {
    let mut count = 0;
    let resources = read::resources(store, shape.blueprint.number).inspect(|_| count += 1);
    apply_all(index, resources.map(|resource| resource.and_then(|(id, meta)| shape.change(store, id, &meta))))?;
    Ok(count)
}

/// The resources that the log touched after a number, by blueprint.
fn touched_since(log: &Log, number: u64) -> Result<BTreeMap<u32, BTreeSet<ResourceId>>, StartError> {
    let mut touched: BTreeMap<u32, BTreeSet<ResourceId>> = BTreeMap::new();
    if number >= log.last() {
        return Ok(touched);
    }
    for record in log.read_from(number + 1).map_err(content)? {
        let (_, payload) = record.map_err(content)?;
        for change in decode_changes(&payload).map_err(content)? {
            if let Key::Resource { blueprint, id } = change.key {
                touched.entry(blueprint).or_default().insert(id);
            }
        }
    }
    Ok(touched)
}

/// Applies changes in batches.
fn apply_all(
    index: &bindery_index::Index,
    changes: impl Iterator<Item = Result<bindery_index::IndexOp>>,
) -> Result<(), StartError> {
    let mut batch = Vec::with_capacity(BATCH_RESOURCES);
    for change in changes {
        batch.push(change.map_err(content)?);
        if batch.len() == BATCH_RESOURCES {
            index.apply(std::mem::take(&mut batch));
        }
    }
    index.apply(batch);
    Ok(())
}
