//! Compares the index with the store, value by value, and looks for values that nothing refers to.

use bindery_index::{ColumnId, WORKING_UPDATED};
use bindery_model::blueprint::Blueprint;
use bindery_model::id::ResourceId;
use bindery_query::projection;
use bindery_store::{Key, Prefix, Store};
use serde_json::Value;

use crate::data::claims::ClaimedField;
use crate::data::files::owner_key;
use crate::data::history::HistoryOf;
use crate::data::index_mapping::IndexMapping;
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta, encode_id};
use crate::data::state::{Collection, State};
use crate::data::trash::{TrashedResource, trash_total, trashed};
use crate::start::findings::Findings;
use crate::start::histories::{CheckedHistory, histories, meta_of, name_of, revisions_text};

/// A store, and the state that readers see of it.
pub(crate) struct Comparison<'a> {
    pub(crate) store: &'a Store,
    pub(crate) state: &'a State,
}

impl Comparison<'_> {
    /// Compares the values of the store with each other and with the index. Nothing may be written meanwhile.
    pub(crate) fn run(&self, findings: &mut Findings) {
        if self.read_records(findings) {
            for collection in self.state.blueprints.values() {
                self.compare(collection, findings);
            }
        }
    }

    /// Reads every record. Returns whether all of them could be read.
    fn read_records(&self, findings: &mut Findings) -> bool {
        let numbers: Vec<u32> = self.state.blueprints.values().map(|collection| collection.blueprint.number).collect();
        for entry in self.store.scan(Prefix::All) {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    findings.report(error.to_string());
                    return false;
                }
            };
            let read = match &key {
                Key::Resource { .. } => Meta::decode(&value).map(|_| ()),
                Key::Copy { .. } => Copy::decode(&value).map(|_| ()),
                Key::Revision { blueprint, id, variant, number } => {
                    let of = HistoryOf { blueprint: *blueprint, id: *id, variant: *variant };
                    of.revision(self.store, *number).map(|_| ()).map_err(|error| error.message)
                }
                Key::History { blueprint, id, variant } => {
                    let of = HistoryOf { blueprint: *blueprint, id: *id, variant: *variant };
                    of.range(self.store).map(|_| ()).map_err(|error| error.message)
                }
                Key::Trashed { .. } => TrashedResource::decode(&value).map(|_| ()).map_err(|error| error.message),
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

    /// Returns whether a resource references a version of a copy.
    fn references(&self, blueprint: u32, id: ResourceId, version: CopyVersion) -> bool {
        let meta = self.store.meta(blueprint, id).ok().flatten();
        let waiting = trashed(self.store, blueprint, id).ok().flatten().map(|resource| resource.meta);
        meta.iter().chain(&waiting).any(|meta| meta.copies.contains(&version))
    }

    /// Compares the resources of a blueprint with its index.
    fn compare(&self, collection: &Collection, findings: &mut Findings) {
        let slug = &collection.blueprint.slug;
        let mut count = 0;
        for entry in self.store.scan(Prefix::Resources(collection.blueprint.number)) {
            let Ok((Key::Resource { id, .. }, bytes)) = entry else { continue };
            let Ok(meta) = Meta::decode(&bytes) else { continue };
            count += 1;
            for issue in self.resource_issues(collection, id, &meta) {
                findings.report(format!("`{slug}` {id}: {issue}"));
            }
        }
        // The compared values may then come from damaged files.
        if collection.index.is_damaged() {
            findings.report(format!("the index of `{slug}` is damaged"));
        }
        let indexed = collection.snapshot.total();
        if indexed != count {
            findings.report(format!("`{slug}`: the store holds {count} resources, but the index holds {indexed}"));
        }
        findings.resources += count;
        self.compare_trash(&collection.blueprint, findings);
        self.check_histories(&collection.blueprint, findings);
    }

    /// Reads the revisions of a blueprint that are answered.
    fn check_histories(&self, blueprint: &Blueprint, findings: &mut Findings) {
        if blueprint.history.is_none() {
            return;
        }
        for ((id, variant), numbers) in histories(self.store, blueprint.number).unwrap_or_default() {
            let of = HistoryOf { blueprint: blueprint.number, id, variant };
            let Ok(Some(meta)) = meta_of(self.store, blueprint.number, id) else { continue };
            let history = CheckedHistory::read(self.store, blueprint, of, &numbers);
            if !history.lost.is_empty() && history.is_answered(self.store, &meta) {
                let lost = revisions_text(&history.lost);
                findings.report(format!("{}: {lost} of its history cannot be read", name_of(blueprint, of)));
            }
        }
    }

    /// Compares the resources in the trash of a blueprint with their order, their copies and their total.
    fn compare_trash(&self, blueprint: &Blueprint, findings: &mut Findings) {
        let (slug, number) = (&blueprint.slug, blueprint.number);
        let mut count = 0;
        for entry in self.store.scan(Prefix::Trash(number)) {
            let Ok((Key::Trashed { id, .. }, bytes)) = entry else { continue };
            let Ok(resource) = TrashedResource::decode(&bytes) else { continue };
            count += 1;
            if !Lookup::get(self.store, &resource.order_key(number, id)).is_ok_and(|place| place.is_some()) {
                findings.report(format!("`{slug}` {id} in the trash: has no place in its order"));
            }
            for version in &resource.meta.copies {
                if let Err(error) = self.store.copy(number, id, *version) {
                    findings.report(format!("`{slug}` {id} in the trash: {error}"));
                }
            }
        }
        let places = self.store.scan(Prefix::TrashOrder(number)).count();
        let total = trash_total(self.store, number).unwrap_or_default();
        if places as u64 != count || total != count {
            let text = format!("the trash holds {count} resources, but its order {places} and its total is {total}");
            findings.report(format!("`{slug}`: {text}"));
        }
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
        issues.extend(self.working_copy_issues(collection, id, meta, hit.slot));
        issues
    }

    /// Compares the working copies of a resource with the index, which holds the values that they make of the live
    /// copies.
    fn working_copy_issues(&self, collection: &Collection, id: ResourceId, meta: &Meta, slot: u32) -> Vec<String> {
        let mapping = IndexMapping { blueprint: &collection.blueprint, next: None };
        let expected = match mapping.working_copies(self.store, id, meta, |_| true) {
            Ok(expected) => expected,
            Err(error) => return vec![format!("has a working copy that cannot be read: {error}")],
        };
        let mut issues = Vec::new();
        for (number, copy) in expected {
            if collection.snapshot.copy(slot, number) != copy.as_ref().map(|copy| copy.number) {
                issues.push(format!("variant {number} has a different version in the index"));
            }
            let Some(copy) = copy else { continue };
            let differing = collection.snapshot.differing(slot, number, copy.values);
            // The columns of a change in progress are still being filled.
            let is_known = |column: &ColumnId| {
                *column == WORKING_UPDATED || projection::field_of(&collection.blueprint, *column).is_some()
            };
            if differing.iter().any(is_known) {
                issues.push(format!("variant {number} has different values in the index"));
            }
        }
        issues
    }

    /// Reads a copy and checks that its unique values are claimed and its file is noted. Returns its values, or the
    /// issue as text.
    fn check_copy(&self, collection: &Collection, id: ResourceId, version: CopyVersion) -> Result<Vec<Value>, String> {
        let (blueprint, store) = (&collection.blueprint, self.store);
        let values = store.values(blueprint, id, version).map_err(|error| error.to_string())?;
        for field in ClaimedField::of(blueprint) {
            let Some(claim) = field.claim(blueprint.number, version.variant, &values) else { continue };
            if Lookup::get(store, &claim).map_err(|error| error.to_string())? != Some(encode_id(id)) {
                let slug = &blueprint.fields[field.position].slug;
                return Err(format!("the value of the unique field `{slug}` is not claimed"));
            }
        }
        if let Some(owner) = owner_key(blueprint, id, &values)
            && Lookup::get(store, &owner).map_err(|error| error.to_string())?.is_none()
        {
            return Err(format!("variant {} names a file that is not noted as used", version.variant));
        }
        Ok(values)
    }
}

/// Returns the issue of a copy whose values differ from those in the index. It names the fields.
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

#[cfg(test)]
mod tests;
