//! Ranked search: which resources have the words of a text query, and which of them come first. It knows no filters.
//!
//! The order: the fewest typos, then whole words before words that are only begun, then BM25 with the weights of the fields,
//! then the newest, then the id. The statistics of BM25 are those of all runs, outdated documents and drafts included: so the
//! score of a resource does not depend on who asks, nor on which run holds it.

use std::cmp::Reverse;

use tantivy::query::Bm25Weight;

use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::{FieldLengths, NumberedRun, RunTokens};
use crate::schema::{ColumnId, VariantNumber};
use crate::text_query::{Required, TextField, TextQuery, WantedToken, has_row};
use crate::trace::Done;
use crate::value::ValueRef;
use crate::version::{CopySet, Version};

/// A text query in one variant of one version, with its tokens looked up.
pub(super) struct TextSearch<'a> {
    version: &'a Version,
    query: &'a TextQuery,
    interrupt: &'a Interrupt<'a>,
    fields: Vec<SearchedField<'a>>,
    /// The tokens of everything required, one after the other.
    required: Vec<FoundToken<'a>>,
}

/// Where the values of a field are.
struct SearchedField<'a> {
    of: TextField,
    own: Option<&'a CopySet>,
    fallback: Option<Fallback<'a>>,
}

/// The copies that stand in where the field is null.
struct Fallback<'a> {
    copies: &'a CopySet,
    /// The slots where it is null.
    nulls: Bitmap,
}

/// A token that is wanted, and what was found of it.
struct FoundToken<'a> {
    wanted: &'a WantedToken,
    found: Vec<InRun<'a>>,
}

/// The tokens of a field in one run.
struct InRun<'a> {
    field: usize,
    is_fallback: bool,
    run: &'a NumberedRun,
    tokens: RunTokens,
}

