//! Reads of one blueprint's resources, all answered from one snapshot (`API.md` 4.2, 4.3).

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_index::{Hit, Interrupt, MatchSet, Snapshot};
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::{Millis, day_number};
use bindery_query::{Aggregation, Copies, CopyKind, GetParams, Query, RawParams, Selection, Steering, variant_finder};
use bindery_store::Store;

use crate::data::refusals::no_resource;
use crate::data::state::{Collection, State};
use crate::data::stored_copies::StoredCopies;
use crate::data::version::{AnswerVersion, EntityTag, ListVersion, SeenVersion};
use crate::data::visibility::Visibility;
use crate::handle::Content;
use crate::read::authors::AuthorNames;
use crate::read::expand::IncludedResources;
use crate::read::explain::{Explanation, ExplanationBuilder};
use crate::read::resolve::{self, Resolver, StopReason, stopped};
use crate::read::resource::Presentation;
use crate::search_scheduler::SearchScheduler;
use crate::thread_pool::ThreadPool;

pub(super) type IndexQuery = bindery_index::Query;

/// The estimated time of reading related resources: too long for a thread that serves connections.
const EXPANDED: Duration = Duration::from_millis(2);

/// One blueprint at one moment, as one token sees it.
pub struct View {
    /// The state. It also keeps the versions that the snapshot refers to in the store.
    pub(super) state: Arc<State>,
    pub(super) access: Arc<Access>,
    pub(super) collection: Arc<Collection>,
    /// The store, for data that is read only once and should not fill the cache.
    pub(super) store: Store,
    pub(super) stored: StoredCopies,
    pub(super) visibility: Visibility,
    pub(super) searches: Arc<SearchScheduler>,
    pub(super) pool: Arc<ThreadPool>,
    /// The most bytes of resources that an answer may have.
    pub(super) max_answer_bytes: usize,
    /// The time at which the view was taken. It decides "today" for `filter[published]` and for the version of lists.
    pub(super) now: Millis,
}

/// A resource that the token may see, found but not read yet.
pub struct LocatedResource(pub(super) Hit);

/// A running search of a view.
#[derive(Clone, Copy)]
pub(super) struct ViewSearch<'a> {
    pub(super) resolver: &'a Resolver<'a>,
    pub(super) collection: &'a Collection,
    /// The query for the index, restricted to what the token may see.
    pub(super) query: &'a IndexQuery,
}

impl ViewSearch<'_> {
    /// Finds the resources that match the query.
    ///
    /// # Errors
    /// If the search fails or is interrupted.
    pub(super) fn find(&self) -> resolve::Result<MatchSet> {
        let IndexQuery { variant, filter, .. } = self.query;
        self.run(|snapshot, interrupt| snapshot.find(*variant, filter, interrupt))
    }

    /// Runs a search in the index.
    ///
    /// # Errors
    /// As [`ViewSearch::find`].
    pub(super) fn run<T>(
        &self,
        search: impl FnOnce(&Snapshot, &Interrupt<'_>) -> Result<T, bindery_index::Error>,
    ) -> resolve::Result<T> {
        let found = search(&self.collection.snapshot, self.resolver.interrupt);
        self.resolver.searched(self.collection);
        found.map_err(|error| stopped(self.collection, error))
    }
}

impl Content {
    /// Returns the blueprint of that slug as the token sees it now.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, `NOT_FOUND`.
    pub fn view(&self, access: &Arc<Access>, slug: &str) -> Result<View> {
        self.view_at(access, slug, self.shared.time.now())
    }

    /// Like [`Content::view`], with a given time as "now", which decides what "today" is.
    ///
    /// # Errors
    /// The errors of [`Content::view`].
    pub fn view_at(&self, access: &Arc<Access>, slug: &str, now: Millis) -> Result<View> {
        access.require(&[Ability::View])?;
        let state = self.state();
        let collection = Arc::clone(state.visible(access, slug)?);
        let visibility = Visibility::of(access, &collection.blueprint, state.released);
        let (searches, pool) = (Arc::clone(&self.shared.searches), Arc::clone(&self.shared.pool));
        let (store, stored) = (self.shared.store.clone(), self.shared.stored.clone());
        let (access, max_answer_bytes) = (Arc::clone(access), self.shared.max_answer_bytes);
        let view = View { state, access, collection, store, stored, searches, pool, visibility, max_answer_bytes, now };
        Ok(view)
    }

