//! Repairs histories: revisions that cannot be read are dropped, and the others stay readable without them.

use std::collections::{BTreeMap, BTreeSet};

use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::id::ResourceId;
use bindery_store::{Key, Prefix, StoreWrite};

use super::Repair;
use crate::data::history::{HistoryOf, RevisionRange};
use crate::data::records::{Copy, CopyVersion, Meta};
use crate::data::revision::Revision;
use crate::start::error::StartError;
use crate::start::histories::{CheckedHistory, histories, meta_of, name_of, revisions_text};

impl Repair<'_> {
    /// Repairs the histories of a blueprint, whose resources are repaired.
    pub(super) fn histories(&mut self, blueprint: &Blueprint) -> Result<(), StartError> {
        if blueprint.history.is_none() {
            // The server removes what is left of them.
            return Ok(());
        }
        self.flush()?;
        // The superseded versions that the histories which are written again have.
        let mut versions: BTreeMap<(ResourceId, u16), BTreeSet<u64>> = BTreeMap::new();
        for ((id, variant), numbers) in histories(self.store, blueprint.number).map_err(StartError::content)? {
            let of = HistoryOf { blueprint: blueprint.number, id, variant };
            let Some(meta) = meta_of(self.store, blueprint.number, id).map_err(StartError::content)? else {
                self.remove_revisions(of, &numbers)?;
                self.write(StoreWrite::delete(of.key()))?;
                versions.insert((id, variant), BTreeSet::new());
                continue;
            };
            let history = CheckedHistory::read(self.store, blueprint, of, &numbers);
            if blueprint.kind == BlueprintKind::Media {
                self.note_former_files(blueprint, &history)?;
            }
            if history.range.is_none() || !history.lost.is_empty() && history.is_answered(self.store, &meta) {
                versions.insert((id, variant), self.write_again(blueprint, &meta, &history, &numbers)?);
            }
        }
        self.flush()?;
        for entry in self.store.scan(Prefix::FormerCopies(blueprint.number)) {
            let (key, _) = entry.map_err(StartError::content)?;
            if let Key::FormerCopy { id, variant, number, .. } = key
                && versions.get(&(id, variant)).is_some_and(|versions| !versions.contains(&number))
            {
                self.write(StoreWrite::delete(key))?;
            }
        }
        self.flush()
    }

    /// Notes the files that the revisions of a media resource name.
    fn note_former_files(&mut self, blueprint: &Blueprint, history: &CheckedHistory) -> Result<(), StartError> {
        let of = history.of;
        for number in &history.readable {
            let revision = of.revision(self.store, *number).map_err(StartError::content)?;
            let Some(copy) = revision.map(|revision| revision.copy).filter(|copy| *copy > 0) else { continue };
            let bytes = of.copy_bytes(self.store, copy).map_err(StartError::content)?;
            let values = Copy::decode(&bytes).map_err(StartError::content)?.values(blueprint);
            self.note_file(blueprint, of.id, &values.map_err(StartError::content)?)?;
        }
        Ok(())
    }

    fn remove_revisions(&mut self, of: HistoryOf, numbers: &[u32]) -> Result<(), StartError> {
        numbers.iter().try_for_each(|number| self.write(StoreWrite::delete(of.revision_key(*number))))
    }

    /// Writes what is left of a history: its revisions without gaps in their numbers, and its versions without
    /// dictionaries, since a version that served as one may be lost. If the newest revision is lost, it is written as
    /// if the history began with it. Returns the numbers of the superseded versions.
    fn write_again(
        &mut self,
        blueprint: &Blueprint,
        meta: &Meta,
        history: &CheckedHistory,
        stored: &[u32],
    ) -> Result<BTreeSet<u64>, StartError> {
        let CheckedHistory { of, mut last, ref readable, ref lost, .. } = *history;
        let mut revisions: Vec<Revision> = Vec::with_capacity(readable.len() + 1);
        for number in readable {
            revisions.extend(of.revision(self.store, *number).map_err(StartError::content)?);
        }
        let live = meta.copy(of.variant).map_or(0, |copy| copy.number);
        let is_live = |revision: &Revision| revision.copy == live && revision.published == meta.published;
        if !revisions.last().is_some_and(is_live) {
            let newest = Revision::of_live(self.store, blueprint, of.id, meta, of.variant);
            revisions.push(newest.map_err(StartError::content)?);
            last += u32::from(!lost.contains(&last));
        }
        let first = (last + 1).saturating_sub(revisions.len() as u32).max(1);
        self.remove_revisions(of, stored)?;
        let superseded = revisions.iter().map(|revision| revision.copy).filter(|copy| ![0, live].contains(copy));
        let superseded: BTreeSet<u64> = superseded.collect();
        for number in &superseded {
            let bytes = of.copy_bytes(self.store, *number).map_err(StartError::content)?;
            let version = CopyVersion { variant: of.variant, number: *number };
            let (key, value) = of.former_copy(version, &bytes, *number, None).map_err(StartError::content)?;
            self.write(StoreWrite::put(key, value))?;
        }
        for (number, revision) in (first..).zip(&revisions) {
            self.write(StoreWrite::put(of.revision_key(number), revision.encode()))?;
        }
        let range = RevisionRange { first, last, swept: first, deltas: 0 };
        self.write(StoreWrite::put(of.key(), range.encode()))?;
        let name = name_of(blueprint, of);
        self.repaired.losses.push(match lost.as_slice() {
            [] => format!("{name}: the length of its history; there may have been more revisions"),
            lost => format!("{name}: {} of its history; older ones have greater numbers now", revisions_text(lost)),
        });
        Ok(superseded)
    }
}

#[cfg(test)]
mod tests;
