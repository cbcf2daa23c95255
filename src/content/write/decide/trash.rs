//! The trash (`API.md` 4.23): puts a deleted resource into it, brings one back, removes one for good.
//!
//! To everything else a resource in the trash does not exist. So it holds no unique value and no import key, and the
//! change of a blueprint does not consider it. What has changed meanwhile is decided here, when it comes back.

use std::borrow::Cow;
use std::collections::HashSet;

use bindery_index::Filter;
use bindery_model::blueprint::{Field, FieldType, OnDelete, TrashSettings};
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::time_of_change;
use bindery_query::projection;
use bindery_store::Key;
use serde_json::Value;

use super::decider::{Decider, Edit, HeldNames, RequiredFieldRule, RestoredFrom};
use crate::command::{CopyDraft, Effect, Restoration, WrittenResource, WrittenValue};
use crate::data::claims::ClaimedField;
use crate::data::lookup::Lookup;
use crate::data::records::{Meta, encode_id};
use crate::data::referrers::{Referrer, referring_to};
use crate::data::refusals::{
    change_under_way, changed_in_trash, exists_again, not_in_trash, unique_values_taken, unrestorable,
};
use crate::data::trash::{TrashedReferrers, TrashedResource, set_trash_total, trash_total, trashed};
use crate::data::working::WorkingCopy;

impl Decider<'_, '_> {
    /// Returns the relations by which other resources refer to `id`, as they did before the command. A blueprint whose
    /// index is being rebuilt is left out: a deletion must not fail because of it.
    pub(super) fn referrers_of(&self, id: ResourceId) -> Vec<TrashedReferrers> {
        let mut found = Vec::new();
        for Referrer { collection, fields } in referring_to(self.context.state, &self.blueprint.slug) {
            for field in fields {
                let of_field = Referrer { collection, fields: vec![field] };
                let Ok(referrers) = of_field.find(id, &Filter::All, false) else { continue };
                let blueprint = collection.blueprint.number;
                let is_itself = blueprint == self.blueprint.number && referrers.contains(id.as_u128());
                let total = referrers.total() - u64::from(is_itself);
                if total > 0 {
                    found.push(TrashedReferrers { blueprint, field: field.number, total });
                }
            }
        }
        found
    }

    /// Puts a resource into the trash whose meta record is being removed. It replaces an earlier one with the same id,
    /// which an import has created again since.
    pub(super) fn put_into_trash(
        &mut self,
        id: ResourceId,
        meta: &Meta,
        settings: TrashSettings,
        referrers: Vec<TrashedReferrers>,
    ) -> Result<()> {
        let blueprint = self.blueprint.number;
        if let Some(earlier) = trashed(&*self.overlay, blueprint, id)? {
            self.remove_from_trash(id, &earlier)?;
        }
        let (at, by) = (self.overlay.now, self.overlay.actor.clone());
        let resource = TrashedResource { at, by, days: settings.days, referrers, meta: meta.clone() };
        self.overlay.put(Key::Trashed { blueprint, id }, resource.encode());
        self.overlay.put(resource.order_key(blueprint, id), Vec::new());
        let total = trash_total(&*self.overlay, blueprint)?;
        self.overlay.write(set_trash_total(blueprint, total + 1));
        Ok(())
    }

    /// Removes a resource from the trash, with its copies.
    fn remove_from_trash(&mut self, id: ResourceId, resource: &TrashedResource) -> Result<()> {
        let blueprint = self.blueprint.number;
        self.overlay.remove(Key::Trashed { blueprint, id });
        self.overlay.remove(resource.order_key(blueprint, id));
        for version in &resource.meta.copies {
            self.overlay.supersede(blueprint, id, *version);
        }
        let total = trash_total(&*self.overlay, blueprint)?;
        self.overlay.write(set_trash_total(blueprint, total.saturating_sub(1)));
        Ok(())
    }

    /// Removes a resource from the trash for good.
    ///
    /// # Errors
    /// `NOT_FOUND`, `FORBIDDEN`.
    pub(super) fn purge(&mut self, id: ResourceId) -> Result<WrittenResource> {
        let resource =
            trashed(&*self.overlay, self.blueprint.number, id)?.ok_or_else(|| not_in_trash(&id.to_string()))?;
        self.check_is_draft(&resource.meta)?;
        self.remove_from_trash(id, &resource)?;
        // The history is that of a resource which an import has created again with the id, if there is one.
        if self.overlay.meta(self.blueprint.number, id)?.is_none() {
            self.forget_history(id, &resource.meta, 0)?;
        }
        Ok(WrittenResource::live(id, Effect::Deleted, resource.meta, None))
    }

