//! Items on their way from a file to an import.

/// An item, or a row that is none.
pub(in crate::cli) struct Item {
    /// The line that the item begins in, or its number in a JSON array; both from 1.
    pub(in crate::cli) place: u64,
    /// A line of NDJSON, or why the row is broken.
    pub(in crate::cli) line: Result<Vec<u8>, String>,
    /// The row of a table as it was, to write it out if it fails.
    pub(in crate::cli) row: Option<String>,
}

/// Passes on items until it returns false.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Item) -> bool;
