//! Bulk writes (`API.md` 4.5): one request, up to a hundred items, one transaction.
//!
//! Reads the body and makes one item of each entry; deciding them is the committer's.

use serde_json::{Map, Value};

use crate::content::command::{Extent, Item, ItemOutcome, Outcome, Publication};
use crate::content::decide::no_resource;
use crate::content::idempotency::{Done, Keep};
use crate::content::prepare::{self, UpdateTerms, Workbench, kind_of, object, unknown_keys};
use crate::content::working::Working;
use crate::content::writing::Writing;
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};
use crate::model::id::ResourceId;
use crate::model::json;

/// The most items of one request.
const MAX_ITEMS: usize = 100;

/// What a bulk request does with each of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `POST …/bulk`
    Create,
    /// `PATCH …/bulk`
    Update,
    /// `DELETE …/bulk`
    Delete,
    /// `POST …/bulk-publish`
    Publish,
    /// `POST …/bulk-unpublish`
    Unpublish,
}

/// What became of the items of a bulk request.
#[derive(Debug)]
pub struct BulkAnswer {
    /// What was done.
    pub operation: Operation,
    /// The places of the items that are done, with their resources.
    pub done: Vec<(usize, ResourceId)>,
    /// The places of the items that left no trace, with what is wrong with them.
    pub failed: Vec<(usize, Error)>,
}

impl Operation {
    /// What a token needs for it.
    pub fn ability(self) -> Ability {
        match self {
            Operation::Create => Ability::Create,
            Operation::Update => Ability::Update,
            Operation::Delete => Ability::Delete,
            Operation::Publish | Operation::Unpublish => Ability::Publish,
        }
    }

    /// The name of its success list in an answer.
    pub fn list_name(self) -> &'static str {
        match self {
            Operation::Create => "created",
            Operation::Update => "updated",
            Operation::Delete => "deleted",
            Operation::Publish => "published",
            Operation::Unpublish => "unpublished",
        }
    }

    /// The key of the body that holds the items.
    fn items_key(self) -> &'static str {
        match self {
            Operation::Create => "resources",
            Operation::Update => "updates",
            Operation::Delete | Operation::Publish | Operation::Unpublish => "ids",
        }
    }

    fn known_keys(self) -> &'static [&'static str] {
        match self {
            Operation::Create => &["resources"],
            Operation::Update => &["updates"],
            Operation::Publish => &["ids", "published_at"],
            Operation::Delete | Operation::Unpublish => &["ids"],
        }
    }
}

impl Writing {
    /// Does a bulk request: the items that pass are durable and visible on return, the others left no trace.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `BULK_LIMIT_EXCEEDED`, `VALIDATION_FAILED`, `OVERLOADED`: nothing was applied.
    pub async fn bulk(
        mut self,
        operation: Operation,
        body: &[u8],
        keep: Option<Keep<BulkAnswer>>,
    ) -> Result<Done<BulkAnswer>> {
        let body = json::parse(body)?;
        let published = check_body(operation, &body)?;
        let may_publish = self.may_publish();
        let prepare = move |bench: Workbench<'_>, body: &Value| {
            let entries = body[operation.items_key()].as_array().map_or(&[][..], Vec::as_slice);
            let terms = Terms { operation, published, may_publish };
            entries.iter().map(|entry| prepare_item(bench, terms, entry)).collect()
        };
        let keeping = |_: &Writing| {
            let read = move |outcome: &Outcome, _: &Working<'_>| match outcome {
                Outcome::Written(outcomes) => Ok(BulkAnswer::of(operation, outcomes)),
                _ => Err(Error::internal("a bulk write with another command's outcome")),
            };
            keep.as_ref().map(|keep| keep.for_command(read))
        };
        let done = self.run(body, prepare, keeping).await?;
        Ok(done.map(|outcomes| BulkAnswer::of(operation, &outcomes)))
    }
}

