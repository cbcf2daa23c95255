//! Creates, changes and deletes one resource: checks existence and versions, merges copies, and collects the writes.
//!
//! An item writes to the overlay only after all its checks passed (`apply_edit`, and the end of `delete`), so an item
//! that fails needs no rollback, and the items beside it are not affected. The only check after that is the one of its
//! size (`rewriting`).

use std::borrow::Cow;
use std::collections::HashSet;

use bindery_index::variant_of_working;
use bindery_model::blueprint::{Blueprint, BlueprintKind};
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::{Millis, time_of_change};
use bindery_model::value;
use bindery_query::{CopyKind, projection};
use bindery_store::Key;
use serde_json::Value;

use super::decider::{
    Decider, Edit, Relations, RequiredFieldRule, RestoredFrom, SentFields, UpdatedAtSource, WrittenCopy,
};
use super::history::NotedWrite;
use crate::command::{CopyDraft, Effect, Extent, SystemValues, Update, WrittenResource};
use crate::data::changes::ChangeOp;
use crate::data::index_mapping::Columns;
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta, render_attributes};
use crate::data::refusals::{key_is_known, needs_publish, no_resource, not_deletable, only_drafts, refused_by_change};
use crate::data::revision::RevisionOp;
use crate::data::version::{EntityTag, IfMatch};
use crate::data::visibility::{HIDDEN_ERROR, is_public, may_learn_values};

