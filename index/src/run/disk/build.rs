//! Builds a disk run from documents in memory. It does not know merging, or which documents are current.
//!
//! The files of a run do not depend on each other, nor do most lists of the dictionary, and a list can be collected
//! while another one is sorted and written. So three threads share the work, since an import waits for it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};

use parking_lot::Mutex;

use super::dictionary::{DictionaryWriter, StringsOf};
use super::disk_run::{DiskRun, document_count};
use super::terms::{ColumnTerms, TermList};
use crate::collate::Collation;
use crate::damage::Damage;
use crate::error::Error;
use crate::files::create_empty_folder;
use crate::interrupt::Interrupt;
use crate::run::columns::{self, Encoding};
use crate::run::memory::Document;
use crate::run::orders::{self, OrderedColumn, RunOrder};
use crate::run::sums::{FileSums, RunFolder};
use crate::schema::{ColumnId, Schema};

/// The source of a run that is built.
struct Source<'a> {
    folder: RunFolder<'a>,
    documents: &'a [Arc<Document>],
    /// Every column with values, in each of its encodings, ascending.
    columns: Vec<(ColumnId, Encoding)>,
}

/// The lists of a column that one thread collects.
struct Task {
    column: ColumnId,
    /// True if ranked search looks at the column.
    is_ranked: bool,
    lists: &'static [StringsOf],
}

/// The lists that one thread collects, in this order. Words come before exact terms, because these mark texts with
/// words that are too long.
const TOGETHER: [&[StringsOf]; 4] =
    [&[StringsOf::Words, StringsOf::Exacts], &[StringsOf::Joints], &[StringsOf::Grams], &[StringsOf::Tokens]];

/// A part of the dictionary that is ready to be written.
enum Part {
    List(ColumnId, StringsOf, Box<TermList>),
    Lengths(ColumnId, Vec<u8>),
}

impl DiskRun {
    /// Writes the documents, in their order, as a run into `folder`, and replaces its contents. Durable on return,
    /// except for the entry of the folder in its parent. Damage that is found later is reported to `damage`. `schema`
    /// determines the columns of ranked search. Long texts are compressed like those of `neighbor`, a run of the same
    /// index.
    pub(crate) fn build(
        folder: &Path,
        documents: &[Arc<Document>],
        neighbor: Option<&DiskRun>,
        schema: &Schema,
        collation: &Collation,
        damage: &Arc<Damage>,
    ) -> Result<DiskRun, Error> {
        let encodings = |document: &Document| {
            document.values().filter_map(|(id, value)| Some((id, Encoding::of(&value)?))).collect::<Vec<_>>()
        };
        let columns: BTreeSet<_> = documents.iter().flat_map(|document| encodings(document)).collect();
        // A checkpoint may wait for the run, so it is written to its end.
        let source = &Source { folder: RunFolder::to_end(folder), documents, columns: columns.into_iter().collect() };
        create_empty_folder(folder)?;
        let tasks = &Mutex::new(source.tasks(schema).into_iter());
        let (parts, collected) = mpsc::sync_channel(0);
        let files = scope(|scope| {
            let collected_here = parts.clone();
            let collecting = beside(scope, "index-terms", folder, move || source.collect(tasks, &collected_here))?;
            let values = beside(scope, "index-columns", folder, move || {
                let files = [source.write_columns(neighbor)?, source.write_orders(collation)?];
                source.collect(tasks, &parts);
                Ok(files)
            })?;
            let dictionary = source.write_dictionary(collected);
            joined(collecting);
            let [columns, orders] = joined(values)?;
            Ok(vec![columns, dictionary?, orders])
        })?;
        DiskRun::finish(folder, files, damage)
    }
}

impl Source<'_> {
    fn count(&self) -> u32 {
        document_count(self.documents.len())
    }

    fn write_columns(&self, neighbor: Option<&DiskRun>) -> Result<FileSums, Error> {
        let slots: Vec<u32> = self.documents.iter().map(|document| document.slot).collect();
        let value = |document: usize, id| self.documents[document].value(id);
        let known = |id, encoding| neighbor?.columns.dictionary(id, encoding);
        columns::write(self.folder, &slots, &self.columns, &value, &known)
    }

    fn write_orders(&self, collation: &Collation) -> Result<FileSums, Error> {
        orders::write(self.folder, self.count(), OrderedColumn::all(&self.columns), collation, &mut |column| {
            let value = |document: u32| self.documents[document as usize].value(column.id);
            RunOrder::sorted(column.kind, 0..self.count(), value, collation, &Interrupt::never())
        })
    }

    /// Lists the terms to be collected.
    fn tasks(&self, schema: &Schema) -> Vec<Task> {
        let is_ranked = |id| schema.columns.iter().any(|column| column.id == id && column.kind.is_ranked());
        let columns = self.columns.chunk_by(|a, b| a.0 == b.0).map(|of_one_column| of_one_column[0].0);
        columns.flat_map(|column| TOGETHER.map(|lists| Task { column, is_ranked: is_ranked(column), lists })).collect()
    }

    /// Does tasks until none is left. Returns `None` if the receiver of the parts is gone.
    fn collect(&self, tasks: &Mutex<impl Iterator<Item = Task>>, parts: &mpsc::SyncSender<Part>) -> Option<()> {
        let next = || tasks.lock().next();
        while let Some(Task { column, is_ranked, lists }) = next() {
            let values = (0..).zip(self.documents).map(|(number, document)| (number, document.value(column)));
            let mut terms = ColumnTerms::of(values, is_ranked);
            for &of in lists {
                parts.send(Part::List(column, of, Box::new(terms.collect(of)))).ok()?;
            }
            if let Some(steps) = terms.length_steps(self.documents.len()) {
                parts.send(Part::Lengths(column, steps)).ok()?;
            }
        }
        Some(())
    }

    /// Writes parts in the order of their arrival.
    fn write_dictionary(&self, parts: mpsc::Receiver<Part>) -> Result<FileSums, Error> {
        let mut dictionary = DictionaryWriter::create(self.folder)?;
        for part in parts {
            match part {
                Part::List(id, of, collected) => dictionary.list(id, of, |sink| collected.write(sink))?,
                Part::Lengths(id, steps) => dictionary.lengths(id, &steps)?,
            }
        }
        dictionary.finish(self.count())
    }
}

/// Starts a thread with the same priority as this one.
fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    folder: &Path,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work).map_err(Error::io(folder))
}

/// Returns the result of a thread. Panics if it did.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
