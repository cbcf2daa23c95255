//! A run: a list of documents, each one copy of one resource, in memory or on disk. Lucene calls this a segment.
//!
//! A run does not know which of its documents are current: its matches include outdated documents.

use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::live_set::LiveSet;
use crate::predicate::PreparedPredicate;
use crate::rank_bitmap::RankBitmap;
use crate::schema::{Column, ColumnId, VariantNumber};
use crate::text_query::{Closeness, TokenScan, WantedToken};
use crate::value::ValueRef;
pub(crate) use disk::{DiskRun, MergeInput};
use live_lengths::{LengthSteps, LiveLengths};
pub(crate) use memory::{Document, MemoryRun};
pub(crate) use orders::{KeyKind, MergedOrder, OrderInput, RankRange, RunOrder};
pub(crate) use ordinals::{Ordinals, text_at};
use postings::ReusedBlocks;
pub(crate) use ranked::RunTokens;
use ranked::{TokenPostings, grouped};
pub(crate) use sums::RunFolder;
pub(crate) use tally::{CountedValue, Tally, Unpacked};
pub(crate) use token_match::FieldLengths;
use token_match::MAX_COUNT;

mod checked;
mod columns;
mod disk;
mod live_lengths;
mod memory;
mod orders;
mod ordinals;
mod postings;
mod ranked;
mod sections;
mod sums;
mod tally;
mod token_match;

/// The number of a run within its index.
pub(crate) type RunNumber = u32;

/// A list of documents. Immutable, except that a memory run grows until it is frozen.
#[derive(Debug, Clone)]
pub(crate) enum Run {
    Memory(Arc<MemoryRun>),
    Disk(Arc<DiskRun>),
}

/// A run with its number, and the set of its current documents.
#[derive(Debug, Clone)]
pub(crate) struct NumberedRun {
    pub(crate) number: RunNumber,
    pub(crate) run: Run,
    pub(crate) live: LiveSet,
    /// Shared by all versions that have the run.
    lengths: Arc<LiveLengths>,
    /// The lengths for versions in which working copies replace some of its documents.
    working_lengths: Arc<LiveLengths>,
}

impl NumberedRun {
    /// Returns its current documents in these slots.
    pub(crate) fn current_in(&self, slots: &Bitmap) -> Bitmap {
        let mut documents = self.run.documents_in(slots);
        self.live.retain_in(&mut documents);
        documents
    }

    /// Returns a run without current documents.
    pub(crate) fn new(number: RunNumber, run: Run) -> NumberedRun {
        NumberedRun { number, run, live: LiveSet::default(), lengths: Arc::default(), working_lengths: Arc::default() }
    }

    /// Returns the run as versions have it in which working copies replace some of its documents.
    pub(crate) fn with_working_lengths(&self) -> NumberedRun {
        NumberedRun { lengths: Arc::clone(&self.working_lengths), ..self.clone() }
    }

    /// Returns the lengths of the current texts of a column. As with [`Run::length_steps`], their tokens must have been
    /// collected.
    pub(crate) fn field_lengths(&self, column: ColumnId) -> FieldLengths {
        self.lengths.of(column, &self.live, || self.run.length_steps(column))
    }

    /// Adds the slots of its current documents that have one of these tokens, which must be of this run. The documents are looked at
    /// one by one if there are fewer than all divided by `listed_share`.
    pub(crate) fn add_slots_having(
        &self,
        tokens: &[&RunTokens],
        listed_share: usize,
        interrupt: &Interrupt<'_>,
        slots: &mut Bitmap,
    ) -> Result<(), Error> {
        if self.run.has_few(tokens, listed_share) {
            let mut add = |document| {
                if self.live.contains(document) {
                    slots.insert(self.run.slot(document));
                }
            };
            return tokens.iter().try_for_each(|tokens| self.run.each_having(&tokens.postings, interrupt, &mut add));
        }
        let mut documents = self.run.having(tokens, interrupt)?;
        self.live.retain_in(&mut documents);
        self.run.add_slots(&documents, slots);
        Ok(())
    }

