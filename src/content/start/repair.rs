//! Repairs a store that lost data, so that the rest is consistent: resources without their meta record or without a
//! copy, claims and import keys without their resource, files and uses of media without their note, histories with
//! gaps, counters that are too low.
//!
//! It drops unusable data and never invents a value.

mod histories;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bindery_index::variant_of_working;
use bindery_model::blueprint::{Blueprint, BlueprintKind, render};
use bindery_model::id::ResourceId;
use bindery_model::time::now_millis;
use bindery_store::{Counter, Key, Prefix, Store, StoreWrite, decode_writes};
use serde_json::Value;

use crate::data::claims::ClaimedField;
use crate::data::files::owner_key;
use crate::data::lookup::Lookup;
use crate::data::media_users::NotedCopy;
use crate::data::records::{Copy, CopyVersion, Meta, encode_id};
use crate::data::trash::{TrashedResource, set_trash_total, trashed};
use crate::start::error::StartError;

/// The number of writes that are applied at once.
const BATCH: usize = 512;

/// The numbers of resources of a blueprint that were kept and lost.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SalvagedBlueprint {
    /// The slug of the blueprint; its number if the blueprint is lost.
    pub name: String,
    /// The number of resources that were kept, and are complete as far as is known.
    pub kept: u64,
    /// The number of resources that were kept, but of which a variant is missing or has an older version.
    pub incomplete: u64,
    /// The number of resources that are known to have existed, and were not kept.
    pub lost: u64,
}

/// The result of a repair: the remaining data, and the losses.
#[derive(Debug, Default)]
pub(crate) struct RepairReport {
    pub(crate) blueprints: Vec<SalvagedBlueprint>,
    pub(crate) losses: Vec<String>,
}

/// Repairs a store, which is afterwards at `number`.
///
/// # Errors
/// [`StartError`] if the store fails.
pub(crate) fn repair(store: &Store, number: u64) -> Result<RepairReport, StartError> {
    let mut repair = Repair { store, number, writes: Vec::new(), repaired: RepairReport::default() };
    let blueprints = repair.blueprints()?;
    let superseded = repair.superseded()?;
    let lost = repair.sort_out(&blueprints)?;
    for (number, resources) in lost {
        let name = format!("blueprint number {number}, whose definition is lost");
        repair.repaired.blueprints.push(SalvagedBlueprint { name, lost: resources, ..Default::default() });
    }
    let mut last_id = None;
    for blueprint in blueprints.values() {
        last_id = last_id.max(repair.blueprint(blueprint, &superseded)?);
    }
    repair.counters(&blueprints, last_id)?;
    repair.flush()?;
    // Written even if nothing had to be repaired, so that the store stands at this number.
    store.apply(number, &[]).map_err(StartError::content)?;
    Ok(repair.repaired)
}

struct Repair<'a> {
    store: &'a Store,
    number: u64,
    writes: Vec<StoreWrite>,
    repaired: RepairReport,
}