impl<'a> TextSearch<'a> {
    /// Looks the tokens up.
    pub(super) fn new(
        version: &'a Version,
        variant: VariantNumber,
        query: &'a TextQuery,
        interrupt: &'a Interrupt<'a>,
    ) -> Result<TextSearch<'a>, Error> {
        let mut fields = Vec::with_capacity(query.fields.len());
        for &of in &query.fields {
            fields.push(SearchedField::new(version, variant, of, interrupt)?);
        }
        let mut search = TextSearch { version, query, interrupt, fields, required: Vec::new() };
        for wanted in query.words.required.iter().flat_map(Required::tokens) {
            let found = search.find(wanted)?;
            search.required.push(FoundToken { wanted, found });
        }
        Ok(search)
    }

    /// The search, and the slots that have what is required, and nothing that is excluded.
    pub(super) fn with_matches(
        version: &'a Version,
        variant: VariantNumber,
        query: &'a TextQuery,
        interrupt: &'a Interrupt<'a>,
    ) -> Result<(TextSearch<'a>, Bitmap), Error> {
        let find = || {
            let search = TextSearch::new(version, variant, query, interrupt)?;
            let matches = search.matches()?;
            Ok((search, matches))
        };
        interrupt.traced(find, |(_, matches)| Some((Done::Words, "index", matches.count() as u64)))
    }

    fn matches(&self) -> Result<Bitmap, Error> {
        let mut matches: Option<Bitmap> = None;
        let mut tokens = &self.required[..];
        for required in &self.query.words.required {
            let (of_this, rest) = tokens.split_at(required.tokens().len());
            tokens = rest;
            let found = match required {
                Required::Token(_) => self.slots_of(&of_this[0].found, None)?,
                Required::Row(row) => self.slots_of_row(row, of_this)?,
            };
            matches = Some(match matches {
                None => found,
                Some(mut matches) => {
                    matches.intersect(&found);
                    matches
                }
            });
        }
        let mut matches = matches.unwrap_or_else(|| self.version.live_slots.to_bitmap());
        for row in &self.query.words.excluded {
            let mut of_row = Vec::with_capacity(row.len());
            for wanted in row {
                of_row.push(FoundToken { wanted, found: self.find(wanted)? });
            }
            matches.subtract(&match &of_row[..] {
                [only] => self.slots_of(&only.found, None)?,
                of_row => self.slots_of_row(row, of_row)?,
            });
        }
        Ok(matches)
    }

    /// The first `count` of the slots, which must be among the matches.
    pub(super) fn first(&self, slots: &Bitmap, count: usize) -> Result<Vec<u32>, Error> {
        let mut scores = Scores::new(self.version.slot_count as usize);
        for token in &self.required {
            self.score(token, slots, &mut scores)?;
        }
        let rank = |slot: u32| {
            let row = self.version.rows.get(slot);
            (scores.key(slot), Reverse(row.created), Reverse(row.id))
        };
        let mut ranked: Vec<_> = slots.iter().map(|slot| (rank(slot), slot)).collect();
        if count < ranked.len() {
            ranked.select_nth_unstable(count);
            ranked.truncate(count);
        }
        ranked.sort_unstable();
        Ok(ranked.into_iter().map(|(_, slot)| slot).collect())
    }

    /// The tokens that are wanted, in all fields and runs.
    fn find(&self, wanted: &WantedToken) -> Result<Vec<InRun<'a>>, Error> {
        let mut found = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            for (copies, is_fallback) in field.copies() {
                for run in copies.runs.iter() {
                    let tokens = run.run.find_tokens(field.of.column, wanted, self.interrupt)?;
                    if !tokens.is_empty() {
                        found.push(InRun { field: index, is_fallback, run, tokens });
                    }
                }
            }
        }
        Ok(found)
    }

    /// The slots with one of the tokens that were found, in any field or in only one.
    fn slots_of(&self, found: &[InRun<'_>], field: Option<usize>) -> Result<Bitmap, Error> {
        let mut slots = Bitmap::with_room(self.version.slot_count as usize);
        for found in found.iter().filter(|found| field.is_none_or(|field| found.field == field)) {
            let NumberedRun { run, live, .. } = found.run;
            let mut documents = run.having(&found.tokens, self.interrupt)?;
            live.retain_in(&mut documents);
            match &self.fields[found.field].fallback {
                Some(Fallback { nulls, .. }) if found.is_fallback => {
                    let mut here = Bitmap::with_room(self.version.slot_count as usize);
                    run.add_slots(&documents, &mut here);
                    here.intersect(nulls);
                    slots.union(&here);
                }
                _ => run.add_slots(&documents, &mut slots),
            }
        }
        Ok(slots)
    }

    /// The slots with all tokens of a row one after the other in one field.
    fn slots_of_row(&self, row: &[WantedToken], tokens: &[FoundToken<'_>]) -> Result<Bitmap, Error> {
        let mut slots = Bitmap::with_room(self.version.slot_count as usize);
        for (index, field) in self.fields.iter().enumerate() {
            let mut candidates: Option<Bitmap> = None;
            for token in tokens {
                let having = self.slots_of(&token.found, Some(index))?;
                match &mut candidates {
                    None => candidates = Some(having),
                    Some(candidates) => candidates.intersect(&having),
                }
            }
            for slot in
                candidates.iter().flat_map(Bitmap::iter).filter(|&slot| !slots.contains(slot)).collect::<Vec<_>>()
            {
                self.interrupt.check()?;
                if field.with_text(slot, |text| has_row(text, row)) {
                    slots.insert(slot);
                }
            }
        }
        Ok(slots)
    }

    /// Adds what a token counts.
    fn score(&self, token: &FoundToken<'_>, slots: &Bitmap, scores: &mut Scores) -> Result<(), Error> {
        let mut closest = token.wanted.is_loose().then(|| vec![u8::MAX; self.version.slot_count as usize]);
        for (index, field) in self.fields.iter().enumerate() {
            let found: Vec<&InRun<'_>> = token.found.iter().filter(|found| found.field == index).collect();
            if found.is_empty() {
                continue;
            }
            let weight = field.bm25(&found, self.interrupt)?;
            for InRun { is_fallback, run: NumberedRun { run, live, .. }, tokens, .. } in found {
                let live = live.to_bitmap();
                let nulls = field.fallback.as_ref().filter(|_| *is_fallback).map(|fallback| &fallback.nulls);
                let slot_of = |document: u32| {
                    let slot = live.contains(document).then(|| run.slot(document))?;
                    (slots.contains(slot) && nulls.is_none_or(|nulls| nulls.contains(slot))).then_some(slot)
                };
                run.each_counted(tokens, self.interrupt, |document, count| {
                    if let Some(slot) = slot_of(document) {
                        let step = run.length_step(field.of.column, document);
                        scores.add(slot, field.of.weight * weight.score(step, count));
                    }
                })?;
                if let Some(closest) = &mut closest {
                    run.each_having(tokens, self.interrupt, |closeness, document, _| {
                        if let Some(slot) = slot_of(document) {
                            let closest = &mut closest[slot as usize];
                            *closest = closeness.min(*closest);
                        }
                    })?;
                }
            }
        }
        if let Some(closest) = closest {
            slots.iter().for_each(|slot| scores.add_distance(slot, closest[slot as usize]));
        }
        Ok(())
    }
}

impl Required {
    /// The tokens that it consists of.
    fn tokens(&self) -> &[WantedToken] {
        match self {
            Required::Token(token) => std::slice::from_ref(token),
            Required::Row(row) => row,
        }
    }
}

impl<'a> SearchedField<'a> {
    fn new(
        version: &'a Version,
        variant: VariantNumber,
        of: TextField,
        interrupt: &Interrupt<'_>,
    ) -> Result<SearchedField<'a>, Error> {
        let is_ranked = version.column(of.column).is_some_and(|column| column.kind.is_ranked());
        let copies = |variant: VariantNumber| version.copy_set(variant).filter(|_| is_ranked);
        let own = copies(variant);
        let fallback = match of.fallback.filter(|fallback| *fallback != variant).and_then(copies) {
            None => None,
            Some(copies) => {
                let mut nulls = version.live_slots.to_bitmap();
                if let Some(own) = own {
                    nulls.subtract(&present(version, own, of.column, interrupt)?);
                }
                Some(Fallback { copies, nulls })
            }
        };
        Ok(SearchedField { of, own, fallback })
    }

    /// The copies that have its values, and whether they are those of the fallback.
    fn copies(&self) -> impl Iterator<Item = (&'a CopySet, bool)> {
        let fallback = self.fallback.as_ref().map(|fallback| (fallback.copies, true));
        self.own.map(|own| (own, false)).into_iter().chain(fallback)
    }

    /// Reads the folded text of a slot.
    fn with_text(&self, slot: u32, read: impl FnOnce(&str) -> bool) -> bool {
        let is_null = |fallback: &&Fallback<'_>| fallback.nulls.contains(slot);
        let copies = self.fallback.as_ref().filter(is_null).map(|fallback| fallback.copies).or(self.own);
        match copies.map(|copies| copies.value(slot, self.of.column)) {
            Some(ValueRef::Text(text) | ValueRef::Markup { text, .. }) => read(&text.folded.get()),
            _ => false,
        }
    }

    /// What tokens count that were found in this field.
    fn bm25(&self, found: &[&InRun<'_>], interrupt: &Interrupt<'_>) -> Result<Bm25Weight, Error> {
        let mut lengths = FieldLengths::default();
        for (copies, _) in self.copies() {
            copies.runs.iter().for_each(|run| lengths += run.run.field_lengths(self.of.column));
        }
        let mut having = 0;
        for found in found {
            having += found.run.run.having(&found.tokens, interrupt)?.count() as u64;
        }
        // A text that is only marks of punctuation has no token, and is not among the documents with a length.
        let documents = lengths.documents.max(having).max(1);
        let average = lengths.tokens.max(1) as f32 / documents as f32;
        Ok(Bm25Weight::for_one_term_without_explain(having, documents, average))
    }
}

/// The slots whose copy has a value in the column.
fn present(version: &Version, copies: &CopySet, column: ColumnId, interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
    let mut slots = Bitmap::with_room(version.slot_count as usize);
    for NumberedRun { run, live, .. } in copies.runs.iter() {
        let mut documents = Bitmap::with_room(run.len() as usize);
        run.present(column, interrupt, &mut documents)?;
        live.retain_in(&mut documents);
        run.add_slots(&documents, &mut slots);
    }
    Ok(slots)
}

/// What is known of each slot.
struct Scores {
    /// By slot. Never negative.
    scores: Vec<f32>,
    /// The closeness of all tokens together, by slot.
    distances: Vec<u16>,
}

impl Scores {
    fn new(slots: usize) -> Scores {
        Scores { scores: vec![0.0; slots], distances: vec![0; slots] }
    }

    fn add(&mut self, slot: u32, score: f32) {
        self.scores[slot as usize] += score;
    }

    /// At most one word of a query may be only begun, so the sum orders by typos first.
    fn add_distance(&mut self, slot: u32, distance: u8) {
        let sum = &mut self.distances[slot as usize];
        *sum = sum.saturating_add(u16::from(distance));
    }

    /// Less is better.
    fn key(&self, slot: u32) -> u64 {
        // The bits of floats that are not negative are ordered as the floats are.
        let score = self.scores[slot as usize].max(0.0).to_bits();
        u64::from(self.distances[slot as usize]) << 32 | u64::from(!score)
    }
}
