//! Finds the words of an index that begin as somebody types. It knows no filters.

use std::collections::HashMap;
use std::sync::Arc;

use super::query_cache::RunResult;
use super::text_search::TextSearch;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::run::{NumberedRun, Run};
use crate::schema::ColumnId;
use crate::text_query::closeness::WHOLE;
use crate::tokens::each_raw_token;

/// The most words of a run that are candidates, those in the most documents.
const MAX_OF_RUN: usize = 200;
/// The most candidates that are counted.
const MAX_COUNTED: usize = 100;
/// With at most so many candidates, all are counted.
const FEW: usize = 50;
/// The number of candidates that are counted beyond those that are wanted, since the counts of runs include outdated documents.
const SPARE: usize = 5;

/// The most frequent words of a run that begin alike, each with its number of documents.
struct Beginnings(Vec<(Box<str>, u32)>);

impl RunResult for Beginnings {
    const NAME: u8 = b'b';

    fn bytes(&self) -> usize {
        self.0.iter().map(|(word, _)| size_of::<(Box<str>, u32)>() + word.len()).sum()
    }
}

impl<'a> TextSearch<'a> {
    /// Returns words that begin so and that resources of `within` have, each with their number, the most frequent first. They are
    /// spelled as one of the resources has them.
    pub(super) fn completions(
        &self,
        beginning: &str,
        within: &Bitmap,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, Error> {
        let mut counts: HashMap<Box<str>, u64> = HashMap::new();
        self.each_run(|field, _, run| {
            for (word, count) in &self.beginning_so(run, self.fields[field].of.column, beginning)?.0 {
                *counts.entry(word.clone()).or_default() += u64::from(*count);
            }
            Ok(())
        })?;
        let mut candidates: Vec<(Box<str>, u64)> = counts.into_iter().collect();
        candidates.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
        // The words, each with a resource that has it.
        let mut words: Vec<(String, u64, u32)> = Vec::new();
        let enough = if candidates.len() <= FEW { FEW } else { limit + SPARE };
        for (word, _) in candidates.into_iter().take(MAX_COUNTED) {
            if words.len() == enough {
                break;
            }
            let word = word.into_string();
            let mut having = self.slots_of(self.find_equal(std::slice::from_ref(&word), WHOLE)?.iter())?;
            having.intersect(within);
            if let Some(slot) = having.iter().next() {
                words.push((word, having.count() as u64, slot));
            }
        }
        words.sort_unstable_by(|(one, few, _), (other, many, _)| many.cmp(few).then_with(|| one.cmp(other)));
        words.truncate(limit);
        Ok(words.into_iter().map(|(word, count, slot)| (self.spelled(&word, slot).unwrap_or(word), count)).collect())
    }

    /// Returns a word as a resource that has it spells it, in small letters.
    fn spelled(&self, word: &str, slot: u32) -> Option<String> {
        let mut spelled = None;
        for text in self.fields.iter().filter_map(|field| field.whole(slot)) {
            each_raw_token(&text, |token| {
                if spelled.is_none() && token.text == word {
                    spelled = Some(text[token.range].to_lowercase());
                }
            });
            if spelled.is_some() {
                break;
            }
        }
        spelled
    }

    /// Returns the most frequent words of a run that begin so. The result is cached.
    fn beginning_so(&self, run: &NumberedRun, column: ColumnId, beginning: &str) -> Result<Arc<Beginnings>, Error> {
        let find = || {
            let mut words = run.run.tokens_beginning(column, beginning, self.interrupt)?;
            if words.len() > MAX_OF_RUN {
                words.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
                words.truncate(MAX_OF_RUN);
            }
            Ok(Arc::new(Beginnings(words)))
        };
        if matches!(run.run, Run::Memory(_)) {
            return find();
        }
        let key = self.context.cache.key_of_run::<Beginnings>(run.number, column, beginning.as_bytes());
        if let Some(kept) = self.context.cache.of_run(&key) {
            return Ok(kept);
        }
        let found = find()?;
        self.context.cache.put_of_run(&key, &found);
        Ok(found)
    }
}
