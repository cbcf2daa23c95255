//! Working copies (`API.md` 4.21): writes and discards one, makes some live, plans that, and notes that a plan failed.
//!
//! A write of a working copy changes nothing that readers of live copies see: neither the version of the resource nor
//! the date of its last change. What is checked when a working copy becomes live is what a write of the live copy
//! checks, in the same place.

use std::collections::{BTreeSet, HashSet};

use bindery_index::working_variant;
use bindery_model::blueprint::{BlueprintKind, SystemField};
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_model::value;
use bindery_query::{CopyKind, projection};
use bindery_store::Key;
use serde_json::{Map, Value};

use super::decider::{Decider, Edit, RequiredFieldRule, SentFields};
use super::history::NotedWorkingWrite;
use super::media::{names_no_other_file, system_errors_of_working};
use crate::command::{
    CopyDraft, Effect, Extent, PublicationMoment, SystemValues, Update, WorkingPublication, WrittenResource,
    WrittenValue,
};
use crate::data::changes::ChangeOp;
use crate::data::history::HistoryOf;
use crate::data::lookup::Lookup;
use crate::data::records::{CopyVersion, Meta};
use crate::data::refusals::{is_planned, no_working_copy, working_copy_conflict};
use crate::data::revision::RevisionOp;
use crate::data::version::{EntityTag, IfMatch};
use crate::data::working::{FailedSchedule, Schedule, WorkingCopy, not_ready_to_json};

impl Decider<'_, '_> {
    /// Returns the entity tag of a resource for a reader of working copies.
    pub(super) fn working_tag_of(&self, id: ResourceId, meta: &Meta) -> EntityTag {
        let state = &self.context.state;
        meta.working_version(id, self.blueprint).tag(state.epoch, state.public_url.as_deref())
    }

    /// Returns whether a write of the working copy of a variant goes into one. A draft is written in place, unless it
    /// has a working copy already. The resource of a singular blueprint is shown even as a draft.
    pub(super) fn keeps_working_copy(&self, meta: &Meta, variant: u16) -> bool {
        let is_shown = meta.published.is_some() || self.blueprint.kind == BlueprintKind::Singular;
        is_shown || meta.working_copy(variant).is_some()
    }

    /// Returns the working copy of a variant that is to be changed; `None` if there is none.
    ///
    /// # Errors
    /// `CONFLICT` while its publication is planned.
    pub(super) fn changeable_working_copy(
        &self,
        id: ResourceId,
        meta: &Meta,
        variant: u16,
    ) -> Result<Option<WorkingCopy>> {
        let working = self.working_copy_of(id, meta, variant)?;
        match working.as_ref().and_then(|working| working.schedule.as_ref()) {
            Some(schedule) => Err(is_planned(schedule.at)),
            None => Ok(working),
        }
    }

