//! Reads of one blueprint's resources, all answered from one snapshot (`API.md` 4.2, 4.3).

use std::sync::Arc;
use std::time::Duration;

use bindery_index::{Filter, Hits, Interrupt, Query, Snapshot};

use crate::access::Access;
use crate::content::data::refusals::no_resource;
use crate::content::data::sight::Sight;
use crate::content::data::state::{Collection, State};
use crate::content::data::version::{EntityTag, ListVersion};
use crate::content::handle::Content;
use crate::content::read::resource::{Presentation, ResourceAnswer, write_hit};
use crate::content::search_pool::SearchPool;
use crate::model::ability::Ability;
use crate::model::error::Result;
use crate::model::id::ResourceId;
use crate::model::time::{Millis, day_number, now_millis};
use crate::query::{GetParams, ListParams, Page, published_only};
use crate::store::Store;

/// One blueprint at one moment, as one token sees it.
pub struct View {
    /// Held also so that the versions that the snapshot names stay in the store.
    state: Arc<State>,
    pub(super) collection: Arc<Collection>,
    pub(super) store: Store,
    sight: Sight,
    pub(super) searches: Arc<SearchPool>,
    /// When it was taken: "today" for `filter[published]` and for the list's entity tag.
    pub(super) now: Millis,
}

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
    pub fn view(&self, access: &Access, slug: &str) -> Result<View> {
        self.view_at(access, slug, now_millis())
    }

    /// The same, with a given time as "now". It decides what "today" is.
    ///
    /// # Errors
    /// As [`Content::view`].
    pub fn view_at(&self, access: &Access, slug: &str, now: Millis) -> Result<View> {
        access.require(&[Ability::View])?;
        let state = self.state();
        let collection = Arc::clone(state.visible(access, slug)?);
        let sight = Sight::of(access, &collection.blueprint);
        let (store, searches) = (self.shared.store.clone(), Arc::clone(&self.shared.searches));
        Ok(View { state, collection, store, searches, sight, now })
    }
}

impl View {
    /// One resource.
    ///
    /// # Errors
    /// Those of the parameters, and `NOT_FOUND`.
    pub fn find(&self, id: &str, raw_query: &str) -> Result<ResourceAnswer> {
        let blueprint = &self.collection.blueprint;
        let GetParams { variant, fallback, selection } = GetParams::parse(raw_query, blueprint)?;
        let hit = ResourceId::parse(id).and_then(|id| self.collection.snapshot.get(id.as_u128()));
        let hit = hit.filter(|hit| self.sight.shows(hit.stamps.published));
        let hit = hit.ok_or_else(|| no_resource(blueprint, id))?;
        let mut json = String::new();
        let presentation = Presentation { variant, fallback, selection };
        write_hit(&mut json, &self.store, &self.collection, &hit, &presentation)?;
        Ok(ResourceAnswer { json, tag: self.collection.version_of(&hit).tag(self.state.epoch) })
    }

    /// The entity tag of a list whose links begin with `base_url`. It changes with every write that the token may see
    /// something of, and with every sight, day or address that could change the answer.
    pub fn list_tag(&self, base_url: &str) -> EntityTag {
        let Collection { blueprint, changed, .. } = &*self.collection;
        let (sight, day) = (self.sight, day_number(self.now));
        let version =
            ListVersion { blueprint: blueprint.number, changed: changed.as_seen(sight), sight, day, base_url };
        version.tag(self.state.epoch)
    }

    /// A page of the list, however long it takes.
    ///
    /// # Errors
    /// Those of the parameters, `OVERLOADED` while the index is being rebuilt.
    pub fn list(&self, raw_query: &str) -> Result<ListPage> {
        let params = self.list_params(raw_query)?;
        let (query, page) = (&params.query, params.page);
        let hits = self.collection.snapshot.search(query, page.offset(), per_page(page));
        self.list_page(&params, &hits.map_err(|error| self.collection.search_failed(error))?)
    }

    /// A page of the list, searched for within the time that a request may take.
    ///
    /// # Errors
    /// As [`View::list`], and `OVERLOADED` if it takes too long or too many searches wait.
    pub async fn list_in_time(&self, raw_query: &str) -> Result<ListPage> {
        let params = self.list_params(raw_query)?;
        let (query, page) = (params.query.clone(), params.page);
        let hits = self.search(query, page.offset(), move |snapshot, query, interrupt| {
            snapshot.search_with(query, page.offset(), per_page(page), interrupt)
        });
        self.list_page(&params, &hits.await?)
    }

    /// Runs a search within the time that a request may take. `offset` is where the page begins that it looks for.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        query: Query,
        offset: u64,
        search: impl Fn(&Snapshot, &Query, &Interrupt<'_>) -> Result<T, bindery_index::Error> + Send + 'static,
    ) -> Result<T> {
        let estimate = Duration::from_nanos(self.collection.snapshot.estimate(&query, offset));
        let collection = Arc::clone(&self.collection);
        let search = move |interrupt: &Interrupt<'_>| match search(&collection.snapshot, &query, interrupt) {
            Err(bindery_index::Error::Interrupted) => None,
            result => Some(result.map_err(|error| collection.search_failed(error))),
        };
        self.searches.run(estimate, search).await
    }

    fn list_params(&self, raw_query: &str) -> Result<ListParams> {
        let mut params = ListParams::parse(raw_query, &self.collection.blueprint, self.now)?;
        params.query.filter = self.restrict(params.query.filter);
        Ok(params)
    }

    fn list_page(&self, params: &ListParams, hits: &Hits) -> Result<ListPage> {
        let ListParams { query, fallback, page, selection } = params;
        let (fallback, page) = (*fallback, *page);
        let presentation = Presentation { variant: query.variant, fallback, selection: selection.clone() };
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

    /// The filter, restricted to what the token may see.
    pub(super) fn restrict(&self, filter: Filter) -> Filter {
        match self.sight {
            Sight::Drafts => filter,
            Sight::Published | Sight::Nothing => published_only(filter),
        }
    }
}

fn per_page(page: Page) -> usize {
    // At most 100.
    usize::try_from(page.per_page).unwrap_or(usize::MAX)
}
