//! Finding the tokens of a disk run that are wanted, and how long its texts are. It knows not which documents are current.

use super::dictionary::{PickResult, StringsOf};
use super::disk_run::DiskRun;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::postings::{PostingList, PostingLists};
use crate::run::token_match::{FieldLengths, TokenMatch};
use crate::schema::ColumnId;
use crate::text_query::WantedToken;

/// A token of a run that is wanted, and the documents that have it.
pub(crate) type ListedToken = TokenMatch<PostingList>;

impl DiskRun {
    /// The tokens of a column that are wanted.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<ListedToken>, Error> {
        interrupt.check()?;
        if !wanted.is_loose() {
            let list = self.dictionary.get(column, StringsOf::Tokens, wanted.text.as_bytes());
            return Ok(list.map(|postings| TokenMatch { closeness: 0, postings }).into_iter().collect());
        }
        let from = wanted.beginning().as_bytes();
        let to = [from, &[AFTER_ALL]].concat();
        let mut measure = wanted.measure();
        let pick = |token: &[u8]| match (measure.closeness(token), measure.hopeless()) {
            (Some(closeness), _) => PickResult::Yes(closeness),
            (None, Some(alike)) => PickResult::NoneBeginningSo(alike),
            (None, None) => PickResult::No,
        };
        let found = self.dictionary.pick(column, StringsOf::Tokens, from..&to, interrupt, pick)?;
        Ok(found.into_iter().map(|(closeness, postings)| TokenMatch { closeness, postings }).collect())
    }

    /// The posting lists of its tokens.
    pub(crate) fn lists(&self) -> &PostingLists {
        self.dictionary.lists()
    }

    /// The number of tokens the text of a document has, in Tantivy's steps.
    pub(crate) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        self.dictionary.length_step(column, document)
    }

    /// The number of tokens the texts of a column have.
    pub(crate) fn field_lengths(&self, column: ColumnId) -> FieldLengths {
        self.dictionary.field_lengths(column)
    }
}

/// Greater than every byte of a token.
const AFTER_ALL: u8 = 0xFF;
