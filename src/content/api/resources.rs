//! Writes of one resource (`API.md` 4.4): prepared on the caller's thread, decided by the committer.

use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::BlueprintKind;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::json;
use bindery_model::value::FieldRemovals;
use bindery_query::{CopyKind, Selection, WriteParams};
use serde_json::Value;

use crate::admission::LARGE_BODY_BYTES;
use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Extent, Item, ItemOutcome, KeepAnswer, MissingTargets, Outcome, Write, WrittenResource};
use crate::data::lookup::Lookup;
use crate::data::refusals::no_resource;
use crate::data::state::{Collection, State};
use crate::data::version::IfMatch;
use crate::data::visibility::may_learn_values;
use crate::handle::Content;
use crate::prepare::body::{self, Preparation, UpdateTerms};
use crate::read::authors::AuthorNames;
use crate::read::resource::{Presentation, ResourceAnswer, written_answer};

/// A resource that was created.
#[derive(Debug, Clone)]
pub struct CreatedResource {
    /// Its id.
    pub id: ResourceId,
    /// The resource as it is answered.
    pub answer: ResourceAnswer,
}

/// A write to one blueprint, as one token may make it.
pub struct ResourceWriter {
    pub(super) content: Content,
    /// Held so that the versions that the answer is made from stay in the store.
    pub(super) state: Arc<State>,
    pub(super) collection: Arc<Collection>,
    pub(super) access: Access,
    raw_query: String,
    pub(super) variant: u16,
    /// The copies that are written.
    pub(super) copy: CopyKind,
}

/// A body, with its parsed value.
pub(super) struct ParsedBody<'a> {
    /// Kept because the body is parsed again if the blueprint changed: preparing consumes the parsed value.
    pub(super) bytes: &'a [u8],
    pub(super) parsed: Value,
}

impl Content {
    /// Returns a write to the blueprint of that slug.
    ///
    /// # Errors
    /// `FORBIDDEN` without the ability, `NOT_FOUND`, those of the parameters.
    pub fn write(&self, access: &Access, ability: Ability, slug: &str, raw_query: &str) -> Result<ResourceWriter> {
        access.require(&[ability])?;
        let state = self.state();
        let collection = Arc::clone(state.visible(access, slug)?);
        let WriteParams { variant, copy } = WriteParams::parse(raw_query, &collection.blueprint)?;
        let (access, raw_query) = (access.clone(), raw_query.to_owned());
        Ok(ResourceWriter { content: self.clone(), state, collection, access, raw_query, variant, copy })
    }
}

