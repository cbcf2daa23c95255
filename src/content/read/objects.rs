//! Reads the resources of an answer and writes them as JSON. Must not know which parts of a resource are shown.
//!
//! If everything needed is in memory, this takes microseconds and runs at once. Otherwise threads that may wait for the
//! store do it, for several resources in parallel.

use std::sync::Arc;
use std::time::Duration;

use bindery_index::{Hit, Interrupt};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;

use crate::data::documents::Documents;
use crate::data::lookup::Lookup;
use crate::data::records::CopyVersion;
use crate::data::state::{Collection, State};
use crate::read::resource::{Presentation, copies_shown, write_hit};
use crate::read::view::View;
use crate::thread_pool::Class;

/// The fewest resources that a thread reads: on a fast disk, handing a read to a thread takes as long as the read.
const AT_LEAST: usize = 2;

/// The estimated time of searching a page's texts for highlights. With many words and long texts it can take minutes.
/// So it is scheduled like a search, and ends when its time is up or its client has left.
const HIGHLIGHTED: Duration = Duration::from_millis(2);

/// The data needed to write hits as JSON.
#[derive(Clone)]
struct HitPresenter {
    /// Held so that the versions of the copies stay in the store.
    _state: Arc<State>,
    documents: Documents,
    collection: Arc<Collection>,
    presentation: Arc<Presentation>,
}

impl View {
    /// Returns the resource objects of hits as JSON text, separated by commas.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails; `OVERLOADED` if highlighting takes too long.
    pub(super) async fn objects(&self, hits: &[Hit], presentation: Presentation) -> Result<String> {
        let shown = self.shown(presentation);
        if shown.is_at_hand(hits) {
            return shown.write(hits, &Interrupt::never());
        }
        if shown.presentation.highlights.is_none() {
            let write = move |hits: &[Hit]| shown.write(hits, &Interrupt::never());
            let written = self.pool.share(Class::Read, hits, AT_LEAST, write).await?;
            return Ok(written.into_iter().collect::<Result<Vec<String>>>()?.join(","));
        }
        let reading = shown.clone();
        self.pool.share(Class::Read, hits, AT_LEAST, move |hits| reading.read_ahead(hits)).await?;
        let hits = hits.to_vec();
        let search = move |interrupt: &Interrupt<'_>| match shown.write(&hits, interrupt) {
            Err(_) if interrupt.is_over() => None,
            written => Some(written),
        };
        self.searches.run(HIGHLIGHTED, search).await
    }

    /// Like [`View::objects`], but on this thread and without a time limit.
    pub(super) fn objects_here(&self, hits: &[Hit], presentation: Presentation) -> Result<String> {
        self.shown(presentation).write(hits, &Interrupt::never())
    }

    fn shown(&self, presentation: Presentation) -> HitPresenter {
        let (documents, collection) = (self.documents.clone(), Arc::clone(&self.collection));
        HitPresenter { _state: Arc::clone(&self.state), documents, collection, presentation: Arc::new(presentation) }
    }
}

impl HitPresenter {
    /// Returns whether writing these hits takes microseconds: no read from the store, and no text to search.
    fn is_at_hand(&self, hits: &[Hit]) -> bool {
        let Presentation { highlights, names, .. } = &*self.presentation;
        highlights.is_none() && names.is_none() && hits.iter().all(|hit| self.missing(hit).next().is_none())
    }

    fn missing(&self, hit: &Hit) -> impl Iterator<Item = CopyVersion> {
        let (blueprint, id) = (self.collection.blueprint.number, ResourceId::from_u128(hit.id));
        copies_shown(&self.collection, hit, &self.presentation)
            .filter(move |version| !self.documents.has(blueprint, id, *version))
    }

    /// Reads the missing copies, so that they are in memory when the texts of these hits are searched. Errors are
    /// ignored: the search meets them again.
    fn read_ahead(&self, hits: &[Hit]) {
        let blueprint = self.collection.blueprint.number;
        for hit in hits {
            let id = ResourceId::from_u128(hit.id);
            self.missing(hit).for_each(|version| drop(self.documents.copy(blueprint, id, version)));
            if self.presentation.names.is_some() {
                drop(self.documents.meta(blueprint, id));
            }
        }
    }

    fn write(&self, hits: &[Hit], interrupt: &Interrupt<'_>) -> Result<String> {
        let mut resources = String::with_capacity(4096);
        for (position, hit) in hits.iter().enumerate() {
            if position > 0 {
                resources.push(',');
            }
            write_hit(&mut resources, &self.documents, &self.collection, hit, &self.presentation, interrupt)?;
        }
        Ok(resources)
    }
}
