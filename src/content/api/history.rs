//! The history of a resource (`API.md` 4.22): brings values of a revision back, removes a history.

use std::collections::HashSet;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, Field, SystemField};
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::{json, value};
use serde_json::{Map, Value};

use crate::admission::MemoryPermit;
use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::ResourceWriter;
use crate::command::{CopyDraft, Extent, Item, Outcome, Publication, SystemValues, Update};
use crate::data::version::IfMatch;
use crate::handle::Content;
use crate::prepare::body::{self, Preparation, kind_of};
use crate::read::history::{OpenHistory, revision_number, settings};
use crate::read::resource::ResourceAnswer;

/// The slugs of the fields to restore; `None` for all of them.
type AskedFields = Option<HashSet<String>>;

impl Content {
    /// Removes the history of a resource, that of every variant. Durable on return.
    ///
    /// # Errors
    /// `FORBIDDEN` without `manage`, `NOT_FOUND`, `INVALID_PARAMETER` if the blueprint keeps no history,
    /// `INVALID_VARIANT`, `OVERLOADED`.
    pub async fn delete_history(&self, access: &Access, slug: &str, id: &str, raw_query: &str) -> Result<()> {
        let begin = || {
            let writing = self.write(access, Ability::Manage, slug, raw_query)?;
            writing.require_history()?;
            let id = writing.target(id)?;
            Ok((writing, id))
        };
        let (mut writing, id) = self.checked(begin).await?;
        writing.remove(Item::DeleteHistory(id)).await
    }
}

impl ResourceWriter {
    /// Checks that the blueprint keeps a history. Callers check this together with the parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it keeps none.
    pub fn require_history(&self) -> Result<()> {
        settings(&self.collection.blueprint).map(|_| ())
    }

    /// Returns the number of an existing revision. Callers check this before they read a body.
    ///
    /// # Errors
    /// `NOT_FOUND`; `LOG_UNREACHABLE` if that cannot be confirmed.
    pub async fn target_revision(&mut self, id: ResourceId, number: &str) -> Result<u32> {
        let number = revision_number(number)?;
        let find = move |history: &OpenHistory<'_>| history.revision(number).map(drop);
        if let Err(error) = self.read_history(id, find).await {
            if self.content.shared.cluster.is_none() {
                return Err(error);
            }
            // As in `Content::checked`, a node confirms what it refuses.
            self.confirm().await?;
            self.read_history(id, find).await?;
        }
        Ok(number)
    }

