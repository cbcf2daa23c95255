//! Opens, merges and verifies a disk run. It does not know predicates, or which documents are current.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dictionary::{self, Dictionary, DictionaryInput, DictionaryWriter, StringsOf};
use super::terms::ColumnTerms;
use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::damage::Damage;
use crate::error::Error;
use crate::files::{create_empty_folder, sync_folder};
use crate::interrupt::{Interrupt, StopSign};
use crate::packing::most_used;
use crate::run::checked::CheckedFile;
use crate::run::columns::{self, ColumnFile, Encoding};
use crate::run::orders::{self, KeyKind, OrderFile, OrderInput, OrderedColumn, RunOrder};
use crate::run::postings::Posting;
use crate::run::sums::{self, FileSums, RunFolder};
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// An immutable run, memory-mapped. Its folder may be unlinked while it is open.
pub(crate) struct DiskRun {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<Arc<CheckedFile>>,
    damage: Arc<Damage>,
    /// The checksum of the file `sums`, which holds the checksums of the run's files.
    sums_crc: u32,
    pub(in crate::run) columns: ColumnFile,
    pub(super) dictionary: Dictionary,
    pub(super) orders: OrderFile,
}

impl std::fmt::Debug for DiskRun {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DiskRun({}, {} documents)", self.folder.display(), self.len())
    }
}

/// A run that goes into a merge.
pub(crate) struct MergeInput {
    pub(crate) run: Arc<DiskRun>,
    /// The documents that go into the merged run.
    pub(crate) live_docs: Arc<Bitmap>,
}

/// A document of a merged run.
#[derive(Clone, Copy)]
struct MergedDoc {
    /// Index of the input that it comes from.
    input: u32,
    /// Its number in that input.
    doc: u32,
}

impl MergedDoc {
    fn input(self) -> usize {
        self.input as usize
    }
}

impl DiskRun {
    /// Opens the run in `folder`. `sums_crc` is the result of [`DiskRun::sums_crc`] when it was written. Reads little:
    /// the rest is checked on first use, and damage is reported to `damage`.
    pub(crate) fn open(folder: &Path, sums_crc: u32, damage: &Arc<Damage>) -> Result<DiskRun, Error> {
        DiskRun::open_files(folder, sums::read(folder, sums_crc)?, sums_crc, damage)
    }

    /// Writes the checksums of a run whose files are written, and opens it.
    pub(super) fn finish(folder: &Path, files: Vec<FileSums>, damage: &Arc<Damage>) -> Result<DiskRun, Error> {
        let sums_crc = sums::write(folder, &files)?;
        sync_folder(folder)?;
        DiskRun::open_files(folder, files, sums_crc, damage)
    }

    fn open_files(folder: &Path, sums: Vec<FileSums>, sums_crc: u32, damage: &Arc<Damage>) -> Result<DiskRun, Error> {
        let open = |sums| CheckedFile::open(folder, sums, damage);
        let files = sums.into_iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let file = |name: &str| {
            let file = files.iter().find(|file| file.name() == name);
            file.ok_or_else(|| Error::corrupt(folder, format!("the file {name} is missing")))
        };
        let columns = ColumnFile::open(file(columns::FILE)?).map_err(|what| Error::corrupt(folder, what))?;
        let dictionary = Dictionary::open(file(dictionary::FILE)?).map_err(|what| Error::corrupt(folder, what))?;
        let orders = OrderFile::open(file(orders::FILE)?).map_err(|what| Error::corrupt(folder, what))?;
        let (folder, damage) = (folder.to_owned(), Arc::clone(damage));
        Ok(DiskRun { folder, files, damage, sums_crc, columns, dictionary, orders })
    }

