//! A run on disk: a folder with a column file, which is the truth, and an inverted file, which is how a large run is
//! asked. Knows no liveness: a document that is dead is answered like any other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::columns::{self, Columns, Form};
use crate::error::Error;
use crate::memory::Document;
use crate::schema::ColumnId;
use crate::segment::Segment;
use crate::value::ValueRef;

mod evaluate;
mod grams;
mod terms;
#[cfg(test)]
mod tests;

/// An immutable run, mapped. Its folder may be unlinked while it is open.
pub(crate) struct DiskRun {
    folder: PathBuf,
    columns: Columns,
    segment: Segment,
}

impl std::fmt::Debug for DiskRun {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DiskRun({}, {} documents)", self.folder.display(), self.len())
    }
}

/// What the name of a folder ends in that a run is compared with; it is of use as long as the run is.
pub(crate) const VERIFYING: &str = ".verify";

/// A run that goes into a merger, and which of its documents do.
pub(crate) type Input = (Arc<DiskRun>, Arc<Bitmap>);

impl DiskRun {
    /// Writes the documents, in their order, as a run into `folder`, which is made anew; durable on return but for the
    /// entry of the folder itself.
    pub(crate) fn build(folder: &Path, documents: &[Arc<Document>]) -> Result<DiskRun, Error> {
        let slots: Vec<u32> = documents.iter().map(|document| document.slot).collect();
        let forms = |document: &Document| {
            document.values().filter_map(|(id, value)| Some((id, Form::of(&value)?))).collect::<Vec<_>>()
        };
        let columns: BTreeSet<(ColumnId, Form)> = documents.iter().flat_map(|document| forms(document)).collect();
        let columns: Vec<_> = columns.into_iter().collect();

        create(folder)?;
        columns::write(folder, &slots, &columns, &|document, id| documents[document].value(id))?;
        Segment::write(folder, count(&slots), |writer| {
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

    /// Opens the run in `folder`. Its contents are left to [`DiskRun::verify`].
    pub(crate) fn open(folder: &Path) -> Result<DiskRun, Error> {
        let columns = Columns::open(folder)?;
        let segment = Segment::open(folder, columns.len())?;
        Ok(DiskRun { folder: folder.to_owned(), columns, segment })
    }

    /// Writes the documents of the inputs that are marked, in the order of the inputs, as a run into `folder`, which is
    /// made anew; durable on return but for the entry of the folder itself.
    pub(crate) fn merge(folder: &Path, inputs: &[Input]) -> Result<DiskRun, Error> {
        let mut rows: Vec<(usize, u32)> = Vec::new();
        let mut numbers: Vec<(&Segment, Vec<Option<u32>>)> = Vec::new();
        for (place, (run, kept)) in inputs.iter().enumerate() {
            let number = |old: u32| {
                kept.contains(old).then(|| {
                    rows.push((place, old));
                    rows.len() as u32 - 1
                })
            };
            numbers.push((&run.segment, (0..run.len()).map(number).collect()));
        }
        let slots: Vec<u32> = rows.iter().map(|&(place, old)| inputs[place].0.slot(old)).collect();
        let forms = |run: &DiskRun| run.columns.all().iter().map(|column| (column.id, column.form)).collect::<Vec<_>>();
        let columns: BTreeSet<(ColumnId, Form)> = inputs.iter().flat_map(|(run, _)| forms(run)).collect();

        create(folder)?;
        columns::write(folder, &slots, &Vec::from_iter(columns), &|row, id| {
            let (place, old) = rows[row];
            inputs[place].0.value(old, id)
        })?;
        Segment::merge(folder, count(&slots), &numbers)?;
        sync_folder(folder)?;
        DiskRun::open(folder)
    }

    /// How many documents it has.
    pub(crate) fn len(&self) -> u32 {
        self.columns.len()
    }

    /// Size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.columns.bytes() + self.segment.bytes()
    }

    /// The slot of a document.
    pub(crate) fn slot(&self, document: u32) -> u32 {
        self.columns.slot(document)
    }

    /// The value of a document; null if the run has no such column.
    pub(crate) fn value(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.value(document, column)
    }

    /// The same with nothing for folded text, which need not be read then.
    pub(crate) fn unfolded(&self, document: u32, column: ColumnId) -> ValueRef<'_> {
        self.columns.unfolded(document, column)
    }

    /// Checks every checksum, and that the inverted file says what the columns hold: it is made again beside this run
    /// and compared.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.columns.verify()?;
        self.segment.verify()?;
        let mut folder = self.folder.clone().into_os_string();
        folder.push(VERIFYING);
        let folder = PathBuf::from(folder);
        create(&folder)?;
        Segment::write(&folder, self.len(), |writer| {
            for of_one_column in self.columns.all().chunk_by(|a, b| a.id == b.id) {
                let id = of_one_column[0].id;
                terms::write(writer, id, (0..self.len()).map(|document| (document, self.value(document, id))))?;
            }
            Ok(())
        })?;
        let is_same = Segment::open(&folder, self.len())?.is_same(&self.segment)?;
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
        if is_same { Ok(()) } else { Err(Error::corrupt(&self.folder, "its terms are not those of its columns")) }
    }
}

/// Makes what was put into a folder durable, and what was renamed or unlinked there.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))
}

/// What an interrupted attempt left there goes.
fn create(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(folder)(error)),
        _ => {}
    }
    fs::create_dir_all(folder).map_err(Error::io(folder))
}

/// Runs are made of far fewer documents than there are slots.
fn count(slots: &[u32]) -> u32 {
    u32::try_from(slots.len()).expect("invariant: a document has a slot of its own")
}