impl Decider<'_, '_> {
    pub(super) fn create(
        &mut self,
        copy: &CopyDraft,
        published: Option<Millis>,
        key: Option<&str>,
    ) -> Result<WrittenResource> {
        let after = Meta::new(self.overlay.number, self.overlay.now, published);
        self.check_is_draft(&after)?;
        let id = self.new_resource_id()?;
        let mut edit = Edit::new(id, None, after);
        edit.after.authors.created_by.clone_from(&self.overlay.actor);
        if let Some(key) = key {
            let blueprint = self.blueprint.number;
            if self.overlay.get(&Key::ImportKey { blueprint, key: key.into() })?.is_some() {
                return Err(key_is_known(key));
            }
            edit.set_import_key(blueprint, key);
        }
        self.write_copies(&mut edit, std::slice::from_ref(copy), FieldErrors::new(), RequiredFieldRule::Values)?;
        self.apply_edit(edit)
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<WrittenResource> {
        let before = self.load(update.id)?;
        let is_working = update.working_variant.is_some();
        let tag = if is_working { self.working_tag_of(update.id, &before) } else { self.tag_of(update.id, &before) };
        update.if_match.check(tag)?;
        // A conflict comes before errors of the content of the body (`API.md` 1.7).
        let existing = match update.working_variant {
            Some(variant) => self.changeable_working_copy(update.id, &before, variant)?,
            None => None,
        };
        if let Some(refusal) = &update.refusal {
            return Err(refusal.clone());
        }
        if let Some(draft) =
            update.copy.as_ref().filter(|draft| is_working && self.keeps_working_copy(&before, draft.variant))
        {
            return self.write_working_copy(update, draft, before, existing);
        }
        let mut after = before.clone();
        after.published = update.published.apply(before.published, self.overlay.now);
        let changes_state = after.published.is_some() != before.published.is_some();
        let mut edit = Edit::new(update.id, Some(before), after);
        edit.sent = update.restores.then(HashSet::new);
        self.write_copies(&mut edit, update.copy.as_slice(), update.errors.clone(), RequiredFieldRule::Values)?;
        let changes_the_site = update.restores && edit.after.published.is_some();
        if (changes_state || changes_the_site) && !update.may_publish {
            return Err(needs_publish());
        }
        edit.restored = update.restores.then_some(RestoredFrom::History);
        if let Some(before) = &edit.before {
            self.check_is_draft(before)?;
        }
        let written = self.apply_edit(edit)?;
        let copy_kind = if is_working { CopyKind::Working } else { CopyKind::Live };
        Ok(WrittenResource { copy_kind, ..written })
    }

    pub(super) fn delete(&mut self, id: ResourceId, if_match: &IfMatch) -> Result<WrittenResource> {
        let meta = self.load(id)?;
        if_match.check(self.tag_of(id, &meta))?;
        if self.blueprint.kind == BlueprintKind::Singular {
            return Err(not_deletable(self.blueprint));
        }
        self.check_is_draft(&meta)?;
        let referrers = self.blueprint.trash.map(|_| self.referrers_of(id)).unwrap_or_default();
        let releases = self.release_referrers(id)?;
        for claim in self.claims_of(id, &meta)? {
            self.overlay.remove(claim);
        }
        self.apply_releases(releases)?;
        for at in self.planned_moments(id, &meta)? {
            self.overlay.remove(self.due_key(id, at));
        }
        let blueprint = self.blueprint.number;
        if let Some(key) = &meta.key {
            self.overlay.remove(Key::ImportKey { blueprint, key: key.as_str().into() });
        }
        match self.blueprint.trash {
            Some(settings) => {
                self.put_into_trash(id, &meta, settings, referrers)?;
                if let Some(history) = self.blueprint.history {
                    let (before, after, op, is_of_all) = (&meta, &meta, RevisionOp::Deleted, true);
                    self.note_revisions(history, &NotedWrite { id, before, after, op, is_of_all, copies: &[] })?;
                }
            }
            None => meta.copies.iter().for_each(|version| self.overlay.supersede(blueprint, id, *version)),
        }
        if self.blueprint.trash.is_none() {
            self.forget_history(id, &meta, 0)?;
        }
        self.overlay.remove(Key::Resource { blueprint, id });
        self.note_change(id, Some(&meta), None);
        Ok(WrittenResource::live(id, Effect::Deleted, meta, None))
    }

    /// Notes the write of an edit in the history of the resource, if the blueprint keeps one. The creation of a
    /// resource is no revision of its own: it follows from the meta record.
    fn note_history(&mut self, edit: &Edit) -> Result<()> {
        let Some(history) = self.blueprint.history else { return Ok(()) };
        let (before, is_restored) = match (edit.in_trash(), &edit.before) {
            (Some(before), _) => (before, true),
            (_, Some(before)) => (before, edit.restored.is_some()),
            (_, None) => return Ok(()),
        };
        let op = match (before.published.is_some(), edit.after.published.is_some()) {
            _ if is_restored => RevisionOp::Restored,
            (false, true) => RevisionOp::Published,
            (true, false) => RevisionOp::Unpublished,
            _ => RevisionOp::Updated,
        };
        let Edit { id, after, copies, .. } = edit;
        let is_of_all = edit.in_trash().is_some();
        self.note_revisions(history, &NotedWrite { id: *id, before, after, op, is_of_all, copies })
    }

    /// Records a change for the change feed. Without `before` the resource was created, without `after` it was deleted.
    fn note_change(&mut self, id: ResourceId, before: Option<&Meta>, after: Option<&Meta>) {
        let (blueprint, now) = (self.blueprint, self.overlay.now);
        let public = |meta: Option<&Meta>| meta.is_some_and(|meta| is_public(blueprint, meta.published, now));
        // A singular resource is served even as a draft. The feed still reports its publication.
        let published = |meta: &Meta| match blueprint.kind {
            BlueprintKind::Singular => meta.published.is_some(),
            _ => is_public(blueprint, meta.published, now),
        };
        let op = match (before, after) {
            (None, _) => ChangeOp::Created,
            (_, None) => ChangeOp::Deleted,
            (Some(before), Some(after)) => match (published(before), published(after)) {
                (false, true) => ChangeOp::Published,
                (true, false) => ChangeOp::Unpublished,
                _ => ChangeOp::Updated,
            },
        };
        self.overlay.note_change(blueprint, id, op, public(before), public(after));
    }

    /// # Errors
    /// `FORBIDDEN` if the writer may write drafts only, and this resource is seen by readers without `preview`, now or
    /// from its date on.
    pub(super) fn check_is_draft(&self, meta: &Meta) -> Result<()> {
        if !self.access.writes_only_drafts() {
            return Ok(());
        }
        if self.blueprint.kind == BlueprintKind::Singular {
            return Err(only_drafts("every reader sees the resource of a singular blueprint"));
        }
        match meta.published {
            Some(_) => Err(only_drafts("this resource is published")),
            None => Ok(()),
        }
    }

    fn tag_of(&self, id: ResourceId, meta: &Meta) -> EntityTag {
        let state = &self.context.state;
        meta.resource_version(id, self.blueprint).tag(state.epoch, state.public_url.as_deref())
    }

    /// Makes the id of a new resource. An id that only follows the last one may belong to a resource already: an import
    /// may have brought it from a server that gave it after the same last one. All other ids are random.
    pub(super) fn new_resource_id(&mut self) -> Result<ResourceId> {
        loop {
            let next = self.overlay.last_id().map(ResourceId::successor);
            let id = self.overlay.new_id()?;
            if next != Some(id) || !self.is_given(id)? {
                return Ok(id);
            }
        }
    }

    /// Returns whether a resource of the blueprint has an id, also in the trash, or will have it by an item of this
    /// write.
    fn is_given(&self, id: ResourceId) -> Result<bool> {
        let blueprint = self.blueprint.number;
        let is_stored = self.overlay.get(&Key::Resource { blueprint, id })?.is_some()
            || self.overlay.get(&Key::Trashed { blueprint, id })?.is_some();
        Ok(is_stored || self.promised.contains_key(&id.to_string()))
    }

    pub(super) fn load(&self, id: ResourceId) -> Result<Meta> {
        self.overlay.meta(self.blueprint.number, id)?.ok_or_else(|| no_resource(self.blueprint, &id.to_string()))
    }

    /// Merges the written values into the copies, and checks everything that depends on the state. All errors are
    /// reported together.
    pub(super) fn write_copies(
        &mut self,
        edit: &mut Edit,
        copies: &[CopyDraft],
        mut errors: FieldErrors,
        requires: RequiredFieldRule,
    ) -> Result<Relations> {
        let mut relations = Relations::Resolved;
        let mut refused = FieldErrors::new();
        let copies = self.with_system_values(edit, copies)?;
        for draft in copies.iter() {
            let variant = draft.variant;
            let current = match &edit.before {
                Some(meta) => self.overlay.values_of(self.blueprint, edit.id, meta, variant)?,
                None => None,
            };
            let (mut values, mut columns) = merge(self.blueprint, current.as_deref(), draft);
            let mut copy_errors = draft.errors.clone();
            if requires == RequiredFieldRule::Values && draft.system != SystemValues::SetAlone {
                let missing = value::required_errors(self.blueprint, &values);
                copy_errors.append_new(missing);
            }
            if self.resolve_relations(edit, draft, &mut values, &mut columns, &mut copy_errors)?
                == Relations::Unresolved
            {
                relations = Relations::Unresolved;
            }
            self.claim_unique_values(edit, variant, current.as_deref(), &values, &mut copy_errors)?;
            errors.append(copy_errors);
            if relations == Relations::Resolved {
                refused.append(self.hold_to_change(edit, draft, current.as_deref(), &values, requires)?);
            }
            let is_change = match &current {
                Some(current) => !current.iter().eq(values.iter().map(Cow::as_ref)),
                // A copy that was never written holds nulls. One that was comes back from the trash even if it holds
                // nothing.
                None => edit.in_trash().is_some() || values.iter().any(|value| !value.is_null()),
            };
            if is_change {
                let attributes = render_attributes(self.blueprint, &values);
                columns.extend(self.retyped_columns(&values));
                let number = self.overlay.number;
                let number = edit.in_trash().map_or(number, |meta| meta.restored_number(variant, number));
                edit.copies.push(WrittenCopy { variant, number, attributes, columns });
            }
        }
        if !errors.is_empty() {
            return Err(Error::validation(self.visible_errors(errors, &edit.sent)));
        }
        if !refused.is_empty() {
            return Err(refused_by_change(self.blueprint, self.visible_errors(refused, &edit.sent)));
        }
        Ok(relations)
    }

    /// Returns the errors of a write in the order of the fields, without messages that may quote values that the
    /// writer has neither sent nor may read: of a working copy, a revision or the trash.
    pub(super) fn visible_errors(&self, mut errors: FieldErrors, sent: &SentFields) -> FieldErrors {
        if let Some(sent) = sent.as_ref().filter(|_| !may_learn_values(self.access)) {
            errors.hide(HIDDEN_ERROR, |slug| !sent.contains(slug));
        }
        value::in_field_order(self.blueprint, errors)
    }

    /// Writes an edit to the overlay. An edit that changes nothing leaves no trace.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(super) fn apply_edit(&mut self, edit: Edit) -> Result<WrittenResource> {
        if !edit.is_change() {
            return Ok(WrittenResource::live(edit.id, Effect::Updated, edit.after, edit.before));
        }
        self.note_history(&edit)?;
        let Edit { id, before, mut after, copies, published_copies, removes, puts, updated, .. } = edit;
        let blueprint = self.blueprint.number;
        let number = self.overlay.number;
        after.version = number;
        after.authors.updated_by.clone_from(&self.overlay.actor);
        if let Some(before) = &before
            && after.updated == before.updated
            && updated == UpdatedAtSource::Server
        {
            after.updated = time_of_change(self.overlay.now, before.updated);
        }
        for key in removes {
            self.overlay.remove(key);
        }
        // Copies of removed variants are deleted with the first write after the variant's removal.
        let known = self.blueprint.variant_numbers();
        let is_kept = |version: &CopyVersion| match variant_of_working(version.variant) {
            None => known.contains(&version.variant),
            Some(live) => self.blueprint.working_copy && known.contains(&live) && !published_copies.contains(&live),
        };
        for version in after.copies.extract_if(.., |version| !is_kept(version)) {
            self.overlay.retire(blueprint, id, version);
        }
        for (key, value) in puts {
            self.overlay.put(key, value);
        }
        for WrittenCopy { variant, number, attributes, columns } in copies {
            let version = CopyVersion { variant, number };
            if let Some(old) = after.set_copy(version) {
                self.overlay.supersede(blueprint, id, old);
            }
            self.note_media_users(id, variant, &attributes);
            let record = Copy { revision: self.blueprint.revision, attributes: attributes.into() };
            self.overlay.put(version.key(blueprint, id), record.encode());
            self.overlay.note_columns(blueprint, id, variant, columns);
        }
        self.overlay.put(Key::Resource { blueprint, id }, after.encode());
        self.note_change(id, before.as_ref(), Some(&after));
        let effect = if before.is_some() { Effect::Updated } else { Effect::Created };
        Ok(WrittenResource::live(id, effect, after, before))
    }
}

