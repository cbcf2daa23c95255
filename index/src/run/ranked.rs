//! The wanted tokens of a run, with their documents: the input of ranked search, for memory runs and disk runs. It
//! knows neither queries nor scores.

use std::sync::{Arc, OnceLock};

use super::memory::BlockPostings;
use super::postings::PostingList;
use super::token_match::TokenMatch;
use crate::bitmap::Bitmap;
use crate::text_query::Closeness;

/// Wanted tokens of a column of a run, all equally close.
#[derive(Debug, Clone)]
pub(crate) struct RunTokens {
    pub(crate) closeness: Closeness,
    pub(super) postings: TokenPostings,
    /// The documents that have any of the tokens, once computed. Kept only for many tokens, where it is worth the
    /// memory.
    pub(super) joined: Option<Arc<JoinedDocuments>>,
}

/// The union of the postings of many tokens.
#[derive(Debug)]
pub(super) struct JoinedDocuments {
    /// The number of bytes that the documents take once they are computed.
    bytes: usize,
    pub(super) documents: OnceLock<Bitmap>,
}

/// The documents that have each token.
#[derive(Debug, Clone)]
pub(super) enum TokenPostings {
    Memory(Arc<[BlockPostings]>),
    Disk(Arc<[PostingList]>),
}

impl RunTokens {
    /// Returns the number of documents that have the tokens, in which one is counted once for each token that it has.
    pub(super) fn most_documents(&self) -> usize {
        match &self.postings {
            TokenPostings::Memory(postings) => postings.iter().map(BlockPostings::len).sum(),
            TokenPostings::Disk(lists) => lists.iter().map(|list| list.doc_count() as usize).sum(),
        }
    }

    /// Returns the size in memory.
    pub(crate) fn bytes(&self) -> usize {
        let postings = match &self.postings {
            TokenPostings::Memory(postings) => size_of_val(&postings[..]),
            TokenPostings::Disk(lists) => size_of_val(&lists[..]),
        };
        size_of::<RunTokens>() + postings + self.joined.as_ref().map_or(0, |joined| joined.bytes)
    }
}

impl TokenPostings {
    /// Returns whether no document occurs twice.
    pub(super) fn is_single(&self) -> bool {
        match self {
            TokenPostings::Memory(_) => false,
            TokenPostings::Disk(lists) => lists.len() <= 1,
        }
    }
}

/// Groups tokens by closeness. `documents` is the run's document count.
pub(super) fn grouped<P>(
    mut found: Vec<TokenMatch<P>>,
    documents: u32,
    joined_from: usize,
    postings: impl Fn(Arc<[P]>) -> TokenPostings,
) -> Vec<RunTokens> {
    found.sort_by_key(|token| token.closeness);
    let mut found = found.into_iter().peekable();
    let mut groups = Vec::new();
    while let Some(TokenMatch { closeness, postings: first }) = found.next() {
        let mut equal = vec![first];
        while let Some(next) = found.next_if(|token| token.closeness == closeness) {
            equal.push(next.postings);
        }
        let bytes = size_of::<JoinedDocuments>() + documents as usize / 8;
        let joined =
            (equal.len() >= joined_from).then(|| Arc::new(JoinedDocuments { bytes, documents: OnceLock::new() }));
        groups.push(RunTokens { closeness, postings: postings(equal.into()), joined });
    }
    groups
}