impl BulkAnswer {
    fn of(operation: Operation, outcomes: &[ItemOutcome]) -> BulkAnswer {
        let mut answer = BulkAnswer { operation, done: Vec::new(), failed: Vec::new() };
        for (index, outcome) in outcomes.iter().enumerate() {
            match outcome {
                ItemOutcome::Done(written) => answer.done.push((index, written.id)),
                ItemOutcome::Failed(error) => answer.failed.push((index, error.clone())),
                ItemOutcome::Waiting(_) => answer.failed.push((index, Error::internal("a bulk item that waits"))),
            }
        }
        answer
    }
}

/// Reads what concerns the request as a whole: its keys, how many items it has, and the date of a bulk publish.
fn check_body(operation: Operation, body: &Value) -> Result<Publication> {
    let body = object(body)?;
    let key = operation.items_key();
    let mut faults = unknown_keys(body, operation.known_keys(), &[]);
    match body.get(key) {
        Some(Value::Array(items)) if (1..=MAX_ITEMS).contains(&items.len()) => {}
        Some(Value::Array(items)) => {
            let count = items.len();
            let text = format!("`{key}` has {count} items; one request takes 1 to {MAX_ITEMS}; nothing was applied");
            return Err(Error::new(Code::BulkLimitExceeded, text));
        }
        other => {
            let sent = other.map_or("missing", kind_of);
            faults.push((key.to_owned(), vec![format!("must be an array of 1 to {MAX_ITEMS} items; it is {sent}")]));
        }
    }
    let published = match operation {
        Operation::Publish => publish_date(body, &mut faults),
        Operation::Unpublish => Publication::Draft,
        Operation::Create | Operation::Update | Operation::Delete => Publication::Keep,
    };
    if faults.is_empty() { Ok(published) } else { Err(Error::validation(faults)) }
}

/// The date that a bulk publish sets; left out it is the moment of the change, for drafts alone.
fn publish_date(body: &Map<String, Value>, faults: &mut Vec<(String, Vec<String>)>) -> Publication {
    match prepare::publication(body, faults) {
        Publication::At(date) => Publication::At(date),
        Publication::Draft => {
            let text = "must be an ISO 8601 date and time; leave it out to publish now, or use `bulk-unpublish`";
            faults.push(("published_at".to_owned(), vec![text.to_owned()]));
            Publication::Keep
        }
        Publication::Keep | Publication::Now => Publication::Now,
    }
}

/// What holds for all items of a request.
#[derive(Clone, Copy)]
struct Terms {
    operation: Operation,
    published: Publication,
    may_publish: bool,
}

fn prepare_item(bench: Workbench<'_>, terms: Terms, entry: &Value) -> Item {
    let prepared = match terms.operation {
        Operation::Create => return prepare::create(bench, entry),
        Operation::Update => prepare_update(bench, terms, entry),
        Operation::Delete => read_id(bench.blueprint, entry).map(|id| Item::Delete { id, if_match: None }),
        Operation::Publish | Operation::Unpublish => read_id(bench.blueprint, entry).map(|id| Item::Update {
            id,
            copy: None,
            published: terms.published,
            may_publish: terms.may_publish,
            if_match: None,
            refusal: None,
            faults: Vec::new(),
        }),
    };
    prepared.unwrap_or_else(Item::Refused)
}

fn prepare_update(bench: Workbench<'_>, terms: Terms, entry: &Value) -> Result<Item> {
    let id = object(entry)?.get("id").unwrap_or(&Value::Null);
    let id = read_id(bench.blueprint, id)?;
    let terms = UpdateTerms { id, if_match: None, may_publish: terms.may_publish, extent: Extent::Partial };
    Ok(prepare::update(bench, terms, entry))
}

fn read_id(blueprint: &Blueprint, value: &Value) -> Result<ResourceId> {
    match value {
        Value::String(id) => ResourceId::parse(id).ok_or_else(|| no_resource(blueprint, id)),
        other => {
            let text = format!("must be the id of a resource, a string; it is {}", kind_of(other));
            Err(Error::validation(vec![("id".to_owned(), vec![text])]))
        }
    }
}
