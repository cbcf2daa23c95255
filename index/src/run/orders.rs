//! The orders of a run: for each column, the documents that have a value, in the order of their values. An order also
//! answers which documents have a value in a range. It knows no queries, and not which documents are current.
//!
//! A run on disk has its orders in the file `orders`, written when the run is built. When runs are merged, their orders are
//! merged, so a value is sorted once in its life. A run in memory sorts what was appended since an order was last asked for.

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
