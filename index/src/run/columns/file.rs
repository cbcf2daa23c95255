//! Opens a column file and reads its values. It does not know posting lists or predicates, or which documents are
//! current.

use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use super::column::{StoredColumn, Values};
use super::columnar::{ColumnarArray, Element};
use super::format::{Encoding, MAGIC, NO_COLUMN, SectionKind};
use super::stored_ordinals::{self, StoredOrdinals};
use super::strings::{StoredDictionary, Strings, Texts};
use crate::bitmap::Bitmap;
use crate::run::checked::{CheckedBytes, CheckedFile};
use crate::run::sections::{SectionFile, array};
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// The bytes of the slots of 64 documents.
const BLOCK_BYTES: usize = 64 * 4;
/// In place of the first slot of a block whose slots are not consecutive.
const SCATTERED: u32 = u32::MAX;

/// An open column file.
pub(crate) struct ColumnFile {
    documents: u32,
    slots: CheckedBytes,
    /// The first slot of each block of 64 documents whose slots are consecutive, as after an import; [`SCATTERED`] for
    /// others. Computed on first use.
    firsts: OnceLock<Box<[u32]>>,
    /// The columns, ascending by id and encoding. An id has several encodings only if the column's kind changed between
    /// writes.
    columns: Vec<StoredColumn>,
}

impl ColumnFile {
    /// Reads the table of an open file. The error is the problem with the file.
    pub(crate) fn open(file: &Arc<CheckedFile>) -> Result<ColumnFile, String> {
        let sections = SectionFile::open(file, MAGIC)?;
        let documents = sections.documents;
        let reader = SectionReader { documents: documents as usize, sections };
        Ok(ColumnFile { documents, slots: reader.slots()?, firsts: OnceLock::new(), columns: reader.columns()? })
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> u32 {
        self.documents
    }

    /// Returns the slot of a document; 0 if the slot is damaged or does not exist, which is reported. A bitmap does not
    /// grow for slot 0, but would take 512 MiB for `u32::MAX`.
    pub(crate) fn slot(&self, document: u32) -> u32 {
        let start = document as usize * 4;
        match self.firsts().get(document as usize / 64) {
            // Reads much less memory than all slots take.
            Some(first) if *first != SCATTERED && document < self.documents => first + document % 64,
            _ => match self.slots.get(start..start + 4) {
                Some(bytes) => u32::from_le_bytes(array(bytes)),
                None => {
                    self.slots.report(&format!("document {document} has no slot that can be read"));
                    0
                }
            },
        }
    }

    /// Adds the slots of documents.
    pub(crate) fn add_slots(&self, documents: &Bitmap, slots: &mut Bitmap) {
        let (firsts, all) = (self.firsts(), self.slots.all());
        for ((of_block, first), &word) in all.chunks(BLOCK_BYTES).zip(firsts).zip(documents.words()) {
            if word != 0 && *first != SCATTERED {
                slots.insert_word(*first, word);
                continue;
            }
            let mut rest = word;
            while rest != 0 {
                let at = rest.trailing_zeros() as usize * 4;
                of_block.get(at..at + 4).into_iter().flat_map(slots_of).for_each(|slot| slots.insert(slot));
                rest &= rest - 1;
            }
        }
    }

    /// Returns the documents in these slots.
    pub(crate) fn documents_in(&self, slots: &Bitmap) -> Bitmap {
        let word = |(of_block, first): (&[u8], &u32)| match *first {
            SCATTERED => {
                (0..).zip(slots_of(of_block)).fold(0, |word, (bit, slot)| word | u64::from(slots.contains(slot)) << bit)
            }
            first => slots.word(first),
        };
        let words: Vec<u64> = self.slots.all().chunks(BLOCK_BYTES).zip(self.firsts()).map(word).collect();
        let mut documents = Bitmap::from(words);
        documents.truncate(self.documents);
        documents
    }

    fn firsts(&self) -> &[u32] {
        self.firsts.get_or_init(|| {
            let first = |of_block: &[u8]| {
                let first = slots_of(of_block).next()?;
                let is_consecutive =
                    (0..).zip(slots_of(of_block)).all(|(place, slot)| Some(slot) == first.checked_add(place));
                is_consecutive.then_some(first)
            };
            self.slots.all().chunks(BLOCK_BYTES).map(|of_block| first(of_block).unwrap_or(SCATTERED)).collect()
        })
    }

    /// Returns all columns, ascending by id and encoding.
    pub(crate) fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// Returns a column in each of its encodings; empty if no document has a value in it.
    pub(crate) fn column(&self, id: ColumnId) -> &[StoredColumn] {
        let start = self.columns.partition_point(|column| column.id < id);
        let end = self.columns.partition_point(|column| column.id <= id);
        &self.columns[start..end]
    }

    /// Returns the value of a document in a column.
    pub(crate) fn value(&self, document: u32, id: ColumnId) -> ValueRef<'_> {
        self.present(document, id).map_or(ValueRef::Null, |column| column.value(document))
    }

