//! The tokens of a memory run. They are collected on the first ranked search and kept. Later searches collect only the
//! tokens of documents appended since. It does not know how documents are stored.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::fieldnorm::FieldNormReader;

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::names::{MARK, each_row};
use crate::run::ranked::MAX_COUNT;
use crate::run::token_match::TokenMatch;
use crate::schema::ColumnId;
use crate::text_query::closeness::typos_of;
use crate::text_query::{Closeness, TokenScan, WantedToken};
use crate::tokens::each_token;

/// A wanted token of a memory run, with its documents.
pub(crate) type MemoryToken = TokenMatch<BlockPostings>;

/// Emits the texts of a document, folded and as they are.
type ReadText<'a> = dyn Fn(u32, &mut dyn FnMut(&str, &str)) + 'a;

/// The number of documents in a block, whose tokens are collected together. Once a block is full, its tokens do not
/// change any more.
const BLOCK: u32 = 256;

/// The tokens of the columns that were searched.
#[derive(Debug, Default)]
pub(super) struct MemoryTokens {
    columns: Mutex<BTreeMap<ColumnId, Vec<Arc<TokenBlock>>>>,
}

/// The tokens of some documents of a column.
#[derive(Debug)]
struct TokenBlock {
    documents: Range<u32>,
    /// The tokens, one after another, ascending.
    text: String,
    tokens: Vec<TokenEnd>,
    postings: Vec<BlockPosting>,
    /// The number of tokens of each document, rounded as Tantivy does.
    steps: Vec<u8>,
}

/// The ends of a token in the text and of its postings.
#[derive(Debug, Clone, Copy)]
struct TokenEnd {
    text: u32,
    postings: u32,
}

#[derive(Debug, Clone, Copy)]
struct BlockPosting {
    /// The document's number within the block.
    document: u8,
    /// The count, at most [`MAX_COUNT`].
    count: u16,
}

/// The documents of a block that have a token.
#[derive(Debug, Clone)]
pub(crate) struct BlockPostings {
    block: Arc<TokenBlock>,
    within: Range<u32>,
}

impl BlockPostings {
    /// Emits the documents, each with its count.
    pub(crate) fn each(&self, mut emit: impl FnMut(u32, u32)) {
        for posting in &self.block.postings[self.within.start as usize..self.within.end as usize] {
            emit(self.block.documents.start + u32::from(posting.document), u32::from(posting.count));
        }
    }
}

/// The lengths of the texts whose tokens were collected.
pub(crate) struct BlockSteps {
    blocks: Vec<Arc<TokenBlock>>,
}

impl BlockSteps {
    /// Returns the number of tokens of a document, rounded as Tantivy does; 0 if they were not collected.
    pub(crate) fn get(&self, document: u32) -> u8 {
        let block = self.blocks.get((document / BLOCK) as usize);
        block.and_then(|block| block.steps.get((document % BLOCK) as usize)).copied().unwrap_or(0)
    }
}

impl MemoryTokens {
    /// Returns the lengths of the texts of a column. [`MemoryTokens::blocks`] must have collected their tokens.
    pub(super) fn length_steps(&self, column: ColumnId) -> BlockSteps {
        BlockSteps { blocks: self.columns.lock().get(&column).cloned().unwrap_or_default() }
    }

    /// Returns the tokens of a column, of the documents below `documents`. `text` emits the texts of a document.
    pub(super) fn blocks(
        &self,
        column: ColumnId,
        documents: u32,
        text: &ReadText<'_>,
        interrupt: &Interrupt<'_>,
    ) -> Result<TokenBlocks, Error> {
        let mut columns = self.columns.lock();
        let blocks = columns.entry(column).or_default();
        let is_grown =
            |block: &Arc<TokenBlock>| block.documents.len() < BLOCK as usize && block.documents.end < documents;
        if blocks.last().is_some_and(is_grown) {
            blocks.pop();
        }
        while let start = blocks.last().map_or(0, |block| block.documents.end)
            && start < documents
        {
            interrupt.check()?;
            blocks.push(Arc::new(TokenBlock::collect(start..documents.min(start + BLOCK), text)));
        }
        Ok(TokenBlocks(blocks.clone()))
    }
}

/// The tokens of a column.
pub(super) struct TokenBlocks(Vec<Arc<TokenBlock>>);

