//! The state that readers see. Each state is immutable and belongs to one log number.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_access::{Access, Accounts, Member, Tokens};
use bindery_index::{Filter, Interrupt, Predicate, VariantNumber, WORKING_UPDATED, working_variant};
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Conflict, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::data::blueprint_change::BlueprintChange;
use crate::data::leader::Leader;
use crate::data::records::CopyVersion;
use crate::data::refusals::{CONFLICT_IDS, change_under_way, conflict_of, index_is_damaged, no_blueprint, no_member};
use crate::data::releases::Releases;
use crate::data::saved_view::SavedView;
use crate::data::steering::SearchSteering;
use crate::data::version::{ResourceVersion, SeenVersion, VersionVisibility, WorkingHash};
use crate::data::visibility::Visibility;
use crate::data::webhook::Webhook;

/// The data from which a request is answered, at one moment.
#[derive(Clone)]
pub(crate) struct State {
    /// The number of the last log record that it includes.
    pub(crate) number: u64,
    /// The time of the last transaction: publications of scheduled blueprints are visible that were due by then.
    pub(crate) released: Millis,
    /// The history that the numbers belong to, see [`Epoch`](bindery_store::Counter::Epoch).
    pub(crate) epoch: u64,
    /// The node that leads the cluster, if there is one.
    pub(crate) leader: Option<Arc<Leader>>,
    /// The blueprints by slug, each with its index.
    pub(crate) blueprints: BTreeMap<String, Arc<Collection>>,
    /// The tokens in force.
    pub(crate) tokens: Arc<Tokens>,
    /// The members by id.
    pub(crate) members: Arc<BTreeMap<u64, Member>>,
    /// The webhooks by id.
    pub(crate) webhooks: Arc<BTreeMap<String, Arc<Webhook>>>,
    /// The views that members saved, by id.
    pub(crate) views: Arc<BTreeMap<String, Arc<SavedView>>>,
    /// The synonyms and rules of ranked search.
    pub(crate) steering: Arc<SearchSteering>,
    /// The accounts with which members sign in.
    pub(crate) accounts: Arc<Accounts>,
    /// The public address of the server, which is a setting: addresses of media begin with it in answers.
    pub(crate) public_url: Option<Arc<str>>,
    /// The state with live copies that this one was [made of](State::working). Held because replaced versions stay in
    /// the store for it, and for no copy of it.
    pub(crate) _live: Option<Arc<State>>,
}

/// A blueprint with its resources.
#[derive(Clone)]
pub(crate) struct Collection {
    /// The blueprint in force.
    pub(crate) blueprint: Arc<Blueprint>,
    /// The index that its snapshots come from.
    pub(crate) index: bindery_index::Index,
    /// Its resources.
    pub(crate) snapshot: bindery_index::Snapshot,
    /// The versions of its lists.
    pub(crate) versions: ListVersions,
    /// The change of the blueprint that is under way.
    pub(crate) change: Option<Arc<BlueprintChange>>,
    /// The times at which its publications become due.
    pub(crate) releases: Releases,
}

/// The versions of a blueprint's lists: the numbers of the transactions that changed them last. They come from the log,
/// so everybody who applies it has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListVersions {
    /// Changed by every change of the blueprint and of its resources.
    pub(crate) all: u64,
    /// Changed only by what readers without `preview` saw before or see since, so that changes of drafts do not show.
    pub(crate) public: u64,
    /// Changed by what only readers of working copies see.
    pub(crate) working: u64,
    /// The last of them since the start that wrote no resource: publications became due.
    pub(crate) without_writes: u64,
}

impl State {
    /// Returns the term of the leader; 0 before the first one, and on a server that never was in a cluster.
    pub(crate) fn term(&self) -> u64 {
        self.leader.as_ref().map_or(0, |leader| leader.term)
    }

