//! The trash as it is listed (`API.md` 4.23): pages, newest first.
//!
//! The store holds the trash of each blueprint in the order of the deletions. Pages over several blueprints are a merge
//! of those orders. A page further back walks past the ones before it, which takes about a microsecond each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_index::Interrupt;
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::time::Millis;
use bindery_query::{Page, RawParams, strict};
use bindery_store::{Key, Prefix, Scan, Store};
use serde_json::Value;

use crate::data::lookup::Lookup;
use crate::data::records::Meta;
use crate::data::state::{Collection, State};
use crate::data::trash::{TrashedResource, trash_total, trashed};
use crate::handle::Content;
use crate::read::authors::actor_to_json;

/// The estimated time of a page: too long for a thread that serves connections.
const ESTIMATE: Duration = Duration::from_millis(5);

/// A page of the trash.
#[derive(Debug)]
pub struct TrashPage {
    /// The resources of the page.
    pub entries: Vec<TrashEntry>,
    /// The page.
    pub page: Page,
    /// The number of resources in the trash, of the blueprints that were asked for.
    pub total: u64,
}

/// A resource in the trash.
#[derive(Debug)]
pub struct TrashEntry {
    /// The resource.
    pub id: ResourceId,
    /// The slug of its blueprint.
    pub blueprint: String,
    /// The value of the field that labels resources, in the default variant.
    pub title: Option<String>,
    /// The time of the deletion.
    pub deleted_at: Millis,
    /// The actor who deleted it, as an object with `type`, `id` and `name`.
    pub by: Value,
    /// The resources that referred to it when it was deleted, by blueprint and field. Only of blueprints that the token
    /// sees.
    pub referrers: Vec<TrashReferrers>,
}

/// The resources that referred to a deleted one by one field.
#[derive(Debug)]
pub struct TrashReferrers {
    /// The slug of their blueprint.
    pub blueprint: String,
    /// The slug of the field.
    pub field: String,
    /// The number of resources; at least one.
    pub total: u64,
}

impl Content {
    /// Returns a page of the trash of the blueprints that the token sees, or of the one that `?blueprint=` names.
    ///
    /// # Errors
    /// `FORBIDDEN` without `preview` and `delete`, `INVALID_PARAMETER`, `OVERLOADED` if it takes too long.
    pub async fn trash(&self, access: &Arc<Access>, raw_query: &str) -> Result<TrashPage> {
        access.require(&[Ability::Preview])?;
        access.require(&[Ability::Delete])?;
        let params = RawParams::parse(raw_query);
        strict::check(&params, &["blueprint", "page", "per_page"])?;
        let page = Page::parse(&params)?;
        let asked = params.single("blueprint")?;
        let state = self.state();
        if let Some(slug) = asked
            && state.visible(access, slug).is_err()
        {
            let text = format!("`blueprint` is {}; it must be the slug of a blueprint that exists", quote(slug));
            return Err(Error::new(Code::InvalidParameter, text));
        }
        let is_asked = |slug: &str| access.sees(slug) && asked.is_none_or(|asked| asked == slug);
        let collections = state.blueprints.values().filter(|collection| is_asked(&collection.blueprint.slug));
        let collections: Vec<Arc<Collection>> = collections.cloned().collect();
        let (store, access) = (self.shared.store.clone(), Arc::clone(access));
        let read = move |interrupt: &Interrupt<'_>| {
            Reading { store: &store, state: &state, access: &access }.page(&collections, page, interrupt).transpose()
        };
        self.shared.searches.run(ESTIMATE, read).await
    }
}

struct Reading<'a> {
    store: &'a Store,
    state: &'a State,
    access: &'a Access,
}

/// The next resource of one blueprint's trash. The greatest is the newest one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    at: u64,
    id: u128,
    /// The position of the blueprint. Of two resources with the same id and time, that of the first blueprint comes
    /// first.
    collection: Reverse<usize>,
}

impl Reading<'_> {
    /// Returns a page; `None` if it was interrupted.
    fn page(
        &self,
        collections: &[Arc<Collection>],
        page: Page,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<TrashPage>> {
        let mut total = 0;
        let mut scans: Vec<Option<Scan>> = Vec::with_capacity(collections.len());
        let mut heads = BinaryHeap::new();
        for (position, collection) in collections.iter().enumerate() {
            let blueprint = collection.blueprint.number;
            let count = trash_total(self.store, blueprint)?;
            total += count;
            let mut scan = (count > 0).then(|| self.store.scan_back(Prefix::TrashOrder(blueprint)));
            heads.extend(next_of(scan.as_mut(), position)?);
            scans.push(scan);
        }
        let mut entries = Vec::new();
        let mut to_skip = page.offset();
        if to_skip >= total {
            return Ok(Some(TrashPage { entries, page, total }));
        }
        while let Some(Next { id, collection: Reverse(position), .. }) = heads.pop() {
            if interrupt.is_over() {
                return Ok(None);
            }
            heads.extend(next_of(scans[position].as_mut(), position)?);
            if to_skip > 0 {
                to_skip -= 1;
                continue;
            }
            entries.extend(self.entry(&collections[position].blueprint, ResourceId::from_u128(id))?);
            if entries.len() as u64 == page.per_page {
                break;
            }
        }
        Ok(Some(TrashPage { entries, page, total }))
    }

    /// Returns a resource of the trash; `None` if it has left it meanwhile.
    fn entry(&self, blueprint: &Blueprint, id: ResourceId) -> Result<Option<TrashEntry>> {
        let Some(resource) = trashed(self.store, blueprint.number, id)? else { return Ok(None) };
        let TrashedResource { at, by, referrers, meta, .. } = resource;
        let referrers = referrers.into_iter().filter_map(|referrers| {
            let of = &self.state.numbered(referrers.blueprint)?.blueprint;
            let field = of.fields.iter().find(|field| field.number == referrers.field)?;
            self.access.sees(&of.slug).then(|| TrashReferrers {
                blueprint: of.slug.clone(),
                field: field.slug.clone(),
                total: referrers.total,
            })
        });
        Ok(Some(TrashEntry {
            id,
            blueprint: blueprint.slug.clone(),
            title: self.title(blueprint, id, &meta)?,
            deleted_at: at,
            by: actor_to_json(self.state, by.as_ref()),
            referrers: referrers.collect(),
        }))
    }

    /// Returns the label of a resource as text: the value of the blueprint's `record_title` in the default variant.
    fn title(&self, blueprint: &Blueprint, id: ResourceId, meta: &Meta) -> Result<Option<String>> {
        let Some(slug) = &blueprint.record_title else { return Ok(None) };
        let Some(position) = blueprint.fields.iter().position(|field| field.slug == *slug) else { return Ok(None) };
        let Some(version) = meta.copy(blueprint.default_variant()) else { return Ok(None) };
        // The state from before this read keeps the copies readable.
        let mut values = self.store.values(blueprint, id, version)?;
        Ok(match values.swap_remove(position) {
            Value::String(title) => Some(title),
            Value::Number(title) => Some(title.to_string()),
            _ => None,
        })
    }
}

/// Takes the next resource of a blueprint's trash.
fn next_of(scan: Option<&mut Scan>, position: usize) -> Result<Option<Next>> {
    match scan.and_then(Iterator::next).transpose().map_err(Error::internal)? {
        Some((Key::TrashOrder { at, id, .. }, _)) => {
            Ok(Some(Next { at, id: id.as_u128(), collection: Reverse(position) }))
        }
        _ => Ok(None),
    }
}
