//! A working copy (`API.md` 4.21): its stored form, and the values that it makes of the live copy.
//!
//! It holds only the fields that were changed in it, each with the hash of the live value at that time. So every other
//! field follows the live copy, and a field whose live value has another hash by now was changed in both. A field is
//! known by its number: a value of a field that was removed, or that has another type since, does not count any more. A
//! revision (`data/revision.rs`) still has the values of fields with another type.
//!
//! It is stored as a copy of a variant with a number of its own ([`bindery_index::working_variant`]), which the meta
//! record names like every other copy. So snapshots, the trash, backups and the removal of superseded versions need to
//! know nothing of it.

use bindery_access::Actor;
use bindery_index::working_variant;
use bindery_model::blueprint::{Blueprint, Field};
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::{Millis, format_millis};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta, render_attributes};
use crate::data::visibility::HIDDEN_ERROR;

/// A working copy of one variant of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkingCopy {
    /// The time at which it was begun.
    pub(crate) created: Millis,
    /// The time of its last change.
    pub(crate) updated: Millis,
    /// The stored form of the actor who changed it last, in hexadecimal digits; empty if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    by: String,
    /// The publication that is planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<Schedule>,
    /// The last planned publication, if it failed and nothing was changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<FailedSchedule>,
    /// The changed fields.
    fields: Vec<ChangedField>,
}

/// A planned publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// The moment at which the working copy becomes live.
    pub(crate) at: Millis,
    /// The publication date that the resource gets then; `None` keeps the present one, or sets it to `at`.
    pub(crate) published: Option<Millis>,
    /// True if it overwrites values that were changed in the live copy meanwhile.
    pub(crate) force: bool,
    /// The stored form of the actor who planned it, in hexadecimal digits; empty if it is unknown.
    by: String,
}

/// A planned publication that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedSchedule {
    /// The moment for which it was planned.
    pub(crate) at: Millis,
    /// The error object.
    pub(crate) errors: Value,
}

/// A field that was changed in a working copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ChangedField {
    /// The field's number.
    field: u32,
    /// The field's slug, by which a revision finds the field again after it got another type, and thereby another
    /// number. Empty in a working copy from before slugs were stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    slug: String,
    /// The hash of the live value when the field was first changed.
    base: String,
    value: Value,
}

impl Schedule {
    pub(crate) fn new(at: Millis, published: Option<Millis>, force: bool, by: Option<&Actor>) -> Schedule {
        Schedule { at, published, force, by: actor_to_hex(by) }
    }

    /// Returns the actor who planned it.
    pub(crate) fn by(&self) -> Option<Actor> {
        actor_of_hex(&self.by)
    }
}

impl FailedSchedule {
    /// Returns the error object for a reader who must not learn values, which its texts may quote.
    fn without_values(&self) -> Value {
        let mut errors = self.errors.clone();
        if let Some(fields) = self.errors["fields"].as_object() {
            let hidden = fields.keys().map(|slug| (slug.clone(), vec![HIDDEN_ERROR.to_owned()]));
            let mut hidden = Error::validation(hidden.collect()).to_json();
            errors["message"] = hidden["message"].take();
            errors["fields"] = hidden["fields"].take();
        }
        errors
    }
}

