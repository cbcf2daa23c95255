//! Finds the compounds of a word: longer words of the index that begin or end with it, if what is left is a word of the
//! index.
//!
//! Outdated documents do not count, so the result depends only on the resources that exist.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::query_cache::OrderResult;
use super::text_search::TextSearch;
use crate::error::Error;
use crate::language::each_rest;
use crate::run::NumberedRun;
use crate::schema::ColumnId;

/// The most words that are looked at, the shortest first.
const MAX_LOOKED_AT: usize = 1_000;
/// The most compounds of a word, the shortest first.
const MAX_COMPOUNDS: usize = 256;

/// The words of a run that begin or end with a word.
struct Around(Vec<Box<str>>);

impl OrderResult for Around {
    const NAME: u8 = b'w';

    fn bytes(&self) -> usize {
        self.0.iter().map(|word| size_of::<Box<str>>() + word.len()).sum()
    }
}

impl<'a> TextSearch<'a> {
    /// Returns the compounds that begin or end with a word.
    pub(super) fn compounds(&self, word: &str) -> Result<Vec<String>, Error> {
        let mut around = Vec::new();
        self.each_run(|field, _, run| {
            around.push(self.around(run, self.fields[field].of.column, word)?);
            Ok(())
        })?;
        let candidates: BTreeSet<(usize, &str)> =
            around.iter().flat_map(|around| &around.0).map(|token| (token.len(), &**token)).collect();
        let mut known: HashMap<&str, bool> = HashMap::new();
        let (mut compounds, mut looked_at) = (Vec::new(), 0);
        for (_, token) in candidates {
            if looked_at == MAX_LOOKED_AT || compounds.len() == MAX_COMPOUNDS {
                break;
            }
            if !self.is_word(token)? {
                continue;
            }
            looked_at += 1;
            let mut rests = Vec::new();
            each_rest(token, word, |rest| rests.push(rest));
            for rest in rests {
                let is_word = match known.get(rest) {
                    Some(is_word) => *is_word,
                    None => {
                        let is_word = self.is_word(rest)?;
                        known.insert(rest, is_word);
                        is_word
                    }
                };
                if is_word {
                    compounds.push(token.to_owned());
                    break;
                }
            }
        }
        Ok(compounds)
    }

    /// Returns the words of a run that begin or end with a word. The result is cached.
    fn around(&self, run: &NumberedRun, column: ColumnId, word: &str) -> Result<Arc<Around>, Error> {
        let find = || Ok(Arc::new(Around(run.run.tokens_around(column, word, self.interrupt)?)));
        self.context.cache.kept_or_found(run, column, word.as_bytes(), find)
    }

    /// Returns whether a current document has the word in a field that is searched.
    fn is_word(&self, token: &str) -> Result<bool, Error> {
        for field in &self.fields {
            for (copies, _) in field.copies() {
                for run in copies.runs.iter() {
                    if run.has_token(field.of.column, token, self.interrupt)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
