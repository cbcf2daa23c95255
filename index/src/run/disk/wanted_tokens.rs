//! Finding the tokens of a disk run that are wanted, and the documents that have them. It knows not which documents are current.

use super::dictionary::StringsOf;
use super::disk_run::DiskRun;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::postings::{PostingList, ReusedBlocks};
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
        let mut found = Vec::new();
        for (token, postings) in self.dictionary.between(column, StringsOf::Tokens, from..&to) {
            interrupt.step()?;
            let closeness = str::from_utf8(token).ok().and_then(|token| wanted.closeness(token));
            found.extend(closeness.map(|closeness| TokenMatch { closeness, postings }));
        }
        Ok(found)
    }

    /// Adds the documents that have one of the tokens.
    pub(crate) fn add_having(
        &self,
        tokens: &[ListedToken],
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        let lists: Vec<PostingList> = tokens.iter().map(|token| token.postings).collect();
        self.dictionary.lists().union(&lists, interrupt, documents)
    }

    /// Emits the documents that have a token, and how often they do.
    pub(crate) fn each_having(&self, token: &ListedToken, mut emit: impl FnMut(u32, u32)) -> Result<(), Error> {
        let lists = self.dictionary.lists();
        lists.each(token.postings, &mut ReusedBlocks::default(), &mut emit).map_err(Error::io(&self.folder))
    }

    /// How many tokens the text of a document has, in Tantivy's steps.
    pub(crate) fn length_step(&self, column: ColumnId, document: u32) -> u8 {
        self.dictionary.length_step(column, document)
    }

    /// How many tokens the texts of a column have.
    pub(crate) fn field_lengths(&self, column: ColumnId) -> FieldLengths {
        self.dictionary.field_lengths(column)
    }
}

/// Greater than every byte of a token.
const AFTER_ALL: u8 = 0xFF;
