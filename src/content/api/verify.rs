//! Verification: checks every checksum and compares the index with the store.

use std::path::Path;

use serde_json::Value;

use crate::base;
use crate::content::data::claims::ClaimedField;
use crate::content::data::lookup::Lookup;
use crate::content::data::records::{Copy, CopyVersion, Meta, encode_id};
use crate::content::data::state::{Collection, State};
use crate::content::handle::Content;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::projection;
use crate::store::{Key, Prefix};

/// The maximum number of issues that are reported individually.
const REPORTED_ISSUES: usize = 50;

/// What was checked, and the issues found.
#[derive(Debug, Default)]
pub struct Findings {
    /// The number of log records read.
    pub log_records: u64,
    /// The number of bases verified.
    pub bases: u64,
    /// The number of values read from the store.
    pub values: u64,
    /// The number of resources compared with the index.
    pub resources: u64,
    /// The number of copies that no resource references. A kill may leave some; they are not an issue.
    pub unnamed_copies: u64,
    /// The number of issues.
    pub issue_count: u64,
    /// The first issues, as text.
    pub issues: Vec<String>,
}

impl Findings {
    fn report(&mut self, text: impl Into<String>) {
        self.issue_count += 1;
        if self.issues.len() < REPORTED_ISSUES {
            self.issues.push(text.into());
        }
    }
}

impl Content {
    /// Reads and verifies all stored data. Blocks. Nothing may be written meanwhile.
    ///
    /// # Errors
    /// `INTERNAL` if the disk fails. Invalid content is not an error but an issue among the findings.
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
            Err(error) => findings.report(error.to_string()),
            Ok(records) => {
                for record in records {
                    match record {
                        Ok(_) => findings.log_records += 1,
                        Err(error) => findings.report(error.to_string()),
                    }
                }
            }
        }
    }

    /// Reads every value of the store. Returns whether all of them could be read.
    fn verify_store(&self, state: &State, findings: &mut Findings) -> bool {
        let numbers: Vec<u32> = state.blueprints.values().map(|collection| collection.blueprint.number).collect();
        for entry in self.shared.store.scan(Prefix::All) {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    findings.report(error.to_string());
                    return false;
                }
            };
            findings.values += 1;
            let read = match &key {
                Key::Resource { .. } => Meta::decode(&value).map(|_| ()),
                Key::Copy { .. } => Copy::decode(&value).map(|_| ()),
                _ => Ok(()),
            };
            if let Err(error) = read {
                findings.report(format!("{key:?}: {error}"));
            }
            if let Key::Copy { blueprint, id, variant, number } = key
                && numbers.contains(&blueprint)
                && !self.references(blueprint, id, CopyVersion { variant, number })
            {
                findings.unnamed_copies += 1;
            }
        }
        true
    }

    /// Whether a resource references a version of a copy.
    fn references(&self, blueprint: u32, id: ResourceId, version: CopyVersion) -> bool {
        let meta = self.shared.store.meta(blueprint, id).ok().flatten();
        meta.is_some_and(|meta| meta.copies.contains(&version))
    }

    /// Compares the resources of a blueprint with its index.
    fn verify_collection(&self, collection: &Collection, findings: &mut Findings) {
        let slug = &collection.blueprint.slug;
        if let Err(error) = collection.index.verify() {
            findings.report(format!("the index of `{slug}`: {error}"));
            return;
        }
        let mut count = 0;
        for entry in self.shared.store.scan(Prefix::Resources(collection.blueprint.number)) {
            let Ok((Key::Resource { id, .. }, bytes)) = entry else { continue };
            let Ok(meta) = Meta::decode(&bytes) else { continue };
            count += 1;
            for issue in self.resource_issues(collection, id, &meta) {
                findings.report(format!("`{slug}` {id}: {issue}"));
            }
        }
        let indexed = collection.snapshot.total();
        if indexed != count {
            findings.report(format!("`{slug}`: the store holds {count} resources, but the index holds {indexed}"));
        }
        findings.resources += count;
    }

    fn resource_issues(&self, collection: &Collection, id: ResourceId, meta: &Meta) -> Vec<String> {
        let Some(hit) = collection.snapshot.get(id.as_u128()) else {
            return vec!["is missing in the index".to_owned()];
        };
        let mut issues = Vec::new();
        if hit.stamps != meta.stamps() {
            issues.push("has a different version or different dates in the index".to_owned());
        }
        for variant in collection.blueprint.variant_numbers() {
            let stored = meta.copy(variant);
            if collection.snapshot.copy(hit.slot, variant) != stored.map(|version| version.number) {
                issues.push(format!("variant {variant} has a different version in the index"));
            }
            let Some(version) = stored else { continue };
            match self.check_copy(collection, id, version) {
                Ok(values) => issues.extend(index_mismatch(collection, hit.slot, variant, &values)),
                Err(issue) => issues.push(issue),
            }
        }
        issues
    }

    /// Reads a copy and checks that its unique values are claimed. Returns its values, or the issue as text.
    fn check_copy(&self, collection: &Collection, id: ResourceId, version: CopyVersion) -> Result<Vec<Value>, String> {
        let (blueprint, store) = (&collection.blueprint, &self.shared.store);
        let values = store.values(blueprint, id, version).map_err(|error| error.to_string())?;
        for field in ClaimedField::of(blueprint) {
            let Some(claim) = field.claim(blueprint.number, version.variant, &values) else { continue };
            if Lookup::get(store, &claim).map_err(|error| error.to_string())? != Some(encode_id(id)) {
                let slug = &blueprint.fields[field.position].slug;
                return Err(format!("the value of the unique field `{slug}` is not claimed"));
            }
        }
        Ok(values)
    }
}

/// The issue of a copy whose values differ from those in the index. It names the fields.
fn index_mismatch(collection: &Collection, slot: u32, variant: u16, values: &[Value]) -> Option<String> {
    let blueprint = &collection.blueprint;
    let projected = projection::project(blueprint, values.iter().enumerate());
    let columns = collection.snapshot.differing(slot, variant, projected);
    let fields = columns.iter().filter_map(|column| projection::field_of(blueprint, *column));
    let mut slugs: Vec<String> = fields.map(|field| format!("`{}`", field.slug)).collect();
    slugs.dedup();
    // Ignore the columns of a blueprint change in progress: they belong to no field yet and are still being filled.
    (!slugs.is_empty()).then(|| format!("variant {variant} has different values in the index: {}", slugs.join(", ")))
}

fn verify_bases(folder: &Path, findings: &mut Findings) -> Result<()> {
    for path in base::all(folder).map_err(Error::internal)? {
        findings.bases += 1;
        if let Err(error) = base::verify(&path) {
            findings.report(error.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
