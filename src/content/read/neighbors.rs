//! The previous and next resource in a list (`API.md` 4.3.2). Must not know how a list is ordered.

use std::sync::Arc;
use std::time::Instant;

use bindery_index::Neighbors;
use bindery_model::error::{Code, Error, Result};
use bindery_query::{Aggregation, Copies, NeighborsParams, RawParams};

use crate::read::explain::Explanation;
use crate::read::resource::Presentation;
use crate::read::view::{LocatedResource, View, ViewSearch};

/// The neighbors of a resource in a list.
#[derive(Debug)]
pub struct NeighborsAnswer {
    /// The resource object of the previous one as JSON text.
    pub previous: Option<String>,
    /// The resource object of the next one.
    pub next: Option<String>,
    /// The position of the resource in the list, from 1.
    pub position: u64,
    /// The number of resources the list has.
    pub total: u64,
    /// The explanation of the search, if it was asked for.
    pub explained: Option<Explanation>,
}

impl View {
    /// Parses the parameters of a request for neighbors.
    ///
    /// # Errors
    /// The errors of the parameters.
    pub fn neighbors_params(&self, params: &RawParams) -> Result<Arc<NeighborsParams>> {
        let related = |slug: &str| self.related(slug);
        NeighborsParams::parse(params, &self.collection.blueprint, &related, self.now, &self.steering()).map(Arc::new)
    }

    /// Finds the neighbors of a resource in a list.
    ///
    /// # Errors
    /// `NOT_FOUND` if the list does not have the resource; `OVERLOADED` as for a list.
    pub async fn neighbors(
        &self,
        resource: &LocatedResource,
        params: &Arc<NeighborsParams>,
        is_explained: bool,
    ) -> Result<NeighborsAnswer> {
        let slot = resource.0.slot;
        let search = move |searching: &ViewSearch<'_>, _: &NeighborsParams| {
            let found = searching.find()?;
            let place =
                || searching.run(|snapshot, interrupt| snapshot.neighbors(&found, searching.query, slot, interrupt));
            searching.resolver.step("order", "neighbors", place, |_| found.len())
        };
        let (found, explained) =
            self.search(params, self.anywhere(), &Aggregation::default(), is_explained, search).await?;
        let not_listed = || {
            format!("the resource `{}` exists, but is not in the list that these parameters describe", resource.id())
        };
        let Neighbors { previous, next, position, total } =
            found.ok_or_else(|| Error::new(Code::NotFound, not_listed()))?;
        let NeighborsParams { query, fallback, selection } = &**params;
        let presentation = self.presentation(Copies { fallback: *fallback, ..query.copies }, selection);
        let started = Instant::now();
        let count = usize::from(previous.is_some()) + usize::from(next.is_some());
        let (previous, next) =
            tokio::try_join!(self.object(previous, presentation.clone()), self.object(next, presentation))?;
        let took = started.elapsed();
        let explained = explained.map(|how| how.with_documents(&self.collection, count, took));
        Ok(NeighborsAnswer { previous, next, position, total, explained })
    }

    async fn object(&self, hit: Option<bindery_index::Hit>, presentation: Presentation) -> Result<Option<String>> {
        match hit {
            Some(hit) => self.objects(&[hit], presentation).await.map(Some),
            None => Ok(None),
        }
    }
}
