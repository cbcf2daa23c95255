//! Prepares writes that name a stored file: the creation of a media resource, and the replacement of its file.

use bindery_model::blueprint::{Blueprint, SystemField};
use bindery_model::error::FieldErrors;
use bindery_model::id::ResourceId;
use bindery_model::media::MediaFile;
use serde_json::Value;

use crate::command::{CopyDraft, Extent, Item, Publication, SystemValues, Update, WrittenValue};
use crate::data::refusals::UNCHANGEABLE_SYSTEM_FIELD;
use crate::data::version::IfMatch;
use crate::prepare::body::{self, Preparation};

/// Reads the body of a create, and adds what is known of the file, and the key of the resource.
pub(crate) fn create(preparation: Preparation<'_>, file: &MediaFile, known_as: Option<&str>, body: Value) -> Item {
    let blueprint = preparation.blueprint;
    let mut item = body::create_any(preparation, body, |copy| {
        for written in &copy.values {
            let system = blueprint.fields[written.position].system();
            if let Some(field) = system.filter(|field| !field.is_writable() && !written.value.is_null()) {
                copy.errors.push((field.slug().to_owned(), vec![UNCHANGEABLE_SYSTEM_FIELD.to_owned()]));
            }
        }
        copy.values.extend(values_of(blueprint, file));
        copy.system = SystemValues::Set;
    });
    if let Item::Create { key, .. } = &mut item {
        *key = known_as.map(str::to_owned);
    }
    item
}

/// Returns the item that replaces the file of a resource, and keeps its name.
pub(crate) fn replacement(blueprint: &Blueprint, id: ResourceId, if_match: IfMatch, file: &MediaFile) -> Item {
    let replaced: Vec<_> = replaced_fields(file).filter_map(|field| blueprint.position_of(field)).collect();
    let values = values_of(blueprint, file).filter(|written| replaced.contains(&written.position)).collect();
    let copy = CopyDraft {
        variant: blueprint.default_variant(),
        extent: Extent::Partial,
        values,
        columns: Vec::new(),
        errors: FieldErrors::new(),
        sanitized: Default::default(),
        system: SystemValues::SetAlone,
    };
    update(id, if_match, Some(copy))
}

/// Returns the fields that another file gives a resource: all that follow from a file but its name, which stays.
fn replaced_fields(file: &MediaFile) -> impl Iterator<Item = SystemField> {
    SystemField::ALL.into_iter().filter(|field| *field != SystemField::FileName && file.value_of(*field).is_some())
}

/// Returns the item that writes the system fields to the copies of a resource that lack them.
pub(crate) fn completion(id: ResourceId) -> Item {
    update(id, IfMatch::Any, None)
}

fn update(id: ResourceId, if_match: IfMatch, copy: Option<CopyDraft>) -> Item {
    Item::Update(Box::new(Update {
        id,
        copy,
        published: Publication::Keep,
        may_publish: false,
        if_match,
        restores: false,
        working_variant: None,
        refusal: None,
        errors: FieldErrors::new(),
    }))
}

/// Returns the values of the system fields that follow from the file.
fn values_of<'a>(blueprint: &'a Blueprint, file: &'a MediaFile) -> impl Iterator<Item = WrittenValue> + 'a {
    SystemField::ALL.into_iter().filter_map(|field| {
        Some(WrittenValue { position: blueprint.position_of(field)?, value: file.value_of(field)? })
    })
}
