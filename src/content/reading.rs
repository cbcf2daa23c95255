//! Reads of one blueprint's resources, all answered from the state of one moment (`API.md` 4.2, 4.3).

use std::sync::Arc;

use bindery_index::Filter;

use crate::access::Access;
use crate::content::decide::no_resource;
use crate::content::export::Export;
use crate::content::read::{self, Answer, View};
use crate::content::state::{Collection, State, no_blueprint};
use crate::content::{Content, now};
use crate::model::ability::Ability;
use crate::model::blueprint::BlueprintKind;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::{Millis, day_number};
use crate::query::{ExportParams, GetParams, Links, ListParams, published_only};
use crate::store::Store;

/// One blueprint at one moment, as one token sees it.
pub struct Reading {
    /// Held so that the versions that the snapshot names stay in the store.
    _state: Arc<State>,
    pub(super) collection: Arc<Collection>,
    pub(super) store: Store,
    sees_drafts: bool,
    /// When it began: what `filter[published]` and the entity tag mean by today.
    now: Millis,
}

/// A page of a list.
#[derive(Debug)]
pub struct ListAnswer {
    /// The answer as JSON text: `data`, `links` and `meta`.
    pub json: String,
}

impl Content {
    /// The blueprint of that slug as the token sees it.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, `NOT_FOUND`.
    pub fn read(&self, access: &Access, slug: &str) -> Result<Reading> {
        self.read_at(access, slug, now())
    }

    /// The same at a moment of the caller's choice, which says what day it is.
    ///
    /// # Errors
    /// As [`Content::read`].
    pub fn read_at(&self, access: &Access, slug: &str, now: Millis) -> Result<Reading> {
        access.require(&[Ability::View])?;
        let state = self.state();
        let collection = Arc::clone(visible(&state, access, slug)?);
        // A singular resource is served to every reader, also as a draft (`API.md` 2.3).
        let sees_drafts = access.may(Ability::Preview) || collection.blueprint.kind == BlueprintKind::Singular;
        Ok(Reading { _state: state, collection, store: self.shared.store.clone(), sees_drafts, now })
    }
}

/// The blueprint of that slug, if it exists for the token.
pub(super) fn visible<'a>(state: &'a State, access: &Access, slug: &str) -> Result<&'a Arc<Collection>> {
    if access.sees(slug) { state.collection(slug) } else { Err(no_blueprint(slug)) }
}

impl Reading {
    /// One resource.
    ///
    /// # Errors
    /// Those of the parameters, and `NOT_FOUND`.
    pub fn find(&self, id: &str, raw_query: &str) -> Result<Answer> {
        let blueprint = &self.collection.blueprint;
        let params = GetParams::parse(raw_query, blueprint)?;
        let resource = ResourceId::parse(id).ok_or_else(|| no_resource(blueprint, id))?;
        let view = View { variant: params.variant, fallback: params.fallback, selection: params.selection };
        let meta = read::meta(&self.store, blueprint, resource)?;
        let meta = meta.filter(|meta| self.sees_drafts || meta.published.is_some());
        let meta = meta.ok_or_else(|| no_resource(blueprint, id))?;
        read::answer(&self.store, blueprint, resource, &meta, &view)
    }

    /// What a list's entity tag stands for: changes with every write, sight or day that could change the answer.
    pub fn list_tag(&self) -> String {
        let sight = if self.sees_drafts { 'd' } else { 'p' };
        format!("{}-{sight}-{}", self.collection.version, day_number(self.now))
    }

    /// A page of the list. `address` is the list's absolute address without a query string.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn list(&self, raw_query: &str, address: &str) -> Result<ListAnswer> {
        let blueprint = &self.collection.blueprint;
        let mut params = ListParams::parse(raw_query, blueprint, self.now)?;
        params.query.filter = self.visible_of(params.query.filter);
        let page = params.page;
        let limit = usize::try_from(page.per_page).map_err(Error::internal)?;
        let hits = self.collection.snapshot.search(&params.query, page.offset(), limit).map_err(Error::internal)?;
        let view = View { variant: params.query.variant, fallback: params.fallback, selection: params.selection };
        let mut json = String::with_capacity(4096);
        json.push_str("{\"data\":[");
        for (place, hit) in hits.hits.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            read::write_hit(&mut json, &self.store, &self.collection, hit, &view)?;
        }
        let links = Links::new(address, raw_query, page, hits.total);
        let tail = serde_json::json!({
            "links": { "first": links.first, "last": links.last, "prev": links.prev, "next": links.next },
            "meta": {
                "current_page": page.number,
                "last_page": page.last(hits.total),
                "per_page": page.per_page,
                "total": hits.total,
            },
        });
        json.push_str("],");
        json.push_str(&tail.to_string()[1..]);
        Ok(ListAnswer { json })
    }

    /// Everything that a query matches, to be streamed.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn export(self, raw_query: &str, accept: Option<&str>) -> Result<Export> {
        let mut params = ExportParams::parse(raw_query, accept, &self.collection.blueprint, self.now)?;
        params.query.filter = self.visible_of(params.query.filter);
        let stream = self.collection.snapshot.stream(&params.query).map_err(Error::internal)?;
        Ok(Export::new(self, params, stream))
    }

    fn visible_of(&self, filter: Filter) -> Filter {
        if self.sees_drafts { filter } else { published_only(filter) }
    }
}