    /// Returns the blueprint of that slug as the token sees it now, with the copies that the query string asks for.
    ///
    /// # Errors
    /// Those of [`Content::view`], `INVALID_PARAMETER`, and `FORBIDDEN` for working copies without `preview`.
    pub fn view_of(&self, access: &Arc<Access>, slug: &str, raw_query: &str) -> Result<View> {
        // Most requests do not name it.
        if !RawParams::has(raw_query, "copy") {
            return self.view(access, slug);
        }
        let raw = RawParams::parse(raw_query);
        require_for_copy(access, &raw)?;
        let view = self.view(access, slug)?;
        match CopyKind::parse(&raw, &view.collection.blueprint)? {
            CopyKind::Live => Ok(view),
            CopyKind::Working => view.with_working_copies(&raw),
        }
    }
}

/// Checks the ability that `copy` demands of a read. A missing one is reported before an unknown blueprint and errors
/// of parameters (`API.md` 1.7), also those of `copy`.
///
/// # Errors
/// `FORBIDDEN` for working copies without `preview`.
pub fn require_for_copy(access: &Access, params: &RawParams) -> Result<()> {
    match params.single("copy") {
        Ok(Some("working")) => access.require(&[Ability::Preview]),
        _ => Ok(()),
    }
}

/// Checks the ability that `explain` demands, as [`require_for_copy`] does.
///
/// # Errors
/// `FORBIDDEN` for an explanation without `manage`.
pub fn require_for_explain(access: &Access, params: &RawParams) -> Result<()> {
    match params.flag("explain") {
        Ok(true) => access.require(&[Ability::Manage]),
        _ => Ok(()),
    }
}

impl LocatedResource {
    /// Returns its id.
    pub(super) fn id(&self) -> ResourceId {
        ResourceId::from_u128(self.0.id)
    }
}

impl View {
    /// Returns the view with working copies in the place of live ones. Their dates are those of the variants that the
    /// request reads.
    pub(crate) fn with_working_copies(self, raw: &RawParams) -> Result<View> {
        self.access.require(&[Ability::Preview])?;
        let state = Arc::new(self.state.working(variant_finder(raw, &self.collection.blueprint)?));
        let collection = Arc::clone(state.collection(&self.collection.blueprint.slug)?);
        Ok(View { state, collection, ..self })
    }

    /// Returns whether it shows working copies.
    pub fn is_working(&self) -> bool {
        self.collection.snapshot.is_working()
    }

    /// Returns the resource with this id.
    ///
    /// # Errors
    /// `NOT_FOUND` if it does not exist or the token may not see it.
    pub fn locate(&self, id: &str) -> Result<LocatedResource> {
        let hit = ResourceId::parse(id).and_then(|id| self.collection.snapshot.get(id.as_u128()));
        let hit = hit.filter(|hit| self.visibility.shows(hit.stamps.published));
        hit.map(LocatedResource).ok_or_else(|| no_resource(&self.collection.blueprint, id))
    }

    /// Returns whether a request asks for an explanation of its search.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, and `FORBIDDEN` without `manage`: times and counts would reveal resources that the token
    /// may not see.
    pub fn explains(&self, params: &RawParams) -> Result<bool> {
        require_for_explain(&self.access, params)?;
        params.flag("explain")
    }

    /// Returns the parameters of a read of one resource.
    ///
    /// # Errors
    /// The errors of the parameters.
    pub fn get_params(&self, raw_query: &str) -> Result<GetParams> {
        GetParams::parse(raw_query, &self.collection.blueprint, &|slug| self.related(slug))
    }

