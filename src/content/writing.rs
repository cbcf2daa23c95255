//! Writes of one blueprint's resources (`API.md` 4.4): prepared on the caller's thread, decided by the committer.

use std::sync::Arc;

use serde_json::Value;

use crate::access::Access;
use crate::content::Content;
use crate::content::command::{Command, Extent, IfMatch, Item, ItemOutcome, Outcome, Write, Written};
use crate::content::decide::no_resource;
use crate::content::idempotency::{Done, Keep, Keeping};
use crate::content::prepare::{self, UpdateTerms, Workbench};
use crate::content::read::{self, Answer, View};
use crate::content::reading::visible;
use crate::content::state::{Collection, State};
use crate::content::working::Working;
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::json;
use crate::query::WriteParams;

/// From this size on a body is prepared on a thread that may block: sanitising it takes milliseconds.
const LARGE_BODY_BYTES: usize = 32 << 10;

/// The entity tags of an `If-Match` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Etags {
    /// No header, or `*`: any version will do.
    Any,
    /// One of these versions.
    Versions(Vec<(u64, u64)>),
}

/// A new resource: its id, and what is answered.
pub type Created = (ResourceId, Answer);

/// A write to one blueprint, as one token may do it.
pub struct Writing {
    pub(super) content: Content,
    /// Keeps the versions that the answer is made from.
    pub(super) state: Arc<State>,
    pub(super) collection: Arc<Collection>,
    access: Access,
    raw_query: String,
    pub(super) variant: u16,
}

impl Content {
    /// A write to the blueprint of that slug.
    ///
    /// # Errors
    /// `FORBIDDEN` without the ability, `NOT_FOUND`, those of the parameters.
    pub fn write(&self, access: &Access, ability: Ability, slug: &str, raw_query: &str) -> Result<Writing> {
        access.require(&[ability])?;
        let state = self.state();
        let collection = Arc::clone(visible(&state, access, slug)?);
        let variant = WriteParams::parse(raw_query, &collection.blueprint)?.variant;
        let (access, raw_query) = (access.clone(), raw_query.to_owned());
        Ok(Writing { content: self.clone(), state, collection, access, raw_query, variant })
    }
}

