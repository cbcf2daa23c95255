//! Suggestions while somebody types (`API.md` 4.26): words of the collection, and titles. Must not know how words are
//! found.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_query::{Aggregation, RawParams, SuggestParams};

use crate::read::explain::Explanation;
use crate::read::resolve::stopped;
use crate::read::view::{View, ViewSearch};

/// Suggestions of one blueprint.
#[derive(Debug, Default)]
pub struct Suggestions {
    /// Words that begin as the last one, each with the number of resources that have it and the words before.
    pub words: BTreeMap<String, u64>,
    /// The titles that have the words, each with the id of its resource, the best first.
    pub titles: Vec<(ResourceId, String)>,
    /// The explanation of the searches, if it was asked for.
    pub explained: Option<Explanation>,
}

impl View {
    /// Returns suggestions for the text that the parameters have: at most `limit` words, and as many titles.
    ///
    /// # Errors
    /// The errors of the parameters and of [`View::list_in_time`].
    pub async fn suggest_in_time(&self, raw: &RawParams, limit: usize) -> Result<Suggestions> {
        let params = Arc::new(SuggestParams::parse(raw, &self.collection.blueprint, &self.steering())?);
        let search = move |searching: &ViewSearch<'_>, params: &SuggestParams| {
            let mut found = Suggestions::default();
            if let Some(beginning) = &params.beginning {
                let complete = searching.run(|snapshot, interrupt| {
                    snapshot.completions(searching.query, &params.fields, beginning, limit, interrupt)
                })?;
                found.words.extend(complete);
            }
            if let Some((query, column)) = &params.titles {
                let collection = searching.collection;
                let query = searching.resolver.query(collection, query)?;
                let interrupt = searching.resolver.interrupt;
                let hits = collection.snapshot.search_with(&query, 0, limit, interrupt);
                for hit in hits.map_err(|error| stopped(collection, error))?.hits {
                    let title = collection.snapshot.head(hit.slot, query.variant, *column);
                    found.titles.extend(title.map(|title| (ResourceId::from_u128(hit.id), title.into_owned())));
                }
            }
            Ok(found)
        };
        let (found, explained) = self.search(&params, 0, &Aggregation::default(), false, search).await?;
        Ok(Suggestions { explained, ..found })
    }
}
