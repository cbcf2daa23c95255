//! The column file of a run: the slot of every document and its values, column by column, read in place from the map.
//! The truth of a run; knows nothing of postings, of predicates or of which documents are alive.
//!
//! A file is a magic number, sections, a table of the sections and a trailer of fixed size. Integers are little-endian.
//! A section belongs to a column and holds one [`Part`] of it. Strings are a section of bytes and one of offsets, of 4
//! or 8 bytes each as need be.

use std::path::{Path, PathBuf};

use tantivy::HasLen;
use tantivy::directory::{Directory, MmapDirectory, OwnedBytes};

use crate::error::Error;
use crate::schema::ColumnId;
use crate::value::{ListRef, ValueRef};

pub(crate) use bits::Bits;
use strings::{Strings, Texts};
pub(crate) use write::write;

mod bits;
mod strings;
mod write;

/// What a column's values are stored as. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Form {
    Text = 0,
    Markup = 1,
    Number = 2,
    Bool = 3,
    Instant = 4,
    List = 5,
}

impl Form {
    /// `None` for null.
    pub(crate) fn of(value: &ValueRef<'_>) -> Option<Form> {
        Some(match value {
            ValueRef::Null => return None,
            ValueRef::Text(_) => Form::Text,
            ValueRef::Markup { .. } => Form::Markup,
            ValueRef::Number(_) => Form::Number,
            ValueRef::Bool(_) => Form::Bool,
            ValueRef::Instant { .. } => Form::Instant,
            ValueRef::List(_) => Form::List,
        })
    }
}

/// An open column file.
pub(crate) struct Columns {
    path: PathBuf,
    documents: u32,
    file: OwnedBytes,
    table: Vec<Section>,
    slots: OwnedBytes,
    /// Ascending by id and form. An id has more than one form only if its kind was changed under way.
    columns: Vec<Column>,
}

/// One column in one form.
pub(crate) struct Column {
    pub(crate) id: ColumnId,
    pub(crate) form: Form,
    /// Which documents have a value of this form.
    pub(crate) presence: Bits,
    data: Data,
}

enum Data {
    Text(Texts),
    Markup { hashes: OwnedBytes, text: Texts },
    Number(OwnedBytes),
    Bool(Bits),
    Instant { micros: OwnedBytes, text: Strings },
    List { raw: Strings, folded: Strings },
}

/// What a section holds of its column. Part of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    /// Of no column: a u32 per document.
    Slots = 0,
    /// A bit per document, in words of 64.
    Presence = 1,
    /// Per document 8 bytes (numbers, microseconds), 16 (hashes), or a bit in words of 64 (booleans).
    Fixed = 2,
    /// The first 256 code points of a text, the text of an instant, or the elements of a list.
    HeadOffsets = 3,
    Heads = 4,
    /// The whole of a text that is longer; see [`Texts`].
    FullOffsets = 5,
    Fulls = 6,
    /// The folded text or elements; see [`Texts`].
    FoldedOffsets = 7,
    Folded = 8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Section {
    column: ColumnId,
    form: u8,
    part: u8,
    offset: u64,
    length: u64,
    crc: u32,
}

/// The column's number of the section of slots.
const NO_COLUMN: ColumnId = u32::MAX;
const MAGIC: [u8; 8] = *b"bndcol01";
const SECTION_BYTES: usize = 26;
const TRAILER_BYTES: usize = 28;
/// The file's name in the folder of its run.
const FILE: &str = "columns";

impl Columns {
    /// Opens the file in `folder` and checks its table and lengths; its contents are left to [`Columns::verify`].
    pub(crate) fn open(folder: &Path) -> Result<Columns, Error> {
        let path = folder.join(FILE);
        let file = map(folder).map_err(|what| Error::corrupt(&path, what))?;
        let (documents, table) = read_table(&file).map_err(|what| Error::corrupt(&path, what))?;
        let opening = Opening { file: &file, documents: documents as usize, table: &table };
        let slots = opening.slots().map_err(|what| Error::corrupt(&path, what))?;
        let columns = opening.columns().map_err(|what| Error::corrupt(&path, what))?;
        Ok(Columns { path, documents, slots, columns, file, table })
    }

    /// How many documents there are.
    pub(crate) fn len(&self) -> u32 {
        self.documents
    }

    /// Size on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.len() as u64
    }

    /// The slot of a document.
    pub(crate) fn slot(&self, document: u32) -> u32 {
        self.slots.get(document as usize * 4..).map_or(u32::MAX, |bytes| u32::from_le_bytes(array(bytes)))
    }

    /// All columns.
    pub(crate) fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The forms in which a column is stored; none if this run has no value of it.
    pub(crate) fn of(&self, id: ColumnId) -> &[Column] {
        let start = self.columns.partition_point(|column| column.id < id);
        let end = self.columns.partition_point(|column| column.id <= id);
        &self.columns[start..end]
    }

    /// The value of a document in a column.
    pub(crate) fn value(&self, document: u32, id: ColumnId) -> ValueRef<'_> {
        self.present(document, id).map_or(ValueRef::Null, |column| column.value(document))
    }

    /// The same with nothing for folded text.
    pub(crate) fn unfolded(&self, document: u32, id: ColumnId) -> ValueRef<'_> {
        self.present(document, id).map_or(ValueRef::Null, |column| column.unfolded(document))
    }

    /// Checks every checksum.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        for section in &self.table {
            let bytes = &self.file[section.offset as usize..][..section.length as usize];
            if crc32fast::hash(bytes) != section.crc {
                return Err(Error::corrupt(
                    &self.path,
                    format!("part {} of column {} has another checksum", section.part, section.column),
                ));
            }
        }
        Ok(())
    }

    fn present(&self, document: u32, id: ColumnId) -> Option<&Column> {
        self.of(id).iter().find(|column| column.presence.has(document))
    }
}

