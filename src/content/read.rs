//! Answers assembled from an index snapshot and stored bytes: get, list and export.
//!
//! A list or an export reads exactly the versions that its snapshot matched; they live as long as the state is held.

use serde_json::{Map, Value};

use crate::content::record::{Copy, Meta, empty_attributes};
use crate::content::state::Collection;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::{Millis, format_millis};
use crate::query::{Key as Selected, Selection};
use crate::store::{Key, Prefix, Store};

/// What of a resource is answered, and from which copies.
#[derive(Clone)]
pub(crate) struct View {
    /// The variant whose values are shown.
    pub(crate) variant: u16,
    /// The variant whose values stand in for nulls.
    pub(crate) fallback: Option<u16>,
    /// The keys and attributes that are answered.
    pub(crate) selection: Selection,
}

impl View {
    /// The whole resource in one variant.
    pub(crate) fn whole(variant: u16) -> View {
        View { variant, fallback: None, selection: Selection::all() }
    }
}

/// A resource as it is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The resource object as JSON text.
    pub json: String,
    /// What its entity tag stands for: the resource's version and its blueprint's.
    pub version: (u64, u64),
}

/// Reads a resource's meta record. `None` if it is not there.
pub(crate) fn meta(store: &Store, blueprint: &Blueprint, id: ResourceId) -> Result<Option<Meta>> {
    let key = Key::Resource { blueprint: blueprint.number, id };
    let bytes = store.get(&key).map_err(Error::internal)?;
    bytes.map(|bytes| Meta::decode(&bytes).map_err(Error::internal)).transpose()
}

/// The resources of a blueprint, by id. No snapshot: what is written meanwhile may be seen or not.
pub(crate) fn resources(store: &Store, blueprint: u32) -> impl Iterator<Item = Result<(ResourceId, Meta)>> {
    store.scan(Prefix::Resources(blueprint)).filter_map(|entry| match entry {
        Ok((Key::Resource { id, .. }, bytes)) => {
            Some(Meta::decode(&bytes).map(|meta| (id, meta)).map_err(Error::internal))
        }
        Ok(_) => None,
        Err(error) => Some(Err(Error::internal(error))),
    })
}

/// The values of a stored copy as the blueprint has them. It must be held by a state, or be the one that is in force.
pub(crate) fn copy_values(
    store: &Store,
    blueprint: &Blueprint,
    id: ResourceId,
    variant: u16,
    number: u64,
) -> Result<Vec<Value>> {
    copy(store, blueprint, id, variant, number)?.values(blueprint).map_err(Error::internal)
}

fn copy(store: &Store, blueprint: &Blueprint, id: ResourceId, variant: u16, number: u64) -> Result<Copy> {
    let key = Key::Copy { blueprint: blueprint.number, id, variant, number };
    let bytes = store.get(&key).map_err(Error::internal)?;
    let bytes = bytes.ok_or_else(|| Error::internal(format!("the copy {variant}/{number} of {id} is missing")))?;
    Copy::decode(&bytes).map_err(Error::internal)
}

/// The resource that a meta record describes, in one view. The versions that it names must be held by a state.
pub(crate) fn answer(store: &Store, blueprint: &Blueprint, id: ResourceId, meta: &Meta, view: &View) -> Result<Answer> {
    let reader = Reader { store, blueprint };
    let attributes = reader.attributes(id, view, |variant| meta.copy(variant))?;
    let mut json = String::with_capacity(attributes.len() + 300);
    write_resource(&mut json, blueprint, id, meta.stamps(), &attributes, &view.selection);
    Ok(Answer { json, version: (meta.version, blueprint.revision) })
}

/// The whole resource with this copy, which is read already; without one every attribute is null.
pub(crate) fn whole(blueprint: &Blueprint, id: ResourceId, meta: &Meta, copy: Option<Copy>) -> Result<Answer> {
    let attributes = match copy {
        Some(copy) => copy.served(blueprint).map_err(Error::internal)?,
        None => empty_attributes(blueprint),
    };
    let mut json = String::with_capacity(attributes.len() + 300);
    write_resource(&mut json, blueprint, id, meta.stamps(), &attributes, &Selection::all());
    Ok(Answer { json, version: (meta.version, blueprint.revision) })
}

