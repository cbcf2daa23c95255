//! Media resources (`API.md` 4.27): creates one with its file, replaces the file, and finds what is delivered at an
//! address. Must not know where files are.

use std::sync::Arc;

use bindery_access::Access;
use bindery_index::{Filter, Interrupt, Predicate};
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, BlueprintKind, SystemField};
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::media::{MediaFile, media_version};
use bindery_model::value::FieldRemovals;
use bindery_query::projection;
use bindery_store::{Key, Prefix};
use serde_json::Value;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{CreatedResource, ParsedBody, ResourceWriter, created};
use crate::command::{Command, Effect, Item, MissingTargets, Outcome, Write, WrittenResource};
use crate::data::files;
use crate::data::lookup::{Lookup, resources};
use crate::data::media_users::{MAX_COMPARED, NotedCopy};
use crate::data::records::{CopyVersion, Meta};
use crate::data::state::{Collection, State};
use crate::data::version::IfMatch;
use crate::data::visibility::{Visibility, is_public};
use crate::handle::Content;
use crate::prepare::body::Preparation;
use crate::prepare::media;
use crate::read::resource::{ResourceAnswer, written_answer};

/// The most resources that one transaction completes.
const STEP_RESOURCES: usize = 100;

/// A file as it is delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveredMedia {
    /// The file.
    pub file: MediaFile,
    /// The focal point, from 0 to 1 each.
    pub focal: (f32, f32),
    /// The `v` of its present address.
    pub version: String,
    /// True if everybody may see it.
    pub is_public: bool,
}

impl ResourceWriter {
    /// Checks that resources of the blueprint have files.
    ///
    /// # Errors
    /// `VALIDATION_FAILED` if they have not.
    pub fn require_media(&self) -> Result<()> {
        let blueprint = &self.collection.blueprint;
        if blueprint.kind == BlueprintKind::Media {
            return Ok(());
        }
        let text = format!(
            "`{}` is not a blueprint of the kind `media`, so its resources have no files; use `POST /v2/resources/{}`",
            blueprint.slug, blueprint.slug
        );
        Err(Error::new(Code::ValidationFailed, text))
    }

    /// Returns the resource that imports know under a key; `None` without a key. An answer with it writes nothing, so
    /// this confirms that no other server has deleted it.
    ///
    /// # Errors
    /// `FORBIDDEN` without `manage`, as for an import; `INTERNAL` if the store fails; `LOG_UNREACHABLE`.
    pub async fn known_under(&self, key: Option<&str>) -> Result<Option<CreatedResource>> {
        let Some(key) = key else { return Ok(None) };
        self.access.require(&[Ability::Manage])?;
        if self.find_known(key)?.is_none() {
            return Ok(None);
        }
        self.content.confirm().await?;
        self.find_known(key)
    }

    fn find_known(&self, key: &str) -> Result<Option<CreatedResource>> {
        let (store, blueprint) = (&self.content.shared.store, self.collection.blueprint.number);
        let Some(id) = store.known_under(blueprint, key)? else { return Ok(None) };
        let Some(meta) = store.meta(blueprint, id)? else { return Ok(None) };
        let written = WrittenResource::live(id, Effect::Updated, meta, None);
        let presentation = self.presentation();
        let removals = FieldRemovals::default();
        created(&self.collection, self.state.epoch, &presentation, &written, removals, store).map(Some)
    }

