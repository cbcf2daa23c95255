//! Finds the resources that match a text query: ranked search, `q` in the API. It does not know filters, or the order
//! of the matches.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use super::context::SearchContext;
use super::coverage::Coverage;
use super::query_cache::OrderResult;
use super::token_slots::TokenSlots;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::{FieldLengths, NumberedRun, Run, RunTokens};
use crate::schema::{ColumnId, VariantNumber};
use crate::shared_test::those_that;
use crate::text_query::closeness::{COMPOUND, Closeness, PARTS, SYNONYM};
use crate::text_query::{
    Requirement, RowTester, SynonymPhrases, TextField, TextQuery, TokenScan, WantedRow, WantedToken,
};
use crate::version::{CopySet, Version};

/// A text query in one variant of one version, with its tokens looked up.
pub(super) struct TextSearch<'a> {
    pub(super) version: &'a Version,
    pub(super) context: &'a SearchContext,
    pub(super) variant: VariantNumber,
    pub(super) query: &'a TextQuery,
    pub(super) interrupt: &'a Interrupt<'a>,
    pub(super) fields: Vec<SearchedField<'a>>,
    /// The tokens of all required words and rows, one after the other.
    pub(super) required: Vec<FoundToken<'a>>,
    /// The synonyms of rows that have some.
    pub(super) row_synonyms: Vec<RowSynonyms<'a>>,
    /// The slots of the pinned resources that exist, each with its place from 1, by place.
    pub(super) pinned: Vec<(u32, u64)>,
    /// The matches, once computed.
    pub(super) coverage: OnceCell<Coverage>,
}

/// The source of a field's values.
pub(super) struct SearchedField<'a> {
    pub(super) of: TextField,
    own: Option<&'a CopySet>,
    pub(super) fallback: Option<Fallback<'a>>,
    /// The lengths of the current texts of all copies, once computed.
    lengths: OnceLock<FieldLengths>,
}

/// The copies that are read where the field is null.
pub(super) struct Fallback<'a> {
    copies: &'a CopySet,
    /// The slots where it is null.
    pub(super) nulls: Arc<Bitmap>,
}

/// A wanted token, with its matches.
pub(super) struct FoundToken<'a> {
    pub(super) wanted: &'a WantedToken,
    /// The matches by field and, within a field, by closeness.
    pub(super) found: Vec<TokensInRun<'a>>,
    /// The parts of a name, which are found anywhere in a resource.
    pub(super) parts: Vec<FoundToken<'a>>,
    /// The words of the phrases that stand for it, as [`SynonymPhrases`](crate::text_query::SynonymPhrases) has them.
    pub(super) synonyms: Vec<FoundToken<'a>>,
    /// The slots that have it.
    pub(super) slots: TokenSlots,
}

/// The phrases that stand for a row, with their words looked up.
pub(super) struct RowSynonyms<'a> {
    /// The number of the row among the requirements.
    number: usize,
    phrases: &'a SynonymPhrases,
    pub(super) words: Vec<FoundToken<'a>>,
    /// The slots that have all words of a phrase, once computed.
    slots: OnceCell<Bitmap>,
}

/// A requirement, with its tokens.
#[derive(Clone, Copy)]
pub(super) struct FoundRequirement<'b, 'a> {
    pub(super) required: &'a Requirement,
    pub(super) tokens: &'b [FoundToken<'a>],
    pub(super) synonyms: Option<&'b RowSynonyms<'a>>,
}

/// The wanted tokens of a run.
impl OrderResult for Vec<RunTokens> {
    const NAME: u8 = b't';

    fn bytes(&self) -> usize {
        self.iter().map(RunTokens::bytes).sum()
    }
}

/// The tokens of a field in one run, all equally close.
pub(super) struct TokensInRun<'a> {
    pub(super) field: usize,
    pub(super) is_fallback: bool,
    pub(super) run: &'a NumberedRun,
    pub(super) tokens: RunTokens,
    /// The number of current documents of the run that have one of them.
    having: OnceCell<usize>,
}

