//! Where a resource is used: which resources refer to it, as a token sees them (`API.md` 4.3.1).

use std::sync::Arc;
use std::time::Duration;

use bindery_access::Access;
use bindery_index::{Error as IndexError, Interrupt};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;

use crate::data::referrers::{Referrer, referring_to};
use crate::data::sight::Sight;
use crate::data::state::State;
use crate::handle::Content;

/// The number of ids that are named for each field.
const NAMED: usize = 10;

/// Posting lists of an id: it takes longer than a thread of requests should be held up, and is soon done.
const ESTIMATE: Duration = Duration::from_millis(2);

/// The resources that refer to a resource by one field, in any variant.
#[derive(Debug)]
pub struct FieldReferrers {
    /// The slug of their blueprint.
    pub blueprint: String,
    /// The slug of the field.
    pub field: String,
    /// The number of them; at least one.
    pub total: u64,
    /// The first ten, by id.
    pub ids: Vec<ResourceId>,
}

impl Content {
    /// Which resources refer to a resource, of those that the token sees. Blueprints in the order of their slugs, fields in
    /// that of their blueprint.
    ///
    /// # Errors
    /// `FORBIDDEN` without `view`, `NOT_FOUND`, `OVERLOADED` if it takes too long or an index is being rebuilt.
    pub async fn referrers(&self, access: &Arc<Access>, slug: &str, id: &str) -> Result<Vec<FieldReferrers>> {
        let view = self.view(access, slug)?;
        let id = view.locate(id)?.id();
        let state = view.state;
        let sights = referring_to(&state, slug)
            .map(|referring| Sight::of(access, &referring.collection.blueprint, state.released));
        let (sights, slug): (Vec<Sight>, _) = (sights.collect(), slug.to_owned());
        let search = move |interrupt: &Interrupt<'_>| referrers(&state, &sights, &slug, id, interrupt).transpose();
        self.shared.searches.run(ESTIMATE, search).await
    }
}

/// `None` if the interrupt ended it. `sights` are those of the blueprints that relate to this one, in their order.
fn referrers(
    state: &State,
    sights: &[Sight],
    slug: &str,
    id: ResourceId,
    interrupt: &Interrupt<'_>,
) -> Result<Option<Vec<FieldReferrers>>> {
    let mut found = Vec::new();
    for (Referrer { collection, fields }, sight) in referring_to(state, slug).zip(sights) {
        for field in fields {
            let of_field = Referrer { collection, fields: vec![field] };
            let matches = match of_field.find_with(id, &sight.filter(), interrupt) {
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
