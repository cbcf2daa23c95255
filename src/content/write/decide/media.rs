//! Media resources (`API.md` 4.27): their system fields, the files that they name, and who uses them by address.
//!
//! All variants have the same system fields. So a write that changes one of them writes all variants.

use std::borrow::Cow;
use std::collections::HashSet;

use bindery_index::variant_of_working;
use bindery_model::blueprint::{Blueprint, BlueprintKind, SystemField};
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::media::{media_url, media_version};
use bindery_query::projection;
use bindery_store::Key;
use serde_json::Value;

use super::decider::{Decider, Edit};
use crate::command::{CopyDraft, Extent, SystemValues, WrittenValue};
use crate::data::files::parse_hash;
use crate::data::lookup::Lookup;
use crate::data::media_users::{MAX_COMPARED, NotedCopy};
use crate::data::refusals::{UNCHANGEABLE_SYSTEM_FIELD, file_is_being_removed};

/// The resources that use a media resource by address.
#[derive(Default)]
pub(super) struct AddressUsers {
    /// Those that the index may not name as well, with the numbers of their blueprints.
    pub(super) users: Vec<(u32, ResourceId)>,
    /// Notes of uses that do not exist any more.
    pub(super) obsolete: Vec<Key>,
}

/// The values of all system fields, in the order of [`SystemField::ALL`].
type Values = [Value; SystemField::ALL.len()];

impl Decider<'_, '_> {
    /// Returns the drafts of a write with the system fields that the resource has afterwards, and a draft for each
    /// other copy that lacks them. Notes the file in the edit if it is another one than before.
    ///
    /// # Errors
    /// `OVERLOADED` while the file is being removed, `INTERNAL` if the store fails.
    pub(super) fn with_system_values<'c>(
        &self,
        edit: &mut Edit,
        copies: &'c [CopyDraft],
    ) -> Result<Cow<'c, [CopyDraft]>> {
        if self.blueprint.kind != BlueprintKind::Media {
            return Ok(Cow::Borrowed(copies));
        }
        let before = self.system_values_of(edit)?;
        let mut after = before.clone();
        let mut drafts = copies.to_vec();
        for draft in &mut drafts {
            take_system_values(self.blueprint, draft, &before, &mut after);
        }
        let [name, _, _, _, _, hash, url, _, x, y] = &mut after;
        if let (Some(name), Some(hash)) = (name.as_str(), hash.as_str()) {
            *url = media_url(edit.id, name, &media_version(hash, x, y)).into();
        }
        let has_copy = |variant: u16| edit.before.as_ref().is_some_and(|meta| meta.copy(variant).is_some());
        for variant in self.blueprint.variant_numbers() {
            let is_written = drafts.iter().any(|draft| draft.variant == variant);
            if !is_written && (after != before || !has_copy(variant)) {
                drafts.push(CopyDraft {
                    variant,
                    extent: Extent::Partial,
                    values: Vec::new(),
                    columns: Vec::new(),
                    errors: FieldErrors::new(),
                    sanitized: Default::default(),
                    system: SystemValues::SetAlone,
                });
            }
        }
        drafts.iter_mut().for_each(|draft| set_system_values(self.blueprint, draft, &after));
        self.note_file(edit, &before, &after)?;
        Ok(Cow::Owned(drafts))
    }

    /// Returns the values that the resource of an edit has before it, or had in the trash.
    fn system_values_of(&self, edit: &Edit) -> Result<Values> {
        let mut system = Values::default();
        let Some(meta) = edit.before.as_ref().or_else(|| edit.in_trash()) else { return Ok(system) };
        // If all variants were replaced, the copies of the former ones still name the file.
        let known = meta.known_copies(self.blueprint).into_iter();
        let live = meta.copies.iter().copied().filter(|version| variant_of_working(version.variant).is_none());
        let Some(version) = known.chain(live).next() else { return Ok(system) };
        let mut values = self.overlay.values(self.blueprint, edit.id, version)?;
        for (field, value) in SystemField::ALL.into_iter().zip(&mut system) {
            *value = self.blueprint.position_of(field).map_or(Value::Null, |position| values[position].take());
        }
        Ok(system)
    }

    fn note_file(&self, edit: &mut Edit, before: &Values, after: &Values) -> Result<()> {
        let hash = |values: &Values| values[SystemField::Hash as usize].as_str().and_then(parse_hash);
        let Some(new) = hash(after).filter(|new| hash(before) != Some(*new)) else { return Ok(()) };
        if self.overlay.get(&Key::FileRemoval(new))?.is_some() {
            return Err(file_is_being_removed());
        }
        let owner = Key::FileOwner { hash: new, blueprint: self.blueprint.number, id: edit.id };
        edit.puts.push((owner, Vec::new()));
        Ok(())
    }

    /// Notes the media whose addresses a copy contains. `attributes` is its JSON text.
    pub(super) fn note_media_users(&mut self, id: ResourceId, variant: u16, attributes: &str) {
        let users: Vec<Key> = self.media_users(id, variant, attributes).collect();
        for user in users {
            self.overlay.put(user, Vec::new());
        }
    }

    /// Returns the notes of the media whose addresses a copy contains.
    pub(super) fn media_users(
        &self,
        id: ResourceId,
        variant: u16,
        attributes: &str,
    ) -> impl Iterator<Item = Key> + use<> {
        NotedCopy { blueprint: self.blueprint.number, id, variant }.notes(attributes)
    }

    /// Returns the resources that use a media resource by address, as the items before this one left them.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(super) fn address_users(&self, media: ResourceId) -> Result<AddressUsers> {
        let mut found = AddressUsers::default();
        let mut seen = HashSet::new();
        for (n_compared, key) in self.overlay.media_users(media)?.into_iter().enumerate() {
            let Some(copy) = NotedCopy::of(&key) else { continue };
            let is_used = n_compared >= MAX_COMPARED || copy.uses(&*self.overlay, self.context.state, media)?;
            if !is_used {
                found.obsolete.push(key);
            } else if seen.insert((copy.blueprint, copy.id)) {
                found.users.push((copy.blueprint, copy.id));
            }
        }
        Ok(found)
    }
}