    /// Returns the blueprint of that slug with its resources.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn collection(&self, slug: &str) -> Result<&Arc<Collection>> {
        self.blueprints.get(slug).ok_or_else(|| no_blueprint(slug))
    }

    /// Like [`State::collection`], but limited to what a token sees: other blueprints do not exist for it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn visible(&self, access: &Access, slug: &str) -> Result<&Arc<Collection>> {
        if access.sees(slug) { self.collection(slug) } else { Err(no_blueprint(slug)) }
    }

    /// Returns the blueprint of that number with its resources.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Arc<Collection>> {
        self.blueprints.values().find(|collection| collection.blueprint.number == number)
    }

    /// Returns the member that a path names.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn member(&self, id: &str) -> Result<&Member> {
        let number = id.parse().ok().filter(|number: &u64| number.to_string() == id);
        number.and_then(|number| self.members.get(&number)).ok_or_else(|| no_member(id))
    }

    /// Puts a blueprint with its index into the state, in the place of an earlier revision of it.
    pub(crate) fn put(
        &mut self,
        blueprint: Arc<Blueprint>,
        index: bindery_index::Index,
        change: Option<Arc<BlueprintChange>>,
        versions: ListVersions,
    ) {
        let snapshot = index.snapshot();
        let slug = blueprint.slug.clone();
        // If the blueprint was not scheduled before, its moments are incomplete.
        let before = self.numbered(blueprint.number).filter(|before| before.blueprint.scheduled == blueprint.scheduled);
        let releases = before.map(|before| before.releases.clone()).unwrap_or_default();
        self.blueprints.insert(slug, Arc::new(Collection { blueprint, index, snapshot, versions, change, releases }));
    }

    /// Replaces the snapshot of a blueprint by the newest one.
    pub(crate) fn refresh(&mut self, number: u32) {
        self.edit(number, |collection| collection.snapshot = collection.index.snapshot());
    }

    /// Returns the blueprints whose snapshots keep runs in use that were merged or written to disk since.
    pub(crate) fn with_replaced_runs(&self) -> Vec<u32> {
        let is_behind = |collection: &&Arc<Collection>| collection.index.has_replaced_runs_of(&collection.snapshot);
        self.blueprints.values().filter(is_behind).map(|collection| collection.blueprint.number).collect()
    }

    /// Puts an index that holds the same resources in the place of a blueprint's index.
    pub(crate) fn replace_index(&mut self, number: u32, index: bindery_index::Index) {
        self.edit(number, |collection| {
            collection.snapshot = index.snapshot();
            collection.index = index;
        });
    }

    /// Gives the lists of a blueprint a new version: those of readers without `preview`, or those of all others.
    /// `is_written` if its resources were written.
    pub(crate) fn change_lists(&mut self, number: u32, is_public: bool, version: u64, is_written: bool) {
        self.edit(number, |collection| {
            match is_public {
                true => collection.versions.public = version,
                false => collection.versions.all = version,
            }
            if !is_written {
                collection.versions.without_writes = version;
            }
        });
    }

    /// Gives the lists of a blueprint's working copies a new version.
    pub(crate) fn change_working_lists(&mut self, number: u32, version: u64) {
        self.edit(number, |collection| collection.versions.working = version);
    }

    /// Returns the state with working copies in the place of live ones, where blueprints have them. `variant` returns
    /// the variant in which a blueprint's resources are read.
    pub(crate) fn working(self: &Arc<State>, variant: impl Fn(&Blueprint) -> u16) -> State {
        let mut state = State { _live: Some(Arc::clone(self)), ..State::clone(self) };
        for collection in state.blueprints.values_mut().filter(|collection| collection.blueprint.working_copy) {
            let snapshot = collection.snapshot.working(variant(&collection.blueprint));
            Arc::make_mut(collection).snapshot = snapshot;
        }
        state
    }

    fn edit(&mut self, number: u32, edit: impl FnOnce(&mut Collection)) {
        let mut collections = self.blueprints.values_mut();
        if let Some(collection) = collections.find(|collection| collection.blueprint.number == number) {
            edit(Arc::make_mut(collection));
        }
    }

    /// Removes the blueprint of that number.
    pub(crate) fn remove(&mut self, number: u32) {
        self.blueprints.retain(|_, collection| collection.blueprint.number != number);
    }
}

impl Collection {
    /// Returns the error for a failed search in this blueprint.
    pub(crate) fn search_failed(&self, error: bindery_index::Error) -> Error {
        if self.index.is_damaged() { index_is_damaged(&self.blueprint.slug) } else { Error::internal(error) }
    }

    /// Returns the version of its resources, as a token sees them.
    pub(crate) fn seen_version(&self, visibility: Visibility) -> SeenVersion {
        if self.snapshot.is_working() {
            let changed = self.versions.all.max(self.versions.working);
            return SeenVersion { blueprint: self.blueprint.number, changed, seen: VersionVisibility::Working };
        }
        let (changed, seen) = match visibility {
            Visibility::Nothing => (self.versions.public, VersionVisibility::Nothing),
            // A publication that becomes due changes the version of the lists, so the moment need not be part of it.
            Visibility::Published | Visibility::PublishedBy(_) => (self.versions.public, VersionVisibility::Published),
            Visibility::Drafts => (self.versions.all, VersionVisibility::Drafts),
        };
        SeenVersion { blueprint: self.blueprint.number, changed, seen }
    }

