//! Suggestions while somebody types (`API.md` 4.26): words of the collection, and titles. Must not know how words are
//! found.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_index::Completions;
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
    pub words: Completions,
    /// The titles that have the words, each with the id of its resource, the best first.
    pub titles: Vec<(ResourceId, String)>,
    /// The explanation of the searches, if it was asked for.
    pub explained: Option<Explanation>,
}

/// A word that is suggested.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedWord {
    /// The word as one of the resources spells it.
    pub text: String,
    /// The number of resources that have it and the words before.
    pub count: u64,
}

impl View {
    /// Returns suggestions for the text that the parameters have: at most `words` words and `titles` titles.
    ///
    /// # Errors
    /// The errors of the parameters and of [`View::list_in_time`].
    pub async fn suggest_in_time(&self, raw: &RawParams, words: usize, titles: usize) -> Result<Suggestions> {
        let params = Arc::new(SuggestParams::parse(raw, &self.collection.blueprint, &self.steering())?);
        let search = move |searching: &ViewSearch<'_>, params: &SuggestParams| {
            let mut found = Suggestions::default();
            if let Some(beginning) = &params.beginning {
                found.words = searching.run(|snapshot, interrupt| {
                    snapshot.completions(searching.query, &params.fields, beginning, words, interrupt)
                })?;
            }
            if let Some((query, column)) = &params.titles {
                let collection = searching.collection;
                let query = searching.resolver.query(collection, query)?;
                let interrupt = searching.resolver.interrupt;
                let hits = collection.snapshot.search_with(&query, 0, titles, interrupt);
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

    /// Returns how many resources have each of these words, as words are compared, and the words before the last one.
    async fn count_words_in_time(&self, raw: &RawParams, words: Vec<String>) -> Result<Vec<u64>> {
        let params = Arc::new(SuggestParams::parse(raw, &self.collection.blueprint, &self.steering())?);
        let search = move |searching: &ViewSearch<'_>, params: &SuggestParams| {
            searching
                .run(|snapshot, interrupt| snapshot.count_words(searching.query, &params.fields, &words, interrupt))
        };
        Ok(self.search(&params, 0, &Aggregation::default(), false, search).await?.0)
    }
}

/// Returns the `limit` most frequent of the words that were found in several blueprints, most first. The words of a
/// blueprint that has more of them may lack one that others have: it is counted there, too.
///
/// # Errors
/// The errors of [`View::suggest_in_time`].
pub async fn common_words(found: &[(View, Completions)], raw: &RawParams, limit: usize) -> Result<Vec<SuggestedWord>> {
    let mut words: BTreeMap<&str, SuggestedWord> = BTreeMap::new();
    for word in found.iter().flat_map(|(_, of)| &of.words) {
        let common = words.entry(&word.token);
        common.or_insert_with(|| SuggestedWord { text: word.text.clone(), count: 0 }).count += word.count;
    }
    let mut words: Vec<(&str, SuggestedWord)> = words.into_iter().collect();
    sort(&mut words);
    words.truncate(limit);
    for (view, of) in found {
        let others = not_named(&mut words, of);
        if of.is_complete || others.is_empty() {
            continue;
        }
        let tokens = others.iter().map(|(token, _)| (*token).to_owned()).collect();
        let counts = view.count_words_in_time(raw, tokens).await?;
        others.into_iter().zip(counts).for_each(|((_, word), count)| word.count += count);
    }
    sort(&mut words);
    Ok(words.into_iter().map(|(_, word)| word).collect())
}

/// Returns the words that are not among those that a blueprint named.
fn not_named<'a, 'b>(
    words: &'a mut [(&'b str, SuggestedWord)],
    named: &Completions,
) -> Vec<&'a mut (&'b str, SuggestedWord)> {
    let is_named = |token: &str| named.words.iter().any(|word| word.token == token);
    words.iter_mut().filter(|(token, _)| !is_named(token)).collect()
}

fn sort(words: &mut [(&str, SuggestedWord)]) {
    words.sort_unstable_by(|(_, one), (_, other)| other.count.cmp(&one.count).then_with(|| one.text.cmp(&other.text)));
}
