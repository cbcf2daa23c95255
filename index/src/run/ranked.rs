//! What ranked search asks of a run: which of its tokens are wanted, which documents have them, and how often. It knows neither
//! queries nor scores.

use super::disk::ListedToken;
use super::memory::MemoryToken;
use super::postings::{PostingList, ReusedBlocks};
use super::token_match::{FieldLengths, TokenMatch};
use super::{BlockPostings, Run};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::rank_bitmap::RankBitmap;
use crate::schema::ColumnId;
use crate::text_query::{Closeness, WantedToken};

/// Tokens of a column of a run that are wanted, all equally close.
#[derive(Debug)]
pub(crate) struct RunTokens {
    pub(crate) closeness: Closeness,
    postings: TokenPostings,
}

/// The documents that have each token.
#[derive(Debug)]
enum TokenPostings {
    Memory(Vec<BlockPostings>),
    Disk(Vec<PostingList>),
}

impl TokenPostings {
    /// Whether there is at most one token in all of the run, so that no document comes twice.
    fn is_single(&self) -> bool {
        matches!(self, TokenPostings::Disk(lists) if lists.len() <= 1)
    }
}

impl Run {
    /// The tokens of a column that are wanted, the closest first.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<RunTokens>, Error> {
        Ok(match self {
            Run::Memory(run) => {
                let found: Vec<MemoryToken> = run.find_tokens(column, wanted, interrupt)?;
                grouped(found, TokenPostings::Memory)
            }
            Run::Disk(run) => {
                let found: Vec<ListedToken> = run.find_tokens(column, wanted, interrupt)?;
                grouped(found, TokenPostings::Disk)
            }
        })
    }

    /// The documents that have one of the tokens, which must be of this run.
    pub(crate) fn having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
        let mut documents = Bitmap::with_room(self.len() as usize);
        match (self, &tokens.postings) {
            (Run::Disk(run), TokenPostings::Disk(lists)) => run.lists().union(lists, interrupt, &mut documents)?,
            (_, TokenPostings::Memory(postings)) => {
                for postings in postings {
                    interrupt.step()?;
                    postings.each(|document, _| documents.insert(document));
                }
            }
            // The tokens of another run.
            _ => {}
        }
        Ok(documents)
    }

    /// Emits those of `among` that have one of the tokens, which must be of this run: each document once, and how often it has
    /// any of them.
    pub(crate) fn each_counted(
        &self,
        tokens: &RunTokens,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        if tokens.postings.is_single() {
            return self.each_having(&tokens.postings, among, interrupt, emit);
        }
        let mut counts = vec![0u32; among.count()];
        self.each_having(&tokens.postings, among, interrupt, |document, count| {
            if let Some(sum) = among.rank(document).and_then(|rank| counts.get_mut(rank)) {
                *sum = sum.saturating_add(count);
            }
        })?;
        among.iter().zip(counts).filter(|(_, count)| *count > 0).for_each(|(document, count)| emit(document, count));
        Ok(())
    }

    /// The same with a document as often as it has different tokens.
    fn each_having(
        &self,
        postings: &TokenPostings,
        among: &RankBitmap,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        match (self, postings) {
            (Run::Memory(_), TokenPostings::Memory(postings)) => {
                for postings in postings {
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
                for &list in lists {
                    interrupt.check()?;
                    run.lists().each_among(list, among, &mut reused, interrupt, &mut emit)?;
                }
            }
            // The tokens of another run.
            _ => {}
        }
        Ok(())
    }

    /// How many tokens the text of a document has, in Tantivy's steps.
    pub(crate) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        match self {
            Run::Memory(run) => run.length_step(column, document),
            Run::Disk(run) => run.length_step(column, document),
        }
    }

    /// How many tokens the texts of a column have. In a run in memory, those that were looked at so far.
    pub(crate) fn field_lengths(&self, column: ColumnId) -> FieldLengths {
        match self {
            Run::Memory(run) => run.field_lengths(column),
            Run::Disk(run) => run.field_lengths(column),
        }
    }
}

/// The tokens by how close they are.
fn grouped<P>(mut found: Vec<TokenMatch<P>>, postings: impl Fn(Vec<P>) -> TokenPostings) -> Vec<RunTokens> {
    found.sort_by_key(|token| token.closeness);
    let mut found = found.into_iter().peekable();
    let mut groups = Vec::new();
    while let Some(TokenMatch { closeness, postings: first }) = found.next() {
        let mut equal = vec![first];
        while let Some(next) = found.next_if(|token| token.closeness == closeness) {
            equal.push(next.postings);
        }
        groups.push(RunTokens { closeness, postings: postings(equal) });
    }
    groups
}
