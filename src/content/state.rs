//! What readers see: one immutable state after another, each of one log number.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::access::{Member, Tokens};
use crate::content::change::Pending;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};

/// Everything that a request is answered from, at one moment.
#[derive(Clone)]
pub(crate) struct State {
    /// The blueprints by slug, each with its index.
    pub(crate) blueprints: BTreeMap<String, Arc<Collection>>,
    /// The tokens in force.
    pub(crate) tokens: Arc<Tokens>,
    /// The members by id.
    pub(crate) members: Arc<BTreeMap<u64, Member>>,
}

/// A blueprint with its resources.
#[derive(Clone)]
pub(crate) struct Collection {
    /// The blueprint in force.
    pub(crate) blueprint: Arc<Blueprint>,
    /// Where its snapshots come from.
    pub(crate) index: bindery_index::Index,
    /// Its resources.
    pub(crate) snapshot: bindery_index::Snapshot,
    /// The log number of the last change of the blueprint or one of its resources.
    pub(crate) version: u64,
    /// The change of the blueprint that is under way.
    pub(crate) pending: Option<Arc<Pending>>,
}

impl State {
    /// The blueprint of that slug with its resources.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn collection(&self, slug: &str) -> Result<&Arc<Collection>> {
        self.blueprints.get(slug).ok_or_else(|| no_blueprint(slug))
    }

    /// The blueprint of that number with its resources.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Arc<Collection>> {
        self.blueprints.values().find(|collection| collection.blueprint.number == number)
    }

    /// Takes up what its index has applied to the blueprint of that number.
    pub(crate) fn refresh(&mut self, number: u32, version: u64) {
        let Some(collection) = self.blueprints.values_mut().find(|other| other.blueprint.number == number) else {
            return;
        };
        let snapshot = collection.index.snapshot();
        *collection = Arc::new(Collection { snapshot, version, ..Collection::clone(collection) });
    }

    /// Puts a new or changed blueprint in its place.
    pub(crate) fn put(&mut self, blueprint: Arc<Blueprint>, index: bindery_index::Index, version: u64) {
        let snapshot = index.snapshot();
        let collection = Collection { blueprint: Arc::clone(&blueprint), index, snapshot, version, pending: None };
        self.blueprints.insert(blueprint.slug.clone(), Arc::new(collection));
    }

    /// Notes that a blueprint is being changed, or that it no longer is. What is answered stays the same.
    pub(crate) fn set_pending(&mut self, blueprint: Arc<Blueprint>, pending: Option<Arc<Pending>>) {
        let Some(collection) = self.blueprints.get_mut(&blueprint.slug) else { return };
        let snapshot = collection.index.snapshot();
        *collection = Arc::new(Collection { blueprint, snapshot, pending, ..Collection::clone(collection) });
    }
}

/// `NOT_FOUND` for a blueprint.
pub(crate) fn no_blueprint(slug: &str) -> Error {
    let slug: String = slug.chars().take(100).collect();
    Error::new(Code::NotFound, format!("there is no blueprint `{slug}`"))
}

/// The published state. Readers take it and never wait for a writer.
pub(crate) struct StateCell {
    current: RwLock<Arc<State>>,
}

impl StateCell {
    /// A cell that holds the state of the start.
    pub(crate) fn new(state: State) -> Self {
        StateCell { current: RwLock::new(Arc::new(state)) }
    }

    /// The state as of now.
    pub(crate) fn load(&self) -> Arc<State> {
        Arc::clone(&self.current.read())
    }

    /// Publishes a changed state. Only the committer calls it.
    pub(crate) fn update(&self, change: impl FnOnce(&mut State)) {
        let mut next = State::clone(&self.current.read());
        change(&mut next);
        let next = Arc::new(next);
        let old = std::mem::replace(&mut *self.current.write(), next);
        // Dropped outside the lock: the last reference to a large state takes its time.
        drop(old);
    }
}
