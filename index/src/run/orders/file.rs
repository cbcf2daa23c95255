//! The file with the orders of a disk run, written and read in place. It does not know how orders are made.
//!
//! For the order of a column, sections hold its documents (u32 each), the starts of its groups (u32 each), and the keys
//! of its groups (u64 or u128 each). Another section holds the name of the collation.

use std::io;
use std::sync::Arc;

use super::array::{Array, Element};
use super::merge::compare_texts;
use super::order::{KeyKind, Keys, OrderBuilder, RunOrder};
use crate::bitmap::Bitmap;
use crate::collate::{Collation, is_whole};
use crate::error::Error;
use crate::run::checked::CheckedFile;
use crate::run::columns::{ColumnFile, Encoding};
use crate::run::sections::{SectionFile, SectionName, SectionWriter};
use crate::run::sums::{FileSums, RunFolder};
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// The name of the file in the folder of its run.
pub(crate) const FILE: &str = "orders";
const MAGIC: [u8; 8] = *b"bndord01";

/// The kind of a section. Part of the file format.
#[derive(Clone, Copy)]
#[repr(u8)]
enum SectionKind {
    Documents = 0,
    Starts = 1,
    Keys = 2,
    /// Belongs to no column.
    Collation = 3,
}

/// The column number in the section of the collation's name.
const NO_COLUMN: ColumnId = u32::MAX;

/// The orders of a run.
pub(crate) struct OrderFile {
    collation: String,
    columns: Vec<(ColumnId, Arc<RunOrder>)>,
}

/// A column that a run can have an order of.
#[derive(Clone, Copy)]
pub(crate) struct OrderedColumn {
    pub(crate) id: ColumnId,
    pub(crate) kind: KeyKind,
}

impl OrderedColumn {
    /// Returns the columns with only one encoding. A column has several if its kind changed between writes. Then its
    /// sort keys depend on the query.
    pub(crate) fn all(columns: &[(ColumnId, Encoding)]) -> impl Iterator<Item = OrderedColumn> {
        columns.chunk_by(|a, b| a.0 == b.0).filter_map(|of_one_column| match of_one_column {
            &[(id, encoding)] => Some(OrderedColumn { id, kind: KeyKind::of(encoding) }),
            _ => None,
        })
    }
}

impl KeyKind {
    fn of(encoding: Encoding) -> KeyKind {
        match encoding {
            Encoding::Number | Encoding::Bool | Encoding::Instant => KeyKind::Rank,
            Encoding::Text | Encoding::Markup | Encoding::List => KeyKind::Text,
        }
    }
}

