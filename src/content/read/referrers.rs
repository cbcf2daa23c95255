//! Referrers: the resources that refer to a resource, as a token sees them (`API.md` 4.3.1).

use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_index::{Error as IndexError, Interrupt};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;

use crate::data::referrers::{Referrer, referring_to};
use crate::data::state::State;
use crate::data::visibility::Visibility;
use crate::handle::Content;

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
    /// order of their slugs, fields in the order of their blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, `NOT_FOUND`, `OVERLOADED` if it takes too long or an index is being rebuilt.
    pub async fn referrers(&self, access: &Arc<Access>, slug: &str, id: &str) -> Result<Vec<FieldReferrers>> {
        let view = self.view(access, slug)?;
        let id = view.locate(id)?.id();
        let state = view.state;
        let visibilities = referring_to(&state, slug)
            .map(|referring| Visibility::of(access, &referring.collection.blueprint, state.released));
        let (visibilities, slug): (Vec<Visibility>, _) = (visibilities.collect(), slug.to_owned());
        let search =
            move |interrupt: &Interrupt<'_>| referrers(&state, &visibilities, &slug, id, interrupt).transpose();
        self.shared.searches.run(ESTIMATE, search).await
    }
}

/// Returns `None` if it was interrupted. `visibilities` are the visibilities of the referring blueprints, in their order.
fn referrers(
    state: &State,
    visibilities: &[Visibility],
    slug: &str,
    id: ResourceId,
    interrupt: &Interrupt<'_>,
) -> Result<Option<Vec<FieldReferrers>>> {
    let mut found = Vec::new();
    for (Referrer { collection, fields }, visibility) in referring_to(state, slug).zip(visibilities) {
        for field in fields {
            let of_field = Referrer { collection, fields: vec![field] };
            let matches = match of_field.find_with(id, &visibility.filter(), interrupt) {
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
