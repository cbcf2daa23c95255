//! Reads of one blueprint's resources, all answered from one snapshot (`API.md` 4.2, 4.3).

use std::sync::Arc;
use std::time::Duration;

use bindery_index::{Hit, Hits, Interrupt, Snapshot};

use crate::access::Access;
use crate::content::data::refusals::no_resource;
use crate::content::data::sight::Sight;
use crate::content::data::state::{Collection, State};
use crate::content::data::version::{AnswerVersion, ListVersion};
use crate::content::handle::Content;
use crate::content::read::authors::AuthorNames;
use crate::content::read::resolve::{Resolver, Stopped, stopped};
use crate::content::read::resource::{Presentation, write_hit};
use crate::content::search_pool::SearchPool;
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::{Millis, day_number, now_millis};
use crate::query::{GetParams, ListParams, Page, Query};
use crate::store::Store;

type IndexQuery = bindery_index::Query;

/// One blueprint at one moment, as one token sees it.
pub struct View {
    /// Held also so that the versions that the snapshot names stay in the store.
    pub(super) state: Arc<State>,
    access: Arc<Access>,
    pub(super) collection: Arc<Collection>,
    pub(super) store: Store,
    sight: Sight,
    pub(super) searches: Arc<SearchPool>,
    /// When it was taken: "today" for `filter[published]` and for the version of lists.
    pub(super) now: Millis,
}

/// A resource that a token may see, found and not read yet.
pub struct Located(Hit);

/// A page of a list.
#[derive(Debug)]
pub struct ListPage {
    /// The resource objects as JSON text: an array.
    pub resources: String,
    /// Which page it is.
    pub page: Page,
    /// How many resources match.
    pub total: u64,
}

impl Content {
    /// The blueprint of that slug as the token sees it now.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, `NOT_FOUND`.
    pub fn view(&self, access: &Arc<Access>, slug: &str) -> Result<View> {
        self.view_at(access, slug, now_millis())
    }

    /// The same, with a given time as "now". It decides what "today" is.
    ///
    /// # Errors
    /// As [`Content::view`].
    pub fn view_at(&self, access: &Arc<Access>, slug: &str, now: Millis) -> Result<View> {
        access.require(&[Ability::View])?;
        let state = self.state();
        let collection = Arc::clone(state.visible(access, slug)?);
        let sight = Sight::of(access, &collection.blueprint, now);
        let (store, searches) = (self.shared.store.clone(), Arc::clone(&self.shared.searches));
        Ok(View { state, access: Arc::clone(access), collection, store, searches, sight, now })
    }
}

impl Located {
    /// Its id.
    pub(super) fn id(&self) -> ResourceId {
        ResourceId::from_u128(self.0.id)
    }
}

impl View {
    /// The resource with this id.
    ///
    /// # Errors
    /// `NOT_FOUND` if it does not exist or the token may not see it.
    pub fn locate(&self, id: &str) -> Result<Located> {
        let hit = ResourceId::parse(id).and_then(|id| self.collection.snapshot.get(id.as_u128()));
        let hit = hit.filter(|hit| self.sight.shows(hit.stamps.published));
        hit.map(Located).ok_or_else(|| no_resource(&self.collection.blueprint, id))
    }