/// Writes the orders that `order` returns into `folder`. The file is synced on return; the folder is not. Returns the
/// file's checksums.
pub(crate) fn write(
    folder: RunFolder<'_>,
    documents: u32,
    columns: impl Iterator<Item = OrderedColumn>,
    collation: &Collation,
    order: &mut dyn FnMut(OrderedColumn) -> Result<RunOrder, Error>,
) -> Result<FileSums, Error> {
    let path = folder.path.join(FILE);
    let write = || {
        let mut file = SectionWriter::create(folder, FILE, "run::orders", MAGIC)?;
        let name = SectionName { column: NO_COLUMN, part: 0, kind: SectionKind::Collation as u8 };
        file.section(name, |out| out.put(collation.name().as_bytes()))?;
        for column in columns {
            match order(column) {
                Ok(order) => write_order(&mut file, column.id, &order)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        file.finish(documents).map(Ok)
    };
    write().map_err(Error::io(&path))?
}

fn write_order(file: &mut SectionWriter, column: ColumnId, order: &RunOrder) -> io::Result<()> {
    let name = |kind: SectionKind| SectionName { column, part: order.kind as u8, kind: kind as u8 };
    file.section(name(SectionKind::Documents), |out| {
        order.documents.iter().try_for_each(|document| out.put(&document.to_le_bytes()))
    })?;
    file.section(name(SectionKind::Starts), |out| {
        order.starts.iter().try_for_each(|start| out.put(&start.to_le_bytes()))
    })?;
    file.section(name(SectionKind::Keys), |out| match &order.keys {
        Keys::Ranks(ranks) => ranks.iter().try_for_each(|rank| out.put(&rank.to_le_bytes())),
        Keys::Prefixes(prefixes) => prefixes.iter().try_for_each(|prefix| out.put(&prefix.to_le_bytes())),
    })
}

impl OrderFile {
    /// Reads the table of an open file. The error is the problem with the file.
    pub(crate) fn open(file: &Arc<CheckedFile>) -> Result<OrderFile, String> {
        let sections = SectionFile::open(file, MAGIC)?;
        let name = SectionName { column: NO_COLUMN, part: 0, kind: SectionKind::Collation as u8 };
        let name = sections.section(name)?.ok_or("the name of the collation is missing")?;
        let collation = name.text(name.all()).to_owned();
        let mut columns = Vec::new();
        for name in sections.names().filter(|name| name.kind == SectionKind::Documents as u8) {
            columns.push((name.column, Arc::new(read_order(&sections, name)?)));
        }
        Ok(OrderFile { collation, columns })
    }

    /// Returns the order of a column, if the file has it by this collation.
    pub(crate) fn get(&self, column: ColumnId, kind: KeyKind, collation: &Collation) -> Option<&Arc<RunOrder>> {
        let (_, order) = self.columns.iter().find(|(id, order)| *id == column && order.kind == kind)?;
        (kind == KeyKind::Rank || self.collation == collation.name()).then_some(order)
    }

    /// Returns the order of a column by [`ValueRef::rank`]. `None` if it has no such values, or values of several
    /// encodings.
    pub(crate) fn ranks(&self, column: ColumnId) -> Option<&RunOrder> {
        let (_, order) = self.columns.iter().find(|(id, order)| *id == column && order.kind == KeyKind::Rank)?;
        Some(order)
    }

    /// Returns whether the orders match the columns.
    pub(crate) fn is_of(&self, file: &ColumnFile) -> bool {
        let collation = Collation::of(Some(&self.collation));
        let encodings: Vec<_> = file.columns().iter().map(|column| (column.id, column.encoding)).collect();
        let ordered: Vec<OrderedColumn> = OrderedColumn::all(&encodings).collect();
        let is_known = |id: ColumnId| ordered.iter().any(|column| column.id == id);
        self.columns.iter().all(|(id, _)| is_known(*id))
            && ordered.iter().all(|column| {
                let order = self.columns.iter().find(|(id, _)| *id == column.id).map(|(_, order)| order);
                // Sections without bytes are left out, so no document has a value.
                let order = order.map_or_else(|| Arc::new(OrderBuilder::new(column.kind).finish()), Arc::clone);
                let value = |document| file.value_without_folded(document, column.id);
                order.kind == column.kind && order.is_of(file.len(), value, &collation)
            })
    }
}

fn read_order(sections: &SectionFile, name: SectionName) -> Result<RunOrder, String> {
    let section = |kind: SectionKind| sections.section(SectionName { kind: kind as u8, ..name });
    let documents = stored(section(SectionKind::Documents)?);
    let starts: Array<u32> = stored(section(SectionKind::Starts)?);
    let (kind, keys) = match name.part {
        0 => (KeyKind::Rank, Keys::Ranks(stored(section(SectionKind::Keys)?))),
        1 => (KeyKind::Text, Keys::Prefixes(stored(section(SectionKind::Keys)?))),
        other => return Err(format!("the order of column {} has the unknown kind {other}", name.column)),
    };
    let order = RunOrder { kind, documents, starts, keys };
    let expected = if order.starts.len() == 0 { order.documents.len() } else { order.starts.len() };
    match order.groups() == expected && expected <= order.documents.len() {
        true => Ok(order),
        false => Err(format!("the sections of the order of column {} do not match", name.column)),
    }
}

fn stored<T: Element>(bytes: Option<crate::run::checked::CheckedBytes>) -> Array<T> {
    bytes.map_or(Array::default(), Array::Stored)
}

impl RunOrder {
    /// Tests whether the order matches these values.
    fn is_of<'a>(&self, documents: u32, value: impl Fn(u32) -> ValueRef<'a>, collation: &Collation) -> bool {
        let key = |document: u32| match self.kind {
            KeyKind::Rank => value(document).rank().map(u128::from),
            KeyKind::Text => value(document).sort_text().map(|text| collation.prefix(&text)),
        };
        let compare = |key: u128, left: u32, right: u32| match self.kind {
            KeyKind::Text if !is_whole(key) => compare_texts(collation, value(left), value(right)),
            _ => std::cmp::Ordering::Equal,
        };
        let mut found = Bitmap::default();
        let mut last: Option<(u128, u32)> = None;
        for group in 0..self.groups() {
            let (of_group, range) = (self.key(group), self.group(group));
            let first = self.document(range.start);
            let ascends = last.is_none_or(|(last_key, last)| {
                last_key < of_group || (last_key == of_group && compare(of_group, last, first).is_lt())
            });
            let mut members = range.map(|index| self.document(index));
            let is_group = members.all(|member| {
                let is_new = !found.contains(member);
                found.insert(member);
                is_new
                    && member < documents
                    && key(member) == Some(of_group)
                    && compare(of_group, first, member).is_eq()
            });
            if !ascends || !is_group {
                return false;
            }
            last = Some((of_group, first));
        }
        found.count() == (0..documents).filter(|&document| key(document).is_some()).count()
    }
}