    /// Brings a resource back from the trash under its id.
    ///
    /// # Errors
    /// `NOT_FOUND`, `FORBIDDEN`, `CONFLICT` if a unique value belongs to another resource by now, `VALIDATION_FAILED`
    /// if the blueprint does not accept its values any more. The resource then stays in the trash.
    pub(super) fn restore(&mut self, restoration: &Restoration) -> Result<WrittenResource> {
        let Restoration { id, version, copies, as_draft } = restoration;
        let (id, blueprint) = (*id, self.blueprint.number);
        let resource = trashed(&*self.overlay, blueprint, id)?.ok_or_else(|| not_in_trash(&id.to_string()))?;
        if resource.meta.version != *version {
            return Err(changed_in_trash(id));
        }
        if self.change.is_some() {
            return Err(change_under_way(&self.blueprint.slug));
        }
        if self.overlay.meta(blueprint, id)?.is_some() {
            return Err(exists_again(self.blueprint, id));
        }
        let taken = self.taken_values(id, copies)?;
        if !taken.is_empty() {
            return Err(unique_values_taken(self.visible_errors(taken, &Some(HashSet::new()))));
        }
        let as_draft = as_draft.clone()?;
        let mut edit = self.edit_for_restore(id, &resource.meta, copies, as_draft)?;
        self.restore_working_copies(&mut edit, &resource.meta)?;
        self.check_is_draft(&edit.after)?;
        self.remove_from_trash(id, &resource)?;
        self.apply_edit(edit)
    }

    /// Returns the edit that writes a resource as it was. Its copies are written again, in the shape of today's
    /// blueprint.
    fn edit_for_restore(
        &mut self,
        id: ResourceId,
        before: &Meta,
        copies: &[CopyDraft],
        as_draft: bool,
    ) -> Result<Edit> {
        let blueprint = self.blueprint.number;
        let mut after = Meta { copies: Vec::new(), key: None, ..before.clone() };
        after.updated = time_of_change(self.overlay.now, before.updated);
        if as_draft {
            after.published = None;
        }
        let mut edit = Edit::new(id, None, after);
        edit.restored = Some(RestoredFrom::Trash(Box::new(before.clone())));
        if let Some(key) = &before.key
            && self.overlay.get(&Key::ImportKey { blueprint, key: key.as_str().into() })?.is_none()
        {
            edit.after.key = Some(key.clone());
            edit.puts.push((Key::ImportKey { blueprint, key: key.as_str().into() }, encode_id(id)));
        }
        let copies = self.without_nullified(id, copies)?;
        edit.held = Some(self.held_by(id, &copies)?);
        edit.sent = Some(HashSet::new());
        // As for every other resource, a field that became required since applies from the next write.
        let written = self.write_copies(&mut edit, &copies, FieldErrors::new(), RequiredFieldRule::Nothing);
        written.map_err(unrestorable)?;
        Ok(edit)
    }

    /// Returns an error for each unique value that another resource holds by now.
    fn taken_values(&self, id: ResourceId, copies: &[CopyDraft]) -> Result<FieldErrors> {
        let mut errors = FieldErrors::new();
        for copy in copies {
            let mut values = vec![Value::Null; self.blueprint.fields.len()];
            for field in ClaimedField::of(self.blueprint) {
                let Some(written) = copy.values.iter().find(|written| written.position == field.position) else {
                    continue;
                };
                values[field.position] = written.value.clone();
                let Some(claim) = field.claim(self.blueprint.number, copy.variant, &values) else { continue };
                let slug = &self.blueprint.fields[field.position].slug;
                if let Some(holder) = self.holder(&claim)?.filter(|holder| *holder != id)
                    && !errors.has(slug)
                {
                    let text = format!("must be unique: {} holds this value by now", self.name_of(holder)?);
                    errors.push((slug.clone(), vec![text]));
                }
            }
        }
        Ok(errors)
    }

