//! The slots that have a token of a text query, and how closely they have it. All are computed on first use. It knows
//! neither rows of tokens nor the order of the matches.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::text_search::{FoundToken, TextSearch, TokensInRun};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::run::{NumberedRun, RunNumber, RunTokens};
use crate::text_query::SynonymPhrases;
use crate::text_query::closeness::{Closeness, PARTS, SYNONYM};

/// The slots that have a token.
pub(super) struct TokenSlots {
    /// Those that have it in any way.
    all: OnceCell<Bitmap>,
    /// A group for each closeness of a match, the closest first.
    groups: Vec<ClosenessGroup>,
}

/// The slots whose closest match has this closeness.
struct ClosenessGroup {
    closeness: Closeness,
    slots: OnceCell<Bitmap>,
}

/// Tokens of a run.
pub(super) struct OfRun<'b> {
    pub(super) run: &'b NumberedRun,
    /// The number of the field, if the run is of its fallback: the field determines in which slots the tokens count.
    fallback_of: Option<usize>,
    pub(super) tokens: Vec<&'b RunTokens>,
}

impl TokenSlots {
    /// Creates the slots of a token with these matches. `has_parts` and `has_synonyms` say whether others may stand for
    /// it.
    pub(super) fn of(found: &[TokensInRun<'_>], has_parts: bool, has_synonyms: bool) -> TokenSlots {
        let mut closeness: Vec<Closeness> = found.iter().map(|found| found.tokens.closeness).collect();
        closeness.extend(has_parts.then_some(PARTS));
        closeness.extend(has_synonyms.then_some(SYNONYM));
        closeness.sort_unstable();
        closeness.dedup();
        let group = |closeness| ClosenessGroup { closeness, slots: OnceCell::new() };
        TokenSlots { all: OnceCell::new(), groups: closeness.into_iter().map(group).collect() }
    }
}

impl<'a> TextSearch<'a> {
    /// Returns the slots that have a token.
    pub(super) fn slots_of_token<'b>(&self, token: &'b FoundToken<'a>) -> Result<&'b Bitmap, Error> {
        let TokenSlots { all, groups } = &token.slots;
        if let Some(known) = all.get() {
            return Ok(known);
        }
        let Some((closest, farther)) = groups.split_first() else { return Ok(all.get_or_init(Bitmap::default)) };
        // The order needs those as well, and usually they have the longest lists.
        let (_, slots) = self.group_at(token, 0)?;
        if farther.is_empty() {
            return Ok(slots);
        }
        let mut slots = slots.clone();
        let is_farther = |found: &&TokensInRun<'_>| found.tokens.closeness != closest.closeness;
        slots.union(&self.slots_of(token.found.iter().filter(is_farther))?);
        for others in [PARTS, SYNONYM].into_iter().filter(|other| farther.iter().any(|group| group.closeness == *other))
        {
            slots.union(&self.slots_at(token, others)?);
        }
        Ok(all.get_or_init(|| slots))
    }

    /// Returns the closeness of the matches of a token, the closest first, each with the slots whose closest match has
    /// it. Those of a group are computed when the iterator comes to it.
    pub(super) fn groups<'b>(
        &self,
        token: &'b FoundToken<'a>,
    ) -> impl Iterator<Item = Result<(Closeness, &'b Bitmap), Error>> {
        (0..token.slots.groups.len()).map(|place| self.group_at(token, place))
    }