    /// Writes the live documents of the inputs, in the order of the inputs, as a run into `folder`, and replaces its
    /// contents. Durable on return, except for the entry of the folder in its parent.
    pub(crate) fn merge(
        folder: RunFolder<'_>,
        inputs: &[MergeInput],
        collation: &Collation,
        damage: &Arc<Damage>,
    ) -> Result<DiskRun, Error> {
        let mut merged: Vec<MergedDoc> = Vec::with_capacity(inputs.iter().map(|input| input.live_docs.count()).sum());
        let mut new_numbers: Vec<Vec<u32>> = Vec::new();
        for (input, MergeInput { run, live_docs }) in (0..).zip(inputs) {
            let mut numbers = vec![dictionary::DROPPED; run.len() as usize];
            for doc in live_docs.iter() {
                numbers[doc as usize] = merged.len() as u32;
                merged.push(MergedDoc { input, doc });
            }
            new_numbers.push(numbers);
        }
        let slots: Vec<u32> = merged.iter().map(|merged| inputs[merged.input()].run.slot(merged.doc)).collect();
        let encodings =
            |run: &DiskRun| run.columns.columns().iter().map(|column| (column.id, column.encoding)).collect::<Vec<_>>();
        let columns: BTreeSet<(ColumnId, Encoding)> = inputs.iter().flat_map(|input| encodings(&input.run)).collect();

        create_empty_folder(folder.path)?;
        let columns = Vec::from_iter(columns);
        let columns_sums = columns::write(
            folder,
            &slots,
            &columns,
            &|index, id| {
                let merged = merged[index];
                inputs[merged.input()].run.value(merged.doc, id)
            },
            &|id, encoding| most_used(inputs.iter().filter_map(|input| input.run.columns.dictionary(id, encoding))),
        )?;
        let dictionary_sums = merge_dictionaries(folder, inputs, &merged, &new_numbers)?;
        let count = document_count(slots.len());
        let orders_sums = orders::write(folder, count, OrderedColumn::all(&columns), collation, &mut |column| {
            merged_order(column, inputs, &new_numbers, collation, folder.stop)
        })?;
        // If an input is damaged, the merged run may be wrong.
        damage.check()?;
        DiskRun::finish(folder.path, vec![columns_sums, dictionary_sums, orders_sums], damage)
    }

    /// Returns the number of documents it has.
    pub(crate) fn len(&self) -> u32 {
        self.columns.len()
    }

    /// Returns the size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len() as u64).sum()
    }

    /// Returns the checksum of the file that holds the checksums of all other files. It identifies the contents of the
    /// run.
    pub(crate) fn sums_crc(&self) -> u32 {
        self.sums_crc
    }

    /// Returns the slot of a document.
    pub(crate) fn slot(&self, document: u32) -> u32 {
        self.columns.slot(document)
    }

    /// Returns the value of a document; null if the run lacks the column.
    pub(crate) fn value(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.value(document, column)
    }

    /// Like [`DiskRun::value`], but a text's folded form is left empty and not read.
    pub(crate) fn value_without_folded(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.value_without_folded(document, column)
    }

    /// Returns the order of a column in a list; the list is empty if the run has no values in it. Returns `None` if the
    /// run does not have the order by this collation.
    pub(crate) fn order(&self, column: ColumnId, kind: KeyKind, collation: &Collation) -> Option<Vec<Arc<RunOrder>>> {
        match self.columns.column(column).is_empty() {
            true => Some(Vec::new()),
            false => self.orders.get(column, kind, collation).map(|order| vec![Arc::clone(order)]),
        }
    }

    /// Compares every byte with its checksum, and all derived data with the columns. Writes nothing.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(|file| file.verify())?;
        let has_terms = self.has_terms_of_columns()?;
        let has_orders = self.orders.is_of(&self.columns);
        let has_ordinals = self.columns.has_ordinals_of_texts();
        // Reading every value may have found one that cannot be decoded.
        self.damage.check()?;
        let derived =
            [(has_terms, "the inverted index does"), (has_orders, "the orders do"), (has_ordinals, "the ordinals do")];
        match derived.into_iter().find(|(is_same, _)| !is_same) {
            Some((_, what)) => Err(Error::corrupt(&self.folder, format!("{what} not match the columns"))),
            None => Ok(()),
        }
    }

    /// Tests whether the dictionary holds exactly the terms of the columns. Collects the terms of a few documents at a
    /// time, because all of them would need too much memory.
    fn has_terms_of_columns(&self) -> Result<bool, Error> {
        let ids = self.columns.columns().chunk_by(|a, b| a.id == b.id).map(|of_one_column| of_one_column[0].id);
        let mut postings = 0;
        let mut is_same = true;
        for id in ids {
            for start in (0..self.len()).step_by(VERIFIED_AT_ONCE) {
                let documents = start..self.len().min(start + VERIFIED_AT_ONCE as u32);
                let values = documents.map(|document| (document, self.value(document, id)));
                let mut terms = ColumnTerms::of(values, self.dictionary.has_lengths(id));
                for of in StringsOf::ALL {
                    let mut error = None;
                    let compared = terms.collect(of).write(&mut |string, posting| {
                        postings += posting.documents.len() as u64;
                        match self.has_postings(id, of, string, posting) {
                            Ok(has) => is_same &= has,
                            Err(other) => error = Some(other),
                        }
                        Ok(())
                    });
                    error.map_or(Ok(()), Err)?;
                    compared.map_err(Error::io(&self.folder))?;
                }
                let step = |document| self.dictionary.length_step(id, document);
                is_same &= terms.lengths().iter().all(|of| of.step() == step(of.document));
            }
        }
        // The number of postings is equal too, so there are no others.
        Ok(is_same && self.dictionary.postings() == postings)
    }

    fn has_postings(&self, id: ColumnId, of: StringsOf, string: &[u8], posting: Posting<'_>) -> Result<bool, Error> {
        match self.dictionary.get(id, of, string) {
            Some(list) => self.dictionary.lists().has_all(list, posting),
            None => Ok(false),
        }
    }
}

