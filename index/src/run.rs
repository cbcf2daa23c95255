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
use crate::schema::{Column, ColumnId, VariantNumber};
use crate::value::ValueRef;
pub(crate) use disk::{DiskRun, MergeInput};
use live_lengths::LiveLengths;
pub(crate) use memory::{Document, MemoryRun};
pub(crate) use orders::{KeyKind, MergedOrder, OrderInput, RankRange, RunOrder};
pub(crate) use ordinals::{Ordinals, text_at};
pub(crate) use ranked::RunTokens;
pub(crate) use sums::RunFolder;
pub(crate) use tally::{CountedValue, Tally, Unpacked};
pub(crate) use token_match::FieldLengths;

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
            Run::Disk(run) => run.columns.documents_in(slots),
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
            Run::Disk(run) => run.columns.add_slots(documents, slots),
        }
    }
}
