//! A token of a run that is wanted, and how long texts are: what ranked search computes from. It knows not how either is found.

use tantivy::fieldnorm::FieldNormReader;

use crate::text_query::Closeness;

/// A token that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct TokenMatch<P> {
    pub(crate) closeness: Closeness,
    /// The documents that have it.
    pub(crate) postings: P,
}

/// The number of tokens the texts of a column have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldLengths {
    /// The number of documents that have a text with tokens.
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
