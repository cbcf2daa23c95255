//! The orders of a run: for each column, the documents that have a value, in the order of their values. An order also
//! finds the documents with a value in a range. It does not know queries, or which documents are current.
//!
//! A disk run has its orders in the file `orders`, written when the run is built. When runs are merged, their orders
//! are merged, so a value is sorted only once. A memory run sorts the documents that were appended since an order was
//! last used.

pub(super) use file::{FILE, OrderFile, OrderedColumn, write};
pub(super) use in_memory::MemoryOrders;
pub(crate) use merge::{MergedOrder, OrderInput};
pub(crate) use order::{KeyKind, RunOrder};
pub(crate) use range::RankRange;

mod array;
mod file;
mod in_memory;
mod merge;
mod order;
mod range;
mod sort;
#[cfg(test)]
mod tests;