impl WorkingCopy {
    /// Begins a working copy in which nothing is changed.
    pub(crate) fn begin(now: Millis) -> WorkingCopy {
        WorkingCopy { created: now, updated: now, by: String::new(), schedule: None, failed: None, fields: Vec::new() }
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged.
    pub(crate) fn decode(copy: &Copy) -> Result<WorkingCopy> {
        serde_json::from_str(&copy.attributes).map_err(|error| Error::internal(format!("a working copy: {error}")))
    }

    /// Returns the stored form.
    ///
    /// # Errors
    /// `INTERNAL`, which plain data cannot cause.
    pub(crate) fn encode(&self, blueprint: &Blueprint) -> Result<Copy> {
        let attributes = serde_json::to_string(self).map_err(Error::internal)?;
        Ok(Copy { revision: blueprint.revision, attributes: attributes.into() })
    }

    /// Notes who changed it, and at which time.
    pub(crate) fn touch(&mut self, at: Millis, by: Option<&Actor>) {
        (self.updated, self.by) = (at, actor_to_hex(by));
    }

    /// Returns the actor who changed it last.
    pub(crate) fn updated_by(&self) -> Option<Actor> {
        actor_of_hex(&self.by)
    }

    /// Returns whether no field is changed in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns whether anything is left of it: a changed field, or a planned publication.
    pub(crate) fn is_kept(&self) -> bool {
        !self.is_empty() || self.schedule.is_some()
    }

    /// Returns whether the same fields have the same values in another one.
    pub(crate) fn has_values_of(&self, other: &WorkingCopy) -> bool {
        self.fields == other.fields
    }

    /// Sets the value of a field. A value that the live copy has too is no change.
    pub(crate) fn set(&mut self, field: &Field, value: Value, live: &Value) {
        let place = self.fields.iter().position(|changed| changed.field == field.number);
        match (place, value == *live) {
            (Some(place), true) => drop(self.fields.remove(place)),
            (Some(place), false) => self.fields[place].value = value,
            (None, true) => {}
            (None, false) => {
                let (number, slug, base) = (field.number, field.slug.clone(), hash_of(live));
                self.fields.push(ChangedField { field: number, slug, base, value });
            }
        }
    }

    /// Replaces the value of a field, if it is changed, because of something that changes the live value in the same
    /// transaction, from `before` to `after`. That is no change of the live copy that the working copy is in conflict
    /// with. `value` makes the new value of the old one.
    pub(crate) fn follow(&mut self, field: &Field, value: impl FnOnce(&mut Value), before: &Value, after: &Value) {
        let Some(place) = self.fields.iter().position(|changed| changed.field == field.number) else { return };
        let changed = &mut self.fields[place];
        let old = changed.value.clone();
        value(&mut changed.value);
        if changed.value == old && before == after {
            return;
        }
        if changed.value == *after {
            self.fields.remove(place);
        } else if changed.base == hash_of(before) {
            changed.base = hash_of(after);
        }
    }

    /// Forgets changes of fields that the blueprint does not have any more.
    pub(crate) fn retain_known(&mut self, blueprint: &Blueprint) {
        self.fields.retain(|changed| blueprint.fields.iter().any(|field| field.number == changed.field));
    }

    /// Gives changed fields that got another type the number that they have now. For the working copy of a revision,
    /// whose values stay what they were. `revision` is that of the blueprint under which it was written: a field that
    /// was removed and added again since is another one.
    pub(crate) fn follow_retyped(&mut self, blueprint: &Blueprint, revision: u64) {
        for changed in &mut self.fields {
            let field = blueprint.field(&changed.slug).filter(|field| field.since <= revision);
            if let Some(field) = field {
                changed.field = field.number;
            }
        }
    }

    /// Returns the changed fields that the blueprint has: their positions and values.
    pub(crate) fn changed<'a>(&'a self, blueprint: &'a Blueprint) -> impl Iterator<Item = (usize, &'a Value)> {
        blueprint.fields.iter().enumerate().filter_map(move |(position, field)| {
            let changed = self.fields.iter().find(|changed| changed.field == field.number)?;
            Some((position, &changed.value))
        })
    }

    /// Returns the slugs of the fields that show another value than with an earlier state of the working copy. `live`
    /// are the live values.
    pub(crate) fn differences(
        &self,
        earlier: Option<&WorkingCopy>,
        blueprint: &Blueprint,
        live: &[Value],
    ) -> Vec<String> {
        let (mut before, mut after) = (live.to_vec(), live.to_vec());
        if let Some(earlier) = earlier {
            earlier.apply_to(blueprint, &mut before);
        }
        self.apply_to(blueprint, &mut after);
        let pairs = blueprint.fields.iter().zip(before.into_iter().zip(after));
        pairs.filter(|(_, (before, after))| before != after).map(|(field, _)| field.slug.clone()).collect()
    }

    /// Puts the changed values in the place of live ones, which are in the order of the blueprint's fields.
    pub(crate) fn apply_to(&self, blueprint: &Blueprint, values: &mut [Value]) {
        for (position, value) in self.changed(blueprint) {
            values[position].clone_from(value);
        }
    }

    /// Returns the slugs of the fields that were changed in the live copy, too, to another value. `live` are its
    /// values.
    pub(crate) fn conflicts<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        live: &'a [Value],
    ) -> impl Iterator<Item = &'a str> {
        blueprint.fields.iter().zip(live).filter_map(move |(field, live)| {
            let changed = self.fields.iter().find(|changed| changed.field == field.number)?;
            let is_conflict = changed.base != hash_of(live) && changed.value != *live;
            is_conflict.then_some(field.slug.as_str())
        })
    }

    /// Returns the value of the key `working_copy` in an answer. `hides_errors` is true if the reader must not learn
    /// values.
    fn to_json(&self, blueprint: &Blueprint, live: &[Value], hides_errors: bool) -> Value {
        let publish_at = self.schedule.as_ref().map(|schedule| format_millis(schedule.at));
        let mut object = json!({
            "created_at": format_millis(self.created),
            "updated_at": format_millis(self.updated),
            "publish_at": publish_at,
            "conflicts": self.conflicts(blueprint, live).collect::<Vec<_>>(),
        });
        if let Some(failed) = &self.failed {
            let errors = if hides_errors { failed.without_values() } else { failed.errors.clone() };
            object["publish_failed"] = json!({ "at": format_millis(failed.at), "errors": errors });
        }
        object
    }
}