    /// Writes values to the working copy of a variant, `existing`, and begins one if there is none. A field that gets
    /// the live value is not changed any more; a working copy without changed fields goes.
    ///
    /// # Errors
    /// `VALIDATION_FAILED`, `CONFLICT` if a change of the blueprint would lose it.
    pub(super) fn write_working_copy(
        &mut self,
        update: &Update,
        draft: &CopyDraft,
        before: Meta,
        existing: Option<WorkingCopy>,
    ) -> Result<WrittenResource> {
        let (id, variant, sent) = (update.id, draft.variant, self.sent_by(update, draft));
        let live = self.live_values(id, &before, variant)?;
        let mut errors = update.errors.clone();
        errors.append(draft.errors.clone());
        errors.append(system_errors_of_working(self.blueprint, draft, &live));
        if !errors.is_empty() {
            return Err(Error::validation(self.visible_errors(errors, &sent)));
        }
        let mut working = existing.clone().unwrap_or_else(|| WorkingCopy::begin(self.overlay.now));
        let takes_focal_point = {
            let hash = self.blueprint.position_of(SystemField::Hash).map_or(&Value::Null, |position| &live[position]);
            names_no_other_file(self.blueprint, draft, hash)
        };
        for (position, field) in self.blueprint.fields.iter().enumerate() {
            if field.is_system && !(takes_focal_point && SystemField::is_focal(&field.slug)) {
                continue;
            }
            let value = match draft.values.iter().find(|written| written.position == position) {
                Some(written) => written.value.clone(),
                // A `PUT` without the focal point keeps it.
                None if draft.extent == Extent::Whole && !field.is_system => Value::Null,
                None => continue,
            };
            working.set(field, value, &live[position]);
        }
        let is_change = match &existing {
            // A change of the blueprint may have left one without changed fields, which goes with its next write.
            Some(existing) => working.is_empty() || !existing.has_values_of(&working),
            None => !working.is_empty(),
        };
        let mut after = before.clone();
        if is_change {
            let fields = working.differences(existing.as_ref(), self.blueprint, &live);
            self.hold_working_copy_to_change(draft, &fields)?;
            let earliest = existing.as_ref().map_or(Millis::MIN, |existing| existing.updated.saturating_add(1));
            working.touch(self.overlay.now.max(earliest), self.overlay.actor.as_ref());
            working.failed = None;
            self.note_working_revision(NotedWorkingWrite {
                of: HistoryOf { blueprint: self.blueprint.number, id, variant },
                before: &before,
                op: if update.restores { RevisionOp::Restored } else { RevisionOp::Edited },
                may_join: existing.is_some() && !update.restores,
                working: &working,
                fields,
            })?;
            self.put_working_copy(id, &mut after, variant, Some(working))?;
            self.put_meta(id, &after, ChangeOp::Edited);
        }
        let not_ready = self.not_ready(id, &after, variant, sent)?;
        let (effect, before) = (Effect::Updated, Some(before));
        Ok(WrittenResource { id, effect, meta: after, before, copy_kind: CopyKind::Working, not_ready })
    }

    /// Replaces the working copy of a variant by one without values that a deletion has removed. The live copy has been
    /// changed before. A planned publication stays planned, also if no field is left that it changes. Returns whether
    /// readers of working copies see that.
    pub(super) fn replace_working_copy(
        &mut self,
        id: ResourceId,
        variant: u16,
        mut working: WorkingCopy,
    ) -> Result<bool> {
        let before = self.load(id)?;
        let existing = self.working_copy_of(id, &before, variant)?;
        let live = self.live_values(id, &before, variant)?;
        let fields = working.differences(existing.as_ref(), self.blueprint, &live);
        let is_shown = !fields.is_empty();
        if is_shown {
            working.touch(self.overlay.now.max(working.updated.saturating_add(1)), self.overlay.actor.as_ref());
            working.failed = None;
            self.note_working_revision(NotedWorkingWrite {
                of: HistoryOf { blueprint: self.blueprint.number, id, variant },
                before: &before,
                op: RevisionOp::Edited,
                may_join: false,
                working: &working,
                fields,
            })?;
        }
        let mut after = before;
        self.put_working_copy(id, &mut after, variant, Some(working))?;
        self.overlay.put(Key::Resource { blueprint: self.blueprint.number, id }, after.encode());
        Ok(is_shown)
    }

    /// Adds a change of working copies to the change feed.
    pub(super) fn note_working_change(&mut self, id: ResourceId, op: ChangeOp) {
        self.overlay.note_change(self.blueprint, id, op, false, false);
    }

    /// Discards the working copy of a variant.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none, `PRECONDITION_FAILED`, `CONFLICT` while its publication is planned.
    pub(super) fn discard_working_copy(
        &mut self,
        id: ResourceId,
        variant: u16,
        if_match: &IfMatch,
    ) -> Result<WrittenResource> {
        let before = self.load(id)?;
        if_match.check(self.working_tag_of(id, &before))?;
        self.changeable_working_copy(id, &before, variant)?.ok_or_else(|| no_working_copy(id))?;
        let mut after = before.clone();
        self.put_working_copy(id, &mut after, variant, None)?;
        self.put_meta(id, &after, ChangeOp::Edited);
        let (effect, before) = (Effect::Updated, Some(before));
        Ok(WrittenResource { copy_kind: CopyKind::Working, ..WrittenResource::live(id, effect, after, before) })
    }

