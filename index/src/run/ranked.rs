//! The wanted tokens of a run, with their documents: the input of ranked search, for memory runs and disk runs. It
//! knows neither queries nor scores.

use std::sync::{Arc, OnceLock};

use super::live_lengths::LengthSteps;
use super::memory::BlockPostings;
use super::postings::{PostingList, ReusedBlocks};
use super::token_match::{MAX_COUNT, TokenMatch};
use super::{NumberedRun, Run};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::schema::ColumnId;
use crate::text_query::{Closeness, TokenScan, WantedToken};

/// Wanted tokens of a column of a run, all equally close.
#[derive(Debug, Clone)]
pub(crate) struct RunTokens {
    pub(crate) closeness: Closeness,
    postings: TokenPostings,
    /// The documents that have any of the tokens, once computed. Kept only for many tokens, where it is worth the
    /// memory.
    joined: Option<Arc<JoinedDocuments>>,
}

/// The union of the postings of many tokens.
#[derive(Debug)]
struct JoinedDocuments {
    /// The number of bytes that the documents take once they are computed.
    bytes: usize,
    documents: OnceLock<Bitmap>,
}

/// The documents that have each token.
#[derive(Debug, Clone)]
enum TokenPostings {
    Memory(Arc<[BlockPostings]>),
    Disk(Arc<[PostingList]>),
}

impl RunTokens {
    /// Returns the number of documents that have the tokens, in which one is counted once for each token that it has.
    fn most_documents(&self) -> usize {
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
    fn is_single(&self) -> bool {
        match self {
            TokenPostings::Memory(_) => false,
            TokenPostings::Disk(lists) => lists.len() <= 1,
        }
    }
}

impl NumberedRun {
    /// Adds the slots of its current documents that have one of these tokens, which must be of this run. The documents
    /// are looked at one by one if there are fewer than all divided by `listed_share`.
    pub(crate) fn add_slots_having(
        &self,
        tokens: &[&RunTokens],
        listed_share: usize,
        interrupt: &Interrupt<'_>,
        slots: &mut Bitmap,
    ) -> Result<(), Error> {
        if self.run.has_few(tokens, listed_share) {
            let mut add = |document| {
                if self.live.contains(document) {
                    slots.insert(self.run.slot(document));
                }
            };
            return tokens.iter().try_for_each(|tokens| self.run.each_having(&tokens.postings, interrupt, &mut add));
        }
        let mut documents = self.run.having(tokens, interrupt)?;
        self.live.retain_in(&mut documents);
        self.run.add_slots(&documents, slots);
        Ok(())
    }

    /// Returns the number of its current documents that have one of the tokens, which must be of this run.
    pub(crate) fn count_having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>) -> Result<usize, Error> {
        if tokens.postings.is_single() && self.live.count() == self.run.len() as usize {
            return Ok(tokens.most_documents());
        }
        let mut documents = self.run.having(&[tokens], interrupt)?;
        self.live.retain_in(&mut documents);
        Ok(documents.count())
    }
}

impl Run {
    /// The tokens of a column that are wanted, the closest first. The documents of `joined_from` equally close ones are
    /// kept once they are joined.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        scans: &mut [TokenScan<'_>],
        joined_from: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<RunTokens>, Error> {
        let documents = self.len();
        Ok(match self {
            Run::Memory(run) => {
                grouped(run.find_tokens(column, scans, interrupt)?, documents, joined_from, TokenPostings::Memory)
            }
            Run::Disk(run) => {
                grouped(run.find_tokens(column, scans, interrupt)?, documents, joined_from, TokenPostings::Disk)
            }
        })
    }

    /// Returns the tokens of a column that a wanted one finds with typos, each with their number.
    pub(crate) fn similar_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(usize, String)>, Error> {
        match self {
            Run::Memory(run) => run.similar_tokens(column, wanted, interrupt),
            Run::Disk(run) => run.similar_tokens(column, wanted, interrupt),
        }
    }