    /// Returns the version of a resource and of the resources of the blueprints `depends_on`, by slug, in order. It
    /// changes with everything that could change the result of [`View::read`].
    pub fn resource_version(&self, resource: &LocatedResource, depends_on: &[String]) -> AnswerVersion {
        let own = self.collection.version_of(&resource.0);
        AnswerVersion::of_resource(self.state.epoch, own, self.related_versions(depends_on))
    }

    /// Returns the entity tag of a resource with the resources of the blueprints `depends_on`. It changes with
    /// [`View::resource_version`].
    pub fn resource_tag(&self, resource: &LocatedResource, depends_on: &[String]) -> EntityTag {
        let State { epoch, public_url, .. } = &*self.state;
        let version = self.collection.version_of(&resource.0);
        version.tag_with(*epoch, public_url.as_deref(), self.related_versions(depends_on))
    }

    /// Reads the resource object as JSON text.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub async fn read(&self, resource: &LocatedResource, params: &GetParams) -> Result<String> {
        let GetParams { variant, fallback, ref selection, .. } = *params;
        self.objects(&[resource.0], self.presentation(Copies { variant, fallback }, selection)).await
    }

    /// Returns the related resources that the parameters ask for, as a JSON array.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if there are too many; `OVERLOADED` if it takes too long; `INTERNAL` if the store fails.
    pub async fn read_included(&self, resource: &LocatedResource, params: &GetParams) -> Result<String> {
        let (state, access) = (Arc::clone(&self.state), Arc::clone(&self.access));
        let (collection, stored) = (Arc::clone(&self.collection), self.stored.clone());
        let GetParams { variant, fallback, ref expansion, .. } = *params;
        let (hit, expansion) = (resource.0, expansion.clone());
        let search = move |interrupt: &Interrupt<'_>| {
            let resolver = Resolver { state: &state, access: &access, interrupt, explanation: None };
            let mut included = IncludedResources::new(&resolver, &stored, &expansion);
            match included.add(&collection, Copies { variant, fallback }, hit) {
                Ok(()) => Some(Ok(included.finish())),
                Err(StopReason::Failed(error)) => Some(Err(error)),
                Err(StopReason::Interrupted) => None,
            }
        };
        self.searches.run(EXPANDED, search).await
    }

    /// Returns whether the token sees drafts. Two tokens with the same result see the same resources of this blueprint.
    pub fn sees_drafts(&self) -> bool {
        self.visibility == Visibility::Drafts
    }

    /// Returns the version of the blueprint's lists that also depend on the blueprints `depends_on`, by slug, in order.
    /// It changes with every write that the token can see, with visibility, the day, synonyms and rules, and when a
    /// rule begins or ends. With `is_ranked`, writes to drafts change it too: they count in the statistics of scores.
    pub fn list_version(&self, depends_on: &[String], is_ranked: bool) -> AnswerVersion {
        let own = match is_ranked {
            true => self.collection.ranked_version(self.visibility),
            false => self.collection.seen_version(self.visibility),
        };
        let related = self.related_versions(depends_on);
        let version = ListVersion::new(own, day_number(self.now), related);
        let steering = self.state.steering.version(self.now);
        let hour = (is_ranked && self.orders_by_time()).then(|| self.now.div_euclid(3_600_000));
        AnswerVersion::of_list(self.state.epoch, version.steered(steering, hour))
    }

    /// Returns whether the order of relevance depends on the time.
    fn orders_by_time(&self) -> bool {
        let settings = self.collection.blueprint.search.as_ref();
        settings.is_some_and(|search| search.boost.iter().any(|boost| boost.half_life_days.is_some()))
    }

    fn related_versions(&self, depends_on: &[String]) -> impl ExactSizeIterator<Item = Option<SeenVersion>> {
        depends_on.iter().map(|slug| {
            let collection = self.state.visible(&self.access, slug).ok()?;
            Some(collection.seen_version(Visibility::of(&self.access, &collection.blueprint, self.state.released)))
        })
    }

    /// Returns whether the token sees a blueprint of this slug.
    pub fn knows(&self, slug: &str) -> bool {
        self.state.visible(&self.access, slug).is_ok()
    }

    /// Runs a search within the time that a request may take. `offset` is the start of the page that it looks for. Also
    /// returns the explanation, if `is_explained`.
    pub(super) async fn search<P: AsRef<Query> + Send + Sync + 'static, T: Send + 'static>(
        &self,
        params: &Arc<P>,
        offset: u64,
        aggregation: &Aggregation,
        is_explained: bool,
        search: impl Fn(&ViewSearch<'_>, &P) -> resolve::Result<T> + Send + 'static,
    ) -> Result<(T, Option<Explanation>)> {
        let query: &Query = (**params).as_ref();
        let estimate = self.resolver(&Interrupt::never()).estimate(&self.collection, query, offset, aggregation);
        let (params, collection) = (Arc::clone(params), Arc::clone(&self.collection));
        let (state, access) = (Arc::clone(&self.state), Arc::clone(&self.access));
        let asked = Instant::now();
        let search = move |interrupt: &Interrupt<'_>| {
            let explanation = is_explained.then(|| ExplanationBuilder::begin(&collection, asked.elapsed()));
            let interrupt = interrupt.with_trace(explanation.as_ref().map(ExplanationBuilder::trace));
            let (interrupt, explaining) = (&interrupt, explanation.as_ref());
            let resolver = Resolver { state: &state, access: &access, interrupt, explanation: explaining };
            let found = resolver.query(&collection, (*params).as_ref()).and_then(|query| {
                search(&ViewSearch { resolver: &resolver, collection: &collection, query: &query }, &params)
            });
            match found {
                Ok(found) => Some(Ok((found, explanation.map(ExplanationBuilder::end)))),
                Err(StopReason::Failed(error)) => Some(Err(error)),
                Err(StopReason::Interrupted) => None,
            }
        };
        self.searches.run(estimate, search).await
    }

    fn resolver<'a>(&'a self, interrupt: &'a Interrupt<'a>) -> Resolver<'a> {
        Resolver { state: &self.state, access: &self.access, interrupt, explanation: None }
    }

    /// Runs a search without a time limit.
    pub(super) fn search_at_length<T>(
        &self,
        query: &Query,
        search: impl Fn(&ViewSearch<'_>) -> resolve::Result<T>,
    ) -> Result<T> {
        let interrupt = Interrupt::never();
        let resolver = self.resolver(&interrupt);
        let found = resolver
            .query(&self.collection, query)
            .and_then(|query| search(&ViewSearch { resolver: &resolver, collection: &self.collection, query: &query }));
        found.map_err(|stopped| match stopped {
            StopReason::Failed(error) => error,
            StopReason::Interrupted => Error::internal("a search was interrupted that nothing interrupts"),
        })
    }

    /// Returns what steers its ranked searches.
    pub(super) fn steering(&self) -> Steering {
        let steering = &self.state.steering;
        if steering.is_empty() {
            return Steering::default();
        }
        Steering { synonyms: steering.table(), rules: steering.rules_of(&self.collection.blueprint.slug, self.now) }
    }

    /// Returns the blueprint that a relation names, if the token has it.
    pub(super) fn related(&self, slug: &str) -> Option<&Blueprint> {
        self.state.visible(&self.access, slug).ok().map(|collection| &*collection.blueprint)
    }

    /// Returns the presentation of resources in these copies, without excerpts.
    pub(super) fn presentation(&self, copies: Copies, selection: &Selection) -> Presentation {
        let Copies { variant, fallback } = copies;
        let (selection, is_working) = (selection.clone(), self.is_working());
        let names = AuthorNames::shown_to(&self.access, &self.state);
        let public_url = self.state.public_url.clone();
        // Only with `preview` are working copies read.
        let (highlights, hides_errors) = (None, false);
        Presentation { variant, fallback, selection, highlights, is_working, hides_errors, names, public_url }
    }
}