    /// Writes values of a revision, those of all fields or of some, to the live version or the working copy. Durable
    /// and visible on return.
    ///
    /// # Errors
    /// `NOT_FOUND`, `MALFORMED_JSON`, `PRECONDITION_FAILED`, `CONFLICT`, `VALIDATION_FAILED`, `INVALID_PARAMETER` if
    /// the blueprint keeps no history, `FORBIDDEN` if the resource is published and the token lacks `publish`,
    /// `OVERLOADED`.
    pub async fn restore_revision(
        mut self,
        id: ResourceId,
        number: u32,
        if_match: IfMatch,
        body: &[u8],
        idempotent: Option<Idempotency<ResourceAnswer>>,
    ) -> Result<IdempotentAnswer<ResourceAnswer>> {
        // Given back before more is reserved: requests that hold some and wait for more would wait for each other.
        let (asked, _) = self.content.read_body(body, asked_fields).await?;
        let mut is_confirmed = self.content.shared.cluster.is_none();
        loop {
            let (item, _memory) = match self.prepare_revision(id, number, if_match.clone(), asked.clone()).await {
                // As in `Content::checked`, a node confirms what it refuses.
                Err(_) if !is_confirmed => {
                    is_confirmed = true;
                    self.confirm().await?;
                    continue;
                }
                prepared => prepared?,
            };
            match self.submit(vec![item].into(), self.keep_answer(idempotent.as_ref())).await? {
                Outcome::Written(outcomes) => return self.answered(&outcomes),
                Outcome::Kept(answer) => return Ok(IdempotentAnswer::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                _ => return Err(Error::internal("a restoration with the outcome of another command")),
            }
        }
    }

    /// Reads the history of the variant of this write, on a thread that may block.
    async fn read_history<T: Send + 'static>(
        &self,
        id: ResourceId,
        read: impl FnOnce(&OpenHistory<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (shared, blueprint) = (self.content.shared.clone(), self.collection.blueprint.clone());
        let (variant, now) = (self.variant, self.content.now());
        let reading = move || read(&OpenHistory::open(&shared.store, &blueprint, &shared.sanitizer, id, variant, now)?);
        tokio::task::spawn_blocking(reading).await.map_err(Error::internal)?
    }

    /// Returns the item that writes values of a revision, and the permit for the memory that they take.
    async fn prepare_revision(
        &self,
        id: ResourceId,
        number: u32,
        if_match: IfMatch,
        asked: Result<AskedFields>,
    ) -> Result<(Item, Option<MemoryPermit>)> {
        let blueprint = &self.collection.blueprint;
        let known = asked.and_then(|asked| check_known(blueprint, &asked).map(|()| asked));
        let (copy, memory, refusal) = match known {
            Ok(asked) => {
                let (copy, memory) = self.copy_of_revision(id, number, asked).await?;
                (Some(copy), Some(memory), None)
            }
            // The committer reports it, after a stale `If-Match` and a conflict (`API.md` 1.7).
            Err(refusal) => (None, None, Some(refusal)),
        };
        let item = Item::Update(Box::new(Update {
            id,
            copy,
            published: Publication::Keep,
            may_publish: self.may_publish(),
            if_match,
            restores: true,
            working_variant: blueprint.working_copy.then_some(self.variant),
            refusal,
            errors: FieldErrors::new(),
        }));
        Ok((item, memory))
    }

    /// Reads and checks the values of a revision, on a thread that may block. Reserves the memory for them until the
    /// permit is dropped: the body of the request says nothing of their size.
    async fn copy_of_revision(
        &self,
        id: ResourceId,
        number: u32,
        asked: AskedFields,
    ) -> Result<(CopyDraft, MemoryPermit)> {
        let bytes = self.read_history(id, move |history| history.expansion(number)).await?;
        let memory = self.content.shared.admission.admit(bytes).await?;
        let (shared, blueprint) = (self.content.shared.clone(), self.collection.blueprint.clone());
        let (variant, now) = (self.variant, self.content.now());
        let prepare = move || {
            let values =
                OpenHistory::open(&shared.store, &blueprint, &shared.sanitizer, id, variant, now)?.values(number)?;
            // The fields that the server sets describe one file. A revision may have none, such as the first one of a
            // variant that was added after the upload. The resource keeps its file then.
            let has_file = blueprint.position_of(SystemField::Hash).is_some_and(|hash| !values[hash].is_null());
            let is_of_file = |field: &Field| field.system().is_some_and(|system| !system.is_writable());
            let asks_for_file = blueprint.fields.iter().any(|field| is_of_file(field) && is_named(&asked, field));
            let is_asked = |field: &Field| match field.is_system {
                true => has_file && (is_named(&asked, field) || asks_for_file),
                false => is_named(&asked, field),
            };
            let attributes = blueprint.fields.iter().zip(values).filter(|(field, _)| is_asked(field));
            let attributes: Map<String, Value> = attributes.map(|(field, value)| (field.slug.clone(), value)).collect();
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            let copy = body::copy_of(preparation, attributes, Extent::Partial, value::Relations::Ids);
            // A working copy has no file of its own.
            let system = if blueprint.working_copy { SystemValues::KeepFile } else { SystemValues::Set };
            Ok::<_, Error>(CopyDraft { system, ..copy })
        };
        let copy = tokio::task::spawn_blocking(prepare).await.map_err(Error::internal)??;
        Ok((copy, memory))
    }
}

fn is_named(asked: &AskedFields, field: &Field) -> bool {
    asked.as_ref().is_none_or(|asked| asked.contains(&field.slug))
}

/// # Errors
/// `VALIDATION_FAILED` if one of the fields is unknown.
fn check_known(blueprint: &Blueprint, asked: &AskedFields) -> Result<()> {
    match asked.iter().flatten().find(|slug| blueprint.field(slug).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            let text = format!("names {unknown:?}, which is no field of the blueprint `{}`", blueprint.slug);
            Err(Error::of_field("fields", text))
        }
    }
}

/// Reads the body of a restoration: `{"fields": null}`, or the slugs of some fields. An empty body stands for all
/// fields. The inner error is `VALIDATION_FAILED`, which is reported later than a malformed body.
fn asked_fields(body: &[u8]) -> Result<Result<AskedFields>> {
    Ok(if body.is_empty() { Ok(None) } else { fields_of(json::parse(body)?) })
}

fn fields_of(body: Value) -> Result<AskedFields> {
    let parsed = body::into_object(body)?;
    let mut errors = body::unknown_keys(&parsed, &["fields"], &[]);
    let mut error = |text: String| errors.push(("fields".to_owned(), vec![text]));
    let asked = match parsed.get("fields") {
        None | Some(Value::Null) => None,
        Some(Value::Array(slugs)) => {
            let texts: HashSet<String> = slugs.iter().filter_map(|slug| slug.as_str().map(str::to_owned)).collect();
            if let Some(other) = slugs.iter().find(|slug| !slug.is_string()) {
                error(format!("must be null or an array of slugs; an element is {}", kind_of(other)));
            }
            Some(texts)
        }
        Some(other) => {
            error(format!("must be null or an array of slugs; it is {}", kind_of(other)));
            None
        }
    };
    if errors.is_empty() { Ok(asked) } else { Err(Error::validation(errors)) }
}
