//! Reads the bodies of bulk requests (`API.md` 4.5) into one item per entry.

use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_query::CopyKind;
use serde_json::{Map, Value};

use crate::command::{Extent, Item, Publication, Update};
use crate::data::refusals::no_resource;
use crate::data::version::IfMatch;
use crate::prepare::body::{self, Preparation, UpdateTerms, kind_of, object, unknown_keys};
use crate::prepare::working::PublicationTerms;

/// The maximum number of items in a request.
const MAX_ITEMS: usize = 100;

/// The operation of a bulk request on each of its items.
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

impl Operation {
    /// Returns the ability that a token needs for the operation.
    pub fn ability(self) -> Ability {
        match self {
            Operation::Create => Ability::Create,
            Operation::Update => Ability::Update,
            Operation::Delete => Ability::Delete,
            Operation::Publish | Operation::Unpublish => Ability::Publish,
        }
    }

    /// Returns the name of the list of successes in the answer.
    pub fn list_name(self) -> &'static str {
        match self {
            Operation::Create => "created",
            Operation::Update => "updated",
            Operation::Delete => "deleted",
            Operation::Publish => "published",
            Operation::Unpublish => "unpublished",
        }
    }

    /// Returns the key of the body that holds the items.
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

/// The keys of a bulk publication of working copies.
const PUBLICATION_KEYS: [&str; 5] = ["ids", "variants", "published_at", "at", "force"];

/// Checks the request as a whole: its keys and its number of items. Returns how publication dates change.
///
/// # Errors
/// `VALIDATION_FAILED`, `BULK_LIMIT_EXCEEDED`.
pub(crate) fn check_body(
    operation: Operation,
    blueprint: &Blueprint,
    copy_kind: CopyKind,
    body: &Value,
) -> Result<Publication> {
    let object = object(body)?;
    let key = operation.items_key();
    let is_of_working_copies = operation == Operation::Publish && copy_kind == CopyKind::Working;
    let mut errors = match is_of_working_copies {
        true => PublicationTerms::read(blueprint, object, &PUBLICATION_KEYS).1,
        false => unknown_keys(object, operation.known_keys(), &[]),
    };
    match object.get(key) {
        Some(Value::Array(items)) if (1..=MAX_ITEMS).contains(&items.len()) => {}
        Some(Value::Array(items)) => {
            let count = items.len();
            let text = format!("`{key}` has {count} items; one request accepts 1 to {MAX_ITEMS}; nothing was applied");
            return Err(Error::new(Code::BulkLimitExceeded, text));
        }
        other => {
            let sent = other.map_or("missing", kind_of);
            errors.push((key.to_owned(), vec![format!("must be an array of 1 to {MAX_ITEMS} items; it is {sent}")]));
        }
    }
    let published = match operation {
        Operation::Publish if is_of_working_copies => Publication::Keep,
        Operation::Publish => publish_date(object, &mut errors),
        Operation::Unpublish => Publication::Draft,
        Operation::Create | Operation::Update | Operation::Delete => Publication::Keep,
    };
    if errors.is_empty() { Ok(published) } else { Err(Error::validation(errors)) }
}

/// Reads the date that a bulk publish sets. Without one, drafts get the time of the write, and published resources keep
/// their date.
fn publish_date(object: &Map<String, Value>, errors: &mut FieldErrors) -> Publication {
    let error = match object.get("published_at") {
        None => return Publication::Now,
        Some(Value::Null) => {
            "must be an ISO 8601 date and time; leave it out to publish now, or use `bulk-unpublish`".to_owned()
        }
        Some(sent) => match body::date_not_null(sent) {
            Ok(date) => return Publication::At(date),
            Err(error) => error,
        },
    };
    errors.push(("published_at".to_owned(), vec![error]));
    Publication::Keep
}

/// The parameters that all items of a request share.
#[derive(Clone, Copy)]
pub(crate) struct BulkTerms {
    /// The operation on each item.
    pub(crate) operation: Operation,
    /// The change of their publication dates.
    pub(crate) published: Publication,
    /// True if the token may change between draft and published.
    pub(crate) may_publish: bool,
    /// The copies that are written.
    pub(crate) copy_kind: CopyKind,
}

/// Prepares the items of a body that [`check_body`] has accepted.
pub(crate) fn items(preparation: Preparation<'_>, terms: BulkTerms, mut body: Value) -> Vec<Item> {
    let Value::Array(entries) = body[terms.operation.items_key()].take() else { return Vec::new() };
    if terms.operation == Operation::Publish && terms.copy_kind == CopyKind::Working {
        return publications_of_working_copies(preparation.blueprint, entries, &body);
    }
    entries.into_iter().map(|entry| prepare_item(preparation, terms, entry)).collect()
}

fn publications_of_working_copies(blueprint: &Blueprint, ids: Vec<Value>, body: &Value) -> Vec<Item> {
    // Read again: the blueprint may have changed since the request was checked.
    let read = object(body).map(|body| PublicationTerms::read(blueprint, body, &PUBLICATION_KEYS));
    let terms = read.and_then(|(terms, errors)| match errors.is_empty() {
        true => Ok(terms),
        false => Err(Error::validation(errors)),
    });
    let publication = |id: Value| Ok(terms.clone()?.publication_of(read_id(blueprint, &id)?, IfMatch::Any, None));
    ids.into_iter().map(|id| publication(id).unwrap_or_else(Item::Refused)).collect()
}

fn prepare_item(preparation: Preparation<'_>, terms: BulkTerms, entry: Value) -> Item {
    let prepared = match terms.operation {
        Operation::Create => return body::create(preparation, entry),
        Operation::Update => prepare_update(preparation, terms, entry),
        Operation::Delete => {
            read_id(preparation.blueprint, &entry).map(|id| Item::Delete { id, if_match: IfMatch::Any })
        }
        Operation::Publish | Operation::Unpublish => read_id(preparation.blueprint, &entry).map(|id| {
            let (published, may_publish) = (terms.published, terms.may_publish);
            let (copy, refusal, errors) = (None, None, FieldErrors::new());
            let (if_match, restores, working_variant) = (IfMatch::Any, false, None);
            let update =
                Update { id, copy, published, may_publish, if_match, restores, working_variant, refusal, errors };
            Item::Update(Box::new(update))
        }),
    };
    prepared.unwrap_or_else(Item::Refused)
}

fn prepare_update(preparation: Preparation<'_>, terms: BulkTerms, entry: Value) -> Result<Item> {
    let id = object(&entry)?.get("id").unwrap_or(&Value::Null);
    let id = read_id(preparation.blueprint, id)?;
    let BulkTerms { may_publish, copy_kind, .. } = terms;
    let (if_match, extent) = (IfMatch::Any, Extent::Partial);
    let terms = UpdateTerms { id, if_match, may_publish, extent, copy_kind };
    Ok(body::update(preparation, terms, entry))
}

fn read_id(blueprint: &Blueprint, value: &Value) -> Result<ResourceId> {
    match value {
        Value::String(id) => ResourceId::parse(id).ok_or_else(|| no_resource(blueprint, id)),
        other => {
            let text = format!("must be the id of a resource, a string; it is {}", kind_of(other));
            Err(Error::of_field("id", text))
        }
    }
}