/// Returns the resulting values of the copy, in the blueprint's order, and its index columns. Values are borrowed,
/// because copying large ones would hold up the committer.
fn merge<'a>(
    blueprint: &Blueprint,
    current: Option<&'a [Value]>,
    draft: &'a CopyDraft,
) -> (Vec<Cow<'a, Value>>, Columns) {
    let mut values = vec![Cow::Borrowed(&Value::Null); blueprint.fields.len()];
    let mut columns = draft.columns.clone();
    let mut is_written = vec![false; values.len()];
    for written in &draft.values {
        values[written.position] = Cow::Borrowed(&written.value);
        is_written[written.position] = true;
    }
    if let Some(kept) = current.filter(|_| draft.extent == Extent::Partial) {
        let unwritten = || kept.iter().enumerate().filter(|(position, _)| !is_written[*position]);
        unwritten().for_each(|(position, value)| values[position] = Cow::Borrowed(value));
        columns.extend(projection::project(blueprint, unwritten()));
    }
    (values, columns)
}

impl Edit {
    fn is_change(&self) -> bool {
        let Some(before) = &self.before else { return true };
        let after = &self.after;
        !self.copies.is_empty()
            || !self.published_copies.is_empty()
            || before.published != after.published
            || before.key != after.key
            || before.created != after.created
            || before.updated != after.updated
    }
}
