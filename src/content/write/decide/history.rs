//! Notes revisions in the history of a resource (`API.md` 4.22). Every write of a resource comes here once, so this is
//! the only place that says what a revision is.

use std::collections::BTreeSet;

use bindery_model::blueprint::HistorySettings;
use bindery_model::error::Result;
use bindery_model::id::ResourceId;

use super::decider::{Decider, WrittenCopy};
use crate::command::{Effect, WrittenResource};
use crate::data::history::{HistoryOf, RevisionRange};
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta};
use crate::data::revision::{FormerWorkingCopy, Revision, RevisionOp};
use crate::data::working::WorkingCopy;

/// The most revisions beyond `keep` that one write removes. The rest is left to the sweeper.
const TRIMMED: u32 = 8;

/// The most revisions whose records a request that removes a history removes itself.
const FORGOTTEN: u32 = 2_000;

/// A write of a resource, as its history sees it.
pub(super) struct NotedWrite<'a> {
    pub(super) id: ResourceId,
    pub(super) before: &'a Meta,
    /// The meta record afterwards, with the copies that stay as they are.
    pub(super) after: &'a Meta,
    pub(super) op: RevisionOp,
    /// True for a write of all variants, such as a deletion.
    pub(super) is_of_all: bool,
    /// The copies that are written.
    pub(super) copies: &'a [WrittenCopy],
}

/// A write of a working copy, as the history of its variant sees it.
pub(super) struct NotedWorkingWrite<'a> {
    pub(super) of: HistoryOf,
    pub(super) before: &'a Meta,
    pub(super) op: RevisionOp,
    /// True if the write may join the revision before it. One that begins a working copy may not, since that revision
    /// has another one, which was discarded.
    pub(super) may_join: bool,
    pub(super) working: &'a WorkingCopy,
    /// The slugs of the fields that the write changed.
    pub(super) fields: Vec<String>,
}

impl Decider<'_, '_> {
    /// Adds a revision for each copy that a write concerns: the written ones, and all of them if it publishes,
    /// unpublishes, deletes or restores the resource. The versions that it supersedes are kept.
    pub(super) fn note_revisions(&mut self, settings: HistorySettings, write: &NotedWrite<'_>) -> Result<()> {
        let NotedWrite { before, after, is_of_all, copies, .. } = write;
        let mut variants: BTreeSet<u16> = copies.iter().map(|copy| copy.variant).collect();
        if *is_of_all || before.published != after.published {
            variants.extend(before.known_copies(self.blueprint).iter().map(|copy| copy.variant));
            variants.insert(self.blueprint.default_variant());
            // A variant may have a working copy only.
            for variant in self.blueprint.variant_numbers() {
                let of = HistoryOf { blueprint: self.blueprint.number, id: write.id, variant };
                if of.range(&*self.overlay)?.is_some_and(|range| range.first <= range.last) {
                    variants.insert(variant);
                }
            }
        }
        let mut is_first = false;
        for variant in &variants {
            is_first |= self.note_revision(settings, write, *variant)?;
        }
        if is_first {
            self.begin_histories(write.id, before, &variants)?;
        }
        Ok(())
    }

    /// Begins the histories of all variants but some, while the meta record still has the time and the author of their
    /// versions.
    fn begin_histories(&mut self, id: ResourceId, before: &Meta, without: &BTreeSet<u16>) -> Result<()> {
        let others = before.known_copies(self.blueprint).into_iter().map(|copy| copy.variant);
        let others = others.chain([self.blueprint.default_variant()]).filter(|variant| !without.contains(variant));
        for variant in others.collect::<BTreeSet<u16>>() {
            let of = HistoryOf { blueprint: self.blueprint.number, id, variant };
            if let (range, true) = self.begun_history(of, before)? {
                self.overlay.put(of.key(), range.encode());
            }
        }
        Ok(())
    }