impl ResourceWriter {
    /// Returns the id of an existing resource.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn target(&self, id: &str) -> Result<ResourceId> {
        let resource = ResourceId::parse(id);
        let resource = resource.filter(|resource| self.collection.snapshot.get(resource.as_u128()).is_some());
        resource.ok_or_else(|| no_resource(&self.collection.blueprint, id))
    }

    /// Checks that the request is about live copies. A parameter counts before the body, so callers check this before
    /// they read one. `what` is what the request does, after "does not".
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is about working copies.
    pub fn require_live(&self, what: &str) -> Result<()> {
        self.copy.require_live(what)
    }

    /// Creates a resource. Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `SINGULAR_RESOURCE`, `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn create(
        self,
        body: &[u8],
        idempotent: Option<Idempotency<CreatedResource>>,
    ) -> Result<IdempotentAnswer<CreatedResource>> {
        self.create_with(body, idempotent, |preparation, body| vec![body::create(preparation, body)]).await
    }

    /// Creates the resource that `prepare` makes of a body.
    pub(super) async fn create_with(
        mut self,
        body: &[u8],
        idempotent: Option<Idempotency<CreatedResource>>,
        prepare: impl Fn(Preparation<'_>, Value) -> Vec<Item> + Clone + Send + 'static,
    ) -> Result<IdempotentAnswer<CreatedResource>> {
        let (parsed, _admitted) = self.content.read_body(body, json::parse).await?;
        let body = ParsedBody { bytes: body, parsed };
        let keep = |writing: &ResourceWriter, items: &[Item]| {
            let (state, collection) = (Arc::clone(&writing.state), Arc::clone(&writing.collection));
            let (presentation, sanitized) = (writing.presentation(), sanitized(items));
            let read = move |outcome: &Outcome, lookup: &dyn Lookup| {
                let items = outcome.items()?;
                let written = items.first().ok_or_else(no_outcome)?.written()?;
                created(&collection, state.epoch, &presentation, written, sanitized.clone(), lookup)
            };
            idempotent.as_ref().map(|idempotent| idempotent.keep(read))
        };
        match self.run(body, prepare, keep).await? {
            IdempotentAnswer::Fresh((outcomes, items)) => {
                let (written, epoch) = (only(&outcomes)?, self.state.epoch);
                let store = &self.content.shared.store;
                let (presentation, sanitized) = (self.presentation(), sanitized(&items));
                Ok(IdempotentAnswer::Fresh(created(
                    &self.collection,
                    epoch,
                    &presentation,
                    &written,
                    sanitized,
                    store,
                )?))
            }
            IdempotentAnswer::Kept(answer) => Ok(IdempotentAnswer::Kept(answer)),
        }
    }

    /// Replaces the copy of a resource (`PUT`): fields that are left out become null. Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `FORBIDDEN`, `OVERLOADED`.
    pub async fn replace(self, id: ResourceId, if_match: IfMatch, body: &[u8]) -> Result<ResourceAnswer> {
        self.update(id, Extent::Whole, if_match, body).await
    }

    /// Changes parts of a resource (`PATCH`). Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `FORBIDDEN`, `PRECONDITION_FAILED`, `NOT_FOUND`, `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn change(self, id: ResourceId, if_match: IfMatch, body: &[u8]) -> Result<ResourceAnswer> {
        self.update(id, Extent::Partial, if_match, body).await
    }

    async fn update(
        mut self,
        id: ResourceId,
        extent: Extent,
        if_match: IfMatch,
        body: &[u8],
    ) -> Result<ResourceAnswer> {
        let (parsed, _admitted) = self.content.read_body(body, json::parse).await?;
        let (may_publish, copy_kind) = (self.may_publish(), self.copy);
        let terms = UpdateTerms { id, if_match, may_publish, extent, copy_kind };
        body::check_publication(&terms, &parsed)?;
        self.checked(|writing| writing.check_match(id, &terms.if_match)).await?;
        let prepare =
            move |preparation: Preparation<'_>, body: Value| vec![body::update(preparation, terms.clone(), body)];
        let (written, sanitized) = self.run_one(ParsedBody { bytes: body, parsed }, prepare).await?;
        let (store, blueprint) = (&self.content.shared.store, &self.collection.blueprint);
        written_answer(store, blueprint, self.state.epoch, &written, &self.presentation(), sanitized)
    }

    /// Returns the presentation of the written resource: all of it, also if the token may not read it (`API.md` 5.4).
    pub(super) fn presentation(&self) -> Presentation {
        let names = AuthorNames::shown_to(&self.access, &self.state);
        let is_working = self.copy == CopyKind::Working;
        let public_url = self.state.public_url.clone();
        Presentation {
            variant: self.variant,
            fallback: None,
            selection: Selection::all(),
            highlights: None,
            is_working,
            hides_errors: !may_learn_values(&self.access),
            names,
            public_url,
        }
    }

    /// Deletes a resource. Durable and visible on return.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PRECONDITION_FAILED`, `SINGULAR_RESOURCE`, `OVERLOADED`.
    pub async fn delete(mut self, id: ResourceId, if_match: IfMatch) -> Result<()> {
        if self.copy == CopyKind::Working {
            return self.discard(id, if_match).await;
        }
        let prepare = move |_: Preparation<'_>, _: Value| vec![Item::Delete { id, if_match: if_match.clone() }];
        self.run_one(ParsedBody { bytes: b"null", parsed: Value::Null }, prepare).await.map(|_| ())
    }

    /// Answers a stale `If-Match` early: before errors in the content of the body, and before a file is received. The
    /// committer checks again.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PRECONDITION_FAILED`.
    pub fn check_match(&self, id: ResourceId, if_match: &IfMatch) -> Result<()> {
        let blueprint = &self.collection.blueprint;
        let hit = self.collection.snapshot.get(id.as_u128()).ok_or_else(|| no_resource(blueprint, &id.to_string()))?;
        let version = self.collection.version_for(&hit, self.copy == CopyKind::Working);
        if_match.check(version.tag(self.state.epoch, self.state.public_url.as_deref()))
    }

    /// Returns whether the token may change between draft and published.
    pub(super) fn may_publish(&self) -> bool {
        self.access.may(Ability::Publish)
    }

    pub(super) async fn run_one(
        &mut self,
        body: ParsedBody<'_>,
        prepare: impl Fn(Preparation<'_>, Value) -> Vec<Item> + Clone + Send + 'static,
    ) -> Result<(WrittenResource, FieldRemovals)> {
        match self.run(body, prepare, |_, _| None).await? {
            IdempotentAnswer::Fresh((outcomes, items)) => Ok((only(&outcomes)?, sanitized(&items))),
            IdempotentAnswer::Kept(_) => Err(Error::internal("a kept answer to a request without a key")),
        }
    }

    /// Prepares the items of a body and has them written in one transaction. Prepares them again if the blueprint
    /// changed meanwhile. Returns the outcomes with the items.
    pub(super) async fn run(
        &mut self,
        body: ParsedBody<'_>,
        prepare: impl Fn(Preparation<'_>, Value) -> Vec<Item> + Clone + Send + 'static,
        keep: impl Fn(&ResourceWriter, &[Item]) -> Option<KeepAnswer>,
    ) -> Result<IdempotentAnswer<(Vec<ItemOutcome>, Arc<Vec<Item>>)>> {
        let ParsedBody { bytes, mut parsed } = body;
        loop {
            let items = Arc::new(self.prepare(bytes.len(), parsed, prepare.clone()).await?);
            let keep = keep(self, &items);
            match self.submit(Arc::clone(&items), keep).await? {
                Outcome::Written(outcomes) => return Ok(IdempotentAnswer::Fresh((outcomes, items))),
                Outcome::Kept(answer) => return Ok(IdempotentAnswer::Kept(answer)),
                Outcome::Stale => {
                    self.refresh()?;
                    parsed = parse_again(bytes).await?;
                }
                _ => return Err(Error::internal("a write with the outcome of another command")),
            }
        }
    }

    /// Has the committer decide items that were prepared against the blueprint of this write.
    pub(super) async fn submit(&self, items: Arc<Vec<Item>>, keep: Option<KeepAnswer>) -> Result<Outcome> {
        let blueprint = Arc::clone(&self.collection.blueprint);
        if blueprint.kind == BlueprintKind::Media {
            self.content.forget_obsolete_uses(&items).await?;
        }
        let (missing_targets, access) = (MissingTargets::Refuse, self.access.clone());
        let command = Command::Write(Write { blueprint, items, missing_targets, access });
        self.content.submit_keeping(&self.access, command, keep).await
    }

    async fn prepare(
        &self,
        bytes: usize,
        body: Value,
        prepare: impl FnOnce(Preparation<'_>, Value) -> Vec<Item> + Send + 'static,
    ) -> Result<Vec<Item>> {
        let shared = Arc::clone(&self.content.shared);
        let blueprint = Arc::clone(&self.collection.blueprint);
        let variant = self.variant;
        let work = move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            prepare(preparation, body)
        };
        if bytes > LARGE_BODY_BYTES {
            tokio::task::spawn_blocking(work).await.map_err(Error::internal)
        } else {
            Ok(work())
        }
    }

    /// Like [`Content::checked`], for a check against the state of this write, which goes on with the confirmed one.
    pub(super) async fn checked<T>(&mut self, check: impl Fn(&ResourceWriter) -> Result<T>) -> Result<T> {
        match check(self) {
            Err(_) if self.content.shared.cluster.is_some() => {
                self.confirm().await?;
                check(self)
            }
            checked => checked,
        }
    }

    /// Goes on with a state that includes everything that was acknowledged by any server before the call.
    pub(super) async fn confirm(&mut self) -> Result<()> {
        self.content.confirm().await?;
        self.refresh()
    }

    /// Switches to the blueprint that is in force now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let slug = self.collection.blueprint.slug.clone();
        self.state = self.content.state();
        self.collection = Arc::clone(self.state.visible(&self.access, &slug)?);
        WriteParams { variant: self.variant, copy: self.copy } =
            WriteParams::parse(&self.raw_query, &self.collection.blueprint)?;
        Ok(())
    }
}

/// Returns the outcome of a write of one item.
pub(super) fn only(outcomes: &[ItemOutcome]) -> Result<WrittenResource> {
    outcomes.first().ok_or_else(no_outcome)?.written().cloned()
}

/// Returns the parts that sanitizing removed from the values of a write of one item.
fn sanitized(items: &[Item]) -> FieldRemovals {
    items.first().map(Item::sanitized).unwrap_or_default()
}

pub(super) fn created(
    collection: &Collection,
    epoch: u64,
    presentation: &Presentation,
    written: &WrittenResource,
    sanitized: FieldRemovals,
    lookup: &dyn Lookup,
) -> Result<CreatedResource> {
    let answer = written_answer(lookup, &collection.blueprint, epoch, written, presentation, sanitized)?;
    Ok(CreatedResource { id: written.id, answer })
}

/// Parses a body whose memory is admitted already.
async fn parse_again(body: &[u8]) -> Result<Value> {
    if body.len() <= LARGE_BODY_BYTES {
        return json::parse(body);
    }
    let body = body.to_vec();
    tokio::task::spawn_blocking(move || json::parse(&body)).await.map_err(Error::internal)?
}

fn no_outcome() -> Error {
    Error::internal("a write without an outcome")
}