impl<'a> TextSearch<'a> {
    /// Looks up the tokens. `nulls` returns the slots where a column is null in the variant.
    pub(super) fn new(
        version: &'a Version,
        context: &'a SearchContext,
        variant: VariantNumber,
        query: &'a TextQuery,
        interrupt: &'a Interrupt<'a>,
        nulls: impl Fn(ColumnId) -> Result<Arc<Bitmap>, Error>,
    ) -> Result<TextSearch<'a>, Error> {
        let mut fields = Vec::with_capacity(query.fields.len());
        for &of in &query.fields {
            fields.push(SearchedField::new(version, variant, of, &nulls)?);
        }
        let slot = |id| context.slots.find(version, id);
        let pinned = query.pins.iter().filter_map(|pin| Some((slot(pin.id)?, pin.position))).collect();
        let (required, row_synonyms, coverage) = (Vec::new(), Vec::new(), OnceCell::new());
        let mut search = TextSearch {
            version,
            context,
            variant,
            query,
            interrupt,
            fields,
            required,
            row_synonyms,
            pinned,
            coverage,
        };
        for (number, required) in query.words.required.iter().enumerate() {
            for wanted in required.tokens() {
                let found = search.find(wanted)?;
                search.required.push(found);
            }
            if let Requirement::Row(WantedRow { synonyms: phrases, .. }) = required
                && !phrases.words.is_empty()
            {
                let words = phrases.words.iter().map(|word| search.find(word)).collect::<Result<_, _>>()?;
                search.row_synonyms.push(RowSynonyms { number, phrases, words, slots: OnceCell::new() });
            }
        }
        Ok(search)
    }

    /// Returns the slots that match.
    pub(super) fn matches(&self) -> Result<Arc<Bitmap>, Error> {
        Ok(Arc::clone(&self.coverage()?.found))
    }

    /// Returns the requirements, each with its tokens.
    pub(super) fn requirements(&self) -> impl Iterator<Item = FoundRequirement<'_, 'a>> {
        let mut tokens = &self.required[..];
        self.query.words.required.iter().enumerate().map(move |(number, required)| {
            let (of_this, rest) = tokens.split_at(required.tokens().len());
            tokens = rest;
            let synonyms = self.row_synonyms.iter().find(|synonyms| synonyms.number == number);
            FoundRequirement { required, tokens: of_this, synonyms }
        })
    }

    /// Returns the slots of `within` that meet a requirement, and maybe others.
    pub(super) fn slots_of_requirement<'b>(
        &self,
        found: FoundRequirement<'b, 'a>,
        within: Option<&Bitmap>,
    ) -> Result<Cow<'b, Bitmap>, Error> {
        let FoundRequirement { required, tokens, synonyms } = found;
        let Requirement::Row(row) = required else { return self.slots_of_token(&tokens[0]).map(Cow::Borrowed) };
        let mut slots = self.slots_of_row(&row.tokens, tokens, within)?;
        if let Some(synonyms) = synonyms {
            slots.union(self.slots_of_row_synonyms(synonyms)?);
        }
        Ok(Cow::Owned(slots))
    }

    /// Returns the slots that have all words of a phrase that stands for a row.
    pub(super) fn slots_of_row_synonyms<'b>(&self, synonyms: &'b RowSynonyms<'a>) -> Result<&'b Bitmap, Error> {
        if let Some(known) = synonyms.slots.get() {
            return Ok(known);
        }
        let slots = self.slots_of_phrases(synonyms.phrases, &synonyms.words)?;
        Ok(synonyms.slots.get_or_init(|| slots))
    }

    /// Returns those of the slots that have a row only by a synonym, for each row that has synonyms.
    pub(super) fn only_by_synonyms(&self, slots: &Bitmap) -> Result<Vec<(&RowSynonyms<'a>, Bitmap)>, Error> {
        let mut all = Vec::new();
        for FoundRequirement { required, tokens, synonyms } in self.requirements() {
            let Some(synonyms) = synonyms else { continue };
            let mut only = self.slots_of_row_synonyms(synonyms)?.clone();
            only.intersect(slots);
            only.subtract(&self.slots_of_row(required.tokens(), tokens, Some(&only))?);
            all.push((synonyms, only));
        }
        Ok(all)
    }

    /// Removes the slots that have something excluded.
    pub(super) fn subtract_excluded(&self, slots: &mut Bitmap) -> Result<(), Error> {
        for row in &self.query.words.excluded {
            let mut of_row = Vec::with_capacity(row.len());
            for wanted in row {
                of_row.push(self.find(wanted)?);
            }
            match &of_row[..] {
                [only] => slots.subtract(self.slots_of_token(only)?),
                of_row => {
                    let excluded = self.slots_of_row(row, of_row, Some(slots))?;
                    slots.subtract(&excluded);
                }
            }
        }
        Ok(())
    }

    /// Finds a wanted token in all fields and runs.
    fn find(&self, wanted: &'a WantedToken) -> Result<FoundToken<'a>, Error> {
        let mut found = Vec::new();
        let mut scans = wanted.scans();
        self.each_run(|field, is_fallback, run| {
            let tokens = self.find_in(run, self.fields[field].of.column, wanted, &mut scans)?;
            found.extend(tokens.iter().cloned().map(|tokens| TokensInRun::new(field, is_fallback, run, tokens)));
            Ok(())
        })?;
        let (mut parts, mut synonyms, mut compounds) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(alternatives) = &wanted.alternatives {
            for part in &alternatives.parts {
                parts.push(self.find(part)?);
            }
            for word in &alternatives.synonyms.words {
                synonyms.push(self.find(word)?);
            }
            if alternatives.has_compounds {
                compounds = self.compounds(&wanted.text)?;
            }
        }
        if !compounds.is_empty() {
            found.extend(self.find_equal(&compounds, COMPOUND)?);
        }
        found.sort_by_key(|found| (found.field, found.tokens.closeness));
        let slots = TokenSlots::of(&found, !parts.is_empty(), !synonyms.is_empty());
        Ok(FoundToken { wanted, found, parts, synonyms, slots })
    }

    /// Finds these tokens in all fields and runs, all with this closeness.
    pub(super) fn find_equal(&self, tokens: &[String], closeness: Closeness) -> Result<Vec<TokensInRun<'a>>, Error> {
        let joined_from = self.context.options.thresholds.joined_from;
        let mut scans: Vec<_> = tokens.iter().map(|token| TokenScan::equal(token.clone(), closeness)).collect();
        let mut all = Vec::new();
        self.each_run(|field, is_fallback, run| {
            let column = self.fields[field].of.column;
            let found = run.run.find_tokens(column, &mut scans, joined_from, self.interrupt)?;
            all.extend(found.into_iter().map(|tokens| TokensInRun::new(field, is_fallback, run, tokens)));
            Ok(())
        })?;
        Ok(all)
    }

    /// Emits each run of each field, with the number of the field and whether the run is of the fallback.
    pub(super) fn each_run(
        &self,
        mut emit: impl FnMut(usize, bool, &'a NumberedRun) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (field, of) in self.fields.iter().enumerate() {
            for (copies, is_fallback) in of.copies() {
                copies.runs.iter().try_for_each(|run| emit(field, is_fallback, run))?;
            }
        }
        Ok(())
    }

    /// Finds the tokens of a column in a run. The result is cached if many strings had to be compared.
    fn find_in(
        &self,
        run: &NumberedRun,
        column: ColumnId,
        wanted: &WantedToken,
        scans: &mut [TokenScan<'_>],
    ) -> Result<Arc<Vec<RunTokens>>, Error> {
        // The few lists of the words that begin with a character are as long as those of very many words.
        let joined_from = if wanted.is_vague() { 1 } else { self.context.options.thresholds.joined_from };
        let mut find = || run.run.find_tokens(column, scans, joined_from, self.interrupt).map(Arc::new);
        // Memory runs are excluded here too, so that no key is made for them.
        if matches!(run.run, Run::Memory(_)) || !wanted.is_scanned() {
            return find();
        }
        self.context.cache.kept_or_found(run, column, &wanted.scan_key(), find)
    }

    /// Returns the slots of `within` that have all tokens of a row one after the other in one field.
    pub(super) fn slots_of_row(
        &self,
        row: &[WantedToken],
        tokens: &[FoundToken<'_>],
        within: Option<&Bitmap>,
    ) -> Result<Bitmap, Error> {
        let mut slots = Bitmap::with_room(self.version.slot_count as usize);
        let tester = RowTester::new(row);
        for (index, field) in self.fields.iter().enumerate() {
            let mut candidates = within.cloned();
            for token in tokens {
                let having = self.slots_of(token.found.iter().filter(|found| found.field == index))?;
                match &mut candidates {
                    None => candidates = Some(having),
                    Some(candidates) => candidates.intersect(&having),
                }
            }
            let Some(mut candidates) = candidates else { continue };
            candidates.subtract(&slots);
            let is_in = |slot| field.with_text(slot, |text| tester.is_in(text));
            slots.union(&those_that(&candidates, self.interrupt, is_in)?);
        }
        Ok(slots)
    }
}

impl<'a> FoundToken<'a> {
    /// Returns the matches of the word, of its parts, and of its synonyms.
    pub(super) fn all_found<'b>(&'b self) -> impl Iterator<Item = &'b TokensInRun<'a>> {
        self.found.iter().chain(self.others().flat_map(|(_, other)| &other.found))
    }

    /// Returns the parts of a name and the words of synonyms, each with the closeness of a match by them.
    pub(super) fn others<'b>(&'b self) -> impl Iterator<Item = (Closeness, &'b FoundToken<'a>)> {
        let parts = self.parts.iter().map(|part| (PARTS, part));
        parts.chain(self.synonyms.iter().map(|word| (SYNONYM, word)))
    }
}