    /// Creates a resource for a stored file. `body` has the other attributes, as for [`ResourceWriter::create`].
    /// Imports know it under `key`. Durable and visible on return.
    ///
    /// # Errors
    /// Those of [`ResourceWriter::create`]; `CONFLICT` if another resource has the key.
    pub async fn create_media(
        self,
        file: MediaFile,
        key: Option<String>,
        body: &[u8],
        idempotent: Option<Idempotency<CreatedResource>>,
    ) -> Result<IdempotentAnswer<CreatedResource>> {
        self.require_media()?;
        let prepare = move |preparation: Preparation<'_>, body: Value| {
            vec![media::create(preparation, &file, key.as_deref(), body)]
        };
        self.create_with(body, idempotent, prepare).await
    }

    /// Replaces the file of a resource. Its name stays, and with it the path of its address. Durable and visible on
    /// return.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED`, `NOT_FOUND`, `FORBIDDEN`, `OVERLOADED`, `INVALID_PARAMETER` for a working copy, which has
    /// no file of its own.
    pub async fn replace_file(mut self, id: ResourceId, if_match: IfMatch, file: MediaFile) -> Result<ResourceAnswer> {
        self.require_replaceable()?;
        let prepare = move |preparation: Preparation<'_>, _: Value| {
            vec![media::replacement(preparation.blueprint, id, if_match.clone(), &file)]
        };
        let (written, sanitized) = self.run_one(ParsedBody { bytes: b"null", parsed: Value::Null }, prepare).await?;
        let (store, blueprint) = (&self.content.shared.store, &self.collection.blueprint);
        written_answer(store, blueprint, self.state.epoch, &written, &self.presentation(), sanitized)
    }

    /// Checks that the request may replace a file. Callers check this together with the parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a working copy, `VALIDATION_FAILED` if resources of the blueprint have no files.
    pub fn require_replaceable(&self) -> Result<()> {
        self.copy.require_live("replace a file")?;
        self.require_media()
    }
}

impl Content {
    /// Returns the file of a published media resource. `access` is asked for only if it is not public, and must then
    /// see drafts.
    ///
    /// # Errors
    /// `NOT_FOUND`, `INTERNAL` if the store fails, those of `access`.
    pub fn delivered_media<E: From<Error>>(
        &self,
        id: &str,
        access: impl FnOnce() -> Result<Option<Arc<Access>>, E>,
    ) -> Result<DeliveredMedia, E> {
        let missing = || Error::new(Code::NotFound, "there is no such file");
        let parsed = ResourceId::parse(id).ok_or_else(missing)?;
        let state = self.state();
        let (collection, hit) = find(&state, parsed).ok_or_else(missing)?;
        let blueprint = &collection.blueprint;
        let is_public = is_public(blueprint, hit.stamps.published, state.released);
        if !is_public {
            let sees = access()?.is_some_and(|access| {
                let visibility = Visibility::of(&access, blueprint, state.released);
                visibility == Visibility::Drafts || access.sees(&blueprint.slug) && access.may(Ability::Manage)
            });
            if !sees {
                return Err(missing().into());
            }
        }
        // The default variant may be new, and without a copy.
        let mut variants = std::iter::once(blueprint.default_variant()).chain(blueprint.variant_numbers());
        let copy_of = |variant| collection.snapshot.copy(hit.slot, variant).map(|number| (variant, number));
        let (variant, number) = variants.find_map(copy_of).ok_or_else(missing)?;
        let values = self.shared.stored.values(blueprint, parsed, CopyVersion { variant, number })?;
        delivered(blueprint, &values, is_public).ok_or_else(|| missing().into())
    }
}

impl Content {
    /// Writes the system fields to all copies of media that lack them: after a variant was added, the server may have
    /// stopped, or been unable to write.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL` if store or index fail.
    pub async fn complete_all_media(&self) -> Result<()> {
        let state = self.state();
        let find = move || {
            let incomplete = state.blueprints.values().filter_map(|collection| match is_incomplete(collection) {
                Ok(is_incomplete) => is_incomplete.then(|| Ok(Arc::clone(&collection.blueprint))),
                Err(error) => Some(Err(error)),
            });
            incomplete.collect::<Result<Vec<Arc<Blueprint>>>>()
        };
        for blueprint in tokio::task::spawn_blocking(find).await.map_err(Error::internal)?? {
            self.complete_media(&Access::everything("blueprint"), &blueprint).await?;
        }
        Ok(())
    }

