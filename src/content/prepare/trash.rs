//! Prepares the restoration of a resource from the trash: its copies in the shape of today's blueprint, checked like
//! values that a client sends. Must not know whether the resource may come back.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::{json, value};
use bindery_store::Store;
use serde_json::{Map, Value};

use crate::command::{CopyDraft, Extent, Item, Restoration, SystemValues};
use crate::data::lookup::Lookup;
use crate::data::records::Copy;
use crate::data::refusals::not_in_trash;
use crate::data::trash::trashed;
use crate::prepare::body::{self, Preparation};

/// A resource as it is stored in the trash.
pub(crate) struct StoredTrash {
    id: ResourceId,
    version: u64,
    /// The copies of the variants that the blueprint has, with their numbers.
    copies: Vec<(u16, Copy)>,
}

impl StoredTrash {
    /// Reads a resource from the trash. The caller must hold a state from before, so that its copies stay readable.
    ///
    /// # Errors
    /// `NOT_FOUND`, `INTERNAL` if the store fails.
    pub(crate) fn read(store: &Store, blueprint: &Blueprint, id: ResourceId) -> Result<StoredTrash> {
        let meta = trashed(store, blueprint.number, id)?.ok_or_else(|| not_in_trash(&id.to_string()))?.meta;
        let copies = meta.known_copies(blueprint).into_iter();
        let copies = copies.map(|version| Ok((version.variant, store.copy(blueprint.number, id, version)?)));
        Ok(StoredTrash { id, version: meta.version, copies: copies.collect::<Result<_>>()? })
    }

    /// Estimates the memory that it takes while it is restored, in bytes.
    pub(crate) fn expansion(&self) -> usize {
        self.copies.iter().map(|(_, copy)| json::expansion(copy.attributes.as_bytes())).sum()
    }

    /// Prepares the item that brings it back.
    ///
    /// # Errors
    /// `INTERNAL` if a copy is damaged.
    pub(crate) fn into_item(self, preparation: Preparation<'_>, as_draft: Result<bool>) -> Result<Item> {
        let StoredTrash { id, version, copies } = self;
        let copies = copies.into_iter().map(|(variant, copy)| draft_of(Preparation { variant, ..preparation }, &copy));
        let copies = copies.collect::<Result<_>>()?;
        Ok(Item::Restore(Box::new(Restoration { id, version, copies, as_draft })))
    }
}

/// Returns a stored copy as if a client had sent its values.
fn draft_of(preparation: Preparation<'_>, copy: &Copy) -> Result<CopyDraft> {
    let blueprint = preparation.blueprint;
    let values = blueprint.fields.iter().zip(copy.values(blueprint)?);
    let attributes: Map<String, Value> =
        values.filter(|(_, value)| !value.is_null()).map(|(field, value)| (field.slug.clone(), value)).collect();
    let copy = body::copy_of(preparation, attributes, Extent::Whole, value::Relations::Ids);
    Ok(CopyDraft { system: SystemValues::Set, ..copy })
}

/// Reads the body of a restoration: nothing, or `{"as_draft": true}`. The inner error is `VALIDATION_FAILED`, which is
/// reported later than a malformed body.
///
/// # Errors
/// `MALFORMED_JSON`.
pub(crate) fn as_draft(body: &[u8]) -> Result<Result<bool>> {
    Ok(if body.is_empty() { Ok(false) } else { as_draft_of(json::parse(body)?) })
}

fn as_draft_of(body: Value) -> Result<bool> {
    let parsed = body::into_object(body)?;
    let mut errors = body::unknown_keys(&parsed, &["as_draft"], &[]);
    let as_draft = match parsed.get("as_draft") {
        None => false,
        Some(Value::Bool(as_draft)) => *as_draft,
        Some(other) => {
            let text = format!("must be true or false; it is {}", body::kind_of(other));
            errors.push(("as_draft".to_owned(), vec![text]));
            false
        }
    };
    if errors.is_empty() { Ok(as_draft) } else { Err(Error::validation(errors)) }
}