/// Moves the values of system fields out of a draft, into `after` as far as they may be set. `before` are the present
/// ones.
fn take_system_values(blueprint: &Blueprint, draft: &mut CopyDraft, before: &Values, after: &mut Values) {
    let takes_focal_point = names_no_other_file(blueprint, draft, &before[SystemField::Hash as usize]);
    let sent = draft.values.extract_if(.., |written| blueprint.fields[written.position].is_system);
    for WrittenValue { position, value } in sent.collect::<Vec<_>>() {
        let columns = projection::project(blueprint, [(position, &value)]);
        draft.columns.retain(|(column, _)| columns.iter().all(|(own, _)| own != column));
        let Some(field) = blueprint.fields[position].system() else { continue };
        match draft.system {
            SystemValues::KeepFile if !(field.is_writable() && takes_focal_point) => {}
            SystemValues::Sent if !field.is_writable() => {
                if !is_same(field, &value, &before[field as usize]) {
                    draft.errors.push((field.slug().to_owned(), vec![UNCHANGEABLE_SYSTEM_FIELD.to_owned()]));
                }
            }
            SystemValues::Sent | SystemValues::KeepFile | SystemValues::Set | SystemValues::SetAlone => {
                after[field as usize] = value;
            }
        }
    }
}

fn set_system_values(blueprint: &Blueprint, draft: &mut CopyDraft, values: &Values) {
    for (field, value) in SystemField::ALL.into_iter().zip(values) {
        let Some(position) = blueprint.position_of(field) else { continue };
        draft.columns.extend(projection::project(blueprint, [(position, value)]));
        draft.values.push(WrittenValue { position, value: value.clone() });
    }
}

/// Returns whether a sent value is the present one. An address may be absolute.
fn is_same(field: SystemField, sent: &Value, present: &Value) -> bool {
    if sent == present {
        return true;
    }
    let (SystemField::Url, Some(sent), Some(present)) = (field, sent.as_str(), present.as_str()) else { return false };
    let host = sent.strip_suffix(present).and_then(|base| base.split_once("://")).map(|(_, host)| host);
    host.is_some_and(|host| !host.is_empty() && !host.contains(['?', '#']))
}

/// Returns false if a draft names another file than `hash`: its focal point belongs to that one. Only a restored
/// revision may.
pub(super) fn names_no_other_file(blueprint: &Blueprint, draft: &CopyDraft, hash: &Value) -> bool {
    let position = blueprint.position_of(SystemField::Hash);
    let named = draft.values.iter().find(|written| Some(written.position) == position);
    named.is_none_or(|written| written.value == *hash)
}

/// Returns the errors of system fields that a write of a working copy would change.
pub(super) fn system_errors_of_working(blueprint: &Blueprint, draft: &CopyDraft, live: &[Value]) -> FieldErrors {
    if draft.system != SystemValues::Sent {
        return FieldErrors::new();
    }
    let system =
        draft.values.iter().filter_map(|written| Some((blueprint.fields[written.position].system()?, written)));
    let changed = system.filter(|(field, WrittenValue { position, value })| {
        !field.is_writable() && !is_same(*field, value, &live[*position])
    });
    changed.map(|(field, _)| (field.slug().to_owned(), vec![UNCHANGEABLE_SYSTEM_FIELD.to_owned()])).collect()
}