/// Reads the resource of a hit into `out`.
pub(crate) fn write_hit(
    out: &mut String,
    store: &Store,
    collection: &Collection,
    hit: &bindery_index::Hit,
    view: &View,
) -> Result<()> {
    let id = ResourceId::from_u128(hit.id);
    let reader = Reader { store, blueprint: &collection.blueprint };
    let attributes = reader.attributes(id, view, |variant| collection.snapshot.copy(hit.slot, variant))?;
    write_resource(out, &collection.blueprint, id, hit.stamps, &attributes, &view.selection);
    Ok(())
}

struct Reader<'a> {
    store: &'a Store,
    blueprint: &'a Blueprint,
}

impl Reader<'_> {
    /// The `attributes` object of a view; empty if it is not asked for.
    fn attributes(&self, id: ResourceId, view: &View, number_of: impl Fn(u16) -> Option<u64>) -> Result<String> {
        if !view.selection.has(Selected::Attributes) {
            return Ok(String::new());
        }
        let copy = self.copy(id, view.variant, number_of(view.variant))?;
        let fallback = match view.fallback {
            Some(variant) if variant != view.variant => self.copy(id, variant, number_of(variant))?,
            _ => None,
        };
        if fallback.is_none() && view.selection.has_all_attributes() {
            return match copy {
                Some(copy) => copy.served(self.blueprint).map_err(Error::internal),
                None => Ok(empty_attributes(self.blueprint)),
            };
        }
        let values = self.values(copy)?;
        let stand_ins = self.values(fallback)?;
        let fields = self.blueprint.fields.iter().zip(values.into_iter().zip(stand_ins));
        let shown: Map<String, Value> = fields
            .filter(|(field, _)| view.selection.has_attribute(field.number))
            .map(|(field, (value, stand_in))| (field.slug.clone(), if value.is_null() { stand_in } else { value }))
            .collect();
        Ok(Value::Object(shown).to_string())
    }

    fn values(&self, copy: Option<Copy>) -> Result<Vec<Value>> {
        match copy {
            Some(copy) => copy.values(self.blueprint).map_err(Error::internal),
            None => Ok(vec![Value::Null; self.blueprint.fields.len()]),
        }
    }

    fn copy(&self, id: ResourceId, variant: u16, number: Option<u64>) -> Result<Option<Copy>> {
        number.map(|number| copy(self.store, self.blueprint, id, variant, number)).transpose()
    }
}

/// Writes the resource object (`API.md` 2.1) with the keys that are selected.
fn write_resource(
    out: &mut String,
    blueprint: &Blueprint,
    id: ResourceId,
    stamps: bindery_index::Stamps,
    attributes: &str,
    selection: &Selection,
) {
    let date = |date: Millis| format!("\"{}\"", format_millis(date));
    out.push('{');
    for (place, key) in selection.keys().iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(key.as_str());
        out.push_str("\":");
        match key {
            Selected::Id => {
                out.push('"');
                out.push_str(&id.to_string());
                out.push('"');
            }
            Selected::Type => out.push_str("\"resource\""),
            Selected::PublishedAt => out.push_str(&stamps.published.map_or_else(|| "null".to_owned(), date)),
            Selected::CreatedAt => out.push_str(&date(stamps.created)),
            Selected::UpdatedAt => out.push_str(&date(stamps.updated)),
            Selected::Attributes => out.push_str(attributes),
            Selected::Relationships => {
                out.push_str("{\"blueprint\":{\"data\":{\"id\":\"");
                out.push_str(&blueprint.slug);
                out.push_str("\",\"type\":\"blueprint\"}}}");
            }
        }
    }
    out.push('}');
}
