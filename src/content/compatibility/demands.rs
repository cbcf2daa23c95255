//! The demands of a changed blueprint on the values of a copy. The same demands are made of stored copies and of those
//! that are written while the change is under way.

use std::borrow::Borrow;

use bindery_model::blueprint::{Blueprint, Field, FieldType};
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::value;
use bindery_sanitize::Sanitizer;
use bindery_store::Key;
use serde_json::Value;

use super::narrow;
use crate::data::blueprint_change::BlueprintChange;
use crate::data::claims::ClaimedField;
use crate::data::lookup::Lookup;
use crate::data::state::State;

/// Demands on stored and written values under the changed blueprint, beyond those of today.
pub(crate) struct Demands<'a> {
    sanitizer: &'a Sanitizer,
    /// The blueprint in force.
    pub(super) current: &'a Blueprint,
    /// The positions of fields that are removed.
    pub(super) removed: Vec<usize>,
    /// Fields that may refuse values that they accepted.
    narrowed: Vec<ChangedField<'a>>,
    /// Fields whose targets must be found elsewhere than before.
    redirected: Vec<ChangedField<'a>>,
    /// Fields that become unique.
    pub(super) becoming_unique: Vec<ClaimedField>,
    /// Variants that are removed.
    pub(super) removed_variants: Vec<u16>,
    /// True if those may hold values.
    pub(super) force: bool,
}

/// A field that keeps its name.
struct ChangedField<'a> {
    position: usize,
    after: &'a Field,
}

impl<'a> Demands<'a> {
    /// Returns the demands of a change.
    pub(crate) fn new(sanitizer: &'a Sanitizer, change: &'a BlueprintChange) -> Self {
        let (current, next) = (&*change.current, &*change.next);
        let kept = next.variant_numbers();
        let removed_variants = current.variant_numbers().into_iter().filter(|number| !kept.contains(number)).collect();
        let (removed, narrowed, redirected) = (Vec::new(), Vec::new(), Vec::new());
        let (becoming_unique, force) = (change.becoming_unique(), change.force);
        let mut demands =
            Demands { sanitizer, current, removed, narrowed, redirected, becoming_unique, removed_variants, force };
        let fields = next.fields_by_slug();
        for (position, field) in current.fields.iter().enumerate() {
            let Some(&after) = fields.get(field.slug.as_str()) else {
                demands.removed.push(position);
                continue;
            };
            if narrow::may_refuse(&field.field_type, &after.field_type) {
                demands.narrowed.push(ChangedField { position, after });
            }
            if narrow::is_redirected(field, after) {
                demands.redirected.push(ChangedField { position, after });
            }
        }
        demands
    }

    /// Returns whether the change depends on what stored copies hold. Otherwise it can come into force at once.
    pub(crate) fn concern_copies(&self) -> bool {
        let ask_nothing = self.narrowed.is_empty() && self.redirected.is_empty() && self.becoming_unique.is_empty();
        !ask_nothing || (!self.force && !self.removed_variants.is_empty())
    }

    /// Returns the errors that values would have under the changed blueprint, apart from unique ones.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn refused(
        &self,
        state: &State,
        lookup: &dyn Lookup,
        values: &[impl Borrow<Value>],
    ) -> Result<FieldErrors> {
        let mut refused = FieldErrors::new();
        for ChangedField { position, after } in &self.narrowed {
            let value = values[*position].borrow();
            let errors = match value.is_null() {
                true => Vec::new(),
                false => value::stored_value_errors(after, value, self.sanitizer),
            };
            if !errors.is_empty() {
                refused.push((after.slug.clone(), errors));
            }
        }
        for ChangedField { position, after } in &self.redirected {
            let value = values[*position].borrow();
            if !value.is_null() && !target_exists(state, lookup, after, value)? {
                let text = "must name something that exists where the changed field looks for it";
                refused.push((after.slug.clone(), vec![text.to_owned()]));
            }
        }
        Ok(refused)
    }
}

fn target_exists(state: &State, lookup: &dyn Lookup, field: &Field, value: &Value) -> Result<bool> {
    if let FieldType::User { role } = &field.field_type {
        let member = value.as_u64().and_then(|id| state.members.get(&id));
        return Ok(member.is_some_and(|member| member.fits(role.as_deref())));
    }
    let Some(slug) = field.related_blueprint() else { return Ok(true) };
    let related = state.blueprints.get(slug).map(|collection| collection.blueprint.number);
    let targets = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for target in targets {
        let id = target.as_str().and_then(ResourceId::parse);
        let exists = match (related, id) {
            (Some(blueprint), Some(id)) => lookup.get(&Key::Resource { blueprint, id })?.is_some(),
            _ => false,
        };
        if !exists {
            return Ok(false);
        }
    }
    Ok(true)
}