    /// Makes working copies live, all or none; or plans that, or takes a plan back.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no working copy, `PRECONDITION_FAILED`, `VALIDATION_FAILED`, `CONFLICT` if a field was
    /// changed in the live copy, too, or the publication is planned already.
    pub(super) fn publish_working_copies(&mut self, publication: &WorkingPublication) -> Result<WrittenResource> {
        let id = publication.id;
        let before = self.load(id)?;
        publication.if_match.check(self.working_tag_of(id, &before))?;
        let now = self.overlay.now;
        if let Some(refusal) = &publication.refusal {
            // A conflict comes before errors of the body (`API.md` 1.7).
            if publication.moment.is_now(now) {
                self.check_publishable(publication, &before, &self.named(publication, &before)?)?;
            }
            return Err(refusal.clone());
        }
        self.check_is_draft(&before)?;
        match publication.moment {
            PublicationMoment::Never => self.plan(publication, before, None),
            PublicationMoment::At(at) if at > now => {
                let (published, force) = (publication.published, publication.force);
                let schedule = Schedule::new(at, published, force, self.overlay.actor.as_ref());
                self.plan(publication, before, Some(schedule))
            }
            PublicationMoment::At(_) | PublicationMoment::Now => self.publish_now(publication, before),
            PublicationMoment::Planned(at) => self.publish_planned(id, before, at),
        }
    }

    fn publish_now(&mut self, publication: &WorkingPublication, before: Meta) -> Result<WrittenResource> {
        let copies = self.chosen(publication, &before)?;
        self.check_publishable(publication, &before, &copies)?;
        let published = publication.published.or(before.published).or(Some(self.overlay.now));
        self.make_live(publication.id, before, published, &copies)
    }

    /// # Errors
    /// `CONFLICT` if the publication of one of the working copies is planned, and those of `check_conflicts` unless it
    /// is forced.
    fn check_publishable(
        &self,
        publication: &WorkingPublication,
        before: &Meta,
        copies: &[(u16, WorkingCopy)],
    ) -> Result<()> {
        if let Some(schedule) = copies.iter().find_map(|(_, working)| working.schedule.as_ref()) {
            return Err(is_planned(schedule.at));
        }
        if publication.force { Ok(()) } else { self.check_conflicts(publication.id, before, copies.iter()) }
    }