impl Repair<'_> {
    fn write(&mut self, write: StoreWrite) -> Result<(), StartError> {
        self.writes.push(write);
        if self.writes.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StartError> {
        let writes = std::mem::take(&mut self.writes);
        self.store.replay(self.number, &writes).map_err(StartError::content)
    }

    /// Returns the blueprints that can be read.
    fn blueprints(&mut self) -> Result<BTreeMap<u32, Blueprint>, StartError> {
        let mut blueprints = BTreeMap::new();
        for entry in self.store.scan(Prefix::Blueprints) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            match (render::decode(&bytes), &key) {
                (Ok(blueprint), _) => drop(blueprints.insert(blueprint.number, blueprint)),
                (Err(error), _) => {
                    self.repaired.losses.push(format!("{key:?}: {error}"));
                    self.write(StoreWrite::delete(key))?;
                }
            }
        }
        Ok(blueprints)
    }

    /// Drops the lists of superseded versions. Returns the resources that they name: their copies may be left although
    /// the resource was deleted.
    fn superseded(&mut self) -> Result<HashSet<(u32, ResourceId)>, StartError> {
        let mut named = HashSet::new();
        for entry in self.store.scan(Prefix::Superseded) {
            let (list, bytes) = entry.map_err(StartError::content)?;
            for write in decode_writes(&bytes).map_err(StartError::content)? {
                if let Key::Copy { blueprint, id, .. } = write.key {
                    named.insert((blueprint, id));
                }
            }
            self.write(StoreWrite::delete(list))?;
        }
        Ok(named)
    }

    /// Drops data that belongs to no blueprint, and data that is rebuilt from the resources or the blueprints. Returns
    /// the number of dropped resources of unknown blueprints.
    fn sort_out(&mut self, blueprints: &BTreeMap<u32, Blueprint>) -> Result<BTreeMap<u32, u64>, StartError> {
        let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
        for entry in self.store.scan(Prefix::All) {
            let (key, _) = entry.map_err(StartError::content)?;
            let (number, is_kept) = match key {
                Key::Resource { blueprint, .. }
                | Key::Copy { blueprint, .. }
                | Key::ListVersion { blueprint, .. }
                | Key::WorkingVersion(blueprint) => (blueprint, true),
                Key::Trashed { blueprint, .. }
                | Key::History { blueprint, .. }
                | Key::Revision { blueprint, .. }
                | Key::FormerCopy { blueprint, .. } => (blueprint, true),
                Key::TrashOrder { blueprint, .. } | Key::TrashTotal(blueprint) => (blueprint, false),
                Key::BlueprintChange(blueprint) | Key::Singular(blueprint) => (blueprint, false),
                Key::ImportKey { blueprint, .. } | Key::FormerImportKey { blueprint, .. } => (blueprint, false),
                Key::Unique { blueprint, .. } => (blueprint, false),
                // The feed does not contain the losses. Without its groups, readers of the feed have to read everything
                // again.
                Key::Changes(_) => {
                    self.write(StoreWrite::delete(key))?;
                    continue;
                }
                _ => continue,
            };
            let is_known = blueprints.contains_key(&number);
            if !is_known && matches!(key, Key::Resource { .. }) {
                *lost.entry(number).or_default() += 1;
            }
            if let (Key::BlueprintChange(_), Some(blueprint)) = (&key, blueprints.get(&number)) {
                let loss = format!("the change of the blueprint `{}` that was under way", blueprint.slug);
                self.repaired.losses.push(loss);
            }
            if !is_known || !is_kept {
                self.write(StoreWrite::delete(key))?;
            }
        }
        self.flush()?;
        Ok(lost)
    }

    /// Repairs the resources of a blueprint. Returns the highest id.
    fn blueprint(
        &mut self,
        blueprint: &Blueprint,
        superseded: &HashSet<(u32, ResourceId)>,
    ) -> Result<Option<ResourceId>, StartError> {
        let mut tally = SalvagedBlueprint { name: blueprint.slug.clone(), ..Default::default() };
        let mut last_id = None;
        let mut dropped = BTreeSet::new();
        for entry in self.store.scan(Prefix::Resources(blueprint.number)) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            let Key::Resource { id, .. } = key else { continue };
            last_id = last_id.max(Some(id));
            let meta = Meta::decode(&bytes).ok();
            match meta.as_ref().and_then(|meta| self.with_readable_copies(blueprint, id, meta)) {
                Some(repaired) => {
                    let is_complete = Some(&repaired) == meta.as_ref();
                    tally.kept += u64::from(is_complete);
                    tally.incomplete += u64::from(!is_complete);
                    self.keep(blueprint, id, repaired, is_complete)?;
                }
                None => {
                    dropped.insert(id);
                    self.write(StoreWrite::delete(key))?;
                }
            }
        }
        self.flush()?;
        last_id = last_id.max(self.trash(blueprint)?);
        self.drop_unnamed_copies(blueprint.number, superseded, &mut dropped)?;
        self.histories(blueprint)?;
        tally.lost = dropped.len() as u64;
        if blueprint.kind == BlueprintKind::Singular {
            last_id = Some(self.singular(blueprint, last_id, &mut tally)?);
        }
        self.repaired.blueprints.push(tally);
        Ok(last_id)
    }

    /// Repairs the trash of a blueprint. Returns the highest id. The order and the total are rebuilt from the records.
    fn trash(&mut self, blueprint: &Blueprint) -> Result<Option<ResourceId>, StartError> {
        let (mut last_id, mut total) = (None, 0);
        for entry in self.store.scan(Prefix::Trash(blueprint.number)) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            let Key::Trashed { id, .. } = key else { continue };
            last_id = last_id.max(Some(id));
            let resource = TrashedResource::decode(&bytes).ok();
            let repaired = resource.as_ref().and_then(|resource| {
                let meta = self.with_readable_copies(blueprint, id, &resource.meta)?;
                Some(TrashedResource { meta, ..resource.clone() })
            });
            let Some(repaired) = repaired else {
                self.repaired.losses.push(format!("`{}` {id}, which was in the trash", blueprint.slug));
                self.write(StoreWrite::delete(key))?;
                continue;
            };
            total += 1;
            self.note_files(blueprint, id, &repaired.meta)?;
            self.write(StoreWrite::put(repaired.order_key(blueprint.number, id), Vec::new()))?;
            if Some(&repaired) != resource.as_ref() {
                self.write(StoreWrite::put(key, repaired.encode()))?;
            }
        }
        self.write(set_trash_total(blueprint.number, total))?;
        self.flush()?;
        Ok(last_id)
    }

    /// Returns the meta record with the newest readable copy of each variant. `None` if there were copies and none can
    /// be read.
    fn with_readable_copies(&self, blueprint: &Blueprint, id: ResourceId, meta: &Meta) -> Option<Meta> {
        let is_readable = |version: &CopyVersion| {
            self.store.copy(blueprint.number, id, *version).is_ok_and(|copy| copy.values(blueprint).is_ok())
        };
        let mut repaired = meta.clone();
        repaired.copies.clear();
        for version in &meta.copies {
            if is_readable(version) {
                repaired.copies.push(*version);
                continue;
            }
            let others = self.store.scan(Prefix::CopiesOf { blueprint: blueprint.number, id });
            let others = others.filter_map(|entry| match entry.ok()?.0 {
                Key::Copy { variant, number, .. } => Some(CopyVersion { variant, number }),
                _ => None,
            });
            repaired.copies.extend(others.filter(|other| other.variant == version.variant).filter(is_readable).last());
        }
        if repaired.copies != meta.copies {
            repaired.version = self.number;
        }
        let is_live = |version: &CopyVersion| variant_of_working(version.variant).is_none();
        (!meta.copies.iter().any(is_live) || repaired.copies.iter().any(is_live)).then_some(repaired)
    }

    /// Writes the claims and the import key of a resource, the notes of its files and of the media that it uses, and
    /// its meta record if it was changed. Claims and keys that another resource already holds stay with it.
    fn keep(
        &mut self,
        blueprint: &Blueprint,
        id: ResourceId,
        mut meta: Meta,
        is_complete: bool,
    ) -> Result<(), StartError> {
        let mut is_changed = !is_complete;
        self.note_files(blueprint, id, &meta)?;
        self.note_media_users(blueprint.number, id, &meta)?;
        for field in ClaimedField::of(blueprint) {
            for version in meta.known_copies(blueprint) {
                let values = self.store.values(blueprint, id, version).map_err(StartError::content)?;
                let Some(claim) = field.claim(blueprint.number, version.variant, &values) else { continue };
                if !self.claim(claim, id)? {
                    let slug = &blueprint.fields[field.position].slug;
                    let text = format!(
                        "`{}` {id} has a value of the unique field `{slug}` that another resource has too",
                        blueprint.slug
                    );
                    self.repaired.losses.push(text);
                }
            }
        }
        if let Some(key) = &meta.key
            && !self.claim(Key::ImportKey { blueprint: blueprint.number, key: key.as_str().into() }, id)?
        {
            self.repaired
                .losses
                .push(format!("the import key of `{}` {id}, which another resource has too", blueprint.slug));
            meta.key = None;
            is_changed = true;
        }
        if is_changed {
            self.write(StoreWrite::put(Key::Resource { blueprint: blueprint.number, id }, meta.encode()))?;
        }
        Ok(())
    }

    /// Notes the files that the copies of a media resource name: the server removes files without a note.
    fn note_files(&mut self, blueprint: &Blueprint, id: ResourceId, meta: &Meta) -> Result<(), StartError> {
        if blueprint.kind != BlueprintKind::Media {
            return Ok(());
        }
        for version in &meta.copies {
            let values = self.store.values(blueprint, id, *version).map_err(StartError::content)?;
            self.note_file(blueprint, id, &values)?;
        }
        Ok(())
    }

    /// Notes the media that the copies of a resource use by address: without a note, a media resource that is used can
    /// be deleted. The uses of a resource in the trash are noted when it comes back.
    fn note_media_users(&mut self, blueprint: u32, id: ResourceId, meta: &Meta) -> Result<(), StartError> {
        for version in &meta.copies {
            let copy = self.store.copy(blueprint, id, *version).map_err(StartError::content)?;
            for note in (NotedCopy { blueprint, id, variant: version.variant }).notes(&copy.attributes) {
                self.write(StoreWrite::put(note, Vec::new()))?;
            }
        }
        Ok(())
    }

    /// Notes the file that a copy with these values names, and that it is not to be removed.
    fn note_file(&mut self, blueprint: &Blueprint, id: ResourceId, values: &[Value]) -> Result<(), StartError> {
        let Some(owner) = owner_key(blueprint, id, values) else { return Ok(()) };
        if let Key::FileOwner { hash, .. } = owner {
            self.write(StoreWrite::delete(Key::FileRemoval(hash)))?;
        }
        self.write(StoreWrite::put(owner, Vec::new()))
    }

    /// Writes that a resource holds a key, unless another one does.
    fn claim(&mut self, key: Key, id: ResourceId) -> Result<bool, StartError> {
        let holder = self.store.get(&key).map_err(StartError::content)?;
        if holder.is_none() {
            // Written at once, because the next resource looks it up.
            let write = StoreWrite::put(key, encode_id(id));
            self.store.apply(self.number, &[write]).map_err(StartError::content)?;
        }
        Ok(holder.is_none_or(|holder| holder == encode_id(id)))
    }

    /// Drops copies that no meta record names. A resource that has only such copies is lost, unless it was deleted.
    fn drop_unnamed_copies(
        &mut self,
        blueprint: u32,
        superseded: &HashSet<(u32, ResourceId)>,
        dropped: &mut BTreeSet<ResourceId>,
    ) -> Result<(), StartError> {
        for entry in self.store.scan(Prefix::Copies(blueprint)) {
            let (key, bytes) = entry.map_err(StartError::content)?;
            let Key::Copy { id, variant, number, .. } = key else { continue };
            let meta = self.store.meta(blueprint, id).map_err(StartError::content)?;
            let waiting = trashed(self.store, blueprint, id).map_err(StartError::content)?;
            let named = meta.iter().chain(waiting.as_ref().map(|resource| &resource.meta));
            if named.flat_map(|meta| &meta.copies).any(|copy| *copy == CopyVersion { variant, number }) {
                continue;
            }
            if meta.is_none() && !superseded.contains(&(blueprint, id)) && Copy::decode(&bytes).is_ok() {
                dropped.insert(id);
            }
            self.write(StoreWrite::delete(key))?;
        }
        self.flush()
    }

    /// Replaces the lost resource of a singular blueprint by an empty one: such a blueprint always has its resource.
    fn singular(
        &mut self,
        blueprint: &Blueprint,
        found: Option<ResourceId>,
        tally: &mut SalvagedBlueprint,
    ) -> Result<ResourceId, StartError> {
        let id = match found.filter(|_| tally.kept + tally.incomplete > 0) {
            Some(id) => id,
            None => {
                tally.lost = 1;
                let mut random = [0; 10];
                getrandom::fill(&mut random).map_err(StartError::content)?;
                let id = ResourceId::next(found, now_millis(), random);
                let meta = Meta::new(self.number, now_millis(), Some(now_millis()));
                self.write(StoreWrite::put(Key::Resource { blueprint: blueprint.number, id }, meta.encode()))?;
                id
            }
        };
        self.write(StoreWrite::put(Key::Singular(blueprint.number), encode_id(id)))?;
        Ok(id)
    }

    /// Ends all sessions, because it is not known which ones had been ended, and makes invitations invalid.
    fn end_sessions(&mut self) -> Result<(), StartError> {
        for prefix in [Prefix::Sessions, Prefix::Invitations] {
            for (key, _) in self.store.scan(prefix).filter_map(Result::ok) {
                self.write(StoreWrite::delete(key))?;
            }
        }
        Ok(())
    }

    /// Raises the counters so that no number and no id is given out twice.
    fn counters(
        &mut self,
        blueprints: &BTreeMap<u32, Blueprint>,
        last_id: Option<ResourceId>,
    ) -> Result<(), StartError> {
        self.end_sessions()?;
        // The password of a lost member may be left. The next member must not get its number, and the password with it.
        let known = [Prefix::Members, Prefix::Passwords].map(|prefix| self.store.scan(prefix).filter_map(Result::ok));
        let numbers = known.into_iter().flatten().filter_map(|(key, _)| match key {
            Key::Member(id) | Key::Password(id) => Some(id),
            _ => None,
        });
        let highest_member = numbers.max();
        let highest_blueprint = blueprints.keys().next_back().map(|number| u64::from(*number));
        for (counter, highest) in [(Counter::Blueprint, highest_blueprint), (Counter::Member, highest_member)] {
            let stored = self.store.get(&Key::Counter(counter)).map_err(StartError::content)?;
            let stored = stored.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
            if let Some(highest) = highest.filter(|highest| *highest > stored) {
                self.write(StoreWrite::put(Key::Counter(counter), highest.to_le_bytes()))?;
            }
        }
        let stored = self.store.get(&Key::Counter(Counter::Resource)).map_err(StartError::content)?;
        if let Some(id) = last_id.map(encode_id).filter(|id| stored.as_ref().is_none_or(|stored| stored < id)) {
            self.write(StoreWrite::put(Key::Counter(Counter::Resource), id))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