impl TokenBlocks {
    /// Returns the wanted tokens.
    pub(super) fn find(
        &self,
        scans: &mut [TokenScan<'_>],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<MemoryToken>, Error> {
        let mut found = Vec::new();
        self.0.iter().try_for_each(|block| block.find(scans, &mut found, interrupt))?;
        Ok(found)
    }

    /// Returns these tokens, all with this closeness.
    pub(super) fn find_equal(
        &self,
        tokens: &[String],
        closeness: Closeness,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<MemoryToken>, Error> {
        let mut found = Vec::new();
        for block in &self.0 {
            for token in tokens {
                interrupt.step()?;
                let postings = block.index_of(token).map(|index| block.postings_of(index));
                found.extend(postings.map(|postings| TokenMatch { closeness, postings }));
            }
        }
        Ok(found)
    }

    /// Returns the tokens that a wanted one finds with typos, each with their number.
    pub(super) fn similar(
        &self,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(usize, String)>, Error> {
        let mut found = Vec::new();
        let mut measure = wanted.measure();
        for block in &self.0 {
            let first = block.partition_point(|token| token < wanted.beginning());
            let tokens = (first..block.tokens.len()).map(|index| block.token(index));
            for token in tokens.take_while(|token| token.starts_with(wanted.beginning())) {
                interrupt.step()?;
                found.extend(measure.closeness(token.as_bytes()).map(|found| (typos_of(found), token.to_owned())));
            }
        }
        Ok(found)
    }

    /// Returns the words that begin so, each with the number of documents that have it.
    pub(super) fn beginning(&self, beginning: &str, interrupt: &Interrupt<'_>) -> Result<Vec<(Box<str>, u32)>, Error> {
        let mut found: BTreeMap<&str, u32> = BTreeMap::new();
        for block in &self.0 {
            let first = block.partition_point(|token| token < beginning);
            let tokens = (first..block.tokens.len()).map(|index| (index, block.token(index)));
            for (index, token) in tokens.take_while(|(_, token)| token.starts_with(beginning)) {
                interrupt.step()?;
                let Range { start, end } = block.postings_of(index).within;
                *found.entry(token).or_default() += end - start;
            }
        }
        Ok(found.into_iter().map(|(token, count)| (Box::from(token), count)).collect())
    }

    /// Returns the words that are longer than a word and begin or end with it.
    pub(super) fn around(&self, word: &str, interrupt: &Interrupt<'_>) -> Result<Vec<Box<str>>, Error> {
        let mut found = BTreeSet::new();
        for block in &self.0 {
            let first_word = block.partition_point(|token| token.starts_with(MARK));
            for index in first_word..block.tokens.len() {
                interrupt.step()?;
                let token = block.token(index);
                if token.len() > word.len() && (token.starts_with(word) || token.ends_with(word)) {
                    found.insert(token);
                }
            }
        }
        Ok(found.into_iter().map(Box::from).collect())
    }

    /// Returns whether a document that satisfies `is_live` has a token.
    pub(super) fn has_token(&self, token: &str, is_live: impl Fn(u32) -> bool) -> bool {
        self.0.iter().any(|block| {
            let mut is_found = false;
            if let Some(index) = block.index_of(token) {
                block.postings_of(index).each(|document, _| is_found |= is_live(document));
            }
            is_found
        })
    }
}

/// A token of a document while a block is collected.
struct Occurrence {
    text: Range<u32>,
    document: u8,
}

impl TokenBlock {
    fn collect(documents: Range<u32>, text: &ReadText<'_>) -> TokenBlock {
        let mut all = String::new();
        let mut occurrences: Vec<Occurrence> = Vec::new();
        let mut steps = Vec::with_capacity(documents.len());
        for (number, document) in (0u8..=255).zip(documents.clone()) {
            let mut length = 0u32;
            text(document, &mut |folded, raw| {
                let mut add = |token: &str| {
                    let start = all.len() as u32;
                    all.push_str(token);
                    occurrences.push(Occurrence { text: start..all.len() as u32, document: number });
                };
                each_token(folded, |token| {
                    length += 1;
                    add(&token.text);
                });
                each_row(raw, add);
            });
            steps.push(FieldNormReader::fieldnorm_to_id(length));
        }
        let text_of = |occurrence: &Occurrence| &all[occurrence.text.start as usize..occurrence.text.end as usize];
        occurrences.sort_unstable_by(|one, other| {
            text_of(one).cmp(text_of(other)).then_with(|| one.document.cmp(&other.document))
        });
        let mut block = TokenBlock { documents, text: String::new(), tokens: Vec::new(), postings: Vec::new(), steps };
        for of_token in occurrences.chunk_by(|one, other| text_of(one).cmp(text_of(other)) == Ordering::Equal) {
            for of_document in of_token.chunk_by(|one, other| one.document == other.document) {
                let count = u16::try_from(of_document.len()).unwrap_or(MAX_COUNT);
                block.postings.push(BlockPosting { document: of_document[0].document, count });
            }
            block.text.push_str(text_of(&of_token[0]));
            block.tokens.push(TokenEnd { text: block.text.len() as u32, postings: block.postings.len() as u32 });
        }
        block.text.shrink_to_fit();
        block
    }

    fn find(
        self: &Arc<TokenBlock>,
        scans: &mut [TokenScan<'_>],
        found: &mut Vec<MemoryToken>,
        interrupt: &Interrupt<'_>,
    ) -> Result<(), Error> {
        for scan in scans {
            let first = self.partition_point(|token| token < scan.beginning());
            for index in first..self.tokens.len() {
                interrupt.step()?;
                let token = self.token(index);
                if !token.starts_with(scan.beginning()) {
                    break;
                }
                if let Some(closeness) = scan.closeness(token.as_bytes()) {
                    found.push(TokenMatch { closeness, postings: self.postings_of(index) });
                }
                if scan.only().is_some() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn postings_of(self: &Arc<TokenBlock>, index: usize) -> BlockPostings {
        let start = index.checked_sub(1).map_or(0, |before| self.tokens[before].postings);
        BlockPostings { block: Arc::clone(self), within: start..self.tokens[index].postings }
    }

    fn index_of(&self, token: &str) -> Option<usize> {
        let index = self.partition_point(|other| other < token);
        (index < self.tokens.len() && self.token(index) == token).then_some(index)
    }

    fn token(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.tokens[before].text);
        &self.text[start as usize..self.tokens[index].text as usize]
    }

    /// Returns the first token for which `is_before` does not hold.
    fn partition_point(&self, is_before: impl Fn(&str) -> bool) -> usize {
        let (mut low, mut high) = (0, self.tokens.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.token(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}