impl Writing {
    /// The resource of that id.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn target(&self, id: &str) -> Result<ResourceId> {
        let blueprint = &self.collection.blueprint;
        let resource = ResourceId::parse(id).ok_or_else(|| no_resource(blueprint, id))?;
        match read::meta(&self.content.shared.store, blueprint, resource)? {
            Some(_) => Ok(resource),
            None => Err(no_resource(blueprint, id)),
        }
    }

    /// Creates a resource. Durable and visible on return; the answer shows it.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `SINGULAR_RESOURCE`, `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn create(mut self, body: &[u8], keep: Option<Keep<Created>>) -> Result<Done<Created>> {
        let body = json::parse(body)?;
        let keeping = |writing: &Writing| {
            let (blueprint, variant) = (Arc::clone(&writing.collection.blueprint), writing.variant);
            let read = move |outcome: &Outcome, working: &Working<'_>| created(&blueprint, variant, outcome, working);
            keep.as_ref().map(|keep| keep.for_command(read))
        };
        match self.run(body, |bench, body| vec![prepare::create(bench, body)], keeping).await? {
            Done::Now(outcomes) => {
                let written = only(outcomes)?;
                let answer = self.answer(&written)?;
                Ok(Done::Now((written.id, answer)))
            }
            Done::Kept(answer) => Ok(Done::Kept(answer)),
        }
    }

    /// Replaces a resource's copy (`Extent::Whole`) or changes parts of it. Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `FORBIDDEN`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `OVERLOADED`.
    async fn update(mut self, id: ResourceId, extent: Extent, etags: Etags, body: &[u8]) -> Result<Answer> {
        let body = json::parse(body)?;
        let terms = UpdateTerms { id, if_match: etags.into_if_match(), may_publish: self.may_publish(), extent };
        prepare::check_publication(&terms, &body)?;
        self.check_match(id, terms.if_match.as_ref())?;
        let prepare = move |bench: Workbench<'_>, body: &Value| vec![prepare::update(bench, terms.clone(), body)];
        let written = self.run_one(body, prepare).await?;
        self.answer(&written)
    }

    /// `PUT`: see the errors there.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `FORBIDDEN`, `OVERLOADED`.
    pub async fn replace(self, id: ResourceId, etags: Etags, body: &[u8]) -> Result<Answer> {
        self.update(id, Extent::Whole, etags, body).await
    }

    /// `PATCH`.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `FORBIDDEN`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn change(self, id: ResourceId, etags: Etags, body: &[u8]) -> Result<Answer> {
        self.update(id, Extent::Partial, etags, body).await
    }

    /// Deletes a resource.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PRECONDITION_FAILED`, `SINGULAR_RESOURCE`, `OVERLOADED`.
    pub async fn delete(mut self, id: ResourceId, etags: Etags) -> Result<()> {
        let if_match = etags.into_if_match();
        let prepare = move |_: Workbench<'_>, _: &Value| vec![Item::Delete { id, if_match: if_match.clone() }];
        self.run_one(Value::Null, prepare).await.map(|_| ())
    }

    /// The early answer to a stale `If-Match`; the committer decides again.
    fn check_match(&self, id: ResourceId, if_match: Option<&IfMatch>) -> Result<()> {
        let blueprint = &self.collection.blueprint;
        let meta = read::meta(&self.content.shared.store, blueprint, id)?;
        let meta = meta.ok_or_else(|| no_resource(blueprint, &id.to_string()))?;
        crate::content::decide::check_match(blueprint, &meta, if_match)
    }

    /// Whether the token may change between draft and published.
    pub(super) fn may_publish(&self) -> bool {
        self.access.may(Ability::Publish)
    }

    async fn run_one(
        &mut self,
        body: Value,
        prepare: impl Fn(Workbench<'_>, &Value) -> Vec<Item> + Clone + Send + 'static,
    ) -> Result<Written> {
        match self.run(body, prepare, |_| None).await? {
            Done::Now(outcomes) => only(outcomes),
            Done::Kept(_) => Err(Error::internal("a kept answer that nobody asked for")),
        }
    }

    /// Prepares the items of a body and has them written in one transaction; again, if the blueprint changed meanwhile.
    pub(super) async fn run(
        &mut self,
        body: Value,
        prepare: impl Fn(Workbench<'_>, &Value) -> Vec<Item> + Clone + Send + 'static,
        keeping: impl Fn(&Writing) -> Option<Keeping>,
    ) -> Result<Done<Vec<ItemOutcome>>> {
        let body = Arc::new(body);
        loop {
            let items = self.prepare(Arc::clone(&body), prepare.clone()).await?;
            let blueprint = Arc::clone(&self.collection.blueprint);
            let command = Command::Write(Write { blueprint, items });
            match self.content.submit_keeping(command, keeping(self)).await? {
                Outcome::Written(outcomes) => return Ok(Done::Now(outcomes)),
                Outcome::Kept(answer) => return Ok(Done::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                _ => return Err(Error::internal("a write with another command's outcome")),
            }
        }
    }

    async fn prepare(
        &self,
        body: Arc<Value>,
        prepare: impl FnOnce(Workbench<'_>, &Value) -> Vec<Item> + Send + 'static,
    ) -> Result<Vec<Item>> {
        let shared = Arc::clone(&self.content.shared);
        let blueprint = Arc::clone(&self.collection.blueprint);
        let variant = self.variant;
        let is_large = text_bytes(&body) > LARGE_BODY_BYTES;
        let work = move || {
            let bench = Workbench { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            prepare(bench, &body)
        };
        if is_large { tokio::task::spawn_blocking(work).await.map_err(Error::internal) } else { Ok(work()) }
    }

    /// Takes up the blueprint that is in force now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let slug = self.collection.blueprint.slug.clone();
        self.state = self.content.state();
        self.collection = Arc::clone(visible(&self.state, &self.access, &slug)?);
        self.variant = WriteParams::parse(&self.raw_query, &self.collection.blueprint)?.variant;
        Ok(())
    }

    fn answer(&self, written: &Written) -> Result<Answer> {
        let view = View::whole(self.variant);
        let blueprint: &Blueprint = &self.collection.blueprint;
        read::answer(&self.content.shared.store, blueprint, written.id, &written.meta, &view)
    }
}

impl Etags {
    fn into_if_match(self) -> Option<IfMatch> {
        match self {
            Etags::Any => None,
            Etags::Versions(versions) => Some(versions),
        }
    }
}

/// The outcome of a write of one item.
fn only(outcomes: Vec<ItemOutcome>) -> Result<Written> {
    match outcomes.into_iter().next() {
        Some(ItemOutcome::Done(written)) => Ok(written),
        Some(ItemOutcome::Failed(error)) => Err(error),
        Some(ItemOutcome::Waiting(_)) | None => Err(Error::internal("a write without an outcome")),
    }
}

/// What a create is answered with, while it is not durable yet.
fn created(blueprint: &Blueprint, variant: u16, outcome: &Outcome, working: &Working<'_>) -> Result<Created> {
    let written = match outcome {
        Outcome::Written(outcomes) => match outcomes.first() {
            Some(ItemOutcome::Done(written)) => written,
            Some(ItemOutcome::Failed(error)) => return Err(error.clone()),
            Some(ItemOutcome::Waiting(_)) | None => return Err(Error::internal("a write without an outcome")),
        },
        _ => return Err(Error::internal("a write with another command's outcome")),
    };
    let copy = working.copy(blueprint.number, written.id, &written.meta, variant)?;
    Ok((written.id, read::whole(blueprint, written.id, &written.meta, copy)?))
}

/// About how much text a value holds.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(text_bytes).sum(),
        Value::Object(values) => values.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
