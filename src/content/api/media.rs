//! Media resources (`API.md` 4.25): creates one with its file, replaces the file, and finds what is delivered at an address.
//! Must not know where files are.

use std::collections::HashSet;
use std::sync::Arc;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, BlueprintKind, SystemField};
use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::media::{MediaFile, media_version};
use serde_json::Value;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::api::resources::{CreatedResource, ParsedBody, ResourceWriter};
use crate::data::lookup::Lookup;
use crate::data::records::CopyVersion;
use crate::data::state::{Collection, State};
use crate::data::version::IfMatch;
use crate::data::visibility::{Visibility, is_public};
use crate::handle::Content;
use crate::prepare::body::Preparation;
use crate::prepare::media;
use crate::read::resource::{ResourceAnswer, written_answer};

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

    /// Creates a resource for a stored file. `body` has the other attributes, as for [`ResourceWriter::create`]. Durable and
    /// visible on return.
    ///
    /// # Errors
    /// Those of [`ResourceWriter::create`].
    pub async fn create_media(
        self,
        file: MediaFile,
        body: &[u8],
        idempotent: Option<Idempotency<CreatedResource>>,
    ) -> Result<IdempotentAnswer<CreatedResource>> {
        self.require_media()?;
        let prepare = move |preparation: Preparation<'_>, body: Value| vec![media::create(preparation, &file, body)];
        self.create_with(body, idempotent, prepare).await
    }

    /// Replaces the file of a resource. Its name stays, and with it the path of its address. Durable and visible on return.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED`, `NOT_FOUND`, `FORBIDDEN`, `OVERLOADED`, `INVALID_PARAMETER` for a working copy, which has no file
    /// of its own.
    pub async fn replace_file(mut self, id: ResourceId, if_match: IfMatch, file: MediaFile) -> Result<ResourceAnswer> {
        self.copy.require_live("replace a file")?;
        self.require_media()?;
        let prepare = move |preparation: Preparation<'_>, _: Value| {
            vec![media::replacement(preparation.blueprint, id, if_match.clone(), &file)]
        };
        let (written, sanitized) = self.run_one(ParsedBody { bytes: b"null", parsed: Value::Null }, prepare).await?;
        let (store, blueprint) = (&self.content.shared.store, &self.collection.blueprint);
        let sent: HashSet<String> = SystemField::ALL.into_iter().map(|field| field.slug().to_owned()).collect();
        let presentation = self.presentation(self.shown(&written, &Some(sent)));
        written_answer(store, blueprint, self.state.epoch, &written, &presentation, sanitized)
    }

    /// Answers a missing resource and a stale `If-Match` before the file is received. The committer checks again.
    ///
    /// # Errors
    /// `NOT_FOUND`, `PRECONDITION_FAILED`, `INVALID_PARAMETER`.
    pub fn check_replaceable(&self, id: ResourceId, if_match: &IfMatch) -> Result<()> {
        self.copy.require_live("replace a file")?;
        self.require_media()?;
        self.check_match(id, if_match)
    }
}

impl Content {
    /// Returns the file of a published media resource. `access` is asked for only if it is not public, and must then see drafts.
    ///
    /// # Errors
    /// `NOT_FOUND`, `INTERNAL` if the store fails.
    pub fn delivered_media(&self, id: &str, access: impl FnOnce() -> Option<Arc<Access>>) -> Result<DeliveredMedia> {
        let missing = || Error::new(Code::NotFound, "there is no such file");
        let parsed = ResourceId::parse(id).ok_or_else(missing)?;
        let state = self.state();
        let (collection, hit) = find(&state, parsed).ok_or_else(missing)?;
        let blueprint = &collection.blueprint;
        let is_public = is_public(blueprint, hit.stamps.published, state.released);
        if !is_public {
            let sees = access().is_some_and(|access| {
                let visibility = Visibility::of(&access, blueprint, state.released);
                visibility == Visibility::Drafts || access.sees(&blueprint.slug) && access.may(Ability::Manage)
            });
            if !sees {
                return Err(missing());
            }
        }
        let variant = blueprint.default_variant();
        let number = collection.snapshot.copy(hit.slot, variant).ok_or_else(missing)?;
        let values = self.shared.documents.values(blueprint, parsed, CopyVersion { variant, number })?;
        delivered(blueprint, &values, is_public).ok_or_else(missing)
    }
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
