//! Reads of one blueprint's resources, all answered from one snapshot (`API.md` 4.2, 4.3).

use std::sync::Arc;

use bindery_index::Filter;

use crate::access::Access;
use crate::content::data::refusals::no_resource;
use crate::content::data::sight::Sight;
use crate::content::data::state::{Collection, State};
use crate::content::data::version::{EntityTag, ListVersion};
use crate::content::handle::Content;
use crate::content::read::resource::{Presentation, ResourceAnswer, write_hit};
use crate::model::ability::Ability;
use crate::model::error::{Error, Result};
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
        Ok(View { state, collection, store: self.shared.store.clone(), sight, now })
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

    /// A page of the list.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn list(&self, raw_query: &str) -> Result<ListPage> {
        let ListParams { mut query, fallback, page, selection } =
            ListParams::parse(raw_query, &self.collection.blueprint, self.now)?;
        query.filter = self.restrict(query.filter);
        let limit = usize::try_from(page.per_page).map_err(Error::internal)?;
        let hits = self.collection.snapshot.search(&query, page.offset(), limit).map_err(Error::internal)?;
        let presentation = Presentation { variant: query.variant, fallback, selection };
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