    /// Returns the version of the resources in the order of relevance. It changes with every write, since drafts count
    /// in the statistics of scores, whoever reads.
    pub(crate) fn ranked_version(&self, visibility: Visibility) -> SeenVersion {
        let seen = self.seen_version(visibility);
        SeenVersion { changed: seen.changed.max(self.versions.all), ..seen }
    }

    /// Returns the version of a resource of this snapshot.
    pub(crate) fn version_of(&self, hit: &bindery_index::Hit) -> ResourceVersion {
        self.version_for(hit, self.snapshot.is_working())
    }

    /// Returns the version of a resource, for a reader of working copies or of live ones.
    pub(crate) fn version_for(&self, hit: &bindery_index::Hit, is_working: bool) -> ResourceVersion {
        let id = ResourceId::from_u128(hit.id);
        let working = is_working.then(|| {
            let working = |variant| {
                let number = working_variant(variant);
                Some(CopyVersion { variant: number, number: self.snapshot.copy(hit.slot, number)? })
            };
            WorkingHash::of(self.blueprint.variant_numbers().into_iter().filter_map(working))
        });
        ResourceVersion { id, resource: hit.stamps.version, blueprint: self.blueprint.revision, working }
    }

    /// Returns the number of working copies that forbid to change the blueprint to `next`, which has none, and the
    /// first resources that have them.
    pub(crate) fn forbidding_working_copies(&self, next: &Blueprint) -> Conflict {
        let switches_off = self.blueprint.working_copy && !next.working_copy;
        let count = if switches_off { self.snapshot.working_copies() } else { 0 };
        // A conflict is reported even if the index fails.
        let first = if count > 0 { self.first_edited(CONFLICT_IDS).unwrap_or_default() } else { Vec::new() };
        conflict_of(count, first.into_iter())
    }

    /// Returns the first resources that have working copies, at most `limit`.
    ///
    /// # Errors
    /// That of the index.
    pub(crate) fn first_edited(&self, limit: usize) -> Result<Vec<ResourceId>, bindery_index::Error> {
        let is_edited = Filter::Not(Box::new(Filter::Column(WORKING_UPDATED, Predicate::Null)));
        let variants = self.blueprint.variant_numbers().into_iter().map(working_variant);
        let filters: Vec<(VariantNumber, Filter)> = variants.map(|variant| (variant, is_edited.clone())).collect();
        let found = self.snapshot.select_any(&filters, &Interrupt::never())?;
        Ok(found.first(limit).into_iter().map(|hit| ResourceId::from_u128(hit.id)).collect())
    }

    /// # Errors
    /// `CONFLICT` while a change of the blueprint is under way.
    pub(crate) fn check_unchanging(&self) -> Result<()> {
        match self.change {
            None => Ok(()),
            Some(_) => Err(change_under_way(&self.blueprint.slug)),
        }
    }
}

/// The published state. Readers take it and never wait for a writer.
pub(crate) struct StateCell {
    current: RwLock<Arc<State>>,
    webhooks: watch::Sender<()>,
}

impl StateCell {
    /// Makes a cell that holds the state of the start.
    pub(crate) fn new(state: State) -> Self {
        let (webhooks, _) = watch::channel(());
        StateCell { current: RwLock::new(Arc::new(state)), webhooks }
    }

    /// Returns the state as of now.
    pub(crate) fn load(&self) -> Arc<State> {
        Arc::clone(&self.current.read())
    }

    /// Returns a receiver that is notified of each change of a webhook.
    pub(crate) fn watch_webhooks(&self) -> watch::Receiver<()> {
        self.webhooks.subscribe()
    }

    /// Publishes the next state. Only the committer's thread calls it.
    pub(crate) fn publish(&self, next: State) {
        let next = Arc::new(next);
        let old = std::mem::replace(&mut *self.current.write(), Arc::clone(&next));
        if !Arc::ptr_eq(&old.webhooks, &next.webhooks) {
            self.webhooks.send_replace(());
        }
        // Outside the lock: dropping the last reference to a large state takes time.
        drop(old);
    }
}
