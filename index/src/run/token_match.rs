//! A wanted token of a run, and the lengths of texts: the input of ranked scores. It does not know how either is found.

use tantivy::fieldnorm::FieldNormReader;

use crate::text_query::Closeness;

/// A wanted token.
#[derive(Debug, Clone)]
pub(crate) struct TokenMatch<P> {
    pub(crate) closeness: Closeness,
    /// The documents that have it.
    pub(crate) postings: P,
}

/// The numbers of tokens in the texts of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldLengths {
    /// The number of documents whose text has tokens.
    pub(crate) documents: u64,
    /// The number of tokens in all of them.
    pub(crate) tokens: u64,
}

impl FieldLengths {
    /// Computes the lengths from steps, Tantivy's rounded lengths.
    pub(crate) fn of_steps(steps: &[u8]) -> FieldLengths {
        // A run has few different lengths, so each is decoded only once.
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