impl Column {
    /// The value of a document that is present in this form.
    pub(crate) fn value(&self, document: u32) -> ValueRef<'_> {
        let fixed = |bytes: &OwnedBytes| bytes.get(document as usize * 8..).map_or([0; 8], array);
        match &self.data {
            Data::Text(texts) => ValueRef::Text(texts.get(document)),
            Data::Markup { text, .. } => ValueRef::Markup { exact: self.hash(document), text: text.get(document) },
            Data::Number(numbers) => ValueRef::Number(f64::from_le_bytes(fixed(numbers))),
            Data::Bool(bits) => ValueRef::Bool(bits.has(document)),
            Data::Instant { micros, text } => {
                ValueRef::Instant { micros: i64::from_le_bytes(fixed(micros)), text: text.str(document) }
            }
            Data::List { raw, folded } => {
                let raw = raw.get(document);
                let folded = folded.get(document);
                ValueRef::List(ListRef { raw, folded: if folded.is_empty() { raw } else { folded } })
            }
        }
    }

    /// The same with nothing for folded text, which need not be read then.
    pub(crate) fn unfolded(&self, document: u32) -> ValueRef<'_> {
        match &self.data {
            Data::Text(texts) => ValueRef::Text(texts.unfolded(document)),
            Data::Markup { text, .. } => ValueRef::Markup { exact: self.hash(document), text: text.unfolded(document) },
            _ => self.value(document),
        }
    }

    /// The folded text of a document, or the folded elements of a list, without looking at anything else; `None` where
    /// nothing folded is kept.
    pub(crate) fn folded(&self, document: u32) -> Option<&[u8]> {
        match &self.data {
            Data::Text(texts) | Data::Markup { text: texts, .. } => Some(texts.folded(document)),
            Data::List { .. } => match self.value(document) {
                ValueRef::List(list) => Some(list.folded),
                _ => None,
            },
            Data::Number(_) | Data::Bool(_) | Data::Instant { .. } => None,
        }
    }

    /// All numbers, also of documents without one; `None` if this is no column of numbers.
    pub(crate) fn numbers(&self) -> Option<impl Iterator<Item = f64> + '_> {
        let Data::Number(numbers) = &self.data else { return None };
        Some(numbers.chunks_exact(8).map(|bytes| f64::from_le_bytes(array(bytes))))
    }

    /// All instants in microseconds, also of documents without one; `None` if this is no column of instants.
    pub(crate) fn micros(&self) -> Option<impl Iterator<Item = i64> + '_> {
        let Data::Instant { micros, .. } = &self.data else { return None };
        Some(micros.chunks_exact(8).map(|bytes| i64::from_le_bytes(array(bytes))))
    }

    fn hash(&self, document: u32) -> [u8; 16] {
        match &self.data {
            Data::Markup { hashes, .. } => hashes.get(document as usize * 16..).map_or([0; 16], array),
            _ => [0; 16],
        }
    }
}

/// What is needed to find sections. Faults are told as what is wrong.
struct Opening<'a> {
    file: &'a OwnedBytes,
    documents: usize,
    table: &'a [Section],
}