    /// Adds a revision for a write of a working copy that changed something, or adds the write to the newest revision
    /// if that is one of the same actor and the same working copy.
    pub(super) fn note_working_revision(&mut self, write: NotedWorkingWrite<'_>) -> Result<()> {
        let Some(settings) = self.blueprint.history.filter(|_| !write.fields.is_empty()) else { return Ok(()) };
        let NotedWorkingWrite { of, before, op, may_join, working, mut fields } = write;
        let (mut range, is_first) = self.begun_history(of, before)?;
        let newest = of.revision(&*self.overlay, range.last)?;
        let mut begun = self.overlay.now;
        match newest.filter(|newest| may_join && self.is_joined(newest)) {
            Some(newest) => {
                begun = newest.working.map_or(begun, |former| former.begun);
                fields.extend(newest.fields.into_iter().filter(|slug| !fields.contains(slug)).collect::<Vec<_>>());
            }
            None => range.last += 1,
        }
        let live = before.copy(of.variant);
        let stored = live.map(|live| self.overlay.get(&live.key(of.blueprint, of.id))).transpose()?.flatten();
        let former = FormerWorkingCopy::new(begun, working, self.blueprint, &stored.unwrap_or_default())?;
        let revision = Revision {
            at: self.overlay.now,
            by: self.overlay.actor.clone(),
            op,
            published: before.published,
            copy: live.map_or(0, |live| live.number),
            working: Some(former),
            blueprint: self.blueprint.revision,
            fields,
        };
        self.put_newest(of, range, settings, &revision)?;
        if is_first {
            self.begin_histories(of.id, before, &BTreeSet::from([of.variant]))?;
        }
        Ok(())
    }

    /// Returns whether a write of the working copy that a revision has joins the revision.
    fn is_joined(&self, revision: &Revision) -> bool {
        revision.is_open(self.overlay.now)
            && revision.by == self.overlay.actor
            && revision.blueprint == self.blueprint.revision
    }

    /// Adds a revision of a variant. Returns whether its history began with it.
    fn note_revision(&mut self, settings: HistorySettings, write: &NotedWrite<'_>, variant: u16) -> Result<bool> {
        let NotedWrite { id, before, after, op, copies, .. } = *write;
        let of = HistoryOf { blueprint: self.blueprint.number, id, variant };
        let written = copies.iter().find(|copy| copy.variant == variant);
        let (mut range, is_first) = self.begun_history(of, before)?;
        let number = written.map_or(self.overlay.number, |written| written.number);
        let old = before.copy(variant);
        let mut revision = Revision {
            at: self.overlay.now,
            by: self.overlay.actor.clone(),
            op,
            published: after.published,
            copy: written.map_or(after.copy(variant).map_or(0, |copy| copy.number), |_| number),
            working: None,
            blueprint: self.blueprint.revision,
            fields: Vec::new(),
        };
        let new = written
            .map(|written| Copy { revision: self.blueprint.revision, attributes: written.attributes.as_str().into() });
        if let Some(new) = &new {
            revision.fields = self.changed_fields(id, before, variant, new)?;
        }
        let mut revisions = vec![revision];
        match (old, new) {
            (Some(old), Some(new)) if old.number == number => {
                revisions = self.joined_revisions(of, &mut range, old, &new, revisions)?;
            }
            (Some(old), new) if old.number != revisions[0].copy => {
                let bytes = self.overlay.get(&old.key(of.blueprint, id))?.unwrap_or_default();
                let successor = new.map(|new| new.encode()).filter(|_| range.next_is_delta());
                let (key, value) = of.former_copy(old, &bytes, number, successor.as_deref())?;
                self.overlay.put(key, value);
            }
            _ => {}
        }
        for revision in &revisions {
            range.last += 1;
            self.put_newest(of, range, settings, revision)?;
        }
        Ok(is_first)
    }