/// The versions of one variant of a resource that an answer is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ShownVersions {
    /// The live copy.
    pub(crate) live: Option<CopyVersion>,
    /// The working copy; `None` also for an answer that shows live values.
    pub(crate) working: Option<CopyVersion>,
}

impl ShownVersions {
    /// Returns the versions that exist.
    pub(crate) fn iter(self) -> impl Iterator<Item = CopyVersion> {
        [self.live, self.working].into_iter().flatten()
    }

    /// Reads the shown values as a copy; `None` if there is none.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails or is damaged.
    pub(crate) fn read(self, lookup: &dyn Lookup, blueprint: &Blueprint, id: ResourceId) -> Result<Option<Copy>> {
        let live = self.live.map(|version| lookup.copy(blueprint.number, id, version)).transpose()?;
        let Some(version) = self.working else { return Ok(live) };
        let mut values = values_of(live, blueprint)?;
        lookup.working(blueprint, id, version)?.apply_to(blueprint, &mut values);
        let attributes = render_attributes(blueprint, &values).into();
        Ok(Some(Copy { revision: blueprint.revision, attributes }))
    }

    /// Returns the value of the key `working_copy` in an answer. `hides_errors` is true if the reader must not learn
    /// values.
    ///
    /// # Errors
    /// Those of [`ShownVersions::read`].
    pub(crate) fn working_to_json(
        self,
        lookup: &dyn Lookup,
        blueprint: &Blueprint,
        id: ResourceId,
        hides_errors: bool,
    ) -> Result<Value> {
        let Some(version) = self.working else { return Ok(Value::Null) };
        let live = self.live.map(|version| lookup.copy(blueprint.number, id, version)).transpose()?;
        let working = lookup.working(blueprint, id, version)?;
        Ok(working.to_json(blueprint, &values_of(live, blueprint)?, hides_errors))
    }
}

/// Returns the values of a copy; nulls if it was never written.
pub(crate) fn values_of(copy: Option<Copy>, blueprint: &Blueprint) -> Result<Vec<Value>> {
    match copy {
        Some(copy) => copy.values(blueprint),
        None => Ok(vec![Value::Null; blueprint.fields.len()]),
    }
}

impl Meta {
    /// Returns the version of a variant's working copy.
    pub(crate) fn working_copy(&self, variant: u16) -> Option<CopyVersion> {
        self.copy(working_variant(variant))
    }

    /// Returns the variants of the blueprint that have a working copy.
    pub(crate) fn working_variants(&self, blueprint: &Blueprint) -> Vec<u16> {
        let variants = blueprint.variant_numbers().into_iter();
        variants.filter(|variant| blueprint.working_copy && self.working_copy(*variant).is_some()).collect()
    }

    /// Returns the versions that an answer shows, with working copies or without.
    pub(crate) fn shown(&self, variant: u16, is_working: bool) -> ShownVersions {
        let working = self.working_copy(variant).filter(|_| is_working);
        ShownVersions { live: self.copy(variant), working }
    }
}

/// Returns the stored form of an actor in hexadecimal digits; no digits for none.
fn actor_to_hex(actor: Option<&Actor>) -> String {
    let mut bytes = Vec::new();
    if let Some(actor) = actor {
        actor.encode_to(&mut bytes);
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn actor_of_hex(text: &str) -> Option<Actor> {
    let digits = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
    Actor::decode_from(&bytes?).map(|(actor, _)| actor)
}

/// Returns a hash of a value, as 32 hexadecimal digits.
fn hash_of(value: &Value) -> String {
    blake3::hash(value.to_string().as_bytes()).to_hex()[..32].to_owned()
}

/// Returns the fields of an error as messages by slug, as `meta.not_ready` has them.
pub(crate) fn not_ready_to_json(error: &Error) -> Map<String, Value> {
    error.fields.iter().map(|(slug, texts)| (slug.clone(), texts.join("; ").into())).collect()
}

#[cfg(test)]
mod tests;
