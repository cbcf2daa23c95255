//! Working copies (`API.md` 4.21): publishes them, plans that, discards one.

use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_model::json;
use bindery_query::CopyKind;
use serde_json::Value;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{ParsedBody, ResourceWriter};
use crate::command::Item;
use crate::data::refusals::without_working_copies;
use crate::data::version::IfMatch;
use crate::prepare::body::Preparation;
use crate::prepare::working;
use crate::read::resource::ResourceAnswer;

impl ResourceWriter {
    /// Returns whether the request is about working copies.
    pub fn is_working(&self) -> bool {
        self.copy == CopyKind::Working
    }

    /// Checks that the blueprint has working copies.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it has none.
    pub fn require_working_copies(&self) -> Result<()> {
        let blueprint = &self.collection.blueprint;
        if blueprint.working_copy { Ok(()) } else { Err(without_working_copies(&blueprint.slug)) }
    }

    /// Discards the working copy of the variant of the request. Durable and visible on return.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PRECONDITION_FAILED`, `CONFLICT` while its publication is planned, `OVERLOADED`.
    pub(super) async fn discard(&mut self, id: ResourceId, if_match: IfMatch) -> Result<()> {
        let prepare = move |preparation: Preparation<'_>, _: Value| {
            let variant = preparation.variant;
            vec![Item::DiscardWorkingCopy { id, variant, if_match: if_match.clone() }]
        };
        self.run_one(ParsedBody { bytes: b"null", parsed: Value::Null }, prepare).await.map(|_| ())
    }

    /// Makes working copies of a resource live, or plans that. Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `CONFLICT`, `OVERLOADED`.
    pub async fn publish(
        mut self,
        id: ResourceId,
        if_match: IfMatch,
        body: &[u8],
        idempotent: Option<Idempotency<ResourceAnswer>>,
    ) -> Result<IdempotentAnswer<ResourceAnswer>> {
        // An empty body publishes all working copies now.
        let body = if body.is_empty() { b"{}" } else { body };
        let (parsed, _admitted) = self.content.read_body(body, json::parse).await?;
        let prepare = move |preparation: Preparation<'_>, body: Value| {
            vec![working::publication(preparation.blueprint, id, if_match.clone(), body)]
        };
        let keep = |writing: &ResourceWriter, _: &[Item]| writing.keep_answer(idempotent.as_ref());
        match self.run(ParsedBody { bytes: body, parsed }, prepare, keep).await? {
            IdempotentAnswer::Fresh((outcomes, _)) => self.answered(&outcomes),
            IdempotentAnswer::Kept(answer) => Ok(IdempotentAnswer::Kept(answer)),
        }
    }
}
