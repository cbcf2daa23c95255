//! A resource as it is answered: JSON text assembled from stored copies (`API.md` 2.1).

use std::sync::Arc;

use bindery_index::{Interrupt, working_variant};
use bindery_model::blueprint::{Blueprint, FieldType, SystemField};
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::media::MEDIA_PATH;
use bindery_model::time::{Millis, format_millis};
use bindery_model::value::FieldRemovals;
use bindery_query::{Highlights, ResourceKey, Selection};
use bindery_sanitize::text_content;
use serde_json::{Map, Value};

use crate::command::WrittenResource;
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta, empty_attributes};
use crate::data::state::Collection;
use crate::data::version::EntityTag;
use crate::data::working::{ShownVersions, values_of};
use crate::read::authors::AuthorNames;
use crate::read::highlight::excerpt;

/// The part of a resource that is answered, and the copies that it comes from.
#[derive(Clone)]
pub(crate) struct Presentation {
    /// The variant whose values are shown.
    pub(crate) variant: u16,
    /// The variant whose values replace nulls.
    pub(crate) fallback: Option<u16>,
    /// The keys and attributes that are answered.
    pub(crate) selection: Selection,
    /// The excerpts of texts around the matches.
    pub(crate) highlights: Option<Arc<Highlights>>,
    /// True if the values of working copies are shown, and the key `working_copy`.
    pub(crate) is_working: bool,
    /// True if the reader must not learn values from the errors of a publication that failed.
    pub(crate) hides_errors: bool,
    /// The names of authors; set if authors and outdated translations are answered.
    pub(crate) names: Option<AuthorNames>,
    /// The public address of the server, with which addresses of media begin.
    pub(crate) public_url: Option<Arc<str>>,
}

impl Presentation {
    /// Returns the variant that replaces nulls, if it is another one.
    fn other_variant(&self) -> Option<u16> {
        self.fallback.filter(|fallback| *fallback != self.variant)
    }
}

/// A resource as it is answered.
#[derive(Debug, Clone)]
pub struct ResourceAnswer {
    /// The resource object as JSON text.
    pub json: String,
    /// Its entity tag.
    pub tag: EntityTag,
    /// The parts that sanitizing removed from the sent values.
    pub sanitized: FieldRemovals,
    /// The problems that publishing the written working copy would have at the moment: messages by slug.
    pub not_ready: Map<String, Value>,
}

/// Returns a resource as a write left it.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn written_answer(
    lookup: &dyn Lookup,
    blueprint: &Blueprint,
    epoch: u64,
    written: &WrittenResource,
    presentation: &Presentation,
    sanitized: FieldRemovals,
) -> Result<ResourceAnswer> {
    let renderer = Renderer { lookup, blueprint, presentation, interrupt: &Interrupt::never() };
    let mut json = String::new();
    let WrittenResource { id, meta, .. } = written;
    let (mut stamps, mut version) = (meta.stamps(), meta.resource_version(*id, blueprint));
    if presentation.is_working {
        version = meta.working_version(*id, blueprint);
        if let Some(working) = meta.working_copy(presentation.variant) {
            stamps.updated = lookup.working(blueprint, *id, working)?.updated;
        }
    }
    renderer.write(&mut json, *id, stamps, |variant| meta.shown(variant, presentation.is_working))?;
    renderer.write_meta(&mut json, *id, || Ok(Some(meta.clone())))?;
    let not_ready = written.not_ready.clone();
    let tag = version.tag(epoch, presentation.public_url.as_deref());
    Ok(ResourceAnswer { json, tag, sanitized, not_ready })
}

/// Appends the resource of a hit to `out`.
///
/// # Errors
/// `INTERNAL` if the store fails, or if it is interrupted.
pub(crate) fn write_hit(
    out: &mut String,
    lookup: &dyn Lookup,
    collection: &Collection,
    hit: &bindery_index::Hit,
    presentation: &Presentation,
    interrupt: &Interrupt<'_>,
) -> Result<()> {
    let renderer = Renderer { lookup, blueprint: &collection.blueprint, presentation, interrupt };
    renderer
        .write(out, ResourceId::from_u128(hit.id), hit.stamps, |variant| shown_versions(collection, hit, variant))?;
    renderer.write_meta(out, ResourceId::from_u128(hit.id), || {
        let meta = lookup.meta(collection.blueprint.number, ResourceId::from_u128(hit.id))?;
        // If a later write is already in the store, its author is not the author of the shown values.
        Ok(meta.filter(|meta| meta.version == hit.stamps.version))
    })
}

