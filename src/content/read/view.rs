//! Reads of one blueprint's resources, all answered from one snapshot (`API.md` 4.2, 4.3).

use std::sync::Arc;

use bindery_index::Filter;

use crate::access::Access;
use crate::content::data::refusals::no_resource;
use crate::content::data::state::{Collection, State};
use crate::content::handle::Content;
use crate::content::read::resource::{Presentation, ResourceAnswer, write_hit};
use crate::model::ability::Ability;
use crate::model::blueprint::BlueprintKind;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::{Millis, day_number, now_millis};
use crate::query::{GetParams, ListParams, Page, published_only};
use crate::store::Store;

/// One blueprint at one moment, as one token sees it.
pub struct View {
    /// Held so that the versions that the snapshot names stay in the store.
    state: Arc<State>,
    pub(super) collection: Arc<Collection>,
    pub(super) store: Store,
    visibility: Visibility,
    /// When it was taken: "today" for `filter[published]` and for the list's entity tag.
    pub(super) now: Millis,
}

/// Which resources a token sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// Published ones.
    Published,
    /// Drafts too.
    Drafts,
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
        // A singular resource is served to every reader, even as a draft (`API.md` 2.3).
        let sees_drafts = access.may(Ability::Preview) || collection.blueprint.kind == BlueprintKind::Singular;
        let visibility = if sees_drafts { Visibility::Drafts } else { Visibility::Published };
        Ok(View { state, collection, store: self.shared.store.clone(), visibility, now })
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
        let hit = hit.filter(|hit| self.visibility == Visibility::Drafts || hit.stamps.published.is_some());
        let hit = hit.ok_or_else(|| no_resource(blueprint, id))?;
        let mut json = String::new();
        let presentation = Presentation { variant, fallback, selection };
        write_hit(&mut json, &self.store, &self.collection, &hit, &presentation)?;
        Ok(ResourceAnswer { json, version: self.collection.version_of(&hit) })
    }

    /// What a list's entity tag is made from. It changes with every write, visibility or day that could change the
    /// answer.
    pub fn list_tag(&self) -> String {
        let visibility = match self.visibility {
            Visibility::Drafts => 'd',
            Visibility::Published => 'p',
        };
        format!("{:x}-{}-{visibility}-{}", self.state.epoch, self.collection.version, day_number(self.now))
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
        match self.visibility {
            Visibility::Drafts => filter,
            Visibility::Published => published_only(filter),
        }
    }
}