    /// The parameters of a read of one resource.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn get_params(&self, raw_query: &str) -> Result<GetParams> {
        GetParams::parse(raw_query, &self.collection.blueprint)
    }

    /// The version of a resource. It changes with everything that could change what [`View::read`] returns.
    pub fn resource_version(&self, resource: &Located) -> AnswerVersion {
        AnswerVersion::of_resource(self.state.epoch, self.collection.version_of(&resource.0))
    }

    /// The resource object as JSON text.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub fn read(&self, resource: &Located, params: GetParams) -> Result<String> {
        let GetParams { variant, fallback, selection } = params;
        let mut json = String::new();
        let presentation = Presentation { variant, fallback, selection, names: self.names() };
        write_hit(&mut json, &self.store, &self.collection, &resource.0, &presentation)?;
        Ok(json)
    }

    /// Whether the token sees drafts. Of two tokens that both do, or both do not, each sees what the other sees.
    pub fn sees_drafts(&self) -> bool {
        self.sight == Sight::Drafts
    }

    /// The version of those lists of the blueprint that also depend on the resources of these other blueprints, by their
    /// slugs, in order. It changes with every write that the token may see something of, and with every sight or day that
    /// could change an answer.
    pub fn list_version(&self, depends_on: &[String]) -> AnswerVersion {
        let related = depends_on.iter().map(|slug| {
            let collection = self.state.visible(&self.access, slug).ok()?;
            Some(collection.seen_version(Sight::of(&self.access, &collection.blueprint, self.now)))
        });
        let own = self.collection.seen_version(self.sight);
        AnswerVersion::of_list(self.state.epoch, ListVersion::new(own, day_number(self.now), related))
    }

    /// A page of the list, however long it takes.
    ///
    /// # Errors
    /// Those of the parameters, `OVERLOADED` while the index is being rebuilt.
    pub fn list(&self, raw_query: &str) -> Result<ListPage> {
        let params = self.list_params(raw_query)?;
        let page = params.page;
        let hits = self.search_at_length(&params.query, |snapshot, query, interrupt| {
            snapshot.search_with(query, page.offset(), per_page(page), interrupt)
        });
        self.list_page(&params, &hits?)
    }

    /// A page of the list, searched for within the time that a request may take.
    ///
    /// # Errors
    /// `OVERLOADED` if it takes too long, too many searches wait, or the index is being rebuilt.
    pub async fn list_in_time(&self, params: &ListParams) -> Result<ListPage> {
        let (query, page) = (params.query.clone(), params.page);
        let hits = self.search(query, page.offset(), move |snapshot, query, interrupt| {
            snapshot.search_with(query, page.offset(), per_page(page), interrupt)
        });
        self.list_page(params, &hits.await?)
    }

    /// Runs a search within the time that a request may take. `offset` is where the page begins that it looks for.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        query: Query,
        offset: u64,
        search: impl Fn(&Snapshot, &IndexQuery, &Interrupt<'_>) -> Result<T, bindery_index::Error> + Send + 'static,
    ) -> Result<T> {
        let (state, access, now) = (Arc::clone(&self.state), Arc::clone(&self.access), self.now);
        let collection = Arc::clone(&self.collection);
        let estimate = self.estimate(&query, offset);
        let search = move |interrupt: &Interrupt<'_>| {
            let resolver = Resolver { state: &state, access: &access, now, interrupt };
            let found = resolver.query(&collection, &query).and_then(|query| {
                search(&collection.snapshot, &query, interrupt).map_err(|error| stopped(&collection, error))
            });
            match found {
                Ok(found) => Some(Ok(found)),
                Err(Stopped::Failed(error)) => Some(Err(error)),
                Err(Stopped::Interrupted) => None,
            }
        };
        self.searches.run(estimate, search).await
    }

    /// Roughly how long a search takes.
    fn estimate(&self, query: &Query, offset: u64) -> Duration {
        let interrupt = Interrupt::never();
        let resolver = Resolver { state: &self.state, access: &self.access, now: self.now, interrupt: &interrupt };
        Duration::from_nanos(resolver.estimate(&self.collection, query, offset))
    }

    /// Runs a search, however long it takes.
    pub(super) fn search_at_length<T>(
        &self,
        query: &Query,
        search: impl Fn(&Snapshot, &IndexQuery, &Interrupt<'_>) -> Result<T, bindery_index::Error>,
    ) -> Result<T> {
        let interrupt = Interrupt::never();
        let resolver = Resolver { state: &self.state, access: &self.access, now: self.now, interrupt: &interrupt };
        let found = resolver.query(&self.collection, query).and_then(|query| {
            let found = search(&self.collection.snapshot, &query, &interrupt);
            found.map_err(|error| stopped(&self.collection, error))
        });
        found.map_err(|stopped| match stopped {
            Stopped::Failed(error) => error,
            Stopped::Interrupted => Error::internal("a search was interrupted that nothing interrupts"),
        })
    }

    /// The parameters of a list.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn list_params(&self, raw_query: &str) -> Result<ListParams> {
        ListParams::parse(raw_query, &self.collection.blueprint, &|slug| self.related(slug), self.now)
    }

    /// The blueprint that a relation names, if the token has it.
    pub(super) fn related(&self, slug: &str) -> Option<&Blueprint> {
        self.state.visible(&self.access, slug).ok().map(|collection| &*collection.blueprint)
    }

    fn names(&self) -> Option<AuthorNames> {
        AuthorNames::shown_to(&self.access, &self.state)
    }

    fn list_page(&self, params: &ListParams, hits: &Hits) -> Result<ListPage> {
        let ListParams { query, fallback, page, selection } = params;
        let (fallback, page) = (*fallback, *page);
        let (variant, selection) = (query.copies.variant, selection.clone());
        let presentation = Presentation { variant, fallback, selection, names: self.names() };
        let mut resources = String::with_capacity(4096);
        resources.push('[');
        for (position, hit) in hits.hits.iter().enumerate() {
            if position > 0 {
                resources.push(',');
            }
            write_hit(&mut resources, &self.store, &self.collection, hit, &presentation)?;
        }
        resources.push(']');
        Ok(ListPage { resources, page, total: hits.total })
    }
}

fn per_page(page: Page) -> usize {
    // At most 100.
    usize::try_from(page.per_page).unwrap_or(usize::MAX)
}
