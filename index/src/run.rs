//! A run of one part, in memory or on disk, behind one face. It knows no liveness: what it emits may be dead.

use std::sync::Arc;

use crate::disk::DiskRun;
use crate::error::Error;
use crate::memory::MemoryRun;
use crate::schema::{Column, ColumnId};
use crate::value::{Prepared, ValueRef};

/// An immutable (or, the active one, append-only) list of documents.
#[derive(Debug, Clone)]
pub(crate) enum Run {
    Memory(Arc<MemoryRun>),
    Disk(Arc<DiskRun>),
}

impl Run {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Run::Memory(run) => run.len(),
            Run::Disk(run) => run.len(),
        }
    }

    /// The slot of a document.
    pub(crate) fn slot(&self, doc: u32) -> u32 {
        match self {
            Run::Memory(run) => run.document(doc).slot,
            Run::Disk(run) => run.slot(doc),
        }
    }

    /// The value of a document; null if the run has no such column.
    pub(crate) fn value(&self, doc: u32, column: ColumnId) -> ValueRef<'_> {
        match self {
            Run::Memory(run) => run.document(doc).value(column),
            Run::Disk(run) => run.value(doc, column),
        }
    }

    /// The same for what does not look at folded text, which is then left out where reading it costs.
    pub(crate) fn unfolded(&self, doc: u32, column: ColumnId) -> ValueRef<'_> {
        match self {
            Run::Memory(run) => run.document(doc).value(column),
            Run::Disk(run) => run.unfolded(doc, column),
        }
    }

    /// Emits the documents, ascending and each once, whose value is not null and satisfies the predicate.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &Prepared,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        match self {
            Run::Memory(run) => {
                for doc in 0..run.len() {
                    let value = run.document(doc).value(column.id);
                    if !value.is_null() && predicate.matches(column.kind, value) {
                        emit(doc);
                    }
                }
                Ok(())
            }
            Run::Disk(run) => run.evaluate(column, predicate, emit),
        }
    }

    /// Emits the documents, ascending and each once, whose value is not null.
    pub(crate) fn present(&self, column: ColumnId, emit: &mut dyn FnMut(u32)) {
        match self {
            Run::Memory(run) => {
                for doc in (0..run.len()).filter(|&doc| !run.document(doc).value(column).is_null()) {
                    emit(doc);
                }
            }
            Run::Disk(run) => run.present(column, emit),
        }
    }
}
