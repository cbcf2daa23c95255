//! The column file of a disk run: the slot of every document and its values, column by column, read in place through a
//! memory map. It is the run's source of truth; the inverted index is derived from it.

pub(crate) use column::StoredColumn;
pub(crate) use file::ColumnFile;
pub(crate) use format::{Encoding, FILE};
pub(crate) use write::write;

mod bits;
mod column;
mod columnar;
mod file;
mod format;
mod stored_ordinals;
mod strings;
mod write;