    /// Returns the number of its current documents that have one of the tokens, which must be of this run.
    pub(crate) fn count_having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>) -> Result<usize, Error> {
        if tokens.postings.is_single() && self.live.count() == self.run.len() as usize {
            return Ok(tokens.most_documents());
        }
        let mut documents = self.run.having(&[tokens], interrupt)?;
        self.live.retain_in(&mut documents);
        Ok(documents.count())
    }

    /// Returns whether a current document has a token in a column.
    pub(crate) fn has_token(&self, column: ColumnId, token: &str, interrupt: &Interrupt<'_>) -> Result<bool, Error> {
        let is_live = |document| self.live.contains(document);
        match &self.run {
            Run::Memory(run) => run.has_token(column, token, is_live, interrupt),
            Run::Disk(run) => run.has_token(column, token, is_live, interrupt),
        }
    }
}

/// A memory run that no longer grows and waits to be written to disk.
#[derive(Debug, Clone)]
pub(crate) struct FrozenRun {
    pub(crate) variant: VariantNumber,
    pub(crate) number: RunNumber,
    pub(crate) memory: Arc<MemoryRun>,
    /// The documents that were current when the run was frozen. Later versions use no other documents of the run. So a
    /// disk run of these documents, in their order, can replace the memory run in all of them.
    pub(crate) live_docs: Arc<Bitmap>,
}

impl FrozenRun {
    /// Returns the documents to write to disk, in order.
    pub(crate) fn live_documents(&self) -> Vec<Arc<Document>> {
        self.live_docs.iter().map(|doc| Arc::clone(self.memory.document(doc))).collect()
    }
}

impl Run {
    /// Returns the number of documents it has.
    pub(crate) fn len(&self) -> u32 {
        match self {
            Run::Memory(run) => run.len(),
            Run::Disk(run) => run.len(),
        }
    }

    /// Returns the slot of a document.
    pub(crate) fn slot(&self, doc: u32) -> u32 {
        match self {
            Run::Memory(run) => run.document(doc).slot,
            Run::Disk(run) => run.slot(doc),
        }
    }

    /// Returns the value of a document; null if the run lacks the column.
    pub(crate) fn value(&self, doc: u32, column: ColumnId) -> ValueRef<'_> {
        match self {
            Run::Memory(run) => run.document(doc).value(column),
            Run::Disk(run) => run.value(doc, column),
        }
    }

    /// Like [`Run::value`], but the folded text may be missing: it is not read from disk runs.
    pub(crate) fn value_without_folded(&self, doc: u32, column: ColumnId) -> ValueRef<'_> {
        match self {
            Run::Memory(run) => run.document(doc).value(column),
            Run::Disk(run) => run.value_without_folded(doc, column),
        }
    }

    /// Adds the documents whose value is not null and satisfies the predicate.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        match self {
            Run::Memory(run) => run.evaluate(column, predicate, interrupt, documents),
            Run::Disk(run) => run.evaluate(column, predicate, interrupt, documents),
        }
    }

    /// Returns roughly how many nanoseconds [`Run::evaluate`] takes.
    pub(crate) fn cost(&self, column: Column, predicate: &PreparedPredicate) -> u64 {
        match self {
            Run::Memory(run) => run.cost(predicate),
            Run::Disk(run) => run.cost(column, predicate),
        }
    }

    /// Adds the documents whose value is not null.
    pub(crate) fn present(
        &self,
        column: ColumnId,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        match self {
            Run::Memory(run) => {
                for doc in (0..run.len()).filter(|&doc| !run.document(doc).value(column).is_null()) {
                    interrupt.step()?;
                    documents.insert(doc);
                }
                Ok(())
            }
            Run::Disk(run) => run.present(column, interrupt, documents),
        }
    }

    /// Returns orders of a column that together hold every document with a value of this kind. Returns `None` if the
    /// run has no order by this collation: then the caller makes one by [`Run::sorted`].
    pub(crate) fn orders(
        &self,
        column: ColumnId,
        kind: KeyKind,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Vec<Arc<RunOrder>>>, Error> {
        match self {
            Run::Memory(run) => run.orders(column, kind, collation, interrupt).map(Some),
            Run::Disk(run) => Ok(run.order(column, kind, collation)),
        }
    }

    /// Makes the order of a column by sorting.
    pub(crate) fn sorted(
        &self,
        column: ColumnId,
        kind: KeyKind,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<RunOrder, Error> {
        let value = |document| self.value_without_folded(document, column);
        RunOrder::sorted(kind, 0..self.len(), value, collation, interrupt)
    }

    /// Returns the documents in these slots, possibly including outdated ones.
    pub(crate) fn documents_in(&self, slots: &Bitmap) -> Bitmap {
        match self {
            Run::Memory(run) => run.documents_in(slots),
            Run::Disk(run) => run.documents_in(slots),
        }
    }

    /// Emits the numbers of documents in a column. Skips values of other kinds.
    pub(crate) fn each_number(
        &self,
        column: ColumnId,
        documents: &Bitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, f64),
    ) -> Result<(), Error> {
        match self {
            Run::Memory(run) => documents.each(
                || interrupt.check(),
                |doc| {
                    if let ValueRef::Number(number) = run.document(doc).value(column) {
                        emit(doc, number);
                    }
                },
            ),
            Run::Disk(run) => run.each_number(column, documents, interrupt, emit),
        }
    }

    /// Adds the slots of documents.
    pub(crate) fn add_slots(&self, documents: &Bitmap, slots: &mut Bitmap) {
        match self {
            Run::Memory(run) => documents.iter().for_each(|doc| slots.insert(run.document(doc).slot)),
            Run::Disk(run) => run.add_slots(documents, slots),
        }
    }
}

