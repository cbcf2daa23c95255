//! Reads the resources of an answer and writes them as JSON. Must not know which parts of a resource are shown.
//!
//! If everything needed is in memory, this takes microseconds and runs at once. Otherwise threads that may wait for the
//! store do it, for several resources in parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bindery_index::{Hit, Interrupt};
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;

use crate::data::lookup::Lookup;
use crate::data::records::CopyVersion;
use crate::data::state::{Collection, State};
use crate::data::stored_copies::StoredCopies;
use crate::read::resource::{Presentation, copies_shown, write_hit};
use crate::read::view::View;
use crate::thread_pool::Class;

/// The fewest resources that a thread reads. With 2, the seven threads of a page of 25 took a fifth longer than four
/// with files in memory, since neighbors are read together from the store; a disk that must be waited for serves four
/// at once.
const AT_LEAST: usize = 7;

/// The estimated time of searching a page's texts for highlights. With many words and long texts it can take minutes.
/// So it is scheduled like a search, and ends when its time is up or its client has left.
const HIGHLIGHTED: Duration = Duration::from_millis(2);

/// The data needed to write hits as JSON.
#[derive(Clone)]
struct HitPresenter {
    /// Held so that the versions of the copies stay in the store.
    _state: Arc<State>,
    stored: StoredCopies,
    collection: Arc<Collection>,
    presentation: Arc<Presentation>,
    /// The most bytes that the objects may have together.
    max_bytes: usize,
}

/// The bytes that the objects of an answer have so far, on all threads that write them.
struct AnswerSize {
    bytes: AtomicUsize,
    max_bytes: usize,
}

impl AnswerSize {
    /// # Errors
    /// `INVALID_PARAMETER` if so many more bytes are too many.
    fn add(&self, bytes: usize) -> Result<()> {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.max_bytes { Err(answer_too_large(self.max_bytes)) } else { Ok(()) }
    }
}

/// Returns `INVALID_PARAMETER` for an answer of more than `max_bytes`. The same request would never be answered, so it
/// must not be reported as one to try again.
pub fn answer_too_large(max_bytes: usize) -> Error {
    let text = format!(
        "the answer has more than {} MiB, the most that is sent at once (`max_buffer_mib`); lower `per_page`, or ask \
         for less of each resource with `fields`",
        max_bytes >> 20
    );
    Error::new(Code::InvalidParameter, text)
}

impl View {
    /// Returns the resource objects of hits as JSON text, separated by commas.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if they are too large for an answer; `INTERNAL` if the store fails; `OVERLOADED` if
    /// highlighting takes too long.
    pub(super) async fn objects(&self, hits: &[Hit], presentation: Presentation) -> Result<String> {
        let presenter = self.presenter(presentation);
        if presenter.is_at_hand(hits) {
            return presenter.write(hits, &Interrupt::never(), &presenter.size());
        }
        if presenter.presentation.highlights.is_none() {
            let size = Arc::new(presenter.size());
            let write = move |hits: &[Hit]| presenter.write(hits, &Interrupt::never(), &size);
            let written = self.pool.share(Class::Read, hits, AT_LEAST, write).await?;
            return Ok(joined(written.into_iter().collect::<Result<Vec<String>>>()?));
        }
        let reading = presenter.clone();
        self.pool.share(Class::Read, hits, AT_LEAST, move |hits| reading.read_ahead(hits)).await?;
        let hits = hits.to_vec();
        let search = move |interrupt: &Interrupt<'_>| match presenter.write(&hits, interrupt, &presenter.size()) {
            Err(_) if interrupt.is_over() => None,
            written => Some(written),
        };
        self.searches.run(HIGHLIGHTED, search).await
    }

    /// Like [`View::objects`], but on this thread and without a time limit.
    pub(super) fn objects_here(&self, hits: &[Hit], presentation: Presentation) -> Result<String> {
        let presenter = self.presenter(presentation);
        presenter.write(hits, &Interrupt::never(), &presenter.size())
    }

    fn presenter(&self, presentation: Presentation) -> HitPresenter {
        let (stored, collection) = (self.stored.clone(), Arc::clone(&self.collection));
        let (presentation, max_bytes) = (Arc::new(presentation), self.max_answer_bytes);
        HitPresenter { _state: Arc::clone(&self.state), stored, collection, presentation, max_bytes }
    }
}

/// Joins objects with commas. Leaves room for the brackets of a list: otherwise adding them would copy a page.
fn joined(pieces: Vec<String>) -> String {
    let bytes: usize = pieces.iter().map(|piece| piece.len() + 1).sum();
    let mut all = String::with_capacity(bytes + 1);
    for piece in pieces {
        if !all.is_empty() {
            all.push(',');
        }
        all.push_str(&piece);
    }
    all
}

impl HitPresenter {
    /// Returns the size of an answer without objects.
    fn size(&self) -> AnswerSize {
        AnswerSize { bytes: AtomicUsize::new(0), max_bytes: self.max_bytes }
    }

    /// Returns whether writing these hits takes microseconds: no read from the store, and no text to search.
    fn is_at_hand(&self, hits: &[Hit]) -> bool {
        let Presentation { highlights, names, .. } = &*self.presentation;
        highlights.is_none() && names.is_none() && hits.iter().all(|hit| self.missing(hit).next().is_none())
    }

    fn missing(&self, hit: &Hit) -> impl Iterator<Item = CopyVersion> {
        let (blueprint, id) = (self.collection.blueprint.number, ResourceId::from_u128(hit.id));
        copies_shown(&self.collection, hit, &self.presentation)
            .filter(move |version| !self.stored.has(blueprint, id, *version))
    }

    /// Reads the missing copies, so that they are in memory when the texts of these hits are searched. Errors are
    /// ignored: the search meets them again.
    fn read_ahead(&self, hits: &[Hit]) {
        let blueprint = self.collection.blueprint.number;
        for hit in hits {
            let id = ResourceId::from_u128(hit.id);
            self.missing(hit).for_each(|version| drop(self.stored.copy(blueprint, id, version)));
            if self.presentation.names.is_some() {
                drop(self.stored.meta(blueprint, id));
            }
        }
    }

    /// Writes hits. Ends as soon as they are too large, also together with those that other threads write.
    fn write(&self, hits: &[Hit], interrupt: &Interrupt<'_>, size: &AnswerSize) -> Result<String> {
        let mut resources = String::with_capacity(4096);
        for (position, hit) in hits.iter().enumerate() {
            if position > 0 {
                resources.push(',');
            }
            let before = resources.len();
            write_hit(&mut resources, &self.stored, &self.collection, hit, &self.presentation, interrupt)?;
            size.add(resources.len() - before)?;
        }
        Ok(resources)
    }
}
