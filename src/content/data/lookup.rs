//! Reading stored resources by key, from the store or from the store as pending transactions leave it.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::value::unique_text;
use bindery_store::{Key, Prefix, Store};
use serde_json::Value;

use crate::data::records::{Copy, CopyVersion, Meta, decode_id};
use crate::data::working::WorkingCopy;

/// Something that stored values can be read from. Every error is `INTERNAL`: the store failed or is damaged.
pub(crate) trait Lookup {
    /// Returns the value of a key.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Returns a resource's meta record.
    fn meta(&self, blueprint: u32, id: ResourceId) -> Result<Option<Meta>> {
        let bytes = self.get(&Key::Resource { blueprint, id })?;
        bytes.map(|bytes| Meta::decode(&bytes).map_err(Error::internal)).transpose()
    }

    /// Returns the id of the resource that imports know under a key.
    fn known_under(&self, blueprint: u32, key: &str) -> Result<Option<ResourceId>> {
        self.get(&Key::ImportKey { blueprint, key: key.into() })?.map(|bytes| decode_id(&bytes)).transpose()
    }

    /// Returns the id of the resource of a singular blueprint; `None` for other blueprints.
    fn singular(&self, blueprint: u32) -> Result<Option<ResourceId>> {
        self.get(&Key::Singular(blueprint))?.map(|bytes| decode_id(&bytes)).transpose()
    }

    /// Returns one version of a copy. It must be the current one, or one that a snapshot still needs.
    fn copy(&self, blueprint: u32, id: ResourceId, version: CopyVersion) -> Result<Copy> {
        let bytes = self.get(&version.key(blueprint, id))?;
        let bytes = bytes.ok_or_else(|| Error::internal(format!("the copy {version:?} of {id} is missing")))?;
        Copy::decode(&bytes).map_err(Error::internal)
    }

    /// Returns the values of one version of a copy, in the order of the blueprint's fields.
    fn values(&self, blueprint: &Blueprint, id: ResourceId, version: CopyVersion) -> Result<Vec<Value>> {
        self.copy(blueprint.number, id, version)?.values(blueprint)
    }

    /// Returns one version of a working copy, with the changes of the fields that the blueprint has.
    fn working(&self, blueprint: &Blueprint, id: ResourceId, version: CopyVersion) -> Result<WorkingCopy> {
        let mut working = WorkingCopy::decode(&self.copy(blueprint.number, id, version)?)?;
        working.retain_known(blueprint);
        Ok(working)
    }

    /// Returns whether a resource holds a value, as unique fields compare values, in the field at `position`.
    fn holds(&self, blueprint: &Blueprint, id: ResourceId, variant: u16, position: usize, text: &str) -> Result<bool> {
        let Some(meta) = self.meta(blueprint.number, id)? else { return Ok(false) };
        let Some(version) = meta.copy(variant) else { return Ok(false) };
        let values = self.values(blueprint, id, version)?;
        Ok(unique_text(&values[position]).as_deref() == Some(text))
    }
}

impl Lookup for Store {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.get(key).map_err(Error::internal)
    }
}

/// Returns the resources of a blueprint, by id. Not a snapshot: writes that are made meanwhile may be seen or not.
pub(crate) fn resources(store: &Store, blueprint: u32) -> impl Iterator<Item = Result<(ResourceId, Meta)>> {
    store.scan(Prefix::Resources(blueprint)).filter_map(|entry| match entry {
        Ok((Key::Resource { id, .. }, bytes)) => {
            Some(Meta::decode(&bytes).map(|meta| (id, meta)).map_err(Error::internal))
        }
        Ok(_) => None,
        Err(error) => Some(Err(Error::internal(error))),
    })
}

/// Returns the import key that a resource had at `version`. The result is right even while the key is being changed: a
/// former key is stored before the meta record that replaces it, and the meta record is read first here.
pub(crate) fn import_key_at(store: &Store, blueprint: u32, id: ResourceId, version: u64) -> Result<Option<String>> {
    let current = store.meta(blueprint, id)?.and_then(|meta| meta.key);
    for entry in store.scan(Prefix::FormerImportKeys { blueprint, id }) {
        let (key, former) = entry.map_err(Error::internal)?;
        if matches!(key, Key::FormerImportKey { number, .. } if number > version) {
            let former = String::from_utf8(former).map_err(Error::internal)?;
            // An empty key stands for none.
            return Ok((!former.is_empty()).then_some(former));
        }
    }
    Ok(current)
}