impl Run {
    /// The tokens of a column that are wanted, the closest first. The documents of `joined_from` equally close ones are kept
    /// once they are joined.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        scans: &mut [TokenScan<'_>],
        joined_from: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<RunTokens>, Error> {
        let documents = self.len();
        Ok(match self {
            Run::Memory(run) => {
                grouped(run.find_tokens(column, scans, interrupt)?, documents, joined_from, TokenPostings::Memory)
            }
            Run::Disk(run) => {
                grouped(run.find_tokens(column, scans, interrupt)?, documents, joined_from, TokenPostings::Disk)
            }
        })
    }

    /// Returns these tokens of a column, all with this closeness.
    pub(crate) fn find_equal(
        &self,
        column: ColumnId,
        tokens: &[String],
        closeness: Closeness,
        joined_from: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<RunTokens>, Error> {
        let documents = self.len();
        Ok(match self {
            Run::Memory(run) => {
                let found = run.find_equal(column, tokens, closeness, interrupt)?;
                grouped(found, documents, joined_from, TokenPostings::Memory)
            }
            Run::Disk(run) => {
                let found = run.find_equal(column, tokens, closeness, interrupt)?;
                grouped(found, documents, joined_from, TokenPostings::Disk)
            }
        })
    }

    /// Returns the tokens of a column that a wanted one finds with typos, each with their number.
    pub(crate) fn similar_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(usize, String)>, Error> {
        match self {
            Run::Memory(run) => run.similar_tokens(column, wanted, interrupt),
            Run::Disk(run) => run.similar_tokens(column, wanted, interrupt),
        }
    }

    /// Returns the words of a column that begin so, each with the number of documents that have it.
    pub(crate) fn tokens_beginning(
        &self,
        column: ColumnId,
        beginning: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(Box<str>, u32)>, Error> {
        match self {
            Run::Memory(run) => run.tokens_beginning(column, beginning, interrupt),
            Run::Disk(run) => run.tokens_beginning(column, beginning, interrupt),
        }
    }

    /// Returns the words of a column that are longer than a word and begin or end with it.
    pub(crate) fn tokens_around(
        &self,
        column: ColumnId,
        word: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Box<str>>, Error> {
        match self {
            Run::Memory(run) => run.tokens_around(column, word, interrupt),
            Run::Disk(run) => run.tokens_around(column, word, interrupt),
        }
    }

    /// Returns the documents that have one of the tokens, which must be of this run.
    fn having(&self, tokens: &[&RunTokens], interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
        let mut documents = Bitmap::with_room(self.len() as usize);
        tokens.iter().try_for_each(|tokens| self.add_having(tokens, interrupt, &mut documents))?;
        Ok(documents)
    }

    /// Returns how many of the documents `within` have one of these tokens, which must be of this run, and the first of them. The
    /// documents are looked at one by one if there are fewer than all divided by `listed_share`.
    pub(crate) fn count_within(
        &self,
        tokens: &[&RunTokens],
        within: &Bitmap,
        listed_share: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<(usize, Option<u32>), Error> {
        if self.has_few(tokens, listed_share) {
            let mut documents = Vec::new();
            let mut add = |document| {
                if within.contains(document) {
                    documents.push(document);
                }
            };
            tokens.iter().try_for_each(|tokens| self.each_having(&tokens.postings, interrupt, &mut add))?;
            documents.sort_unstable();
            documents.dedup();
            return Ok((documents.len(), documents.first().copied()));
        }
        let mut documents = self.having(tokens, interrupt)?;
        documents.intersect(within);
        Ok((documents.count(), documents.iter().next()))
    }

    /// Returns whether fewer documents than all divided by `listed_share` have one of the tokens.
    fn has_few(&self, tokens: &[&RunTokens], listed_share: usize) -> bool {
        let most = tokens.iter().fold(0usize, |sum, tokens| sum.saturating_add(tokens.most_documents()));
        most < self.len() as usize / listed_share
    }

    /// Adds the documents that have one of the tokens, which must be of this run.
    fn add_having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>, documents: &mut Bitmap) -> Result<(), Error> {
        let Some(joined) = &tokens.joined else {
            return self.each_having(&tokens.postings, interrupt, |document| documents.insert(document));
        };
        let kept = &joined.documents;
        if kept.get().is_none() {
            let mut joined = Bitmap::with_room(self.len() as usize);
            self.each_having(&tokens.postings, interrupt, |document| joined.insert(document))?;
            kept.get_or_init(|| joined);
        }
        kept.get().into_iter().for_each(|joined| documents.union(joined));
        Ok(())
    }

    /// Emits the documents that have one of the tokens, perhaps several times.
    fn each_having(
        &self,
        postings: &TokenPostings,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32),
    ) -> Result<(), Error> {
        match (self, postings) {
            (Run::Disk(run), TokenPostings::Disk(lists)) => run.lists().each_document(lists, interrupt, emit),
            (_, TokenPostings::Memory(postings)) => {
                for postings in postings.iter() {
                    interrupt.step()?;
                    postings.each(|document, _| emit(document));
                }
                Ok(())
            }
            // Tokens of another kind of run: the caller passed the wrong ones.
            _ => Ok(()),
        }
    }

    /// Emits the documents of `among` that have one of the tokens, each once, with the number of times that it has any
    /// of them. The tokens must be of this run.
    pub(crate) fn each_counted(
        &self,
        tokens: &RunTokens,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        if tokens.postings.is_single() {
            return self.each_among(&tokens.postings, among, interrupt, emit);
        }
        let mut counts = vec![0u32; among.count()];
        self.each_among(&tokens.postings, among, interrupt, |document, count| {
            if let Some(sum) = among.rank(document).and_then(|rank| counts.get_mut(rank)) {
                *sum = sum.saturating_add(count);
            }
        })?;
        among.iter().zip(counts).filter(|(_, count)| *count > 0).for_each(|(document, count)| emit(document, count));
        Ok(())
    }

    /// Like [`Run::each_counted`], but emits a document once for each different token that it has.
    fn each_among(
        &self,
        postings: &TokenPostings,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        match (self, postings) {
            (Run::Memory(_), TokenPostings::Memory(postings)) => {
                for postings in postings.iter() {
                    interrupt.step()?;
                    postings.each(|document, count| {
                        if among.contains(document) {
                            emit(document, count);
                        }
                    });
                }
            }
            (Run::Disk(run), TokenPostings::Disk(lists)) => {
                let mut reused = ReusedBlocks::default();
                for &list in lists.iter() {
                    interrupt.check()?;
                    run.lists().each_among(list, among, &mut reused, interrupt, |document, count| {
                        emit(document, count.min(MAX_COUNT.into()));
                    })?;
                }
            }
            // Tokens of another kind of run: the caller passed the wrong ones.
            _ => {}
        }
        Ok(())
    }

    /// Returns the lengths of the texts of a column. [`Run::find_tokens`] must have been called for it: a memory run
    /// collects tokens only then.
    pub(crate) fn length_steps(&self, column: ColumnId) -> LengthSteps<'_> {
        match self {
            Run::Memory(run) => LengthSteps::Memory(run.length_steps(column)),
            Run::Disk(run) => LengthSteps::Disk(run.length_steps(column)),
        }
    }
}