    /// Writes the system fields to the copies of variants that the blueprint did not have before.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL` if the store fails.
    pub(crate) async fn complete_media(&self, access: &Access, blueprint: &Arc<Blueprint>) -> Result<()> {
        let (store, variants, number) = (self.shared.store.clone(), blueprint.variant_numbers(), blueprint.number);
        let find = move || {
            let lacks_one = |meta: &Meta| variants.iter().any(|variant| meta.copy(*variant).is_none());
            let found = resources(&store, number).filter_map(|resource| match resource {
                Ok((id, meta)) => lacks_one(&meta).then_some(Ok(id)),
                Err(error) => Some(Err(error)),
            });
            found.collect::<Result<Vec<ResourceId>>>()
        };
        let incomplete = tokio::task::spawn_blocking(find).await.map_err(Error::internal)??;
        for ids in incomplete.chunks(STEP_RESOURCES) {
            let items = ids.iter().map(|id| media::completion(*id)).collect();
            let command = Command::Write(Write {
                blueprint: Arc::clone(blueprint),
                items: Arc::new(items),
                missing_targets: MissingTargets::Refuse,
                access: Access::everything("blueprint"),
            });
            // If the blueprint has changed again, that change completes them.
            if let Outcome::Stale = self.submit_as(access, command).await? {
                break;
            }
        }
        Ok(())
    }

