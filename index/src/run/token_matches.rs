//! Which tokens of a run are wanted, and which documents have them: what ranked search computes from. It knows not which
//! documents are current, and not how they are scored.

use tantivy::fieldnorm::FieldNormReader;

use super::Run;
use super::disk::ListedToken;
use super::memory::MemoryToken;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::schema::ColumnId;
use crate::text_query::{Closeness, WantedToken};

/// A token that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct TokenMatch<P> {
    pub(crate) closeness: Closeness,
    /// The documents that have it.
    pub(crate) postings: P,
}

/// The tokens of a column of a run that are wanted.
#[derive(Debug)]
pub(crate) enum RunTokens {
    Memory(Vec<MemoryToken>),
    Disk(Vec<ListedToken>),
}

/// How many tokens the texts of a column have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldLengths {
    /// How many documents have a text with tokens.
    pub(crate) documents: u64,
    /// The tokens of all of them.
    pub(crate) tokens: u64,
}

impl FieldLengths {
    /// From lengths in Tantivy's steps.
    pub(crate) fn of_steps(steps: &[u8]) -> FieldLengths {
        // A run has few different lengths, so looking each of them up once is cheapest.
        let mut counts = [0u64; 256];
        steps.iter().for_each(|&step| counts[usize::from(step)] += 1);
        let mut lengths = FieldLengths::default();
        for (step, count) in (0u8..=255).zip(counts).skip(1) {
            lengths.documents += count;
            lengths.tokens += count * u64::from(FieldNormReader::id_to_fieldnorm(step));
        }
        lengths
    }
}

impl std::ops::AddAssign for FieldLengths {
    fn add_assign(&mut self, other: FieldLengths) {
        self.documents += other.documents;
        self.tokens += other.tokens;
    }
}

impl RunTokens {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            RunTokens::Memory(tokens) => tokens.is_empty(),
            RunTokens::Disk(tokens) => tokens.is_empty(),
        }
    }

    /// Whether there is at most one token in all of the run, so that no document comes twice.
    fn is_single(&self) -> bool {
        matches!(self, RunTokens::Disk(tokens) if tokens.len() <= 1)
    }
}

impl Run {
    /// The tokens of a column that are wanted.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<RunTokens, Error> {
        Ok(match self {
            Run::Memory(run) => RunTokens::Memory(run.find_tokens(column, wanted, interrupt)?),
            Run::Disk(run) => RunTokens::Disk(run.find_tokens(column, wanted, interrupt)?),
        })
    }

    /// The documents that have one of the tokens, which must be of this run.
    pub(crate) fn having(&self, tokens: &RunTokens, interrupt: &Interrupt<'_>) -> Result<Bitmap, Error> {
        let mut documents = Bitmap::with_room(self.len() as usize);
        match (self, tokens) {
            (Run::Disk(run), RunTokens::Disk(tokens)) => run.add_having(tokens, interrupt, &mut documents)?,
            (_, tokens) => {
                self.each_having(tokens, interrupt, |_, document, _| documents.insert(document))?;
            }
        }
        Ok(documents)
    }

    /// Emits the documents that have one of the tokens, which must be of this run: how close the token is, the document, and how
    /// often it has it.
    pub(crate) fn each_having(
        &self,
        tokens: &RunTokens,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(Closeness, u32, u32),
    ) -> Result<(), Error> {
        match (self, tokens) {
            (Run::Memory(_), RunTokens::Memory(tokens)) => {
                for token in tokens {
                    interrupt.step()?;
                    token.postings.each(|document, count| emit(token.closeness, document, count));
                }
            }
            (Run::Disk(run), RunTokens::Disk(tokens)) => {
                for token in tokens {
                    interrupt.check()?;
                    run.each_having(token, |document, count| emit(token.closeness, document, count))?;
                }
            }
            // The tokens of another run.
            _ => {}
        }
        Ok(())
    }

    /// Emits each document that has one of the tokens once, with how often it has any of them.
    pub(crate) fn each_counted(
        &self,
        tokens: &RunTokens,
        interrupt: &Interrupt<'_>,
        mut emit: impl FnMut(u32, u32),
    ) -> Result<(), Error> {
        if tokens.is_single() {
            return self.each_having(tokens, interrupt, |_, document, count| emit(document, count));
        }
        let mut counts = vec![0u32; self.len() as usize];
        let mut documents = Bitmap::with_room(counts.len());
        self.each_having(tokens, interrupt, |_, document, count| {
            // A run in memory may grow meanwhile.
            if let Some(sum) = counts.get_mut(document as usize) {
                *sum = sum.saturating_add(count);
                documents.insert(document);
            }
        })?;
        documents.iter().for_each(|document| emit(document, counts[document as usize]));
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