/// Writes the dictionary of a merged run. `new_numbers` are the new numbers of each input's documents.
fn merge_dictionaries(
    folder: RunFolder<'_>,
    inputs: &[MergeInput],
    merged: &[MergedDoc],
    new_numbers: &[Vec<u32>],
) -> Result<FileSums, Error> {
    let mut dictionaries = Vec::new();
    for (MergeInput { run, .. }, new_numbers) in inputs.iter().zip(new_numbers) {
        dictionaries.push(DictionaryInput { dictionary: &run.dictionary, new_numbers });
    }
    let columns = dictionaries.iter().flat_map(|input| input.dictionary.columns());
    let columns: BTreeSet<(ColumnId, bool)> = columns.collect();
    let mut writer = DictionaryWriter::create(folder)?;
    for of_one_column in Vec::from_iter(columns).chunk_by(|a, b| a.0 == b.0) {
        let id = of_one_column[0].0;
        // An input without tokens was written when ranked search did not use the column, or the column did not exist.
        // Its documents are written again before ranked search uses the column, so tokens of only some documents are
        // useless.
        let has_tokens = of_one_column.iter().all(|(_, has_lengths)| *has_lengths);
        for of in StringsOf::ALL.into_iter().filter(|of| has_tokens || *of != StringsOf::Tokens) {
            writer.list(id, of, |sink| dictionary::merge(&dictionaries, id, of, sink))?;
        }
        if has_tokens {
            let step = |merged: &MergedDoc| dictionaries[merged.input()].dictionary.length_step(id, merged.doc);
            writer.lengths(id, &merged.iter().map(step).collect::<Vec<u8>>())?;
        }
    }
    writer.finish(merged.len() as u32)
}

/// Merges the orders of a column. An input that lacks the order, because its collation was a different one, is sorted.
fn merged_order(
    column: OrderedColumn,
    inputs: &[MergeInput],
    new_numbers: &[Vec<u32>],
    collation: &Collation,
    stop: Option<&StopSign>,
) -> Result<RunOrder, Error> {
    let is_stopped = || stop.is_some_and(StopSign::is_set);
    let interrupt = Interrupt::when(&is_stopped);
    let mut merged = Vec::new();
    for (MergeInput { run, .. }, new_numbers) in inputs.iter().zip(new_numbers) {
        let value = |document| run.value_without_folded(document, column.id);
        let orders = match run.order(column.id, column.kind, collation) {
            Some(orders) => orders,
            None => vec![Arc::new(RunOrder::sorted(column.kind, 0..run.len(), value, collation, &interrupt)?)],
        };
        let number =
            |document: u32| new_numbers.get(document as usize).copied().filter(|new| *new != dictionary::DROPPED);
        merged.extend(orders.into_iter().map(|order| OrderInput {
            groups: 0..order.groups(),
            order,
            number: Box::new(number),
            value: Box::new(value),
        }));
    }
    RunOrder::merge(column.kind, merged, collation, &interrupt)
}

/// The number of documents that are verified at once.
const VERIFIED_AT_ONCE: usize = 2_048;

/// Returns the length of `slots`. It fits, because there are at most 2^32 slots, and each document has its own.
pub(super) fn document_count(slots: usize) -> u32 {
    u32::try_from(slots).expect("invariant: each document has its own slot")
}
