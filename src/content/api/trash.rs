//! The trash (`API.md` 4.23): brings resources back, removes them for good.

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_query::RawParams;
use bindery_store::Key;

use crate::admission::MemoryPermit;
use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::ResourceWriter;
use crate::command::{Item, Outcome};
use crate::data::lookup::Lookup;
use crate::data::refusals::not_in_trash;
use crate::handle::Content;
use crate::prepare::body::Preparation;
use crate::prepare::trash::{StoredTrash, as_draft};
use crate::read::resource::ResourceAnswer;

impl Content {
    /// Returns a write to the resource of that id in the trash, and its id. `?blueprint=` is needed only if resources
    /// of several blueprints have the id, as imports may cause.
    ///
    /// # Errors
    /// `FORBIDDEN` without `delete`, `NOT_FOUND`, `INVALID_PARAMETER`.
    pub fn trashed(&self, access: &Access, id: &str, raw_query: &str) -> Result<(ResourceWriter, ResourceId)> {
        access.require(&[Ability::Delete])?;
        let asked = RawParams::parse(raw_query);
        let asked = asked.single("blueprint")?;
        let resource = ResourceId::parse(id).ok_or_else(|| not_in_trash(id))?;
        let state = self.state();
        let mut found = Vec::new();
        for collection in state.blueprints.values() {
            let (slug, blueprint) = (collection.blueprint.slug.as_str(), collection.blueprint.number);
            if access.sees(slug)
                && asked.is_none_or(|asked| asked == slug)
                && Lookup::get(&self.shared.store, &Key::Trashed { blueprint, id: resource })?.is_some()
            {
                found.push(slug);
            }
        }
        match found.as_slice() {
            [] => Err(not_in_trash(id)),
            [slug] => Ok((self.write(access, Ability::Delete, slug, raw_query)?, resource)),
            slugs => {
                let text = format!(
                    "resources of several blueprints in the trash have this id: add `?blueprint=`, one of `{}`",
                    slugs.join("`, `")
                );
                Err(Error::new(Code::InvalidParameter, text))
            }
        }
    }
}

impl ResourceWriter {
    /// Brings a resource back from the trash, as a request body says. Durable and visible on return.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `NOT_FOUND`, `CONFLICT`, `VALIDATION_FAILED`, `FORBIDDEN`, `OVERLOADED`. The resource then
    /// stays in the trash.
    pub async fn restore(
        mut self,
        id: ResourceId,
        body: &[u8],
        idempotent: Option<Idempotency<ResourceAnswer>>,
    ) -> Result<IdempotentAnswer<ResourceAnswer>> {
        let as_draft = as_draft(body)?;
        loop {
            let (item, _admitted) = self.prepare_restoration(id, as_draft.clone()).await?;
            match self.submit(vec![item].into(), self.keep_answer(idempotent.as_ref())).await? {
                Outcome::Written(outcomes) => return self.answered(&outcomes),
                Outcome::Kept(answer) => return Ok(IdempotentAnswer::Kept(answer)),
                Outcome::Stale => self.refresh()?,
                _ => return Err(Error::internal("a restoration with the outcome of another command")),
            }
        }
    }

    /// Removes a resource from the trash for good. Durable on return.
    ///
    /// # Errors
    /// `NOT_FOUND`, `FORBIDDEN`, `OVERLOADED`.
    pub async fn purge(mut self, id: ResourceId) -> Result<()> {
        self.remove(Item::Purge(id)).await
    }

    /// Reads a resource from the trash and checks its values, on a thread that may block. The memory for them is
    /// reserved until the permit is dropped.
    async fn prepare_restoration(&self, id: ResourceId, as_draft: Result<bool>) -> Result<(Item, MemoryPermit)> {
        let (shared, blueprint) = (self.content.shared.clone(), self.collection.blueprint.clone());
        // The state of this write keeps the copies readable.
        let read = move || StoredTrash::read(&shared.store, &blueprint, id);
        let stored = tokio::task::spawn_blocking(read).await.map_err(Error::internal)??;
        let admitted = self.content.shared.admission.admit(stored.expansion()).await?;
        let (shared, blueprint) = (self.content.shared.clone(), self.collection.blueprint.clone());
        let variant = self.variant;
        let prepare = move || {
            let preparation = Preparation { blueprint: &blueprint, sanitizer: &shared.sanitizer, variant };
            stored.into_item(preparation, as_draft)
        };
        let item = tokio::task::spawn_blocking(prepare).await.map_err(Error::internal)??;
        Ok((item, admitted))
    }
}
