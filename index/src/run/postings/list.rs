//! A posting list, in memory and in a file.

/// The number of documents from which Tantivy packs a list: the size of one of its blocks. Shorter lists have nothing
/// to pack.
pub(super) const PACKED_FROM: u32 = 128;

/// The documents of a list, ascending, each with its count: the number of times that it has the term. `counts` is empty
/// in a list without counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting<'a> {
    pub(crate) documents: &'a [u32],
    pub(crate) counts: &'a [u32],
}

/// The position of a list in its file, in bytes, and its number of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PostingList {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) documents: u32,
    pub(super) has_counts: bool,
}

impl PostingList {
    /// Returns the number of documents it has; at least one.
    pub(crate) fn doc_count(&self) -> u32 {
        self.documents
    }
}
