//! The run that lives in memory: append-only, read while it grows. Its documents are also what a disk run is built
//! from. It knows no liveness and no postings: small enough to be asked document by document.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::schema::{ColumnId, Value};
use crate::text::{fold, head};
use crate::value::{Full, ListRef, TextRef, ValueRef, framed};

/// One copy of one resource.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) slot: u32,
    /// By column, ascending.
    values: Box<[(ColumnId, Stored)]>,
}

/// A value with its folded form.
#[derive(Debug)]
enum Stored {
    Text(StoredText),
    Markup([u8; 16], StoredText),
    Number(f64),
    Bool(bool),
    Instant(i64, Arc<str>),
    /// Framed elements; the folded ones are absent if folding changes nothing.
    List(Box<[u8]>, Option<Box<[u8]>>),
}

#[derive(Debug)]
struct StoredText {
    text: Arc<str>,
    /// Bytes of the head.
    head: u32,
    /// Absent if folding changes nothing.
    folded: Option<Box<str>>,
}

impl Document {
    pub(crate) fn new(slot: u32, values: Vec<(ColumnId, Value)>) -> Document {
        let mut values: Vec<_> = values.into_iter().map(|(column, value)| (column, Stored::new(value))).collect();
        values.sort_by_key(|(column, _)| *column);
        Document { slot, values: values.into_boxed_slice() }
    }

    /// The value of a column; null if it has none.
    pub(crate) fn value(&self, column: ColumnId) -> ValueRef<'_> {
        match self.values.binary_search_by_key(&column, |(column, _)| *column) {
            Ok(place) => self.values[place].1.as_ref(),
            Err(_) => ValueRef::Null,
        }
    }

    /// All values that are not null, by column, ascending.
    pub(crate) fn values(&self) -> impl Iterator<Item = (ColumnId, ValueRef<'_>)> {
        self.values.iter().map(|(column, value)| (*column, value.as_ref()))
    }

    /// Bytes of text, roughly.
    fn bytes(&self) -> usize {
        64 + self.values.iter().map(|(_, value)| value.bytes()).sum::<usize>()
    }
}

impl Stored {
    fn new(value: Value) -> Stored {
        match value {
            Value::Text(text) => Stored::Text(StoredText::new(text)),
            Value::Markup { exact, text } => Stored::Markup(exact, StoredText::new(text)),
            Value::Number(number) => Stored::Number(number),
            Value::Bool(value) => Stored::Bool(value),
            Value::Instant { micros, text } => Stored::Instant(micros, text),
            Value::List(elements) => {
                let raw = framed(&elements);
                let folded = framed(&elements.iter().map(|element| fold(element)).collect::<Vec<_>>());
                let folded = (folded != raw).then(|| folded.into_boxed_slice());
                Stored::List(raw.into_boxed_slice(), folded)
            }
        }
    }

    fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Stored::Text(text) => ValueRef::Text(text.as_ref()),
            Stored::Markup(exact, text) => ValueRef::Markup { exact: *exact, text: text.as_ref() },
            Stored::Number(number) => ValueRef::Number(*number),
            Stored::Bool(value) => ValueRef::Bool(*value),
            Stored::Instant(micros, text) => ValueRef::Instant { micros: *micros, text },
            Stored::List(raw, folded) => ValueRef::List(ListRef { raw, folded: folded.as_ref().unwrap_or(raw) }),
        }
    }

    fn bytes(&self) -> usize {
        let text = |text: &StoredText| text.text.len() + text.folded.as_ref().map_or(0, |folded| folded.len());
        48 + match self {
            Stored::Text(value) | Stored::Markup(_, value) => text(value),
            Stored::Number(_) | Stored::Bool(_) => 0,
            Stored::Instant(_, text) => text.len(),
            Stored::List(raw, folded) => raw.len() + folded.as_ref().map_or(0, |folded| folded.len()),
        }
    }
}

impl StoredText {
    fn new(text: Arc<str>) -> StoredText {
        let folded = fold(&text);
        let folded = (*folded != *text).then(|| folded.into_owned().into_boxed_str());
        // Texts are at most a few MiB; a head is at most 1 KiB.
        let head = head(&text).len() as u32;
        StoredText { text, head, folded }
    }

    fn as_ref(&self) -> TextRef<'_> {
        let head = &self.text[..self.head as usize];
        TextRef {
            head,
            full: match head.len() == self.text.len() {
                true => Full::Head,
                false => Full::Plain(&self.text),
            },
            folded: self.folded.as_deref().unwrap_or(&self.text),
        }
    }
}

/// Documents of one chunk, filled from the front.
type Chunk = Box<[OnceLock<Arc<Document>>]>;

const CHUNK: usize = 256;

/// Documents in the order they came. One thread appends; readers go by what their snapshot's locations name, so they
/// never see a document that is newer than their snapshot.
#[derive(Debug)]
pub(crate) struct MemoryRun {
    chunks: Box<[OnceLock<Chunk>]>,
    len: AtomicU32,
    bytes: AtomicUsize,
}

impl MemoryRun {
    pub(crate) fn new(capacity: usize) -> MemoryRun {
        MemoryRun {
            chunks: (0..capacity.div_ceil(CHUNK).max(1)).map(|_| OnceLock::new()).collect(),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Appends and gives the document's number, or the document back if the run is full. Only one thread may append.
    pub(crate) fn append(&self, document: Arc<Document>) -> Result<u32, Arc<Document>> {
        let doc = self.len.load(Ordering::Relaxed);
        let Some(chunk) = self.chunks.get(doc as usize / CHUNK) else { return Err(document) };
        let chunk = chunk.get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        self.bytes.fetch_add(document.bytes(), Ordering::Relaxed);
        chunk[doc as usize % CHUNK].set(document).expect("one thread appends, each place once");
        self.len.store(doc + 1, Ordering::Release);
        Ok(doc)
    }

    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// Bytes of text, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The document of that number, which must be below [`MemoryRun::len`].
    pub(crate) fn document(&self, doc: u32) -> &Arc<Document> {
        self.chunks[doc as usize / CHUNK]
            .get()
            .and_then(|chunk| chunk[doc as usize % CHUNK].get())
            .expect("documents below the length are there")
    }
}

#[cfg(test)]
mod tests;