impl Opening<'_> {
    fn slots(&self) -> Result<OwnedBytes, String> {
        self.sized(NO_COLUMN, 0, Part::Slots, self.documents * 4)
    }

    fn columns(&self) -> Result<Vec<Column>, String> {
        let mut columns: Vec<Column> = Vec::new();
        for section in self.table.iter().filter(|section| section.part == Part::Presence as u8) {
            let column = self.column(section.column, section.form)?;
            if columns.last().is_some_and(|last| (last.id, last.form) >= (column.id, column.form)) {
                return Err("its columns are not in order".to_owned());
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn column(&self, id: ColumnId, form: u8) -> Result<Column, String> {
        let bits = |part| Ok::<_, String>(Bits::new(self.sized(id, form, part, Bits::bytes(self.documents))?));
        let fixed = |width: usize| self.sized(id, form, Part::Fixed, self.documents * width);
        let strings = |offsets, bytes| self.strings(id, form, offsets, bytes);
        let texts = || {
            Ok::<_, String>(Texts {
                heads: strings(Part::HeadOffsets, Part::Heads)?,
                fulls: strings(Part::FullOffsets, Part::Fulls)?,
                folded: strings(Part::FoldedOffsets, Part::Folded)?,
            })
        };
        let (form, data) = match form {
            0 => (Form::Text, Data::Text(texts()?)),
            1 => (Form::Markup, Data::Markup { hashes: fixed(16)?, text: texts()? }),
            2 => (Form::Number, Data::Number(fixed(8)?)),
            3 => (Form::Bool, Data::Bool(bits(Part::Fixed)?)),
            4 => {
                let text = strings(Part::HeadOffsets, Part::Heads)?;
                (Form::Instant, Data::Instant { micros: fixed(8)?, text })
            }
            5 => {
                let raw = strings(Part::HeadOffsets, Part::Heads)?;
                (Form::List, Data::List { raw, folded: strings(Part::FoldedOffsets, Part::Folded)? })
            }
            other => return Err(format!("column {id} has the unknown form {other}")),
        };
        Ok(Column { id, form, presence: bits(Part::Presence)?, data })
    }

    /// Strings of which none is there are not stored at all.
    fn strings(&self, id: ColumnId, form: u8, offsets: Part, bytes: Part) -> Result<Strings, String> {
        let Some(bytes) = self.section(id, form, bytes)? else { return Ok(Strings::none()) };
        let offsets = self.section(id, form, offsets)?.ok_or_else(|| format!("offsets of column {id} are missing"))?;
        Strings::new(offsets, bytes, self.documents).ok_or_else(|| format!("offsets of column {id} do not fit"))
    }

    fn sized(&self, id: ColumnId, form: u8, part: Part, length: usize) -> Result<OwnedBytes, String> {
        let section = self.section(id, form, part)?;
        let found = section.as_ref().map_or(0, |bytes| bytes.len());
        if found != length {
            return Err(format!("part {part:?} of column {id} has {found} bytes instead of {length}"));
        }
        Ok(section.unwrap_or_else(OwnedBytes::empty))
    }

    fn section(&self, id: ColumnId, form: u8, part: Part) -> Result<Option<OwnedBytes>, String> {
        let is = |section: &&Section| (section.column, section.form, section.part) == (id, form, part as u8);
        let Some(section) = self.table.iter().find(is) else { return Ok(None) };
        let (start, end) = (section.offset, section.offset.checked_add(section.length));
        match end {
            Some(end) if end <= self.file.len() as u64 => Ok(Some(self.file.slice(start as usize..end as usize))),
            _ => Err(format!("part {part:?} of column {id} lies outside of the file")),
        }
    }
}

/// The map stays valid after the file is unlinked.
fn map(folder: &Path) -> Result<OwnedBytes, String> {
    let directory = MmapDirectory::open(folder).map_err(|error| error.to_string())?;
    let file = directory.open_read(Path::new(FILE)).map_err(|error| error.to_string())?;
    if file.len() < MAGIC.len() + TRAILER_BYTES {
        return Err("it is cut short".to_owned());
    }
    file.read_bytes().map_err(|error| error.to_string())
}

/// The number of documents and the table. The trailer is: documents, number of sections (u32 each), offset of the table
/// (u64), checksum of the table and of the trailer so far, magic number.
fn read_table(file: &[u8]) -> Result<(u32, Vec<Section>), String> {
    let trailer_at = file.len() - TRAILER_BYTES;
    let trailer = &file[trailer_at..];
    if file[..8] != MAGIC || trailer[20..] != MAGIC {
        return Err("it is no column file of this version, or cut short".to_owned());
    }
    let documents = u32::from_le_bytes(array(trailer));
    let sections = u32::from_le_bytes(array(&trailer[4..])) as usize;
    let start = usize::try_from(u64::from_le_bytes(array(&trailer[8..]))).unwrap_or(usize::MAX);
    if trailer_at.checked_sub(start) != sections.checked_mul(SECTION_BYTES) {
        return Err("its table lies elsewhere".to_owned());
    }
    if crc32fast::hash(&file[start..trailer_at + 16]) != u32::from_le_bytes(array(&trailer[16..])) {
        return Err("its table has another checksum".to_owned());
    }
    Ok((documents, file[start..trailer_at].chunks_exact(SECTION_BYTES).map(Section::read).collect()))
}

impl Section {
    fn read(bytes: &[u8]) -> Section {
        Section {
            column: u32::from_le_bytes(array(bytes)),
            form: bytes[4],
            part: bytes[5],
            offset: u64::from_le_bytes(array(&bytes[6..])),
            length: u64::from_le_bytes(array(&bytes[14..])),
            crc: u32::from_le_bytes(array(&bytes[22..])),
        }
    }

    fn write(&self) -> [u8; SECTION_BYTES] {
        let mut bytes = [0; SECTION_BYTES];
        bytes[..4].copy_from_slice(&self.column.to_le_bytes());
        bytes[4] = self.form;
        bytes[5] = self.part;
        bytes[6..14].copy_from_slice(&self.offset.to_le_bytes());
        bytes[14..22].copy_from_slice(&self.length.to_le_bytes());
        bytes[22..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }
}

/// The beginning of `bytes`; zeros if it is too short.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