    /// Takes references out of copies that would have been taken out if the resource had not been in the trash: those
    /// by `nullify` relations to resources that were deleted meanwhile.
    fn without_nullified<'c>(&self, id: ResourceId, copies: &'c [CopyDraft]) -> Result<Cow<'c, [CopyDraft]>> {
        let mut kept = Cow::Borrowed(copies);
        for (at_copy, copy) in copies.iter().enumerate() {
            for (at_value, WrittenValue { position, value }) in copy.values.iter().enumerate() {
                let field = &self.blueprint.fields[*position];
                if !is_relation_with(field, OnDelete::Nullify) {
                    continue;
                }
                let Some(rest) = self.without_missing(id, field, value)? else { continue };
                let before = projection::project(self.blueprint, [(*position, value)]);
                let copy = &mut kept.to_mut()[at_copy];
                copy.columns.retain(|(column, _)| before.iter().all(|(own, _)| own != column));
                copy.columns.extend(projection::project(self.blueprint, [(*position, &rest)]));
                copy.values[at_value].value = rest;
            }
        }
        Ok(kept)
    }

    /// Takes the same references out of a working copy. `live` are the live values that the resource had in the trash.
    pub(super) fn follow_nullified(&self, id: ResourceId, working: &mut WorkingCopy, live: &[Value]) -> Result<()> {
        let relations = self.blueprint.fields.iter().enumerate();
        for (position, field) in relations.filter(|(_, field)| is_relation_with(field, OnDelete::Nullify)) {
            let changed = working.changed(self.blueprint).find(|(changed, _)| *changed == position);
            let Some((_, value)) = changed else { continue };
            let rest = self.without_missing(id, field, value)?;
            let before = &live[position];
            let after = self.without_missing(id, field, before)?.unwrap_or_else(|| before.clone());
            working.follow(field, |value| *value = rest.unwrap_or_else(|| value.take()), before, &after);
        }
        Ok(())
    }

    /// Returns the value of a relation without the targets that do not exist; `None` if all of them do.
    fn without_missing(&self, own: ResourceId, field: &Field, value: &Value) -> Result<Option<Value>> {
        let Value::Array(targets) = value else {
            return Ok((!self.is_known_target(own, field, value)?).then_some(Value::Null));
        };
        let mut kept = Vec::with_capacity(targets.len());
        for target in targets {
            if self.is_known_target(own, field, target)? {
                kept.push(target.clone());
            }
        }
        Ok((kept.len() < targets.len()).then_some(Value::Array(kept)))
    }

    /// Returns the names that the fields may go on to hold, although no resource or member has them: members, and
    /// targets of `keep` relations. A target of a `restrict` relation must exist.
    fn held_by(&self, id: ResourceId, copies: &[CopyDraft]) -> Result<HeldNames> {
        let mut held = HeldNames::new();
        for written in copies.iter().flat_map(|copy| &copy.values) {
            let field = &self.blueprint.fields[written.position];
            let names = written.value.as_array().map_or(std::slice::from_ref(&written.value), Vec::as_slice);
            let is_restricted = is_relation_with(field, OnDelete::Restrict);
            let is_held = field.related_blueprint().is_some() || matches!(field.field_type, FieldType::User { .. });
            for name in names.iter().filter(|name| is_held && !name.is_null()) {
                if !is_restricted || self.is_known_target(id, field, name)? {
                    let text = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
                    held.entry(written.position).or_default().insert(text);
                }
            }
        }
        Ok(held)
    }

    /// Returns whether the target of a relation exists, or is the resource `own` that is coming back.
    fn is_known_target(&self, own: ResourceId, field: &Field, target: &Value) -> Result<bool> {
        let Some(target) = target.as_str().and_then(ResourceId::parse) else { return Ok(target.is_null()) };
        let related = field.related_blueprint().and_then(|slug| self.context.state.blueprints.get(slug));
        let Some(related) = related.map(|collection| &collection.blueprint) else { return Ok(false) };
        let is_own = related.number == self.blueprint.number && target == own;
        Ok(is_own || self.overlay.meta(related.number, target)?.is_some())
    }
}

fn is_relation_with(field: &Field, on_delete: OnDelete) -> bool {
    field.field_type.relation().is_some_and(|relation| relation.on_delete == on_delete)
}
