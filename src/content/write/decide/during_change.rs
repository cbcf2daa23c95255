//! Writes during a blueprint change: writes that the changed blueprint would refuse are refused, and the claims and
//! columns that it needs are written too.

use std::borrow::Cow;
use std::collections::HashMap;

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::parse_instant;
use bindery_model::value;
use bindery_query::projection;
use serde_json::Value;

use super::decider::{Decider, Edit, RequiredFieldRule};
use super::unique::ValueChange;
use crate::command::CopyDraft;
use crate::compatibility::demands::Demands;
use crate::data::blueprint_change::BlueprintChange;
use crate::data::claims::ClaimedField;
use crate::data::index_mapping::{Columns, IndexMapping};
use crate::data::lookup::Lookup;
use crate::data::refusals::{change_under_way, refused_by_change, variant_leaving};

/// The error of a written field that the changed blueprint does not have.
const IS_BEING_REMOVED: &str = "the field is being removed";

impl Decider<'_, '_> {
    /// Returns the errors that a written copy would have under the changed blueprint. Its values that become unique are
    /// claimed.
    pub(super) fn hold_to_change(
        &self,
        edit: &mut Edit,
        draft: &CopyDraft,
        current: Option<&[Value]>,
        values: &[Cow<'_, Value>],
        requires: RequiredFieldRule,
    ) -> Result<FieldErrors> {
        let Some(change) = self.change else { return Ok(FieldErrors::new()) };
        let next = &*change.next;
        let mut errors = FieldErrors::new();
        if !next.variant_numbers().contains(&draft.variant) {
            return Err(variant_leaving(self.blueprint, draft.variant));
        }
        let fields = next.fields_by_slug();
        for written in &draft.values {
            let slug = &self.blueprint.fields[written.position].slug;
            if !fields.contains_key(slug.as_str()) {
                errors.push((slug.clone(), vec![IS_BEING_REMOVED.to_owned()]));
            }
        }
        let demands = Demands::new(self.context.sanitizer, change);
        let written = only_written(draft, values.len());
        errors.append(demands.refused(self.context.state, &*self.overlay, &written)?);
        if requires == RequiredFieldRule::Values {
            errors.append(value::required_errors(next, &values_under(self.blueprint, next, values)));
        }
        for field in change.becoming_unique() {
            let Some(value) = ValueChange::of(current, values, field.position) else { continue };
            if let Some(holder) = self.claim(edit, change, draft.variant, field, value)? {
                let text = format!("becomes unique: {} holds this value already", self.name_of(holder)?);
                errors.push((self.blueprint.fields[field.position].slug.clone(), vec![text]));
            }
        }
        Ok(errors)
    }

    /// Checks that the changed blueprint keeps what a write of a working copy changes. `fields` are the slugs of the
    /// fields that it changes.
    ///
    /// # Errors
    /// `CONFLICT` if it does not.
    pub(super) fn hold_working_copy_to_change(&self, draft: &CopyDraft, fields: &[String]) -> Result<()> {
        let Some(change) = self.change else { return Ok(()) };
        self.hold_working_variant_to_change(draft.variant)?;
        let next = change.next.fields_by_slug();
        let mut errors = FieldErrors::new();
        let positions = self.blueprint.fields.iter().enumerate();
        for (position, field) in positions.filter(|(_, field)| fields.contains(&field.slug)) {
            let text = match next.get(field.slug.as_str()) {
                Some(after) if after.number != field.number => {
                    "gets another type, and loses its values in working copies"
                }
                // A `PUT` may leave it out.
                None if draft.values.iter().any(|written| written.position == position) => IS_BEING_REMOVED,
                _ => continue,
            };
            errors.push((field.slug.clone(), vec![text.to_owned()]));
        }
        if errors.is_empty() { Ok(()) } else { Err(refused_by_change(self.blueprint, errors)) }
    }

    /// Checks that the changed blueprint, too, has working copies of a variant.
    ///
    /// # Errors
    /// `CONFLICT` if it has not.
    pub(super) fn hold_working_variant_to_change(&self, variant: u16) -> Result<()> {
        match self.change.map(|change| &*change.next) {
            Some(next) if !next.working_copy => Err(change_under_way(&self.blueprint.slug)),
            Some(next) if !next.variant_numbers().contains(&variant) => Err(variant_leaving(self.blueprint, variant)),
            _ => Ok(()),
        }
    }

    /// Returns the index columns that only the changed blueprint has.
    pub(super) fn retyped_columns(&self, values: &[Cow<'_, Value>]) -> Columns {
        let next = self.change.map(|change| &*change.next);
        IndexMapping { blueprint: self.blueprint, next }.retyped_columns(values)
    }

    /// Moves the claim from the old value to the new one. Returns another resource that holds the new value, if there
    /// is one.
    fn claim(
        &self,
        edit: &mut Edit,
        change: &BlueprintChange,
        variant: u16,
        field: ClaimedField,
        value: ValueChange,
    ) -> Result<Option<ResourceId>> {
        let key = |text: String| field.key(self.blueprint.number, variant, text);
        if let Some(new) = &value.new {
            let holder = match self.holder(&key(new.clone()))? {
                Some(holder) => Some(holder),
                None => self.unclaimed_holder(change, variant, field.position, new, edit.id)?,
            };
            if let Some(holder) = holder.filter(|holder| *holder != edit.id) {
                return Ok(Some(holder));
            }
        }
        self.move_claim(edit, value.old.map(key), value.new.map(key))?;
        Ok(None)
    }

    /// Returns another resource that holds a value that is not claimed yet. The index covers everything before this
    /// group of transactions. The group's own writes have claims.
    fn unclaimed_holder(
        &self,
        change: &BlueprintChange,
        variant: u16,
        position: usize,
        text: &str,
        own: ResourceId,
    ) -> Result<Option<ResourceId>> {
        let field = &change.current.fields[position];
        let Some(column) = projection::column(&change.current, &field.slug) else { return Ok(None) };
        let Some(equals) = equals(column.kind, text) else { return Ok(None) };
        let filter = bindery_index::Filter::Column(column.id, equals);
        let collection = self.context.state.collection(&change.current.slug)?;
        let mut failure = None;
        let mut holds = |id: ResourceId| match self.overlay.holds(self.blueprint, id, variant, position, text) {
            Ok(holds) => holds,
            Err(error) => {
                // Accepting the resource ends the search; the error is returned below.
                failure = Some(error);
                true
            }
        };
        let holder = collection.snapshot.find_once(variant, &filter, |id| {
            let id = ResourceId::from_u128(id);
            id != own && holds(id)
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(holder.map_err(|error| collection.search_failed(error))?.map(ResourceId::from_u128)),
        }
    }
}

/// Returns the values of a draft, with null for all others: the change itself checks values that the copy held before.
fn only_written(draft: &CopyDraft, n_fields: usize) -> Vec<&Value> {
    let mut written = vec![&Value::Null; n_fields];
    for value in &draft.values {
        written[value.position] = &value.value;
    }
    written
}

/// Returns the predicate for values that are equal in the sense of unique fields; `None` if no value of that kind can
/// be.
fn equals(kind: bindery_index::Kind, text: &str) -> Option<bindery_index::Predicate> {
    use bindery_index::{Bound, Kind, Predicate, Range};
    match kind {
        Kind::Number => {
            let number: f64 = text.parse().ok()?;
            Some(Predicate::Number(Range { from: Some(Bound::Included(number)), to: Some(Bound::Included(number)) }))
        }
        Kind::Instant => {
            let at = parse_instant(text)?.micros;
            Some(Predicate::Instant(Range { from: Some(Bound::Included(at)), to: Some(Bound::Included(at)) }))
        }
        _ => Some(Predicate::Equals(text.to_owned())),
    }
}

/// Returns the values of a copy in the order of the changed blueprint's fields; new fields are null.
fn values_under<'a>(current: &Blueprint, next: &Blueprint, values: &'a [Cow<'_, Value>]) -> Vec<&'a Value> {
    let slugs = current.fields.iter().map(|field| field.slug.as_str());
    let values: HashMap<&str, &Value> = slugs.zip(values.iter().map(Cow::as_ref)).collect();
    next.fields.iter().map(|field| values.get(field.slug.as_str()).copied().unwrap_or(&Value::Null)).collect()
}