impl<'a> TokensInRun<'a> {
    fn new(field: usize, is_fallback: bool, run: &'a NumberedRun, tokens: RunTokens) -> TokensInRun<'a> {
        TokensInRun { field, is_fallback, run, tokens, having: OnceCell::new() }
    }

    /// Returns the number of current documents of the run that have one of the tokens.
    pub(super) fn count(&self, interrupt: &Interrupt<'_>) -> Result<usize, Error> {
        if let Some(count) = self.having.get() {
            return Ok(*count);
        }
        let count = self.run.count_having(&self.tokens, interrupt)?;
        Ok(*self.having.get_or_init(|| count))
    }
}

impl<'a> SearchedField<'a> {
    fn new(
        version: &'a Version,
        variant: VariantNumber,
        of: TextField,
        nulls: impl Fn(ColumnId) -> Result<Arc<Bitmap>, Error>,
    ) -> Result<SearchedField<'a>, Error> {
        let is_ranked = version.column(of.column).is_some_and(|column| column.kind.is_ranked());
        let copies = |variant: VariantNumber| version.copy_set(variant).filter(|_| is_ranked);
        let fallback = match of.fallback.filter(|fallback| *fallback != variant).and_then(copies) {
            None => None,
            Some(copies) => Some(Fallback { copies, nulls: nulls(of.column)? }),
        };
        Ok(SearchedField { of, own: copies(variant), fallback, lengths: OnceLock::new() })
    }

