//! The start: store and index are brought to the end of the log.
//!
//! The store is brought up first (`base::recover`). The index is then a pure function of it: an index that stands at a
//! number of the log gets the resources that the log touched since; one that is missing, broken or ahead of the log is
//! built anew from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::access::{Member, Token, Tokens};
use crate::content::record::{Copy, Meta};
use crate::content::state::State;
use crate::content::sweep;
use crate::log::Log;
use crate::model::blueprint::{Blueprint, render};
use crate::model::id::ResourceId;
use crate::projection;
use crate::store::{Change, Counter, Key, Prefix, Store, decode_changes};

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

/// The state that readers see first.
pub(crate) fn load_state(
    store: &Store,
    indexes: &bindery_index::Indexes,
    blueprints: &[Arc<Blueprint>],
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

/// The numbers of deleted blueprints of which the store still holds something.
pub(crate) fn lost_blueprints(store: &Store, blueprints: &[Arc<Blueprint>]) -> Result<Vec<u32>, StartError> {
    let highest = store.get(&Key::Counter(Counter::Blueprint)).map_err(content)?;
    let highest = highest.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    let highest = u32::try_from(highest).map_err(content)?;
    let mut lost = Vec::new();
    for number in (1..=highest).filter(|number| blueprints.iter().all(|known| known.number != *number)) {
        if sweep::holds_any_of(store, number).map_err(content)? {
            lost.push(number);
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
        match indexes.get(blueprint.number) {
            Some(index) => {
                index.set_schema(projection::schema(blueprint));
                let ids = touched.remove(&blueprint.number).unwrap_or_default();
                indexed += ids.len() as u64;
                index_resources(store, &index, blueprint, ids.into_iter().map(Ok))?;
            }
            None => {
                tracing::info!(blueprint = blueprint.slug, "building the index anew");
                let index = indexes.create(blueprint.number, projection::schema(blueprint));
                indexed += rebuild(store, &index, blueprint)?;
            }
        }
    }
    Ok(indexed)
}

/// Fills an empty index from the store. Returns the number of resources.
pub(crate) fn rebuild(store: &Store, index: &bindery_index::Index, blueprint: &Blueprint) -> Result<u64, StartError> {
    let mut count = 0;
    let ids = store.scan(Prefix::Resources(blueprint.number)).filter_map(|entry| match entry {
        Ok((Key::Resource { id, .. }, _)) => Some(Ok(id)),
        Ok(_) => None,
        Err(error) => Some(Err(content(error))),
    });
    let counted = ids.inspect(|_| count += 1);
    index_resources(store, index, blueprint, counted)?;
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

/// Puts resources as they are in the store into the index.
pub(crate) fn index_resources(
    store: &Store,
    index: &bindery_index::Index,
    blueprint: &Blueprint,
    ids: impl Iterator<Item = Result<ResourceId, StartError>>,
) -> Result<(), StartError> {
    let mut batch = Vec::with_capacity(BATCH_RESOURCES);
    for id in ids {
        batch.push(current_change(store, blueprint, id?)?);
        if batch.len() == BATCH_RESOURCES {
            index.apply(std::mem::take(&mut batch));
        }
    }
    index.apply(batch);
    Ok(())
}

/// The change that brings the index to what the store holds of a resource.
fn current_change(store: &Store, blueprint: &Blueprint, id: ResourceId) -> Result<bindery_index::Change, StartError> {
    let key = Key::Resource { blueprint: blueprint.number, id };
    let Some(bytes) = store.get(&key).map_err(content)? else {
        return Ok(bindery_index::Change::Delete { id: id.as_u128() });
    };
    let meta = Meta::decode(&bytes).map_err(content)?;
    let kept = blueprint.variant_numbers();
    let mut copies = Vec::with_capacity(meta.copies.len());
    for (variant, number) in meta.copies.iter().copied().filter(|(variant, _)| kept.contains(variant)) {
        let key = Key::Copy { blueprint: blueprint.number, id, variant, number };
        let bytes = store.get(&key).map_err(content)?;
        let bytes = bytes.ok_or_else(|| content(format!("the copy {variant}/{number} of {id} is missing")))?;
        let values = Copy::decode(&bytes).and_then(|copy| copy.values(blueprint)).map_err(content)?;
        let values = projection::project(blueprint, values.iter().enumerate());
        copies.push((variant, Some(bindery_index::Copy { number, values })));
    }
    let dates = bindery_index::Dates { created: meta.created, updated: meta.updated, published: meta.published };
    Ok(bindery_index::Change::Put { id: id.as_u128(), dates, copies })
}
