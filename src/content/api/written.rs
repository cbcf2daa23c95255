//! Writes of one resource that send no values, and their answers: publications, restorations and removals. An answer is
//! made by the caller or, if a request has an `Idempotency-Key`, by the committer, in the transaction of the write.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use bindery_model::value::FieldRemovals;
use bindery_query::CopyKind;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{ResourceWriter, only};
use crate::command::{Item, ItemOutcome, KeepAnswer, Outcome, WrittenResource};
use crate::data::lookup::Lookup;
use crate::data::state::{Collection, State};
use crate::read::resource::{Presentation, ResourceAnswer, written_answer};

/// The data that such an answer is made from, beside the resource.
struct AnswerContext {
    state: Arc<State>,
    collection: Arc<Collection>,
    /// The presentation of the live resource.
    presentation: Presentation,
}

impl AnswerContext {
    /// Returns the resource with the copy that was written.
    fn answer(&self, lookup: &dyn Lookup, written: &WrittenResource) -> Result<ResourceAnswer> {
        let (blueprint, is_working) = (&self.collection.blueprint, written.copy_kind == CopyKind::Working);
        let presentation = Presentation { is_working, ..self.presentation.clone() };
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
        let (state, collection) = (Arc::clone(&self.state), Arc::clone(&self.collection));
        AnswerContext { state, collection, presentation: self.presentation() }
    }
}