    /// Returns the lengths of the current texts of its copies. Tokens must have been looked up in all of their runs.
    pub(super) fn lengths(&self) -> FieldLengths {
        *self.lengths.get_or_init(|| {
            let mut lengths = FieldLengths::default();
            let runs = self.copies().flat_map(|(copies, _)| copies.runs.iter());
            runs.for_each(|run| lengths += run.field_lengths(self.of.column));
            lengths
        })
    }

    /// Returns the copies that have its values, each with whether it is the fallback.
    pub(super) fn copies(&self) -> impl Iterator<Item = (&'a CopySet, bool)> {
        let fallback = self.fallback.as_ref().map(|fallback| (fallback.copies, true));
        self.own.map(|own| (own, false)).into_iter().chain(fallback)
    }

    /// Returns the beginning of the text of a slot, not folded; `None` if it has none.
    pub(super) fn head(&self, slot: u32) -> Option<Cow<'a, str>> {
        Some(self.copies_of(slot)?.value_without_folded(slot, self.of.column).text()?.head())
    }

    /// Returns the number of tokens in the text of a slot, rounded as Tantivy does; 0 if it has none.
    pub(super) fn length_step(&self, slot: u32) -> u8 {
        self.copies_of(slot).map_or(0, |copies| copies.length_step(slot, self.of.column))
    }

    /// Returns the text of a slot, not folded; `None` if it has none.
    pub(super) fn whole(&self, slot: u32) -> Option<Cow<'a, str>> {
        Some(self.copies_of(slot)?.value_without_folded(slot, self.of.column).text()?.whole())
    }

    /// Returns the copies that have the value of a slot.
    fn copies_of(&self, slot: u32) -> Option<&'a CopySet> {
        let is_null = |fallback: &&Fallback<'_>| fallback.nulls.contains(slot);
        self.fallback.as_ref().filter(is_null).map(|fallback| fallback.copies).or(self.own)
    }

    /// Reads the folded text of a slot.
    pub(super) fn with_text(&self, slot: u32, read: impl FnOnce(&str) -> bool) -> bool {
        let text = self.copies_of(slot).and_then(|copies| copies.value(slot, self.of.column).text());
        text.is_some_and(|text| read(&text.folded.get()))
    }
}
