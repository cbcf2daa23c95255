//! Verification: every checksum, and the index against the store.

use std::path::Path;

use serde_json::Value;

use crate::base;
use crate::content::Content;
use crate::content::decide::unique_text;
use crate::content::record::{Copy, Meta};
use crate::content::state::{Collection, State};
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::projection;
use crate::store::{Key, Prefix};

/// How many faults are told one by one.
const TOLD_FAULTS: usize = 50;

/// What was looked at, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Findings {
    /// Records of the log.
    pub log_records: u64,
    /// Bases.
    pub bases: u64,
    /// Values of the store.
    pub values: u64,
    /// Resources that were compared with the index.
    pub resources: u64,
    /// Copies that no resource names: a kill may leave some. They are no fault.
    pub unnamed_copies: u64,
    /// How many faults there are.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<String>,
}

impl Findings {
    fn fault(&mut self, text: impl Into<String>) {
        self.fault_count += 1;
        if self.faults.len() < TOLD_FAULTS {
            self.faults.push(text.into());
        }
    }
}

impl Content {
    /// Reads everything that is stored and compares it. To be called while nothing is written; blocks.
    ///
    /// # Errors
    /// `INTERNAL` if the disk fails; what is wrong with the content is among the findings.
    pub fn verify(&self) -> Result<Findings> {
        let mut findings = Findings::default();
        self.verify_log(&mut findings);
        verify_bases(&self.shared.folder, &mut findings)?;
        let state = self.state();
        if self.verify_store(&state, &mut findings) {
            for collection in state.blueprints.values() {
                self.verify_collection(collection, &mut findings);
            }
        }
        Ok(findings)
    }

    fn verify_log(&self, findings: &mut Findings) {
        let last = self.shared.store.applied();
        let records = self.shared.log.first().and_then(|first| match first {
            Some(first) => self.shared.log.read(first, last),
            None => self.shared.log.read(1, 0),
        });
        match records {
            Err(error) => findings.fault(error.to_string()),
            Ok(records) => {
                for record in records {
                    match record {
                        Ok(_) => findings.log_records += 1,
                        Err(error) => findings.fault(error.to_string()),
                    }
                }
            }
        }
    }

    /// Reads every value of the store. Whether all of it could be read.
    fn verify_store(&self, state: &State, findings: &mut Findings) -> bool {
        let numbers: Vec<u32> = state.blueprints.values().map(|collection| collection.blueprint.number).collect();
        for entry in self.shared.store.scan(Prefix::All) {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    findings.fault(error.to_string());
                    return false;
                }
            };
            findings.values += 1;
            let read = match &key {
                Key::Resource { .. } => Meta::decode(&value).map(|_| ()),
                Key::Copy { .. } => Copy::decode(&value).map(|_| ()),
                _ => Ok(()),
            };
            if let Err(what) = read {
                findings.fault(format!("{key:?}: {what}"));
            }
            if let Key::Copy { blueprint, id, variant, number } = key
                && numbers.contains(&blueprint)
                && !self.names(blueprint, id, variant, number)
            {
                findings.unnamed_copies += 1;
            }
        }
        true
    }

    fn names(&self, blueprint: u32, id: ResourceId, variant: u16, number: u64) -> bool {
        let stored = self.shared.store.get(&Key::Resource { blueprint, id });
        let meta = stored.ok().flatten().and_then(|bytes| Meta::decode(&bytes).ok());
        meta.is_some_and(|meta| meta.copies.contains(&(variant, number)))
    }

    /// Compares a blueprint's resources with its index.
    fn verify_collection(&self, collection: &Collection, findings: &mut Findings) {
        let slug = &collection.blueprint.slug;
        if let Err(error) = collection.index.verify() {
            findings.fault(format!("the index of `{slug}`: {error}"));
            return;
        }
        let mut count = 0;
        for entry in self.shared.store.scan(Prefix::Resources(collection.blueprint.number)) {
            let Ok((Key::Resource { id, .. }, bytes)) = entry else { continue };
            let Ok(meta) = Meta::decode(&bytes) else { continue };
            count += 1;
            for fault in self.resource_faults(collection, id, &meta) {
                findings.fault(format!("`{slug}` {id}: {fault}"));
            }
        }
        let indexed = collection.snapshot.total();
        if indexed != count {
            findings.fault(format!("`{slug}`: the store holds {count} resources, the index {indexed}"));
        }
        findings.resources += count;
    }

    fn resource_faults(&self, collection: &Collection, id: ResourceId, meta: &Meta) -> Vec<String> {
        let Some(hit) = collection.snapshot.get(id.as_u128()) else { return vec!["is not in the index".to_owned()] };
        let mut faults = Vec::new();
        if hit.stamps != meta.stamps() {
            faults.push("has another version or other dates in the index".to_owned());
        }
        for variant in collection.blueprint.variant_numbers() {
            let stored = meta.copy(variant);
            if collection.snapshot.copy(hit.slot, variant) != stored {
                faults.push(format!("variant {variant} is at another version in the index"));
            }
            let Some(number) = stored else { continue };
            match self.check_copy(collection, id, variant, number) {
                Ok(values) => faults.extend(indexed_otherwise(collection, hit.slot, variant, &values)),
                Err(fault) => faults.push(fault),
            }
        }
        faults
    }

    /// The values of a copy that can be served and holds the keys of its unique values.
    fn check_copy(
        &self,
        collection: &Collection,
        id: ResourceId,
        variant: u16,
        number: u64,
    ) -> Result<Vec<Value>, String> {
        let blueprint = collection.blueprint.number;
        let get = |key: &Key| self.shared.store.get(key).map_err(|error| error.to_string());
        let bytes = get(&Key::Copy { blueprint, id, variant, number })?;
        let bytes = bytes.ok_or_else(|| format!("the copy of variant {variant} is missing"))?;
        let values = Copy::decode(&bytes)?.values(&collection.blueprint)?;
        for (field, value) in collection.blueprint.fields.iter().zip(&values) {
            let (Some(claims), Some(text)) = (field.claims, unique_text(value)) else { continue };
            let key = Key::Unique { blueprint, claims, variant, value: text.into() };
            if get(&key)?.as_deref() != Some(&id.as_u128().to_be_bytes()[..]) {
                return Err(format!("`{}` is unique, but its value is not noted as held", field.slug));
            }
        }
        Ok(values)
    }
}

/// The fields of which the index holds something else than what the copy projects to.
fn indexed_otherwise(collection: &Collection, slot: u32, variant: u16, values: &[Value]) -> Option<String> {
    let blueprint = &collection.blueprint;
    let projected = projection::project(blueprint, values.iter().enumerate());
    let columns = collection.snapshot.differing(slot, variant, projected);
    let fields = columns.iter().filter_map(|column| projection::field_of(blueprint, *column));
    let mut slugs: Vec<String> = fields.map(|field| format!("`{}`", field.slug)).collect();
    slugs.dedup();
    // Columns of a change that is under way belong to no field yet, and are filled as it goes.
    (!slugs.is_empty()).then(|| format!("variant {variant} has other values in the index: {}", slugs.join(", ")))
}

fn verify_bases(folder: &Path, findings: &mut Findings) -> Result<()> {
    for path in base::all(folder).map_err(Error::internal)? {
        findings.bases += 1;
        if let Err(error) = base::verify(&path) {
            findings.fault(error.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
