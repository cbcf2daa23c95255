//! Referrers: the resources that refer to a resource, or use it by address, as a token sees them (`API.md` 4.3.1,
//! 4.27.6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_index::{Error as IndexError, Interrupt, variant_of_working};
use bindery_model::blueprint::BlueprintKind;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_query::{CopyKind, RawParams, strict};
use bindery_store::{Prefix, Store};

use crate::data::media_users::NotedCopy;
use crate::data::referrers::{Referrer, referring_to};
use crate::data::state::{Collection, State};
use crate::data::visibility::Visibility;
use crate::handle::Content;
use crate::read::view::require_for_copy;

/// The number of ids answered for each field.
const NAMED: usize = 10;

/// The estimated time of reading the posting lists of an id: too long for a thread that serves connections.
const ESTIMATE: Duration = Duration::from_millis(2);

/// The resources that refer to a resource by one field, in any variant.
#[derive(Debug)]
pub struct FieldReferrers {
    /// The slug of their blueprint.
    pub blueprint: String,
    /// The slug of the field.
    pub field: String,
    /// The number of referrers; at least one.
    pub total: u64,
    /// The first ten referrers, by id.
    pub ids: Vec<ResourceId>,
}

impl Content {
    /// Returns the resources that refer to a resource, limited to those that the token sees. Blueprints are in the
    /// order of their slugs, fields in the order of their blueprint. With `copy=working`, resources also count by
    /// what their working copies hold.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, or for working copies without `preview`, `INVALID_PARAMETER`, `NOT_FOUND`,
    /// `OVERLOADED` if it takes too long or an index is being rebuilt.
    pub async fn referrers(
        &self,
        access: &Arc<Access>,
        slug: &str,
        id: &str,
        params: &RawParams,
    ) -> Result<Vec<FieldReferrers>> {
        require_for_copy(access, params)?;
        let view = self.view(access, slug)?;
        strict::check(params, &["copy"])?;
        let in_working = CopyKind::parse_for_all(params)? == CopyKind::Working;
        let id = view.locate(id)?.id();
        let state = view.state;
        let visibilities = referring_to(&state, slug)
            .map(|referring| Visibility::of(access, &referring.collection.blueprint, state.released));
        let (visibilities, slug): (Vec<Visibility>, _) = (visibilities.collect(), slug.to_owned());
        let users =
            AddressUsers { store: self.shared.store.clone(), access: Arc::clone(access), media: id, in_working };
        let search = move |interrupt: &Interrupt<'_>| {
            let kind = state.blueprints.get(&slug).map(|collection| collection.blueprint.kind);
            let is_media = kind == Some(BlueprintKind::Media);
            match referrers(&state, &visibilities, in_working, &slug, id, interrupt).transpose()? {
                Ok(found) if is_media => users.add_to(found, &state, interrupt).transpose(),
                found => Some(found),
            }
        };
        self.shared.searches.run(ESTIMATE, search).await
    }
}

/// The search for resources that use a media resource by address.
struct AddressUsers {
    store: Store,
    access: Arc<Access>,
    media: ResourceId,
    in_working: bool,
}

impl AddressUsers {
    /// Adds them to the referrers by relations, in the order of all blueprints and fields. Returns `None` if it was
    /// interrupted.
    fn add_to(
        &self,
        mut found: Vec<FieldReferrers>,
        state: &State,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Vec<FieldReferrers>>> {
        let mut users: BTreeMap<(String, String), BTreeSet<ResourceId>> = BTreeMap::new();
        for entry in self.store.scan(Prefix::MediaUsers(self.media)) {
            if interrupt.is_over() {
                return Ok(None);
            }
            let (key, _) = entry.map_err(Error::internal)?;
            let Some(copy) = NotedCopy::of(&key) else { continue };
            let Some(collection) = state.numbered(copy.blueprint) else { continue };
            for field in self.fields_using(state, collection, copy)? {
                users.entry((collection.blueprint.slug.clone(), field)).or_default().insert(copy.id);
            }
        }
        found.extend(users.into_iter().map(|((blueprint, field), ids)| FieldReferrers {
            blueprint,
            field,
            total: ids.len() as u64,
            ids: ids.into_iter().take(NAMED).collect(),
        }));
        found.sort_by_cached_key(|referrers| {
            let blueprint = state.blueprints.get(&referrers.blueprint).map(|collection| &collection.blueprint);
            let fields = blueprint.map(|blueprint| blueprint.fields.as_slice()).unwrap_or_default();
            let position = fields.iter().position(|field| field.slug == referrers.field);
            (referrers.blueprint.clone(), position)
        });
        Ok(Some(found))
    }

    /// Returns the fields by which a copy uses it, as far as the token sees the copy.
    fn fields_using(&self, state: &State, collection: &Collection, copy: NotedCopy) -> Result<Vec<String>> {
        let blueprint = &collection.blueprint;
        let Some(hit) = collection.snapshot.get(copy.id.as_u128()) else { return Ok(Vec::new()) };
        let visibility = Visibility::of(&self.access, blueprint, state.released);
        let is_seen = match variant_of_working(copy.variant) {
            None => visibility.shows(hit.stamps.published),
            Some(_) => self.in_working && visibility == Visibility::Drafts,
        };
        match collection.snapshot.copy(hit.slot, copy.variant).filter(|_| is_seen) {
            None => Ok(Vec::new()),
            Some(number) => copy.fields_using(&self.store, blueprint, number, self.media, state.public_url.as_deref()),
        }
    }
}

/// Returns `None` if it was interrupted. `visibilities` are the visibilities of the referring blueprints, in their
/// order. `in_working` says whether working copies count where drafts are visible.
fn referrers(
    state: &State,
    visibilities: &[Visibility],
    in_working: bool,
    slug: &str,
    id: ResourceId,
    interrupt: &Interrupt<'_>,
) -> Result<Option<Vec<FieldReferrers>>> {
    let mut found = Vec::new();
    for (Referrer { collection, fields }, visibility) in referring_to(state, slug).zip(visibilities) {
        for field in fields {
            let of_field = Referrer { collection, fields: vec![field] };
            let in_working = in_working && *visibility == Visibility::Drafts;
            let matches = match of_field.find_with(id, &visibility.filter(), in_working, interrupt) {
                Err(IndexError::Interrupted) => return Ok(None),
                matches => matches.map_err(|error| collection.search_failed(error))?,
            };
            if matches.total() > 0 {
                found.push(FieldReferrers {
                    blueprint: collection.blueprint.slug.clone(),
                    field: field.slug.clone(),
                    total: matches.total(),
                    ids: matches.first(NAMED).iter().map(|hit| ResourceId::from_u128(hit.id)).collect(),
                });
            }
        }
    }
    Ok(Some(found))
}
