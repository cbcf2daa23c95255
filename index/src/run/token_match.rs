//! A wanted token of a run, and the lengths of texts: the input of ranked scores. It does not know how either is found.

use tantivy::fieldnorm::FieldNormReader;

use crate::text_query::Closeness;

/// The greatest number of times that a document has a token. Larger ones are cut off, as they make hardly any
/// difference to the score. Disk runs store them, and memory runs do not, so they are cut off in both: a score must not
/// depend on the run.
pub(super) const MAX_COUNT: u16 = u16::MAX;

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
    /// Adds a text. `step` is its length, rounded as Tantivy does.
    pub(crate) fn add(&mut self, step: u8) {
        let FieldLengths { documents, tokens } = FieldLengths::of_text(step);
        self.documents += documents;
        self.tokens += tokens;
    }

    /// Removes a text that was added.
    pub(crate) fn remove(&mut self, step: u8) {
        let FieldLengths { documents, tokens } = FieldLengths::of_text(step);
        // No length is subtracted that was not added, unless the file is damaged, which is reported.
        self.documents = self.documents.saturating_sub(documents);
        self.tokens = self.tokens.saturating_sub(tokens);
    }

    fn of_text(step: u8) -> FieldLengths {
        FieldLengths { documents: u64::from(step > 0), tokens: u64::from(FieldNormReader::id_to_fieldnorm(step)) }
    }
}

impl std::ops::AddAssign for FieldLengths {
    fn add_assign(&mut self, other: FieldLengths) {
        self.documents += other.documents;
        self.tokens += other.tokens;
    }
}
