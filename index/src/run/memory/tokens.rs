//! The tokens of a memory run. They are collected on the first ranked search and kept. Later searches collect only the
//! tokens of documents appended since, in a block of their own, and small blocks are merged, so there are few. It does
//! not know how documents are stored.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::fieldnorm::FieldNormReader;

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::names::{each_key, is_marked};
use crate::run::token_match::{MAX_COUNT, TokenMatch};
use crate::schema::ColumnId;
use crate::text_query::closeness::typos_of;
use crate::text_query::{TokenScan, WantedToken};

/// A wanted token of a memory run, with its documents.
pub(crate) type MemoryToken = TokenMatch<BlockPostings>;

/// Emits the texts of a document, folded and as they are.
type ReadText<'a> = dyn Fn(u32, &mut dyn FnMut(&str, &str)) + 'a;

/// The number of documents in a full block. The first blocks of a column are full, and do not change any more.
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
    /// The index of the token.
    token: usize,
}

impl BlockPostings {
    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.block.postings_at(self.token).len()
    }

    /// Emits the documents, each with its count.
    pub(crate) fn each(&self, mut emit: impl FnMut(u32, u32)) {
        for posting in self.block.postings_at(self.token) {
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
        // Those before it are full, and those that are not are few.
        let mut blocks = self.blocks.iter().skip((document / BLOCK) as usize);
        let block = blocks.find(|block| document < block.documents.end);
        block.and_then(|block| block.steps.get((document - block.documents.start) as usize)).copied().unwrap_or(0)
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
        while let start = blocks.last().map_or(0, |block| block.documents.end)
            && start < documents
        {
            interrupt.check()?;
            let full = (start / BLOCK + 1) * BLOCK;
            blocks.push(Arc::new(TokenBlock::collect(start..documents.min(full), text)));
            merge_last(blocks);
        }
        Ok(TokenBlocks(blocks.clone()))
    }
}

/// Merges the last blocks until each that is not full has more than twice the documents of the next one, or together
/// they are full. So each token is merged a few times only, and there are few blocks.
fn merge_last(blocks: &mut Vec<Arc<TokenBlock>>) {
    while let [.., before, last] = &blocks[..]
        && !before.is_full()
        && (before.documents.len() <= 2 * last.documents.len() || last.documents.end % BLOCK == 0)
    {
        let merged = Arc::new(TokenBlock::merge(before, last));
        blocks.truncate(blocks.len() - 2);
        blocks.push(merged);
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
                *found.entry(token).or_default() += block.postings_at(index).len() as u32;
            }
        }
        Ok(found.into_iter().map(|(token, count)| (Box::from(token), count)).collect())
    }

    /// Returns the words that are longer than a word and begin or end with it.
    pub(super) fn around(&self, word: &str, interrupt: &Interrupt<'_>) -> Result<Vec<Box<str>>, Error> {
        let mut found = BTreeSet::new();
        for block in &self.0 {
            let first_word = block.partition_point(is_marked);
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
                length += each_key(folded, raw, |key| {
                    let start = all.len() as u32;
                    all.push_str(key);
                    occurrences.push(Occurrence { text: start..all.len() as u32, document: number });
                });
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
        block.tokens.shrink_to_fit();
        block.postings.shrink_to_fit();
        block
    }

    fn is_full(&self) -> bool {
        self.documents.len() == BLOCK as usize
    }

    /// Merges the tokens of a block and of the next one. Together they must have at most [`BLOCK`] documents.
    fn merge(before: &TokenBlock, last: &TokenBlock) -> TokenBlock {
        let mut merged = TokenBlock {
            documents: before.documents.start..last.documents.end,
            text: String::with_capacity(before.text.len() + last.text.len()),
            tokens: Vec::with_capacity(before.tokens.len() + last.tokens.len()),
            postings: Vec::with_capacity(before.postings.len() + last.postings.len()),
            steps: [&before.steps[..], &last.steps].concat(),
        };
        let moved = before.documents.len() as u8;
        let (mut left, mut right) = ((0..before.tokens.len()).peekable(), (0..last.tokens.len()).peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(&left), Some(&right)) => before.token(left).cmp(last.token(right)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let left = if order.is_le() { left.next() } else { None };
            let right = if order.is_ge() { right.next() } else { None };
            let token = left.map(|left| before.token(left)).or_else(|| right.map(|right| last.token(right)));
            merged.text.push_str(token.unwrap_or_default());
            merged.postings.extend(left.into_iter().flat_map(|left| before.postings_at(left)));
            let moved = |posting: &BlockPosting| BlockPosting { document: posting.document + moved, ..*posting };
            merged.postings.extend(right.into_iter().flat_map(|right| last.postings_at(right)).map(moved));
            merged.tokens.push(TokenEnd { text: merged.text.len() as u32, postings: merged.postings.len() as u32 });
        }
        merged.text.shrink_to_fit();
        merged.tokens.shrink_to_fit();
        merged
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
        BlockPostings { block: Arc::clone(self), token: index }
    }

    fn postings_at(&self, index: usize) -> &[BlockPosting] {
        let start = index.checked_sub(1).map_or(0, |before| self.tokens[before].postings);
        &self.postings[start as usize..self.tokens[index].postings as usize]
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const DOCUMENTS: u32 = 700;
    const COLUMN: ColumnId = 3;

    /// Collects the tokens of texts, a few documents at a time.
    fn collected(step: u32) -> (Vec<(String, u32, u32)>, Vec<u8>, usize) {
        let tokens = MemoryTokens::default();
        let text = |document: u32, emit: &mut dyn FnMut(&str, &str)| {
            let text = format!("w{} w{} w{}", document % 7, document % 31, document % 7);
            emit(&text, &text);
        };
        let mut most = 0;
        for documents in (step..DOCUMENTS).step_by(step as usize).chain([DOCUMENTS]) {
            most = most.max(tokens.blocks(COLUMN, documents, &text, &Interrupt::never()).unwrap().0.len());
        }
        let TokenBlocks(blocks) = tokens.blocks(COLUMN, DOCUMENTS, &text, &Interrupt::never()).unwrap();
        let mut found = Vec::new();
        for block in &blocks {
            assert!((1..block.tokens.len()).all(|index| block.token(index - 1) < block.token(index)));
            for index in 0..block.tokens.len() {
                let token = block.token(index);
                block.postings_of(index).each(|document, count| found.push((token.to_owned(), document, count)));
            }
        }
        found.sort_unstable();
        let steps = tokens.length_steps(COLUMN);
        (found, (0..DOCUMENTS + 2).map(|document| steps.get(document)).collect(), most)
    }

    #[test]
    fn tokens_do_not_depend_on_the_number_of_documents_that_were_collected_at_once() {
        let (expected, lengths, _) = collected(DOCUMENTS);
        assert!(expected.contains(&("w3".to_owned(), 3, 3)) && expected.contains(&("w3".to_owned(), 34, 1)));
        assert_eq!((lengths[699], lengths[700]), (3, 0));
        for step in [1, 2, 3, 50, 100, 255, 256, 257, 600] {
            let (found, steps, most) = collected(step);
            assert_eq!((found, steps), (expected.clone(), lengths.clone()), "{step} at once");
            assert!(most <= 2 + 9, "{most} blocks");
        }
    }
}
