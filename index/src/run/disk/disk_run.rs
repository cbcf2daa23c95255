//! Building, merging, opening and verifying a disk run. It knows no predicates, and not which documents are current.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::terms;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::files::{create_empty_folder, sync_folder};
use crate::run::columns::{self, ColumnFile, Encoding};
use crate::run::memory::Document;
use crate::run::segment::{Segment, SegmentInput};
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// An immutable run, memory-mapped. Its folder may be unlinked while it is open.
pub(crate) struct DiskRun {
    folder: PathBuf,
    pub(super) columns: ColumnFile,
    pub(super) segment: Segment,
}

impl std::fmt::Debug for DiskRun {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DiskRun({}, {} documents)", self.folder.display(), self.len())
    }
}

/// Ends the name of the temporary folder that [`DiskRun::verify`] writes beside the run's own.
pub(crate) const VERIFY_SUFFIX: &str = ".verify";

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
    input: usize,
    /// Its number in that input.
    doc: u32,
}

impl DiskRun {
    /// Writes the documents, in their order, as a run into `folder`, and replaces what is there. Durable on return,
    /// except for the entry of the folder in its parent.
    pub(crate) fn build(folder: &Path, documents: &[Arc<Document>]) -> Result<DiskRun, Error> {
        let slots: Vec<u32> = documents.iter().map(|document| document.slot).collect();
        let encodings = |document: &Document| {
            document.values().filter_map(|(id, value)| Some((id, Encoding::of(&value)?))).collect::<Vec<_>>()
        };
        let columns: BTreeSet<(ColumnId, Encoding)> =
            documents.iter().flat_map(|document| encodings(document)).collect();
        let columns: Vec<_> = columns.into_iter().collect();

        create_empty_folder(folder)?;
        columns::write(folder, &slots, &columns, &|document, id| documents[document].value(id))?;
        Segment::write(folder, document_count(&slots), |writer| {
            for of_one_column in columns.chunk_by(|a, b| a.0 == b.0) {
                let id = of_one_column[0].0;
                let values = (0..).zip(documents).map(|(number, document)| (number, document.value(id)));
                terms::write(writer, id, values)?;
            }
            Ok(())
        })?;
        sync_folder(folder)?;
        DiskRun::open(folder)
    }

    /// Opens the run in `folder`. Does not check its contents: see [`DiskRun::verify`].
    pub(crate) fn open(folder: &Path) -> Result<DiskRun, Error> {
        let columns = ColumnFile::open(folder)?;
        let segment = Segment::open(folder, columns.len())?;
        Ok(DiskRun { folder: folder.to_owned(), columns, segment })
    }

    /// Writes the live documents of the inputs, in the order of the inputs, as a run into `folder`, and replaces what
    /// is there. Durable on return, except for the entry of the folder in its parent.
    pub(crate) fn merge(folder: &Path, inputs: &[MergeInput]) -> Result<DiskRun, Error> {
        let mut merged: Vec<MergedDoc> = Vec::new();
        let mut segments: Vec<SegmentInput<'_>> = Vec::new();
        for (input, MergeInput { run, live_docs }) in inputs.iter().enumerate() {
            let new_number = |doc: u32| {
                live_docs.contains(doc).then(|| {
                    merged.push(MergedDoc { input, doc });
                    merged.len() as u32 - 1
                })
            };
            segments
                .push(SegmentInput { segment: &run.segment, new_numbers: (0..run.len()).map(new_number).collect() });
        }
        let slots: Vec<u32> = merged.iter().map(|&MergedDoc { input, doc }| inputs[input].run.slot(doc)).collect();
        let encodings =
            |run: &DiskRun| run.columns.columns().iter().map(|column| (column.id, column.encoding)).collect::<Vec<_>>();
        let columns: BTreeSet<(ColumnId, Encoding)> = inputs.iter().flat_map(|input| encodings(&input.run)).collect();

        create_empty_folder(folder)?;
        columns::write(folder, &slots, &Vec::from_iter(columns), &|index, id| {
            let MergedDoc { input, doc } = merged[index];
            inputs[input].run.value(doc, id)
        })?;
        Segment::merge(folder, document_count(&slots), &segments)?;
        sync_folder(folder)?;
        DiskRun::open(folder)
    }

    /// How many documents it has.
    pub(crate) fn len(&self) -> u32 {
        self.columns.len()
    }

    /// The size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.columns.bytes() + self.segment.bytes()
    }

    /// The slot of a document.
    pub(crate) fn slot(&self, document: u32) -> u32 {
        self.columns.slot(document)
    }

    /// The value of a document; null if the run lacks the column.
    pub(crate) fn value(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.value(document, column)
    }

    /// Like [`DiskRun::value`], but a text's folded form is left empty and not read.
    pub(crate) fn value_without_folded(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.value_without_folded(document, column)
    }

    /// Checks every checksum, and that the inverted index matches the columns: rebuilds it beside this run and
    /// compares.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.columns.verify()?;
        self.segment.verify()?;
        let mut folder = self.folder.clone().into_os_string();
        folder.push(VERIFY_SUFFIX);
        let folder = PathBuf::from(folder);
        create_empty_folder(&folder)?;
        Segment::write(&folder, self.len(), |writer| {
            for of_one_column in self.columns.columns().chunk_by(|a, b| a.id == b.id) {
                let id = of_one_column[0].id;
                terms::write(writer, id, (0..self.len()).map(|document| (document, self.value(document, id))))?;
            }
            Ok(())
        })?;
        let is_same = Segment::open(&folder, self.len())?.is_same(&self.segment)?;
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
        if is_same {
            Ok(())
        } else {
            Err(Error::corrupt(&self.folder, "the inverted index does not match the columns"))
        }
    }
}

/// The length of `slots`, which fits: there are at most 2^32 slots, and each document has its own.
fn document_count(slots: &[u32]) -> u32 {
    u32::try_from(slots.len()).expect("invariant: each document has its own slot")
}
