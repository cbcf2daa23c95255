//! Items on their way from a file to an import.

/// An item, or a row that is none.
pub(crate) struct Item {
    /// The line that the item begins in, or its number in a JSON array; both from 1.
    pub(crate) place: u64,
    /// A line of NDJSON, or why the row is broken.
    pub(crate) line: Result<Vec<u8>, String>,
    /// The row of a table as it was, to write it out if it fails.
    pub(crate) row: Option<String>,
}

/// Passes on items until it returns false.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Item) -> bool;
