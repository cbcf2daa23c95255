//! Unique fields: each value is claimed by a key of the store that names its holder, per variant.

use std::borrow::Cow;

use bindery_index::variant_of_working;
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::value::unique_text;
use bindery_store::Key;
use serde_json::Value;

use super::decider::{Decider, Edit};
use crate::command::CopyDraft;
use crate::data::claims::ClaimedField;
use crate::data::lookup::Lookup;
use crate::data::records::{CopyVersion, Meta, decode_id, encode_id};
use crate::data::visibility::Visibility;

/// A value of a claimed field before and after an item. Null and `""` are no values here.
pub(super) struct ValueChange {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl ValueChange {
    /// Returns the change of the value at a position by an item; none if it stays the same.
    pub(super) fn of(current: Option<&[Value]>, values: &[Cow<'_, Value>], position: usize) -> Option<ValueChange> {
        let old = current.and_then(|values| unique_text(&values[position]));
        let new = unique_text(&values[position]);
        (old != new).then_some(ValueChange { old, new })
    }
}

impl Decider<'_, '_> {
    /// Claims the unique values of a copy that is written, and releases those that it held before.
    pub(super) fn claim_unique_values(
        &self,
        edit: &mut Edit,
        variant: u16,
        current: Option<&[Value]>,
        values: &[Cow<'_, Value>],
        errors: &mut FieldErrors,
    ) -> Result<()> {
        for field in ClaimedField::of(self.blueprint) {
            let Some(ValueChange { old, new }) = ValueChange::of(current, values, field.position) else { continue };
            let key = |text: String| field.key(self.blueprint.number, variant, text);
            if let Some(text) = &new
                && let Some(holder) = self.holder(&key(text.clone()))?
                && holder != edit.id
            {
                let text = format!("must be unique: {} holds this value already", self.name_of(holder)?);
                errors.push((self.blueprint.fields[field.position].slug.clone(), vec![text]));
                continue;
            }
            self.move_claim(edit, old.map(key), new.map(key))?;
        }
        Ok(())
    }

    /// Releases the claim of an old value, if it is this resource's, and makes that of a new one, which is free.
    pub(super) fn move_claim(&self, edit: &mut Edit, old: Option<Key>, new: Option<Key>) -> Result<()> {
        if let Some(old) = old
            && self.holder(&old)? == Some(edit.id)
        {
            edit.removes.push(old);
        }
        edit.puts.extend(new.map(|new| (new, encode_id(edit.id))));
        Ok(())
    }

    /// Returns the claims that a resource holds, also under fields that are becoming unique.
    pub(super) fn claims_of(&self, id: ResourceId, meta: &Meta) -> Result<Vec<Key>> {
        let mut claims = Vec::new();
        let fields = self.claimed_fields();
        if fields.is_empty() {
            return Ok(claims);
        }
        let is_live = |version: &&CopyVersion| variant_of_working(version.variant).is_none();
        for version in meta.copies.iter().filter(is_live) {
            let values = self.overlay.values(self.blueprint, id, *version)?;
            for claim in fields.iter().filter_map(|field| field.claim(self.blueprint.number, version.variant, &values))
            {
                if self.holder(&claim)? == Some(id) {
                    claims.push(claim);
                }
            }
        }
        Ok(claims)
    }

    /// Returns the claims of the values in copies that are to be written.
    pub(super) fn claims_in(&self, copies: &[CopyDraft]) -> Vec<Key> {
        let fields = self.claimed_fields();
        let mut claims = Vec::new();
        for copy in copies {
            for written in &copy.values {
                if let Some(field) = fields.iter().find(|field| field.position == written.position)
                    && let Some(text) = unique_text(&written.value)
                {
                    claims.push(field.key(self.blueprint.number, copy.variant, text));
                }
            }
        }
        claims
    }

    /// Returns the fields whose values are claimed, also those that are becoming unique.
    fn claimed_fields(&self) -> Vec<ClaimedField> {
        let mut fields = ClaimedField::of(self.blueprint);
        fields.extend(self.change.iter().flat_map(|change| change.becoming_unique()));
        fields
    }

    /// Returns the holder of a value for an error: its id only if the writer may see it.
    pub(super) fn name_of(&self, holder: ResourceId) -> Result<String> {
        let published = self.overlay.meta(self.blueprint.number, holder)?.and_then(|meta| meta.published);
        let may_learn = Visibility::of_writer(self.access, self.blueprint, self.overlay.now).shows(published);
        Ok(if may_learn { format!("the resource `{holder}`") } else { "another resource".to_owned() })
    }

    /// Returns the resource that a claim names. While a field is becoming unique, stored values may not be claimed yet.
    pub(super) fn holder(&self, claim: &Key) -> Result<Option<ResourceId>> {
        self.overlay.get(claim)?.map(|holder| decode_id(&holder)).transpose()
    }
}
