//! A run in memory: append-only, and readable while it grows. Disk runs are built from its documents.
//!
//! It has no posting lists: it is small enough to test every document. It does not know filters, or which documents are
//! current.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) use self::tokens::{BlockPostings, BlockSteps, MemoryToken};
use self::tokens::{MemoryTokens, TokenBlocks};
use super::orders::{KeyKind, MemoryOrders, RankRange, RunOrder};
use crate::bitmap::Bitmap;
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::predicate::PreparedPredicate;
use crate::schema::{Column, ColumnId, Kind, Value};
use crate::text::fold;
use crate::text_query::{TokenScan, WantedToken};
use crate::value::{FoldedText, ListRef, RawText, TextRef, ValueRef, framed};

mod tokens;

/// One copy of one resource.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) slot: u32,
    /// The values, by column, ascending.
    values: Box<[(ColumnId, FoldedValue)]>,
}

/// A value with its folded form.
#[derive(Debug)]
enum FoldedValue {
    Text(KeptText),
    Markup([u8; 16], KeptText),
    Number(f64),
    Bool(bool),
    Instant(i64, Arc<str>),
    /// The framed elements, raw and folded. The folded ones are `None` if folding changes nothing.
    List(Box<[u8]>, Option<Box<[u8]>>),
}

#[derive(Debug)]
struct KeptText {
    text: Arc<str>,
    /// The folded form; `None` if folding changes nothing.
    folded: Option<Box<str>>,
}

impl Document {
    pub(crate) fn new(slot: u32, values: Vec<(ColumnId, Value)>) -> Document {
        let mut values: Vec<_> = values.into_iter().map(|(column, value)| (column, FoldedValue::new(value))).collect();
        values.sort_by_key(|(column, _)| *column);
        Document { slot, values: values.into_boxed_slice() }
    }

    /// Returns the value in a column; null if there is none.
    pub(crate) fn value(&self, column: ColumnId) -> ValueRef<'_> {
        match self.values.binary_search_by_key(&column, |(column, _)| *column) {
            Ok(index) => self.values[index].1.as_ref(),
            Err(_) => ValueRef::Null,
        }
    }

    /// Returns the values that are not null, by column, ascending.
    pub(crate) fn values(&self) -> impl Iterator<Item = (ColumnId, ValueRef<'_>)> {
        self.values.iter().map(|(column, value)| (*column, value.as_ref()))
    }

    /// Returns the approximate size in memory.
    fn bytes(&self) -> usize {
        64 + self.values.iter().map(|(_, value)| value.bytes()).sum::<usize>()
    }
}

impl FoldedValue {
    fn new(value: Value) -> FoldedValue {
        match value {
            Value::Text(text) => FoldedValue::Text(KeptText::new(text)),
            Value::Markup { exact, text } => FoldedValue::Markup(exact, KeptText::new(text)),
            Value::Number(number) => FoldedValue::Number(number),
            Value::Bool(value) => FoldedValue::Bool(value),
            Value::Instant { micros, text } => FoldedValue::Instant(micros, text),
            Value::List(elements) => {
                let raw = framed(&elements);
                let folded = framed(&elements.iter().map(|element| fold(element)).collect::<Vec<_>>());
                let folded = (folded != raw).then(|| folded.into_boxed_slice());
                FoldedValue::List(raw.into_boxed_slice(), folded)
            }
        }
    }

    fn as_ref(&self) -> ValueRef<'_> {
        match self {
            FoldedValue::Text(text) => ValueRef::Text(text.as_ref()),
            FoldedValue::Markup(exact, text) => ValueRef::Markup { exact: *exact, text: text.as_ref() },
            FoldedValue::Number(number) => ValueRef::Number(*number),
            FoldedValue::Bool(value) => ValueRef::Bool(*value),
            FoldedValue::Instant(micros, text) => ValueRef::Instant { micros: *micros, text },
            FoldedValue::List(raw, folded) => ValueRef::List(ListRef { raw, folded: folded.as_ref().unwrap_or(raw) }),
        }
    }

    fn bytes(&self) -> usize {
        let text = |text: &KeptText| text.text.len() + text.folded.as_ref().map_or(0, |folded| folded.len());
        48 + match self {
            FoldedValue::Text(value) | FoldedValue::Markup(_, value) => text(value),
            FoldedValue::Number(_) | FoldedValue::Bool(_) => 0,
            FoldedValue::Instant(_, text) => text.len(),
            FoldedValue::List(raw, folded) => raw.len() + folded.as_ref().map_or(0, |folded| folded.len()),
        }
    }
}

