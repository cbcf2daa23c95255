//! Items between a file and an import.

/// An item, or a broken row.
pub(crate) struct Item {
    /// The line in which the item begins, or its number in a JSON array; both from 1.
    pub(crate) place: u64,
    /// A line of NDJSON, or the reason why the row is broken.
    pub(crate) line: Result<Vec<u8>, String>,
    /// The original row of a table, which is written out if the item fails.
    pub(crate) row: Option<String>,
}

/// A receiver of items, until it returns false.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Item) -> bool;