    /// Removes obsolete notes of uses of the media that items delete, if there are more than the committer compares: it
    /// would count the others as uses.
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL` if the store fails.
    pub(super) async fn forget_obsolete_uses(&self, items: &[Item]) -> Result<()> {
        let deleted = items.iter().filter_map(|item| match item {
            Item::Delete { id, .. } => Some(*id),
            _ => None,
        });
        let deleted: Vec<ResourceId> = deleted.collect();
        if deleted.is_empty() {
            return Ok(());
        }
        let content = self.clone();
        let find = move || deleted.into_iter().map(|media| content.obsolete_uses(media)).collect::<Result<Vec<_>>>();
        for notes in tokio::task::spawn_blocking(find).await.map_err(Error::internal)?? {
            for notes in notes.chunks(MAX_COMPARED) {
                self.submit(Command::ForgetUses(notes.to_vec())).await?;
            }
        }
        Ok(())
    }

    /// Returns the notes of uses of a media resource before the first one that is true; none if the committer compares
    /// as many.
    fn obsolete_uses(&self, media: ResourceId) -> Result<Vec<Key>> {
        let (state, store) = (self.state(), &self.shared.store);
        let mut obsolete = Vec::new();
        for entry in store.scan(Prefix::MediaUsers(media)) {
            let (note, _) = entry.map_err(Error::internal)?;
            // A copy may be replaced while it is read. The committer compares again.
            if NotedCopy::of(&note).is_some_and(|copy| copy.uses(store, &state, media).unwrap_or(false)) {
                break;
            }
            obsolete.push(note);
        }
        Ok(if obsolete.len() < MAX_COMPARED { Vec::new() } else { obsolete })
    }

    /// Returns the name under which this content owns a bucket of files. A restore begins another epoch, so a copy has
    /// another name than its original, whose newer files it does not know. `None` if a full disk has kept the first
    /// epoch from beginning.
    pub fn media_owner(&self) -> Option<String> {
        let epoch = Some(self.state().epoch).filter(|epoch| *epoch != 0)?;
        // Whoever reads the bucket must not learn the epoch, by which entity tags cannot be guessed.
        let mut hasher = blake3::Hasher::new_derive_key("Bindery owner of media");
        hasher.update(&epoch.to_le_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// Returns those of some files that no resource and no revision names.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub fn unnamed_files(&self, mut files: Vec<[u8; 32]>) -> Result<Vec<[u8; 32]>> {
        // The store has them in this order.
        files.sort_unstable();
        let named = files.iter().map(|hash| self.names_file(*hash)).collect::<Result<Vec<bool>>>()?;
        Ok(files.into_iter().zip(named).filter(|(_, is_named)| !is_named).map(|(hash, _)| hash).collect())
    }

    fn names_file(&self, hash: [u8; 32]) -> Result<bool> {
        let store = &self.shared.store;
        for key in files::owners(store, hash)? {
            let Key::FileOwner { blueprint, id, .. } = key else { continue };
            // A copy may be replaced while it is read. Then it is named, or the next search finds out.
            if files::names_file(store, blueprint, id, hash).unwrap_or(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks those of some files as being removed that nothing names, and returns them. No resource can begin to name
    /// one before [`Content::forget_removals`].
    ///
    /// # Errors
    /// `OVERLOADED`, `INTERNAL` if the store fails.
    pub async fn condemn_files(&self, files: Vec<[u8; 32]>) -> Result<Vec<[u8; 32]>> {
        match self.submit(Command::CondemnFiles(files)).await? {
            Outcome::CondemnedFiles(condemned) => Ok(condemned),
            _ => Err(Error::internal("files with the outcome of another command")),
        }
    }

    /// Removes the marks of files that were removed.
    ///
    /// # Errors
    /// `OVERLOADED`.
    pub async fn forget_removals(&self, files: Vec<[u8; 32]>) -> Result<()> {
        self.submit(Command::ForgetRemovals(files)).await.map(drop)
    }

    /// Returns the files that are being removed, also by a process that was killed meanwhile.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub fn files_being_removed(&self) -> Result<Vec<[u8; 32]>> {
        let keys = self.shared.store.scan(Prefix::FileRemovals).filter_map(|entry| match entry {
            Ok((Key::FileRemoval(hash), _)) => Some(Ok(hash)),
            Ok(_) => None,
            Err(error) => Some(Err(Error::internal(error))),
        });
        keys.collect()
    }
}

/// Returns whether resources of a media blueprint have no file in one of its variants.
fn is_incomplete(collection: &Collection) -> Result<bool> {
    let blueprint = &collection.blueprint;
    let Some(position) = blueprint.position_of(SystemField::Hash) else { return Ok(false) };
    let lacks = Filter::Column(projection::column_of(&blueprint.fields[position]), Predicate::Null);
    for variant in blueprint.variant_numbers() {
        let found = collection.snapshot.find(variant, &lacks, &Interrupt::never());
        if found.map_err(|error| collection.search_failed(error))?.len() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the media resource of that id, with its blueprint.
fn find(state: &State, id: ResourceId) -> Option<(&Collection, bindery_index::Hit)> {
    let media = state.blueprints.values().filter(|collection| collection.blueprint.kind == BlueprintKind::Media);
    media.map(AsRef::as_ref).find_map(|collection| Some((collection, collection.snapshot.get(id.as_u128())?)))
}

fn delivered(blueprint: &Blueprint, values: &[Value], is_public: bool) -> Option<DeliveredMedia> {
    let value = |field: SystemField| blueprint.position_of(field).map_or(&Value::Null, |position| &values[position]);
    let text = |field| value(field).as_str().map(str::to_owned);
    let pixels = |field| value(field).as_u64().and_then(|pixels| u32::try_from(pixels).ok());
    let coordinate = |field| value(field).as_f64().map_or(0.5, |coordinate| coordinate as f32);
    let hash = text(SystemField::Hash)?;
    let version = media_version(&hash, value(SystemField::FocalX), value(SystemField::FocalY));
    let file = MediaFile {
        name: text(SystemField::FileName)?,
        mime: text(SystemField::Mime)?,
        bytes: value(SystemField::Bytes).as_u64()?,
        size: pixels(SystemField::Width).zip(pixels(SystemField::Height)),
        hash,
        placeholder: text(SystemField::Placeholder),
    };
    Some(DeliveredMedia {
        file,
        focal: (coordinate(SystemField::FocalX), coordinate(SystemField::FocalY)),
        version,
        is_public,
    })
}