impl KeptText {
    fn new(text: Arc<str>) -> KeptText {
        let folded = fold(&text);
        let folded = (*folded != *text).then(|| folded.into_owned().into_boxed_str());
        KeptText { text, folded }
    }

    fn as_ref(&self) -> TextRef<'_> {
        let folded = FoldedText::Plain(self.folded.as_deref().unwrap_or(&self.text));
        TextRef { raw: RawText::Plain(&self.text), folded }
    }
}

/// Documents, filled from the front.
#[derive(Debug)]
struct Chunk {
    documents: Box<[OnceLock<Arc<Document>>]>,
    /// Their slots, once more: most searches ask for those of all documents, which are far apart in memory.
    slots: Box<[AtomicU32]>,
}

impl Chunk {
    fn new() -> Chunk {
        Chunk {
            documents: (0..CHUNK).map(|_| OnceLock::new()).collect(),
            slots: (0..CHUNK).map(|_| AtomicU32::default()).collect(),
        }
    }
}

/// Documents in a chunk.
const CHUNK: usize = 256;
/// The approximate time of testing a document, in nanoseconds.
const TEST: u64 = 20;

/// Documents in the order of their appending.
///
/// One thread appends. Readers follow the locations of their snapshot, so they never use a document newer than it.
#[derive(Debug)]
pub(crate) struct MemoryRun {
    chunks: Box<[OnceLock<Chunk>]>,
    len: AtomicU32,
    bytes: AtomicUsize,
    /// With this many documents, ranges are found in an order.
    sorted_from: u32,
    orders: MemoryOrders,
    tokens: MemoryTokens,
}

impl MemoryRun {
    /// Creates an empty run for at least `capacity` documents, rounded up to whole chunks.
    pub(crate) fn new(capacity: usize, sorted_from: u32) -> MemoryRun {
        MemoryRun {
            chunks: (0..capacity.div_ceil(CHUNK).max(1)).map(|_| OnceLock::new()).collect(),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(0),
            sorted_from,
            orders: MemoryOrders::default(),
            tokens: MemoryTokens::default(),
        }
    }

    /// Appends a document and returns its number. Returns the document as the error if the run is full.
    ///
    /// Only one thread may append.
    pub(crate) fn append(&self, document: Arc<Document>) -> Result<u32, Arc<Document>> {
        let doc = self.len.load(Ordering::Relaxed);
        let Some(chunk) = self.chunks.get(doc as usize / CHUNK) else { return Err(document) };
        let chunk = chunk.get_or_init(Chunk::new);
        self.bytes.fetch_add(document.bytes(), Ordering::Relaxed);
        chunk.slots[doc as usize % CHUNK].store(document.slot, Ordering::Relaxed);
        chunk.documents[doc as usize % CHUNK]
            .set(document)
            .expect("invariant: only one thread appends, and it sets each element once");
        self.len.store(doc + 1, Ordering::Release);
        Ok(doc)
    }

    /// Returns the number of documents it has.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// Returns the approximate size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds the documents whose value is not null and satisfies the predicate.
    pub(super) fn evaluate(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        if self.len() >= self.sorted_from
            && let Some(range) = rank_range(column.kind, predicate)
        {
            // Ranks do not depend on the collation, so any will do.
            for order in self.orders(column.id, KeyKind::Rank, &Collation::of(None), interrupt)? {
                let mut found = Bitmap::default();
                let all = || order.documents().collect();
                order.add_in_range(&range, all, interrupt, &mut found)?;
                documents.union(&found);
            }
            return Ok(());
        }
        for doc in 0..self.len() {
            interrupt.step()?;
            let value = self.document(doc).value(column.id);
            if !value.is_null() && predicate.matches(column.kind, value) {
                documents.insert(doc);
            }
        }
        Ok(())
    }