    /// Returns the slots whose closest match of a token has this closeness; `None` if no match has it.
    pub(super) fn group<'b>(
        &self,
        token: &'b FoundToken<'a>,
        closeness: Closeness,
    ) -> Result<Option<&'b Bitmap>, Error> {
        let place = token.slots.groups.iter().position(|group| group.closeness == closeness);
        place.map(|place| self.group_at(token, place).map(|(_, slots)| slots)).transpose()
    }

    fn group_at<'b>(&self, token: &'b FoundToken<'a>, place: usize) -> Result<(Closeness, &'b Bitmap), Error> {
        let ClosenessGroup { closeness, slots } = &token.slots.groups[place];
        if let Some(known) = slots.get() {
            return Ok((*closeness, known));
        }
        let mut here = self.slots_at(token, *closeness)?;
        for closer in 0..place {
            here.subtract(self.group_at(token, closer)?.1);
        }
        Ok((*closeness, slots.get_or_init(|| here)))
    }

    /// Returns the slots with a match of this closeness, some of which may have a closer one.
    fn slots_at(&self, token: &FoundToken<'a>, closeness: Closeness) -> Result<Bitmap, Error> {
        match closeness {
            PARTS => self.slots_of_all(token.parts.iter()),
            SYNONYM => match &token.wanted.alternatives {
                Some(alternatives) => self.slots_of_phrases(&alternatives.synonyms, &token.synonyms),
                None => Ok(Bitmap::default()),
            },
            _ => self.slots_of(token.found.iter().filter(|found| found.tokens.closeness == closeness)),
        }
    }

    /// Returns the slots that have all words of a phrase. `words` are those of all phrases.
    pub(super) fn slots_of_phrases(&self, phrases: &SynonymPhrases, words: &[FoundToken<'a>]) -> Result<Bitmap, Error> {
        let mut slots = Bitmap::with_room(self.version.slot_count as usize);
        self.slots_of_each_phrase(phrases, words)?.iter().for_each(|of_phrase| slots.union(of_phrase));
        Ok(slots)
    }

    /// Returns the slots that have all words, for each phrase.
    pub(super) fn slots_of_each_phrase(
        &self,
        phrases: &SynonymPhrases,
        words: &[FoundToken<'a>],
    ) -> Result<Vec<Bitmap>, Error> {
        let words_of = |phrase: &Vec<usize>| self.slots_of_all(phrase.iter().filter_map(|word| words.get(*word)));
        phrases.phrases.iter().map(words_of).collect()
    }

    /// Returns the slots that have all of these tokens, such as the parts of a name.
    fn slots_of_all<'b>(&self, tokens: impl Iterator<Item = &'b FoundToken<'a>>) -> Result<Bitmap, Error>
    where
        'a: 'b,
    {
        in_all(tokens.map(|token| self.slots_of_token(token).cloned()))
    }

    /// Returns the slots with one of these tokens.
    pub(super) fn slots_of<'b>(&self, found: impl Iterator<Item = &'b TokensInRun<'a>>) -> Result<Bitmap, Error>
    where
        'a: 'b,
    {
        let listed_share = self.context.options.thresholds.listed_share;
        let mut slots = Bitmap::with_room(self.version.slot_count as usize);
        for OfRun { run, fallback_of, tokens } in by_run(found) {
            let fallback = fallback_of.and_then(|field| self.fields[field].fallback.as_ref());
            match fallback {
                None => run.add_slots_having(&tokens, listed_share, self.interrupt, &mut slots)?,
                Some(fallback) => {
                    let mut here = Bitmap::with_room(self.version.slot_count as usize);
                    run.add_slots_having(&tokens, listed_share, self.interrupt, &mut here)?;
                    here.intersect(&fallback.nulls);
                    slots.union(&here);
                }
            }
        }
        Ok(slots)
    }
}

/// Groups tokens by run. Fields are read together, because their values are in the same documents.
pub(super) fn by_run<'b, 'a: 'b>(found: impl Iterator<Item = &'b TokensInRun<'a>>) -> Vec<OfRun<'b>> {
    let mut of_runs: BTreeMap<(RunNumber, Option<usize>), OfRun<'b>> = BTreeMap::new();
    for TokensInRun { field, is_fallback, run, tokens, .. } in found {
        let fallback_of = is_fallback.then_some(*field);
        let of_run = OfRun { run, fallback_of, tokens: Vec::new() };
        of_runs.entry((run.number, fallback_of)).or_insert(of_run).tokens.push(tokens);
    }
    of_runs.into_values().collect()
}

/// Returns the slots that are in all of the sets; none if there are no sets. Makes no more of them once none is left.
pub(super) fn in_all(sets: impl Iterator<Item = Result<Bitmap, Error>>) -> Result<Bitmap, Error> {
    let mut common: Option<Bitmap> = None;
    for set in sets {
        let mut left = set?;
        if let Some(common) = &common {
            left.intersect(common);
        }
        let is_over = left.is_empty();
        common = Some(left);
        if is_over {
            break;
        }
    }
    Ok(common.unwrap_or_default())
}