    /// # Errors
    /// `CONFLICT` if one of the working copies changes a field that the live copy has changed meanwhile, too.
    fn check_conflicts<'w>(
        &self,
        id: ResourceId,
        before: &Meta,
        copies: impl Iterator<Item = &'w (u16, WorkingCopy)>,
    ) -> Result<()> {
        let mut conflicts = FieldErrors::new();
        for (variant, working) in copies {
            let live = self.live_values(id, before, *variant)?;
            for slug in working.conflicts(self.blueprint, &live) {
                let text = "was changed in the live copy too since it was changed in the working copy";
                conflicts.push((slug.to_owned(), vec![text.to_owned()]));
            }
        }
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(working_copy_conflict(value::in_field_order(self.blueprint, conflicts)))
    }

    /// Makes the working copies of the first plan for a moment live. The key of the moment stays while there is another
    /// plan for it, which is then carried out by a transaction of its own, and goes if there is none.
    fn publish_planned(&mut self, id: ResourceId, before: Meta, at: Millis) -> Result<WrittenResource> {
        let copies = self.first_planned(id, &before, at)?;
        let Some(schedule) = copies.first().and_then(|(_, working)| working.schedule.clone()) else {
            self.overlay.remove(self.due_key(id, at));
            return Ok(WrittenResource::live(id, Effect::Updated, before.clone(), Some(before)));
        };
        self.overlay.actor = schedule.by();
        let published = schedule.published.or(before.published).or(Some(at));
        if !schedule.force {
            self.check_conflicts(id, &before, copies.iter())?;
        }
        self.make_live(id, before, published, &copies)
    }

    /// Returns the working copies that one plan makes live at a moment, with their variants: the first that is planned
    /// for it, and those with the same schedule. Different plans succeed or fail independently and have different
    /// authors and dates, so each is carried out separately.
    fn first_planned(&self, id: ResourceId, meta: &Meta, at: Millis) -> Result<Vec<(u16, WorkingCopy)>> {
        let mut copies = self.working_copies_of(id, meta)?;
        let mut schedules = copies.iter().filter_map(|(_, working)| working.schedule.as_ref());
        let first = schedules.find(|schedule| schedule.at == at).cloned();
        copies.retain(|(_, working)| first.is_some() && working.schedule == first);
        Ok(copies)
    }

    /// Writes the values of working copies to the live copies, with all checks of such a write, and removes the working
    /// copies. The caller has checked for conflicts.
    fn make_live(
        &mut self,
        id: ResourceId,
        before: Meta,
        published: Option<Millis>,
        copies: &[(u16, WorkingCopy)],
    ) -> Result<WrittenResource> {
        let mut drafts = Vec::with_capacity(copies.len());
        for (variant, working) in copies {
            drafts.push(self.draft_of(*variant, working));
        }
        let after = Meta { published, ..before.clone() };
        let planned = self.planned_moments(id, &before)?;
        let mut edit = Edit::new(id, Some(before), after);
        edit.published_copies = copies.iter().map(|(variant, _)| *variant).collect();
        edit.sent = Some(HashSet::new());
        self.write_copies(&mut edit, &drafts, FieldErrors::new(), RequiredFieldRule::Values)?;
        let written = self.apply_edit(edit)?;
        self.replace_planned(id, &planned, &written.meta)?;
        Ok(written)
    }

    /// Plans the publication of working copies, or takes it back.
    fn plan(
        &mut self,
        publication: &WorkingPublication,
        before: Meta,
        schedule: Option<Schedule>,
    ) -> Result<WrittenResource> {
        let id = publication.id;
        let chosen = self.chosen(publication, &before)?;
        if chosen.is_empty() {
            return Err(no_working_copy(id));
        }
        if schedule.is_some() {
            chosen.iter().try_for_each(|(variant, _)| self.hold_working_variant_to_change(*variant))?;
        }
        let planned = self.planned_moments(id, &before)?;
        let mut after = before.clone();
        let mut is_change = false;
        for (variant, mut working) in chosen {
            if working.schedule != schedule {
                is_change = true;
                working.schedule.clone_from(&schedule);
                working.failed = None;
                self.put_working_copy(id, &mut after, variant, Some(working))?;
            }
        }
        if is_change {
            self.replace_planned(id, &planned, &after)?;
            self.put_meta(id, &after, ChangeOp::Edited);
        }
        Ok(WrittenResource::live(id, Effect::Updated, after, Some(before)))
    }

    /// Notes that the first plan for a moment failed. Other plans for it stay.
    pub(super) fn note_failed_publication(
        &mut self,
        id: ResourceId,
        at: Millis,
        error: &Error,
    ) -> Result<WrittenResource> {
        let before = self.load(id)?;
        let planned = self.planned_moments(id, &before)?;
        let mut after = before.clone();
        for (variant, mut working) in self.first_planned(id, &before, at)? {
            working.schedule = None;
            working.failed = Some(FailedSchedule { at, errors: error.to_json() });
            self.put_working_copy(id, &mut after, variant, Some(working))?;
        }
        if after != before {
            self.replace_planned(id, &planned, &after)?;
            self.put_meta(id, &after, ChangeOp::PublishFailed);
        }
        Ok(WrittenResource::live(id, Effect::Updated, after, Some(before)))
    }

    /// Brings the working copies of a resource back from the trash, without references that `nullify` relations would
    /// have lost meanwhile. Plans do not come back.
    pub(super) fn restore_working_copies(&self, edit: &mut Edit, before: &Meta) -> Result<()> {
        for (variant, mut working) in self.working_copies_of(edit.id, before)? {
            working.schedule = None;
            let live = self.live_values(edit.id, before, variant)?;
            self.follow_nullified(edit.id, &mut working, &live)?;
            if working.is_empty() {
                continue;
            }
            let version = CopyVersion { variant: working_variant(variant), number: self.overlay.number };
            edit.after.copies.push(version);
            let record = working.encode(self.blueprint)?;
            let users = self.media_users(edit.id, version.variant, &record.attributes);
            edit.puts.extend(users.map(|key| (key, Vec::new())));
            edit.puts.push((version.key(self.blueprint.number, edit.id), record.encode()));
        }
        Ok(())
    }

    /// Returns the moments at which working copies of a resource are to be published.
    pub(super) fn planned_moments(&self, id: ResourceId, meta: &Meta) -> Result<BTreeSet<Millis>> {
        let copies = self.working_copies_of(id, meta)?;
        Ok(copies.into_iter().filter_map(|(_, working)| working.schedule.map(|schedule| schedule.at)).collect())
    }

    /// Returns the key of a moment at which working copies of a resource are to be published.
    pub(super) fn due_key(&self, id: ResourceId, at: Millis) -> Key {
        Key::WorkingDue { at: at.max(0).cast_unsigned(), blueprint: self.blueprint.number, id }
    }

    /// Returns the fields whose values an update of a working copy has sent: all of them with `PUT`, none if it brings
    /// back those of a revision.
    fn sent_by(&self, update: &Update, draft: &CopyDraft) -> SentFields {
        let slug = |written: &WrittenValue| self.blueprint.fields[written.position].slug.clone();
        match draft.extent {
            _ if update.restores => Some(HashSet::new()),
            Extent::Whole => None,
            Extent::Partial => Some(draft.values.iter().map(slug).collect()),
        }
    }

    /// Returns the problems that publishing the working copy of a variant would have at the moment, as a writer who has
    /// sent some of its values may know them.
    fn not_ready(&mut self, id: ResourceId, meta: &Meta, variant: u16, sent: SentFields) -> Result<Map<String, Value>> {
        let Some(working) = self.working_copy_of(id, meta, variant)? else { return Ok(Map::new()) };
        let draft = self.draft_of(variant, &working);
        let mut edit = Edit::new(id, Some(meta.clone()), meta.clone());
        edit.sent = sent;
        match self.write_copies(&mut edit, &[draft], FieldErrors::new(), RequiredFieldRule::Values) {
            Ok(_) => Ok(Map::new()),
            Err(error) if error.code == Code::Internal => Err(error),
            Err(error) => Ok(not_ready_to_json(&error)),
        }
    }

    /// Returns the working copies that a publication is about, with their variants. Empty for a draft without any,
    /// whose live copies are all that there is to publish.
    fn chosen(&self, publication: &WorkingPublication, meta: &Meta) -> Result<Vec<(u16, WorkingCopy)>> {
        let copies = self.named(publication, meta)?;
        let has_copy = |variant: &u16| copies.iter().any(|(known, _)| known == variant);
        if !publication.variants.iter().flatten().all(has_copy) {
            return Err(no_working_copy(publication.id));
        }
        if copies.is_empty() && meta.published.is_some() {
            return Err(no_working_copy(publication.id));
        }
        Ok(copies)
    }

    /// Returns the working copies of the variants that a publication names, of all variants if it names none.
    fn named(&self, publication: &WorkingPublication, meta: &Meta) -> Result<Vec<(u16, WorkingCopy)>> {
        let mut copies = self.working_copies_of(publication.id, meta)?;
        if let Some(variants) = &publication.variants {
            copies.retain(|(variant, _)| variants.contains(variant));
        }
        Ok(copies)
    }

    /// Returns the changed values of a working copy as if a client had sent them.
    fn draft_of(&self, variant: u16, working: &WorkingCopy) -> CopyDraft {
        let options = value::Options { sanitizer: self.context.sanitizer, relations: value::Relations::Ids };
        let (mut errors, mut values) = (FieldErrors::new(), Vec::new());
        for (position, value) in working.changed(self.blueprint) {
            let field = &self.blueprint.fields[position];
            // Checked again: the blueprint may have changed since.
            match value::check(field, value.clone(), options) {
                Err(texts) => errors.push((field.slug.clone(), texts)),
                Ok(_) => values.push(WrittenValue { position, value: value.clone() }),
            }
        }
        let columns = projection::project(self.blueprint, values.iter().map(|value| (value.position, &value.value)));
        let sanitized = value::FieldRemovals::default();
        let system = SystemValues::Sent;
        CopyDraft { variant, extent: Extent::Partial, values, columns, errors, sanitized, system }
    }

    /// Returns the working copy of a variant, if there is one.
    fn working_copy_of(&self, id: ResourceId, meta: &Meta, variant: u16) -> Result<Option<WorkingCopy>> {
        meta.working_copy(variant).map(|version| self.overlay.working(self.blueprint, id, version)).transpose()
    }

    /// Returns the working copies of a resource, with their variants.
    fn working_copies_of(&self, id: ResourceId, meta: &Meta) -> Result<Vec<(u16, WorkingCopy)>> {
        let mut copies = Vec::new();
        for variant in meta.working_variants(self.blueprint) {
            copies.extend(self.working_copy_of(id, meta, variant)?.map(|working| (variant, working)));
        }
        Ok(copies)
    }

    fn live_values(&self, id: ResourceId, meta: &Meta, variant: u16) -> Result<Vec<Value>> {
        let values = self.overlay.values_of(self.blueprint, id, meta, variant)?;
        Ok(values.unwrap_or_else(|| vec![Value::Null; self.blueprint.fields.len()]))
    }

    /// Writes the working copy of a variant, or removes it, also if nothing is left of it. The caller writes the meta
    /// record.
    fn put_working_copy(
        &mut self,
        id: ResourceId,
        meta: &mut Meta,
        variant: u16,
        working: Option<WorkingCopy>,
    ) -> Result<()> {
        let (blueprint, number) = (self.blueprint.number, working_variant(variant));
        let before = meta.copy(number);
        match working.filter(WorkingCopy::is_kept) {
            None => meta.copies.retain(|copy| copy.variant != number),
            Some(working) => {
                let version = CopyVersion { variant: number, number: self.overlay.number };
                meta.set_copy(version);
                let record = working.encode(self.blueprint)?;
                self.note_media_users(id, number, &record.attributes);
                self.overlay.put(version.key(blueprint, id), record.encode());
            }
        }
        if let Some(before) = before.filter(|before| meta.copy(number) != Some(*before)) {
            self.overlay.retire(blueprint, id, before);
        }
        Ok(())
    }

    /// Writes the meta record after a change of working copies. Its version stays, since live readers see no change.
    fn put_meta(&mut self, id: ResourceId, meta: &Meta, op: ChangeOp) {
        self.overlay.put(Key::Resource { blueprint: self.blueprint.number, id }, meta.encode());
        self.note_working_change(id, op);
    }

    /// Replaces the keys of the planned moments by those that `after` has.
    fn replace_planned(&mut self, id: ResourceId, before: &BTreeSet<Millis>, after: &Meta) -> Result<()> {
        let after = self.planned_moments(id, after)?;
        for at in before.difference(&after) {
            self.overlay.remove(self.due_key(id, *at));
        }
        for at in after.difference(before) {
            self.overlay.put(self.due_key(id, *at), Vec::new());
        }
        Ok(())
    }
}
