//! Finds the wanted tokens of a disk run, and the lengths of its texts. It does not know which documents are current.

use super::dictionary::{AFTER_ALL, PickResult, StringsOf};
use super::disk_run::DiskRun;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::names::is_marked;
use crate::run::postings::{PostingList, PostingLists};
use crate::run::token_match::TokenMatch;
use crate::schema::ColumnId;
use crate::text_query::closeness::typos_of;
use crate::text_query::{Skip, TokenScan, WantedToken};

/// A wanted token of a disk run, with its posting list.
pub(crate) type ListedToken = TokenMatch<PostingList>;

impl DiskRun {
    /// Returns the wanted tokens of a column.
    pub(crate) fn find_tokens(
        &self,
        column: ColumnId,
        scans: &mut [TokenScan<'_>],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<ListedToken>, Error> {
        interrupt.check()?;
        let mut found = Vec::new();
        for scan in scans {
            if let Some(closeness) = scan.only() {
                interrupt.step()?;
                let list = self.dictionary.get(column, StringsOf::Tokens, scan.beginning().as_bytes());
                found.extend(list.map(|postings| TokenMatch { closeness, postings }));
                continue;
            }
            let from = scan.beginning().as_bytes().to_vec();
            if !scan.skips() {
                let pick = |token: &[u8]| scan.closeness(token);
                let picked = self.dictionary.pick_beginning(column, StringsOf::Tokens, &from, interrupt, pick)?;
                found.extend(picked.into_iter().map(|(closeness, postings)| TokenMatch { closeness, postings }));
                continue;
            }
            let to = [&from[..], &[AFTER_ALL]].concat();
            let pick = |token: &[u8]| match scan.closeness(token) {
                Some(closeness) => PickResult::Yes(closeness),
                None => not_picked(scan.skip()),
            };
            let picked = self.dictionary.pick(column, StringsOf::Tokens, &from..&to, interrupt, pick)?;
            found.extend(picked.into_iter().map(|(closeness, postings)| TokenMatch { closeness, postings }));
        }
        Ok(found)
    }

    /// Returns the tokens of a column that a wanted one finds with typos, each with their number.
    pub(crate) fn similar_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(usize, String)>, Error> {
        let from = wanted.beginning().as_bytes();
        let to = [from, &[AFTER_ALL]].concat();
        let mut measure = wanted.measure();
        let pick = |token: &[u8]| match measure.closeness(token) {
            Some(closeness) => PickResult::Yes((typos_of(closeness), token.to_vec())),
            None => not_picked(measure.skip()),
        };
        let picked = self.dictionary.pick(column, StringsOf::Tokens, from..&to, interrupt, pick)?;
        let token = |((typos, token), _)| Some((typos, String::from_utf8(token).ok()?));
        Ok(picked.into_iter().filter_map(token).collect())
    }

    /// Returns the words of a column that begin so, each with the number of documents that have it.
    pub(crate) fn tokens_beginning(
        &self,
        column: ColumnId,
        beginning: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(Box<str>, u32)>, Error> {
        // The tokens stand one after the other in one text, since there may be very many.
        let mut text = Vec::new();
        let pick = |token: &[u8]| {
            let start = text.len();
            text.extend_from_slice(token);
            Some(start..text.len())
        };
        let from = beginning.as_bytes();
        let picked = self.dictionary.pick_beginning(column, StringsOf::Tokens, from, interrupt, pick)?;
        let word = |(range, list): (std::ops::Range<usize>, PostingList)| {
            Some((Box::from(std::str::from_utf8(text.get(range)?).ok()?), list.doc_count()))
        };
        Ok(picked.into_iter().filter_map(word).collect())
    }

    /// Returns the words of a column that are longer than a word and begin or end with it.
    pub(crate) fn tokens_around(
        &self,
        column: ColumnId,
        word: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Box<str>>, Error> {
        let of = StringsOf::Tokens;
        let around = self.dictionary.strings_around(column, of, word.as_bytes(), interrupt)?;
        let words = around.into_iter().filter_map(|token| std::str::from_utf8(token).ok());
        Ok(words.filter(|token| token.len() > word.len() && !is_marked(token)).map(Box::from).collect())
    }

    /// Returns whether a document that satisfies `is_live` has a token in a column.
    pub(crate) fn has_token(
        &self,
        column: ColumnId,
        token: &str,
        is_live: impl Fn(u32) -> bool,
        interrupt: &Interrupt<'_>,
    ) -> Result<bool, Error> {
        interrupt.step()?;
        match self.dictionary.get(column, StringsOf::Tokens, token.as_bytes()) {
            Some(list) => self.lists().has_any(list, is_live),
            None => Ok(false),
        }
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

fn not_picked<T>(skip: Option<Skip>) -> PickResult<T> {
    skip.map_or(PickResult::No, |Skip { shared, next }| PickResult::NoneBefore { shared, next })
}
