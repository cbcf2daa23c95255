//! Finds the words of an index that begin as somebody types. It knows no filters.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::query_cache::OrderResult;
use super::text_search::TextSearch;
use super::token_slots::{OfRun, by_run};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::run::{NumberedRun, RunNumber};
use crate::schema::ColumnId;
use crate::text_query::closeness::WHOLE;
use crate::tokens::{TokenKind, each_raw_token};

/// The most words of a run that are candidates, those in the most documents.
const MAX_OF_RUN: usize = 200;
/// The most candidates that are counted.
const MAX_COUNTED: usize = 100;
/// With at most so many candidates, all are counted.
const FEW: usize = 50;
/// With more candidates, the texts of so many resources are read. Their words need not be among the most frequent ones.
const MAX_READ: usize = 100;
/// The most different words that are kept of these texts. Ordinary ones have far fewer that begin alike.
const MAX_OF_TEXTS: usize = 10_000;
/// The number of candidates that are counted beyond those that are wanted, since the counts of runs include outdated
/// documents.
const SPARE: usize = 5;

/// The most frequent words of a run that begin alike, each with its number of documents.
struct Beginnings(Vec<(Box<str>, u32)>);

impl OrderResult for Beginnings {
    const NAME: u8 = b'b';

    fn bytes(&self) -> usize {
        self.0.iter().map(|(word, _)| size_of::<(Box<str>, u32)>() + word.len()).sum()
    }
}

/// Words that begin alike.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completions {
    /// The words, the most frequent first.
    pub words: Vec<Completion>,
    /// True if no resource has others.
    pub is_complete: bool,
}

/// A word that begins so.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The word as words are compared.
    pub token: String,
    /// The word as one of the resources spells it, in lowercase.
    pub text: String,
    /// The number of resources that have it.
    pub count: u64,
}

/// A word with the number of resources that have it, and one of them.
struct CountedWord {
    word: String,
    count: u64,
    slot: u32,
}

/// The resources that count.
struct Within<'a> {
    slots: &'a Bitmap,
    /// Their current documents in the runs that were asked for.
    of_runs: Vec<(RunNumber, Bitmap)>,
}

impl CountedWord {
    fn comes_before(&self, other: &CountedWord) -> bool {
        (other.count, self.word.as_str()) < (self.count, other.word.as_str())
    }
}

impl Within<'_> {
    fn documents(&mut self, numbered: &NumberedRun) -> &Bitmap {
        let place = self.of_runs.iter().position(|(known, _)| *known == numbered.number).unwrap_or_else(|| {
            self.of_runs.push((numbered.number, numbered.current_in(self.slots)));
            self.of_runs.len() - 1
        });
        &self.of_runs[place].1
    }
}

impl<'a> TextSearch<'a> {
    /// Returns words that begin so and that resources of `within` have, each with their number, the most frequent
    /// first.
    pub(super) fn completions(&self, beginning: &str, within: &Bitmap, limit: usize) -> Result<Completions, Error> {
        let candidates = self.candidates(beginning)?;
        let of_texts = match candidates.len() > FEW && within.count() <= MAX_READ {
            true => self.words_of_texts(beginning, within)?,
            false => None,
        };
        let (mut words, is_complete) = match of_texts {
            Some(words) => (words, true),
            None => self.most_frequent(candidates, within, limit)?,
        };
        let is_complete = is_complete && words.len() <= limit;
        words.truncate(limit);
        let spelled = |CountedWord { word, count, slot }| {
            let text = self.spelled(&word, slot).unwrap_or_else(|| word.clone());
            Completion { token: word, text, count }
        };
        Ok(Completions { words: words.into_iter().map(spelled).collect(), is_complete })
    }

    /// Returns how many resources of `within` have each of the words.
    pub(super) fn count_each(&self, words: &[String], within: &Bitmap) -> Result<Vec<u64>, Error> {
        let mut within = Within { slots: within, of_runs: Vec::new() };
        let count = |word: &String| {
            let counted = self.counted(word.clone(), &mut within)?;
            Ok::<_, Error>(counted.map_or(0, |counted| counted.count))
        };
        words.iter().map(count).collect()
    }