    /// Returns roughly how many nanoseconds that takes.
    pub(super) fn cost(&self, predicate: &PreparedPredicate) -> u64 {
        let texts = match predicate {
            // The whole text is searched, at some gigabytes a second.
            PreparedPredicate::Text(_) | PreparedPredicate::Substring(_) => self.bytes() as u64 / 4,
            _ => 0,
        };
        u64::from(self.len()) * TEST + texts
    }

    /// Returns orders of a column that together hold every document with a value of this kind.
    pub(crate) fn orders(
        &self,
        column: ColumnId,
        kind: KeyKind,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Arc<RunOrder>>, Error> {
        let value = |document| self.document(document).value(column);
        self.orders.get((column, kind), self.len(), &value, collation, interrupt)
    }

    /// Returns the wanted tokens of a column.
    pub(super) fn find_tokens(
        &self,
        column: ColumnId,
        scans: &mut [TokenScan<'_>],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<MemoryToken>, Error> {
        self.blocks(column, interrupt)?.find(scans, interrupt)
    }

    /// Returns the tokens of a column that a wanted one finds with typos, each with their number.
    pub(super) fn similar_tokens(
        &self,
        column: ColumnId,
        wanted: &WantedToken,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(usize, String)>, Error> {
        self.blocks(column, interrupt)?.similar(wanted, interrupt)
    }

    /// Returns the words of a column that begin so, each with the number of documents that have it.
    pub(super) fn tokens_beginning(
        &self,
        column: ColumnId,
        beginning: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<(Box<str>, u32)>, Error> {
        self.blocks(column, interrupt)?.beginning(beginning, interrupt)
    }

    /// Returns the words of a column that are longer than a word and begin or end with it.
    pub(super) fn tokens_around(
        &self,
        column: ColumnId,
        word: &str,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Box<str>>, Error> {
        self.blocks(column, interrupt)?.around(word, interrupt)
    }

    /// Returns whether a document that satisfies `is_live` has a token in a column.
    pub(super) fn has_token(
        &self,
        column: ColumnId,
        token: &str,
        is_live: impl Fn(u32) -> bool,
        interrupt: &Interrupt<'_>,
    ) -> Result<bool, Error> {
        Ok(self.blocks(column, interrupt)?.has_token(token, is_live))
    }

    /// Collects the tokens of a column.
    fn blocks(&self, column: ColumnId, interrupt: &Interrupt<'_>) -> Result<TokenBlocks, Error> {
        let text =
            |document: u32, read: &mut dyn FnMut(&str, &str)| self.document(document).value(column).each_text(read);
        self.tokens.blocks(column, self.len(), &text, interrupt)
    }

    /// Returns the lengths of the texts of a column whose tokens were collected.
    pub(super) fn length_steps(&self, column: ColumnId) -> BlockSteps {
        self.tokens.length_steps(column)
    }

    /// Returns the document with this number, which must be below [`MemoryRun::len`].
    pub(crate) fn document(&self, doc: u32) -> &Arc<Document> {
        self.chunks[doc as usize / CHUNK]
            .get()
            .and_then(|chunk| chunk.documents[doc as usize % CHUNK].get())
            .expect("invariant: documents below the length are set")
    }

    /// Returns the documents in these slots.
    pub(super) fn documents_in(&self, slots: &Bitmap) -> Bitmap {
        // The length is read before the slots, which are stored before it.
        let len = self.len() as usize;
        let chunks = self.chunks.iter().map_while(OnceLock::get);
        let all = chunks.flat_map(|chunk| chunk.slots.iter()).take(len).map(|slot| slot.load(Ordering::Relaxed));
        (0..).zip(all).filter(|(_, slot)| slots.contains(*slot)).map(|(document, _)| document).collect()
    }
}

/// Returns the range of ranks of the values that satisfy a predicate, if they are a range.
fn rank_range(kind: Kind, predicate: &PreparedPredicate) -> Option<RankRange> {
    match (kind, predicate) {
        (Kind::Number, PreparedPredicate::Number(range)) => Some(RankRange::of_numbers(range)),
        (Kind::Instant, PreparedPredicate::Instant(range)) => Some(RankRange::of_integers(range)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
