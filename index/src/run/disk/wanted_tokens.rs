//! Finds the wanted tokens of a disk run, and the lengths of its texts. It does not know which documents are current.

use super::dictionary::{PickResult, StringsOf};
use super::disk_run::DiskRun;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::postings::{PostingList, PostingLists};
use crate::run::token_match::TokenMatch;
use crate::schema::ColumnId;
use crate::text_query::WantedToken;

/// A wanted token of a disk run, with its posting list.
pub(crate) type ListedToken = TokenMatch<PostingList>;

impl DiskRun {
    /// Returns the wanted tokens of a column.
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

    /// Returns the reader of its posting lists.
    pub(crate) fn lists(&self) -> &PostingLists {
        self.dictionary.lists()
    }

    /// Returns the number of tokens in the text of each document, rounded as Tantivy does; empty if the run has none in
    /// this column.
    pub(crate) fn length_steps(&self, column: ColumnId) -> &[u8] {
        self.dictionary.length_steps(column)
    }
}

/// A byte greater than every byte of a token.
const AFTER_ALL: u8 = 0xFF;