    /// Returns the words of a column that begin so, each with the number of documents that have it.
    pub(crate) fn tokens_beginning(
        &self,
        column: ColumnId,
        beginning: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(Box<str>, u32)>, Error> {
        match self {
            Run::Memory(run) => run.tokens_beginning(column, beginning, interrupt),
            Run::Disk(run) => run.tokens_beginning(column, beginning, interrupt),
        }
    }

    /// Returns the words of a column that are longer than a word and begin or end with it.
    pub(crate) fn tokens_around(
        &self,
        column: ColumnId,
        word: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Box<str>>, Error> {
        match self {
            Run::Memory(run) => run.tokens_around(column, word, interrupt),
            Run::Disk(run) => run.tokens_around(column, word, interrupt),
        }
    }

    /// Returns the documents that have one of the tokens, which must be of this run.
    fn having(&self, tokens: &[&RunTokens], interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
        let mut documents = Bitmap::with_room(self.len() as usize);
        tokens.iter().try_for_each(|tokens| self.add_having(tokens, interrupt, &mut documents))?;
        Ok(documents)
    }

    /// Returns how many of the documents `within` have one of these tokens, which must be of this run, and the first of
    /// them. The documents are looked at one by one if there are fewer than all divided by `listed_share`.
    pub(crate) fn count_within(
        &self,
        tokens: &[&RunTokens],
        within: &Bitmap,
        listed_share: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<(usize, Option<u32>), Error> {
        if self.has_few(tokens, listed_share) {
            let mut documents = Vec::new();
            let mut add = |document| {
                if within.contains(document) {
                    documents.push(document);
                }
            };
            tokens.iter().try_for_each(|tokens| self.each_having(&tokens.postings, interrupt, &mut add))?;
            documents.sort_unstable();
            documents.dedup();
            return Ok((documents.len(), documents.first().copied()));
        }
        let mut documents = self.having(tokens, interrupt)?;
        documents.intersect(within);
        Ok((documents.count(), documents.iter().next()))
    }

    /// Returns whether fewer documents than all divided by `listed_share` have one of the tokens.
    fn has_few(&self, tokens: &[&RunTokens], listed_share: usize) -> bool {
        let most = tokens.iter().fold(0usize, |sum, tokens| sum.saturating_add(tokens.most_documents()));
        most < self.len() as usize / listed_share
    }

    /// Adds the documents that have one of the tokens, which must be of this run.
    fn add_having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>, documents: &mut Bitmap) -> Result<(), Error> {
        let Some(joined) = &tokens.joined else {
            return self.each_having(&tokens.postings, interrupt, |document| documents.insert(document));
        };
        let kept = &joined.documents;
        if kept.get().is_none() {
            let mut joined = Bitmap::with_room(self.len() as usize);
            self.each_having(&tokens.postings, interrupt, |document| joined.insert(document))?;
            kept.get_or_init(|| joined);
        }
        kept.get().into_iter().for_each(|joined| documents.union(joined));
        Ok(())
    }

    /// Emits the documents that have one of the tokens, perhaps several times.
    fn each_having(
        &self,
        postings: &TokenPostings,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32),
    ) -> Result<(), Error> {
        match (self, postings) {
            (Run::Disk(run), TokenPostings::Disk(lists)) => run.lists().each_document(lists, interrupt, emit),
            (_, TokenPostings::Memory(postings)) => {
                for postings in postings.iter() {
                    interrupt.step()?;
                    postings.each(|document, _| emit(document));
                }
                Ok(())
            }
            // Tokens of another kind of run: the caller passed the wrong ones.
            _ => Ok(()),
        }
    }

    /// Emits the documents of `among` that have one of the tokens, each once, with the number of times that it has any
    /// of them. The tokens must be of this run.
    pub(crate) fn each_counted(
        &self,
        tokens: &RunTokens,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        if tokens.postings.is_single() {
            return self.each_among(&tokens.postings, among, interrupt, emit);
        }
        let mut counts = vec![0u32; among.count()];
        self.each_among(&tokens.postings, among, interrupt, |document, count| {
            if let Some(sum) = among.rank(document).and_then(|rank| counts.get_mut(rank)) {
                *sum = sum.saturating_add(count);
            }
        })?;
        among.iter().zip(counts).filter(|(_, count)| *count > 0).for_each(|(document, count)| emit(document, count));
        Ok(())
    }

    /// Like [`Run::each_counted`], but emits a document once for each different token that it has.
    fn each_among(
        &self,
        postings: &TokenPostings,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        match (self, postings) {
            (Run::Memory(_), TokenPostings::Memory(postings)) => {
                for postings in postings.iter() {
                    interrupt.step()?;
                    postings.each(|document, count| {
                        if among.contains(document) {
                            emit(document, count);
                        }
                    });
                }
            }
            (Run::Disk(run), TokenPostings::Disk(lists)) => {
                let mut reused = ReusedBlocks::default();
                for &list in lists.iter() {
                    interrupt.check()?;
                    run.lists().each_among(list, among, &mut reused, interrupt, |document, count| {
                        emit(document, count.min(MAX_COUNT.into()));
                    })?;
                }
            }
            // Tokens of another kind of run: the caller passed the wrong ones.
            _ => {}
        }
        Ok(())
    }

    /// Returns the lengths of the texts of a column. [`Run::find_tokens`] must have been called for it: a memory run
    /// collects tokens only then.
    pub(crate) fn length_steps(&self, column: ColumnId) -> LengthSteps<'_> {
        match self {
            Run::Memory(run) => LengthSteps::Memory(run.length_steps(column)),
            Run::Disk(run) => LengthSteps::Disk(run.length_steps(column)),
        }
    }
}

/// Groups tokens by closeness. `documents` is the run's document count.
fn grouped<P>(
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
