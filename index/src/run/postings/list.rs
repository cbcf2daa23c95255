//! The posting list, in memory and in a file.

/// Lists of at least so many documents are packed by Tantivy: as many as are in one of its blocks. It has nothing to pack in
/// shorter ones.
pub(super) const PACKED_FROM: u32 = 128;

/// The documents of a list, ascending, and how often each of them has what the list stands for. A list without counts has no
/// counts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) counts: &'a [u32],
}

/// Where a list is in its file, in bytes, and how many documents it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PostingList {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) documents: u32,
    pub(super) has_counts: bool,
}

impl PostingList {
    /// The number of documents it has; at least one.
    pub(crate) fn doc_count(&self) -> u32 {
        self.documents
    }
}
