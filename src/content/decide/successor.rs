//! Writes while the blueprint is being changed: what the changed blueprint would refuse is refused, and what it needs of
//! a copy is written with it.

use serde_json::Value;

use super::{Decider, Edit, Requires, unique_text};
use crate::content::change::Pending;
use crate::content::command::{CopyDraft, Faults};
use crate::content::entry::Shape;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};
use crate::model::id::ResourceId;
use crate::model::time::parse_instant;
use crate::model::value;
use crate::projection;
use crate::store::Key;

impl Decider<'_, '_> {
    /// The faults that a written copy would have under the changed blueprint; its values that become unique are claimed.
    pub(super) fn check_successor(
        &self,
        edit: &mut Edit,
        draft: &CopyDraft,
        current: Option<&[Value]>,
        values: &[Value],
        requires: Requires,
    ) -> Result<Faults> {
        let Some(pending) = self.pending else { return Ok(Faults::new()) };
        let next = &*pending.next;
        let mut faults = Faults::new();
        if !next.variant_numbers().contains(&draft.variant) {
            return Err(leaving(self.blueprint, draft.variant));
        }
        for (place, _) in &draft.values {
            let slug = &self.blueprint.fields[*place].slug;
            if next.field(slug).is_none() {
                faults.push((slug.clone(), vec!["the field is being removed".to_owned()]));
            }
        }
        let demands = pending.demands(self.scene.sanitizer);
        let written = self.written(draft, values);
        faults.extend(demands.refused(self.scene.state, &|key| self.working.get(key), &written)?);
        if requires == Requires::Values {
            faults.extend(value::required_errors(next, &values_under(self.blueprint, next, values)));
        }
        for (place, claims) in pending.claimed() {
            let (old, new) = (current.and_then(|values| unique_text(&values[place])), unique_text(&values[place]));
            if old != new
                && let Some(owner) = self.claim(edit, pending, draft.variant, (place, claims), old, new)?
            {
                let text = format!("becomes unique: the resource `{owner}` holds this value already");
                faults.push((self.blueprint.fields[place].slug.clone(), vec![text]));
            }
        }
        Ok(faults)
    }

    /// The index columns that the changed blueprint has beside those of today.
    pub(super) fn columns_of_successor(
        &self,
        values: &[Value],
    ) -> Vec<(bindery_index::ColumnId, bindery_index::Value)> {
        let next = self.pending.map(|pending| &*pending.next);
        Shape { blueprint: self.blueprint, next }.added_columns(values)
    }

    /// The written values alone: what a copy held before is looked at by the change itself.
    fn written(&self, draft: &CopyDraft, values: &[Value]) -> Vec<Value> {
        let mut written = vec![Value::Null; values.len()];
        for (place, _) in &draft.values {
            written[*place] = values[*place].clone();
        }
        written
    }

    /// Gives up the claim of the old value and makes that of the new one; answers who holds it, if another does.
    fn claim(
        &self,
        edit: &mut Edit,
        pending: &Pending,
        variant: u16,
        (place, claims): (usize, u32),
        old: Option<String>,
        new: Option<String>,
    ) -> Result<Option<ResourceId>> {
        let key =
            |value: String| Key::Unique { blueprint: self.blueprint.number, claims, variant, value: value.into() };
        if let Some(new) = &new {
            let holder = match self.owner(&key(new.clone()))? {
                Some(owner) => Some(owner),
                None => self.unclaimed_holder(pending, variant, place, new, edit.id)?,
            };
            if let Some(owner) = holder.filter(|owner| *owner != edit.id) {
                return Ok(Some(owner));
            }
        }
        self.move_claim(edit, old.map(key), new.map(key))?;
        Ok(None)
    }

    /// Another resource that holds a value which nobody has claimed for it yet. The index knows what was stored before
    /// this group; what the group changed has claims.
    fn unclaimed_holder(
        &self,
        pending: &Pending,
        variant: u16,
        place: usize,
        text: &str,
        own: ResourceId,
    ) -> Result<Option<ResourceId>> {
        let field = &pending.current.fields[place];
        let Some(column) = projection::column(&pending.current, &field.slug) else { return Ok(None) };
        let Some(equals) = equals(column.kind, text) else { return Ok(None) };
        let filter = bindery_index::Filter::Column(column.id, equals);
        let snapshot = &self.scene.state.collection(&pending.current.slug)?.snapshot;
        let mut fault = None;
        let holder = snapshot.find_once(variant, &filter, |id| {
            let id = ResourceId::from_u128(id);
            id != own && self.holds(id, variant, place, text).unwrap_or_else(|error| fault.replace(error).is_none())
        });
        match fault {
            Some(error) => Err(error),
            None => Ok(holder.map_err(Error::internal)?.map(ResourceId::from_u128)),
        }
    }

    fn holds(&self, id: ResourceId, variant: u16, place: usize, text: &str) -> Result<bool> {
        let Some(meta) = self.working.meta(self.blueprint.number, id)? else { return Ok(false) };
        let copy = self.working.copy(self.blueprint.number, id, &meta, variant)?;
        let values = copy.map(|copy| copy.values(self.blueprint).map_err(Error::internal)).transpose()?;
        Ok(values.is_some_and(|values| unique_text(&values[place]).as_deref() == Some(text)))
    }
}

/// `CONFLICT` for a write of a copy that goes with its variant.
fn leaving(blueprint: &Blueprint, variant: u16) -> Error {
    let variant = blueprint.variants.iter().find(|known| known.number == variant);
    let variant = variant.map_or_else(String::new, |variant| format!(" `{}`", variant.slug));
    let text =
        format!("the blueprint `{}` is being changed, and its variant{variant} is being removed", blueprint.slug);
    Error::new(Code::Conflict, text)
}

/// `CONFLICT` for a write that only the changed blueprint would refuse (`API.md` 4.9.3).
pub(super) fn refused(blueprint: &Blueprint, faults: Faults) -> Error {
    let error = Error::validation(faults);
    let text = format!(
        "the blueprint `{}` is being changed, and the changed one would refuse this: {}; send what both take, or wait \
         until the change is in force",
        blueprint.slug, error.message
    );
    Error { code: Code::Conflict, message: text, ..error }
}

/// What finds a value by what makes it the same as another one; `None` if nothing of that kind is.
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

/// The values of a copy in the order of the changed blueprint's fields; those that are new are null.
fn values_under(current: &Blueprint, next: &Blueprint, values: &[Value]) -> Vec<Value> {
    let place = |slug: &str| current.fields.iter().position(|field| field.slug == slug);
    next.fields.iter().map(|field| place(&field.slug).map_or(Value::Null, |place| values[place].clone())).collect()
}