    /// Joins a write of a copy that this transaction has written before: only the last version exists, `new` in the
    /// place of `old`, so both writes are one revision. Takes the revisions of the transaction out of the range, and
    /// returns them as they are to be written again. What is stored with the version as its dictionary is stored again.
    fn joined_revisions(
        &mut self,
        of: HistoryOf,
        range: &mut RevisionRange,
        old: CopyVersion,
        new: &Copy,
        mut revisions: Vec<Revision>,
    ) -> Result<Vec<Revision>> {
        let (before, after) = (self.overlay.get(&old.key(of.blueprint, of.id))?.unwrap_or_default(), new.encode());
        while range.first <= range.last {
            let Some(mut taken) = of.revision(&*self.overlay, range.last)? else { break };
            if taken.copy != old.number {
                if let Some((key, value)) = of.packed_again(&*self.overlay, taken.copy, old.number, &after)? {
                    self.overlay.put(key, value);
                }
                break;
            }
            range.last -= 1;
            match taken.working.take() {
                // A revision of the working copy stays newer than that of the live copy.
                Some(former) => {
                    let working = former.read(&before)?;
                    taken.working = Some(FormerWorkingCopy::new(former.begun, &working, self.blueprint, &after)?);
                    revisions.insert(1, taken);
                }
                None => {
                    let fields = &mut revisions[0].fields;
                    taken.fields.retain(|slug| !fields.contains(slug));
                    fields.append(&mut taken.fields);
                }
            }
        }
        Ok(revisions)
    }

    /// Writes the newest revision of a history, and removes some of those that are too many.
    fn put_newest(
        &mut self,
        of: HistoryOf,
        mut range: RevisionRange,
        settings: HistorySettings,
        revision: &Revision,
    ) -> Result<()> {
        self.overlay.put(of.revision_key(range.last), revision.encode());
        range.first = range.first.max((range.last + 1).saturating_sub(settings.keep.into()));
        let end = range.first;
        for key in of.removals(&*self.overlay, &mut range, end, TRIMMED)? {
            self.overlay.remove(key);
        }
        self.overlay.put(of.key(), range.encode());
        Ok(())
    }

    /// Returns the range of a history whose newest revision is the live version. Begins a history that does not exist,
    /// or is not that of the live version, with this version as its first revision; then the second value is true.
    fn begun_history(&mut self, of: HistoryOf, before: &Meta) -> Result<(RevisionRange, bool)> {
        let mut range = match of.trusted_range(&*self.overlay, before)? {
            Some((range, true)) => return Ok((range, false)),
            Some((range, false)) => RevisionRange { first: range.last + 1, deltas: 0, ..range },
            None => RevisionRange { first: 1, last: 0, swept: 1, deltas: 0 },
        };
        if before.copy(of.variant).is_some() || of.variant == self.blueprint.default_variant() {
            let live = Revision::of_live(&*self.overlay, self.blueprint, of.id, before, of.variant)?;
            range.last += 1;
            self.overlay.put(of.revision_key(range.last), live.encode());
        }
        Ok((range, true))
    }

    fn changed_fields(&self, id: ResourceId, before: &Meta, variant: u16, new: &Copy) -> Result<Vec<String>> {
        let old = self.overlay.values_of(self.blueprint, id, before, variant)?;
        let changed = self.blueprint.fields.iter().zip(new.values(self.blueprint)?).enumerate();
        let changed = changed.filter(|(at, (_, value))| match &old {
            Some(old) => old[*at] != *value,
            None => !value.is_null(),
        });
        Ok(changed.map(|(_, (field, _))| field.slug.clone()).collect())
    }

    /// Removes the history of a resource: its revisions are no longer answered. The records of `most` revisions are
    /// removed at once, and the sweeper removes the others.
    pub(super) fn forget_history(&mut self, id: ResourceId, meta: &Meta, mut most: u32) -> Result<()> {
        let mut variants: BTreeSet<u16> = meta.copies.iter().map(|copy| copy.variant).collect();
        variants.extend(self.blueprint.variant_numbers());
        for variant in variants {
            let of = HistoryOf { blueprint: self.blueprint.number, id, variant };
            let Some(mut range) = of.range(&*self.overlay)? else { continue };
            range.first = range.last + 1;
            let end = range.first;
            let before = range.swept;
            for key in of.removals(&*self.overlay, &mut range, end, most)? {
                self.overlay.remove(key);
            }
            most -= range.swept - before;
            self.overlay.put(of.key(), range.encode());
        }
        Ok(())
    }

    /// Removes the history of a resource that exists.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(super) fn delete_history(&mut self, id: ResourceId) -> Result<WrittenResource> {
        let meta = self.load(id)?;
        self.forget_history(id, &meta, FORGOTTEN)?;
        let (before, effect) = (Some(meta.clone()), Effect::Updated);
        Ok(WrittenResource::live(id, effect, meta, before))
    }
}