    /// Returns words that begin so, the most frequent first, each with the most documents that can have it.
    fn candidates(&self, beginning: &str) -> Result<Vec<(Box<str>, u64)>, Error> {
        let mut counts: HashMap<Box<str>, u64> = HashMap::new();
        self.each_run(|field, _, run| {
            for (word, count) in &self.beginning_so(run, self.fields[field].of.column, beginning)?.0 {
                *counts.entry(word.clone()).or_default() += u64::from(*count);
            }
            Ok(())
        })?;
        let mut candidates: Vec<(Box<str>, u64)> = counts.into_iter().collect();
        candidates.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
        Ok(candidates)
    }

    /// Counts the candidates in the resources of `within`, until `limit` of them are found. Returns the words, the most
    /// frequent first, and whether no resource can have others.
    fn most_frequent(
        &self,
        candidates: Vec<(Box<str>, u64)>,
        within: &Bitmap,
        limit: usize,
    ) -> Result<(Vec<CountedWord>, bool), Error> {
        let mut words: Vec<CountedWord> = Vec::new();
        // Runs with more words have given more candidates than are counted.
        let mut are_all = candidates.len() <= MAX_COUNTED;
        let enough = if candidates.len() <= FEW { FEW } else { limit + SPARE };
        let mut within = Within { slots: within, of_runs: Vec::new() };
        for (word, most) in candidates.into_iter().take(MAX_COUNTED) {
            // The candidates that follow are in no more documents.
            let is_beaten = limit > 0 && words.get(limit - 1).is_some_and(|last| last.count > most);
            if words.len() == enough || is_beaten {
                are_all = false;
                break;
            }
            if let Some(counted) = self.counted(word.into_string(), &mut within)? {
                let place = words.partition_point(|other| other.comes_before(&counted));
                words.insert(place, counted);
            }
        }
        Ok((words, are_all))
    }

    /// Returns all words that begin so in the texts of these resources, the most frequent first; `None` if there are
    /// very many.
    fn words_of_texts(&self, beginning: &str, within: &Bitmap) -> Result<Option<Vec<CountedWord>>, Error> {
        let mut words: HashMap<String, (u64, u32)> = HashMap::new();
        for slot in within.iter() {
            let mut of_slot: HashSet<String> = HashSet::new();
            for field in &self.fields {
                self.interrupt.check()?;
                let Some(text) = field.whole(slot) else { continue };
                each_raw_token(&text, |token| {
                    let is_wanted = token.kind == TokenKind::Word && token.text.starts_with(beginning);
                    if is_wanted && of_slot.len() <= MAX_OF_TEXTS {
                        of_slot.insert(token.text.into_owned());
                    }
                });
            }
            for word in of_slot {
                words.entry(word).or_insert((0, slot)).0 += 1;
            }
            if words.len() > MAX_OF_TEXTS {
                return Ok(None);
            }
        }
        let counted = |(word, (count, slot))| CountedWord { word, count, slot };
        let mut words: Vec<CountedWord> = words.into_iter().map(counted).collect();
        words.sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.word.cmp(&other.word)));
        Ok(Some(words))
    }

    /// Counts the resources that have a word; `None` if there are none.
    fn counted(&self, word: String, within: &mut Within<'_>) -> Result<Option<CountedWord>, Error> {
        let found = self.find_equal(std::slice::from_ref(&word), WHOLE)?;
        let counted = |count, slot| CountedWord { word, count, slot };
        if found.iter().any(|found| found.is_fallback) {
            let mut having = self.slots_of(found.iter())?;
            having.intersect(within.slots);
            return Ok(having.iter().next().map(|slot| counted(having.count() as u64, slot)));
        }
        // A resource has one current document, so the documents are counted without finding out whose they are.
        let listed_share = self.context.options.thresholds.listed_share;
        let (mut count, mut first) = (0, None);
        for OfRun { run, tokens, .. } in by_run(found.iter()) {
            let within = within.documents(run);
            let (here, document) = run.run.count_within(&tokens, within, listed_share, self.interrupt)?;
            count += here as u64;
            first = first.or_else(|| document.map(|document| run.run.slot(document)));
        }
        Ok(first.map(|slot| counted(count, slot)))
    }

    /// Returns a word as a resource that has it spells it, in lowercase.
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
                words.select_nth_unstable_by(MAX_OF_RUN, |(one, few), (other, many)| {
                    many.cmp(few).then_with(|| one.cmp(other))
                });
                words.truncate(MAX_OF_RUN);
            }
            Ok(Arc::new(Beginnings(words)))
        };
        self.context.cache.kept_or_found(run, column, beginning.as_bytes(), find)
    }
}