    /// Like [`ColumnFile::value`], but a text's folded form is left empty and not read.
    pub(crate) fn value_without_folded(&self, document: u32, id: ColumnId) -> ValueRef<'_> {
        self.present(document, id).map_or(ValueRef::Null, |column| column.value_without_folded(document))
    }

    /// Returns the dictionary with which the long texts of a column are compressed, in its stored form.
    pub(crate) fn dictionary(&self, id: ColumnId, encoding: Encoding) -> Option<&[u8]> {
        self.column(id).iter().find(|column| column.encoding == encoding)?.dictionary()
    }

    /// Returns whether the ordinals in the file match its texts and lists.
    pub(crate) fn has_ordinals_of_texts(&self) -> bool {
        self.columns.iter().all(|column| {
            let value = |document| match column.presence.contains(document) {
                true => column.value_without_folded(document),
                false => ValueRef::Null,
            };
            let expected = stored_ordinals::worth_storing(column.encoding, self.documents, value);
            expected == column.ordinals.as_ref().and_then(StoredOrdinals::read)
        })
    }

    fn present(&self, document: u32, id: ColumnId) -> Option<&StoredColumn> {
        self.column(id).iter().find(|column| column.presence.contains(document))
    }
}

/// Finds sections and checks their lengths. Errors are the problem with the file.
struct SectionReader {
    documents: usize,
    sections: SectionFile,
}

impl SectionReader {
    fn slots(&self) -> Result<CheckedBytes, String> {
        self.sized(NO_COLUMN, 0, SectionKind::Slots, self.documents * 4)
    }

    fn columns(&self) -> Result<Vec<StoredColumn>, String> {
        let mut columns: Vec<StoredColumn> = Vec::new();
        for section in self.sections.names().filter(|name| name.kind == SectionKind::Presence as u8) {
            let column = self.column(section.column, section.part)?;
            if columns.last().is_some_and(|last| (last.id, last.encoding) >= (column.id, column.encoding)) {
                return Err("the columns are not in ascending order".to_owned());
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn column(&self, id: ColumnId, encoding: u8) -> Result<StoredColumn, String> {
        let bits = |kind| Ok::<_, String>(Bits::new(self.sized(id, encoding, kind, Bits::bytes(self.documents))?));
        let hashes = || self.sized(id, encoding, SectionKind::Fixed, self.documents * 16);
        let strings = |offsets, bytes| self.strings(id, encoding, offsets, bytes);
        let raw = || strings(SectionKind::RawOffsets, SectionKind::Raw);
        let folded = || strings(SectionKind::FoldedOffsets, SectionKind::Folded);
        let dictionary =
            || Ok::<_, String>(self.section(id, encoding, SectionKind::Dictionary)?.map(StoredDictionary::new));
        let texts = || Ok::<_, String>(Texts { raw: raw()?, folded: folded()?, dictionary: dictionary()? });
        let (encoding, values) = match encoding {
            0 => (Encoding::Text, Values::Text(texts()?)),
            1 => (Encoding::Markup, Values::Markup { hashes: hashes()?, text: texts()? }),
            2 => (Encoding::Number, Values::Number(self.columnar(id, encoding, SectionKind::Fixed)?)),
            3 => (Encoding::Bool, Values::Bool(bits(SectionKind::Fixed)?)),
            4 => {
                let micros = self.columnar(id, encoding, SectionKind::Fixed)?;
                (Encoding::Instant, Values::Instant { micros, text: raw()? })
            }
            5 => (Encoding::List, Values::List { raw: raw()?, folded: folded()? }),
            other => return Err(format!("column {id} has the unknown encoding {other}")),
        };
        let ordinals = StoredOrdinals::open(|kind| self.section(id, encoding as u8, kind))?;
        Ok(StoredColumn { id, encoding, presence: bits(SectionKind::Presence)?, ordinals, values })
    }

    fn columnar<T: Element>(&self, id: ColumnId, encoding: u8, kind: SectionKind) -> Result<ColumnarArray<T>, String> {
        let bytes = self.section(id, encoding, kind)?;
        bytes.map(ColumnarArray::new).ok_or_else(|| format!("section {kind:?} of column {id} is missing"))
    }

    /// Reads strings. If all are empty, they have no sections.
    fn strings(&self, id: ColumnId, encoding: u8, offsets: SectionKind, bytes: SectionKind) -> Result<Strings, String> {
        let Some(bytes) = self.section(id, encoding, bytes)? else { return Ok(Strings::empty(&self.sections.file)) };
        let offsets =
            self.section(id, encoding, offsets)?.ok_or_else(|| format!("offsets of column {id} are missing"))?;
        Strings::new(offsets, bytes, self.documents)
            .ok_or_else(|| format!("offsets of column {id} do not match its strings"))
    }

    fn sized(&self, id: ColumnId, encoding: u8, kind: SectionKind, length: usize) -> Result<CheckedBytes, String> {
        let section = self.section(id, encoding, kind)?;
        let found = section.as_ref().map_or(0, |bytes| bytes.len());
        if found != length {
            return Err(format!("section {kind:?} of column {id} has {found} bytes, expected {length}"));
        }
        Ok(section.unwrap_or_else(|| CheckedBytes::empty(&self.sections.file)))
    }

    fn section(&self, id: ColumnId, encoding: u8, kind: SectionKind) -> Result<Option<CheckedBytes>, String> {
        self.sections.section(kind.of(id, encoding))
    }
}

/// Returns the slots that a part of the file has.
fn slots_of(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|slot| u32::from_le_bytes(array(slot)))
}
