//! Writes of one resource that send no values, and their answers: publications, restorations and removals. An answer is
//! made by the caller or, if a request has an `Idempotency-Key`, by the committer, in the transaction of the write.

use std::sync::Arc;

use bindery_access::Access;
use bindery_model::error::{Error, Result};
use bindery_model::value::FieldRemovals;
use bindery_query::{CopyKind, Selection};

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{ResourceWriter, only};
use crate::clock::ContentClock;
use crate::command::{Item, ItemOutcome, KeepAnswer, Outcome, WrittenResource};
use crate::data::lookup::Lookup;
use crate::data::state::{Collection, State};
use crate::data::visibility::shows_written;
use crate::read::resource::{Presentation, ResourceAnswer, written_answer};

/// The data that such an answer is made from, beside the resource.
struct AnswerContext {
    state: Arc<State>,
    collection: Arc<Collection>,
    access: Access,
    time: Arc<ContentClock>,
    /// The presentation of the live resource, all of it.
    presentation: Presentation,
}

impl AnswerContext {
    /// Returns the resource: all of it if the token sees what was written, and no attributes otherwise.
    fn answer(&self, lookup: &dyn Lookup, written: &WrittenResource) -> Result<ResourceAnswer> {
        let (blueprint, is_working) = (&self.collection.blueprint, written.copy_kind == CopyKind::Working);
        let (now, published) = (self.time.now(), written.meta.published);
        let is_seen = shows_written(&self.access, blueprint, written.copy_kind, published, now);
        let selection = if is_seen { Selection::all() } else { Selection::with_attributes(Vec::new()) };
        let presentation = Presentation { selection, is_working, ..self.presentation.clone() };
        written_answer(lookup, blueprint, self.state.epoch, written, &presentation, FieldRemovals::default())
    }
}

impl ResourceWriter {
    /// Has the committer decide the removal of a history, or of a resource in the trash. Durable on return.
    pub(super) async fn remove(&mut self, item: Item) -> Result<()> {
        let items = Arc::new(vec![item]);
        loop {
            match self.submit(Arc::clone(&items), None).await? {
                Outcome::Written(outcomes) => return only(&outcomes).map(drop),
                Outcome::Stale => self.refresh()?,
                _ => return Err(Error::internal("a removal with the outcome of another command")),
            }
        }
    }

    /// Returns the answer to a write that was decided.
    pub(super) fn answered(&self, outcomes: &[ItemOutcome]) -> Result<IdempotentAnswer<ResourceAnswer>> {
        let answer = self.answer_context().answer(&self.content.shared.store, &only(outcomes)?)?;
        Ok(IdempotentAnswer::Fresh(answer))
    }

    /// Returns what the committer needs to keep the answer, if it is to be kept.
    pub(super) fn keep_answer(&self, idempotent: Option<&Idempotency<ResourceAnswer>>) -> Option<KeepAnswer> {
        let idempotent = idempotent?;
        let context = self.answer_context();
        let read = move |outcome: &Outcome, lookup: &dyn Lookup| context.answer(lookup, &only(outcome.items()?)?);
        Some(idempotent.keep(read))
    }

    fn answer_context(&self) -> AnswerContext {
        AnswerContext {
            state: Arc::clone(&self.state),
            collection: Arc::clone(&self.collection),
            access: self.access.clone(),
            time: Arc::clone(&self.content.shared.time),
            presentation: self.presentation(Selection::all()),
        }
    }
}