/// Returns the copies of a hit that [`write_hit`] reads.
pub(crate) fn copies_shown(
    collection: &Collection,
    hit: &bindery_index::Hit,
    presentation: &Presentation,
) -> impl Iterator<Item = CopyVersion> {
    let are_read = presentation.selection.has(ResourceKey::Attributes) || presentation.highlights.is_some();
    let variants = [Some(presentation.variant), presentation.other_variant()].into_iter().flatten();
    variants.filter(move |_| are_read).flat_map(|variant| shown_versions(collection, hit, variant).iter())
}

/// Returns the versions that a variant of a hit is made from.
pub(crate) fn shown_versions(collection: &Collection, hit: &bindery_index::Hit, variant: u16) -> ShownVersions {
    let snapshot = &collection.snapshot;
    let version = |variant| Some(CopyVersion { variant, number: snapshot.copy(hit.slot, variant)? });
    let working = snapshot.is_working().then(|| version(working_variant(variant))).flatten();
    ShownVersions { live: version(variant), working }
}

struct Renderer<'a> {
    lookup: &'a dyn Lookup,
    blueprint: &'a Blueprint,
    presentation: &'a Presentation,
    /// Checked while texts are searched for highlights.
    interrupt: &'a Interrupt<'a>,
}

impl Renderer<'_> {
    /// Appends the resource object with the selected keys. `version_of` names the versions that each variant is made
    /// from.
    fn write(
        &self,
        out: &mut String,
        id: ResourceId,
        stamps: bindery_index::Stamps,
        version_of: impl Fn(u16) -> ShownVersions,
    ) -> Result<()> {
        let attributes = self.attributes(id, &version_of)?;
        out.reserve(attributes.len() + 300);
        out.push('{');
        for (position, key) in self.presentation.selection.keys().iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            out.push('"');
            out.push_str(key.as_str());
            out.push_str("\":");
            match key {
                ResourceKey::Id => {
                    out.push('"');
                    out.push_str(&id.to_string());
                    out.push('"');
                }
                ResourceKey::Type => out.push_str("\"resource\""),
                ResourceKey::PublishedAt => match stamps.published {
                    Some(date) => push_date(out, date),
                    None => out.push_str("null"),
                },
                ResourceKey::CreatedAt => push_date(out, stamps.created),
                ResourceKey::UpdatedAt => push_date(out, stamps.updated),
                ResourceKey::Attributes => out.push_str(&attributes),
                ResourceKey::Relationships => {
                    out.push_str("{\"blueprint\":{\"data\":{\"id\":\"");
                    out.push_str(&self.blueprint.slug);
                    out.push_str("\",\"type\":\"blueprint\"}}}");
                }
            }
        }
        if let Some(highlights) = &self.presentation.highlights {
            if !self.presentation.selection.keys().is_empty() {
                out.push(',');
            }
            out.push_str("\"highlights\":");
            out.push_str(&self.highlights(highlights, id, &version_of)?);
        }
        if self.presentation.is_working {
            if !out.ends_with('{') {
                out.push(',');
            }
            let (versions, hides_errors) = (version_of(self.presentation.variant), self.presentation.hides_errors);
            let working = versions.working_to_json(self.lookup, self.blueprint, id, hides_errors)?;
            out.push_str("\"working_copy\":");
            out.push_str(&working.to_string());
        }
        out.push('}');
        Ok(())
    }

    /// Returns the `highlights` object: an excerpt of each field, or null where the field is null.
    fn highlights(
        &self,
        Highlights { words, fields }: &Highlights,
        id: ResourceId,
        version_of: impl Fn(u16) -> ShownVersions,
    ) -> Result<String> {
        let (copy, fallback) = self.copies(id, version_of)?;
        let (values, fallback) = (values_of(copy, self.blueprint)?, values_of(fallback, self.blueprint)?);
        let mut shown = Map::new();
        for number in fields {
            let Some(at) = self.blueprint.fields.iter().position(|field| field.number == *number) else { continue };
            let field = &self.blueprint.fields[at];
            let value = values.get(at).filter(|value| !value.is_null()).or(fallback.get(at));
            let excerpt = value.and_then(Value::as_str).map(|text| match field.field_type {
                FieldType::RichText => excerpt(words, &text_content(text), self.interrupt),
                _ => excerpt(words, text, self.interrupt),
            });
            let excerpt = excerpt.transpose().map_err(Error::internal)?;
            shown.insert(field.slug.clone(), excerpt.into());
        }
        Ok(Value::Object(shown).to_string())
    }

    /// Adds the `meta` of the resource to its object, if it is selected.
    fn write_meta(&self, out: &mut String, id: ResourceId, meta: impl FnOnce() -> Result<Option<Meta>>) -> Result<()> {
        let Some(names) = &self.presentation.names else { return Ok(()) };
        let mut meta = meta()?;
        if let Some(meta) = meta.as_mut().filter(|_| self.presentation.is_working)
            && let Some(version) = meta.working_copy(self.presentation.variant)
        {
            meta.authors.updated_by = self.lookup.working(self.blueprint, id, version)?.updated_by();
        }
        let meta = names.to_json(self.blueprint, meta.as_ref()).to_string();
        // An object that was written above; `{}` if nothing is selected of it.
        out.pop();
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str("\"meta\":");
        out.push_str(&meta);
        out.push('}');
        Ok(())
    }

    /// Returns the `attributes` object; empty if it is not selected.
    fn attributes(&self, id: ResourceId, version_of: impl Fn(u16) -> ShownVersions) -> Result<Arc<str>> {
        let Presentation { selection, public_url, .. } = self.presentation;
        if !selection.has(ResourceKey::Attributes) {
            return Ok(Arc::default());
        }
        let attributes: Arc<str> = match self.copies(id, version_of)? {
            (Some(copy), None) if selection.has_all_attributes() => copy.into_attributes(self.blueprint)?,
            (None, None) if selection.has_all_attributes() => empty_attributes(self.blueprint).into(),
            (copy, fallback) => {
                let values = values_of(copy, self.blueprint)?.into_iter().zip(values_of(fallback, self.blueprint)?);
                let fields = self.blueprint.fields.iter().zip(values);
                let shown: Map<String, Value> = fields
                    .filter(|(field, _)| selection.has_attribute(field.number))
                    .map(|(field, (value, other))| (field.slug.clone(), if value.is_null() { other } else { value }))
                    .collect();
                Value::Object(shown).to_string().into()
            }
        };
        let Some(public_url) = public_url else { return Ok(attributes) };
        let url = self.blueprint.position_of(SystemField::Url).map(|position| &self.blueprint.fields[position]);
        Ok(match url {
            Some(field) if selection.has_attribute(field.number) => with_public_url(attributes, public_url),
            _ => attributes,
        })
    }

    /// Reads the shown copy and the fallback copy, whose values replace the nulls of the shown one.
    fn copies(
        &self,
        id: ResourceId,
        version_of: impl Fn(u16) -> ShownVersions,
    ) -> Result<(Option<Copy>, Option<Copy>)> {
        let read = |variant| version_of(variant).read(self.lookup, self.blueprint, id);
        let fallback = self.presentation.other_variant().map(read).transpose()?.flatten();
        Ok((read(self.presentation.variant)?, fallback))
    }
}

/// Puts the public address of the server before the address of a file. System fields come first and contain no objects,
/// so the first such text is that field.
fn with_public_url(attributes: Arc<str>, public_url: &str) -> Arc<str> {
    const KEY: &str = "\"url\":\"";
    let Some(at) = attributes.find(&format!("{KEY}{MEDIA_PATH}")) else { return attributes };
    let (before, path) = attributes.split_at(at + KEY.len());
    [before, public_url, path].concat().into()
}

fn push_date(out: &mut String, date: Millis) {
    out.push('"');
    out.push_str(&format_millis(date));
    out.push('"');
}
