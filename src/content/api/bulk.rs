//! Bulk writes (`API.md` 4.5): one request, up to a hundred items, one transaction.

use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::json;
use bindery_model::value::FieldRemovals;
use serde_json::{Map, Value};

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{ParsedBody, ResourceWriter};
use crate::command::{Item, ItemOutcome, Outcome};
use crate::data::lookup::Lookup;
use crate::prepare::body::Preparation;
use crate::prepare::bulk::{self, BulkTerms, Operation};

/// The outcomes of the items of a bulk request.
#[derive(Debug)]
pub struct BulkAnswer {
    /// The operation of the request.
    pub operation: Operation,
    /// The items that were applied, in order.
    pub applied: Vec<AppliedItem>,
    /// The items that left no trace, in order.
    pub failed: Vec<FailedItem>,
}

/// An item that was applied.
#[derive(Debug)]
pub struct AppliedItem {
    /// Its position in the request.
    pub index: usize,
    /// The resource.
    pub id: ResourceId,
    /// The parts that sanitizing removed from it.
    pub sanitized: FieldRemovals,
    /// The problems that publishing its working copy would have at the moment: messages by slug.
    pub not_ready: Map<String, Value>,
}

/// An item that left no trace.
#[derive(Debug)]
pub struct FailedItem {
    /// Its position in the request.
    pub index: usize,
    /// The problem with it.
    pub error: Error,
}

impl ResourceWriter {
    /// Checks that the operation is possible with `copy=working`, if that was sent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is not.
    pub fn check_operation(&self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Create | Operation::Delete | Operation::Unpublish => self.require_live("do this"),
            Operation::Update | Operation::Publish => Ok(()),
        }
    }

    /// Carries out a bulk request. The items that pass are durable and visible on return, the others left no trace.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `BULK_LIMIT_EXCEEDED`, `VALIDATION_FAILED`, `OVERLOADED`: nothing was applied.
    pub async fn bulk(
        mut self,
        operation: Operation,
        body: &[u8],
        idempotent: Option<Idempotency<BulkAnswer>>,
    ) -> Result<IdempotentAnswer<BulkAnswer>> {
        let (parsed, _admitted) = self.content.read_body(body, json::parse).await?;
        let check = |writing: &ResourceWriter| {
            bulk::check_body(operation, &writing.collection.blueprint, writing.copy, &parsed)
        };
        let published = self.checked(check).await?;
        let terms = BulkTerms { operation, published, may_publish: self.may_publish(), copy_kind: self.copy };
        let prepare = move |preparation: Preparation<'_>, body: Value| bulk::items(preparation, terms, body);
        let keep = |_: &ResourceWriter, items: &[Item]| {
            let sanitized: Vec<FieldRemovals> = items.iter().map(Item::sanitized).collect();
            let read =
                move |outcome: &Outcome, _: &dyn Lookup| Ok(BulkAnswer::of(operation, outcome.items()?, &sanitized));
            idempotent.as_ref().map(|idempotent| idempotent.keep(read))
        };
        let answered = self.run(ParsedBody { bytes: body, parsed }, prepare, keep).await?;
        Ok(answered.map(|(outcomes, items)| {
            let sanitized: Vec<FieldRemovals> = items.iter().map(Item::sanitized).collect();
            BulkAnswer::of(operation, &outcomes, &sanitized)
        }))
    }
}

impl BulkAnswer {
    /// Makes the answer. `sanitized` lists the parts that were removed from each item.
    fn of(operation: Operation, outcomes: &[ItemOutcome], sanitized: &[FieldRemovals]) -> BulkAnswer {
        let mut answer = BulkAnswer { operation, applied: Vec::new(), failed: Vec::new() };
        for (index, (outcome, sanitized)) in outcomes.iter().zip(sanitized).enumerate() {
            match outcome.written() {
                Ok(written) => {
                    let (sanitized, not_ready) = (sanitized.clone(), written.not_ready.clone());
                    answer.applied.push(AppliedItem { index, id: written.id, sanitized, not_ready });
                }
                Err(error) => answer.failed.push(FailedItem { index, error }),
            }
        }
        answer
    }
}
