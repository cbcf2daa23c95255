//! What a changed blueprint means for the resources that are stored: what they lose, and which stand against it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::content::command::BlueprintPlan;
use crate::content::decide::{related_blueprint, unique_text};
use crate::content::record::{Copy, Meta};
use crate::content::state::State;
use crate::content::working::Working;
use crate::model::blueprint::{Blueprint, BlueprintChange, Field, FieldType};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::html::Sanitizer;
use crate::model::id::ResourceId;
use crate::model::value;
use crate::store::{Key, Prefix};

/// How many ids a conflict names.
const CONFLICT_IDS: usize = 10;

/// What has to be looked at in the stored copies.
struct Survey<'a> {
    sanitizer: &'a Sanitizer,
    /// Fields whose values go.
    removed: Vec<&'a Field>,
    /// Fields that stay with another type or other settings: their place and how they will be.
    changed: Vec<(usize, &'a Field)>,
    /// Those of them whose values must be found elsewhere than before.
    redirected: Vec<(usize, &'a Field)>,
    /// Fields that become unique: their place.
    unique: Vec<usize>,
    /// Variants whose copies go.
    variants: Vec<u16>,
}

/// Compares the stored resources with a changed blueprint. Reads them all, unless nothing that they hold is concerned.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn plan(
    state: &State,
    working: &Working<'_>,
    sanitizer: &Sanitizer,
    current: &Blueprint,
    next: &Blueprint,
    changes: Vec<BlueprintChange>,
    force: bool,
) -> Result<BlueprintPlan> {
    let survey = Survey::new(sanitizer, current, next);
    let mut plan = BlueprintPlan { changes, loses: Vec::new(), conflicts: Conflict { count: 0, ids: Vec::new() } };
    if survey.is_empty() {
        return Ok(plan);
    }
    let mut loses: BTreeMap<usize, u64> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for resource in working.scan(Prefix::Resources(current.number))? {
        let (id, meta) = resource?;
        let copies = load_copies(working, current, id, &meta)?;
        let mut is_conflict = false;
        for (place, field) in survey.removed.iter().enumerate() {
            let field_place = current.fields.iter().position(|other| other.number == field.number);
            if copies.iter().any(|(_, values)| field_place.is_some_and(|place| !values[place].is_null())) {
                *loses.entry(place).or_default() += 1;
            }
        }
        for (variant, values) in &copies {
            let goes = survey.variants.contains(variant);
            is_conflict |= goes && !force && values.iter().any(|value| !value.is_null());
            is_conflict |= !goes && survey.conflicts_with(id, *variant, values, &mut seen);
            is_conflict |= !goes && survey.loses_target(state, working, values)?;
        }
        if is_conflict {
            plan.conflicts.count += 1;
            if plan.conflicts.ids.len() < CONFLICT_IDS {
                plan.conflicts.ids.push(id.to_string());
            }
        }
    }
    plan.loses = loses.into_iter().map(|(place, count)| (survey.removed[place].slug.clone(), count)).collect();
    Ok(plan)
}

/// `CONFLICT` for a change that stored resources stand against.
pub(crate) fn conflict(conflict: Conflict) -> Error {
    let count = conflict.count;
    let text = format!(
        "stored resources stand against this change ({count}): they hold values that it would make invalid or drop; \
         change those first (`?dry_run=true` shows the plan)"
    );
    Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) }
}

/// The ids of the first resources of a snapshot, as many as a conflict names.
pub(crate) fn first_ids(snapshot: &bindery_index::Snapshot) -> Result<Vec<String>> {
    let query = bindery_index::Query { variant: 0, filter: bindery_index::Filter::All, sort: Vec::new() };
    let hits = snapshot.search(&query, 0, CONFLICT_IDS).map_err(Error::internal)?;
    Ok(hits.hits.iter().map(|hit| ResourceId::from_u128(hit.id).to_string()).collect())
}

/// Claims the values of fields that become unique, and gives up those of fields that are no longer.
pub(crate) fn claim_unique(working: &mut Working<'_>, current: &Blueprint, next: &Blueprint) -> Result<()> {
    let unique_number = |field: &Field| field.unique.then_some(field.number);
    let turned: Vec<(usize, Option<u32>, Option<u32>)> = current
        .fields
        .iter()
        .enumerate()
        .map(|(place, field)| (place, unique_number(field), next.field(&field.slug).and_then(unique_number)))
        .filter(|(_, before, after)| before != after)
        .collect();
    if turned.is_empty() {
        return Ok(());
    }
    let resources: Vec<(ResourceId, Meta)> = working.scan(Prefix::Resources(current.number))?.collect::<Result<_>>()?;
    for (id, meta) in resources {
        for (variant, values) in load_copies(working, current, id, &meta)? {
            for (place, before, after) in &turned {
                let Some(value) = unique_text(&values[*place]) else { continue };
                let key =
                    |field| Key::Unique { blueprint: current.number, field, variant, value: value.clone().into() };
                if let Some(before) = before {
                    working.remove(key(*before));
                }
                if let Some(after) = after {
                    working.put(key(*after), id.as_u128().to_be_bytes().to_vec());
                }
            }
        }
    }
    Ok(())
}

/// The resources that have to be indexed again because a field has another type, all or none. They are written as they
/// are, so that a start that finds the index behind the log indexes them too.
pub(crate) fn touch_retyped(
    working: &mut Working<'_>,
    current: &Blueprint,
    next: &Blueprint,
) -> Result<Vec<ResourceId>> {
    let is_retyped = |field: &Field| next.field(&field.slug).is_some_and(|after| after.number != field.number);
    if !current.fields.iter().any(is_retyped) {
        return Ok(Vec::new());
    }
    let blueprint = current.number;
    let resources: Vec<(ResourceId, Meta)> = working.scan(Prefix::Resources(blueprint))?.collect::<Result<_>>()?;
    let touched = resources.into_iter().map(|(id, meta)| {
        working.put(Key::Resource { blueprint, id }, meta.encode());
        id
    });
    Ok(touched.collect())
}

fn load_copies(
    working: &Working<'_>,
    blueprint: &Blueprint,
    id: ResourceId,
    meta: &Meta,
) -> Result<Vec<(u16, Vec<Value>)>> {
    let mut copies = Vec::with_capacity(meta.copies.len());
    for (variant, _) in &meta.copies {
        let copy: Option<Copy> = working.copy(blueprint.number, id, meta, *variant)?;
        if let Some(copy) = copy {
            copies.push((*variant, copy.values(blueprint).map_err(Error::internal)?));
        }
    }
    Ok(copies)
}

impl<'a> Survey<'a> {
    fn new(sanitizer: &'a Sanitizer, current: &'a Blueprint, next: &'a Blueprint) -> Self {
        let mut survey = Survey {
            sanitizer,
            removed: Vec::new(),
            changed: Vec::new(),
            redirected: Vec::new(),
            unique: Vec::new(),
            variants: Vec::new(),
        };
        for (place, field) in current.fields.iter().enumerate() {
            match next.field(&field.slug) {
                None => survey.removed.push(field),
                Some(after) => {
                    if after.kind != field.kind {
                        survey.changed.push((place, after));
                    }
                    if is_redirected(field, after) {
                        survey.redirected.push((place, after));
                    }
                    if after.unique && (!field.unique || after.number != field.number) {
                        survey.unique.push(place);
                    }
                }
            }
        }
        let kept = next.variant_numbers();
        survey.variants = current.variant_numbers().into_iter().filter(|number| !kept.contains(number)).collect();
        survey
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.changed.is_empty() && self.unique.is_empty() && self.variants.is_empty()
    }

    /// Whether a copy holds what the changed blueprint would not take.
    fn conflicts_with(
        &self,
        id: ResourceId,
        variant: u16,
        values: &[Value],
        seen: &mut BTreeMap<(usize, u16, String), ResourceId>,
    ) -> bool {
        let is_invalid = self.changed.iter().any(|(place, after)| {
            let value = &values[*place];
            !value.is_null() && !value::is_valid_as_stored(after, value, self.sanitizer)
        });
        let mut is_double = false;
        for place in &self.unique {
            if let Some(text) = unique_text(&values[*place]) {
                let owner = *seen.entry((*place, variant, text)).or_insert(id);
                is_double |= owner != id;
            }
        }
        is_invalid || is_double
    }

    /// Whether a copy names a resource or a member that is not among those that the changed field takes.
    fn loses_target(&self, state: &State, working: &Working<'_>, values: &[Value]) -> Result<bool> {
        for (place, after) in &self.redirected {
            let value = &values[*place];
            if !value.is_null() && !is_target_there(state, working, after, value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a field's values must be found elsewhere than before: in another blueprint, or in a role.
fn is_redirected(before: &Field, after: &Field) -> bool {
    match &after.kind {
        FieldType::User { role } => match &before.kind {
            FieldType::User { role: known } => role.is_some() && role != known,
            _ => true,
        },
        FieldType::Reference { .. } | FieldType::References { .. } => {
            related_blueprint(before) != related_blueprint(after)
        }
        _ => false,
    }
}

fn is_target_there(state: &State, working: &Working<'_>, field: &Field, value: &Value) -> Result<bool> {
    if let FieldType::User { role } = &field.kind {
        let member = value.as_u64().and_then(|id| state.members.get(&id));
        return Ok(member.is_some_and(|member| role.is_none() || member.role == *role));
    }
    let Some(slug) = related_blueprint(field) else { return Ok(true) };
    let related = state.blueprints.get(slug).map(|collection| collection.blueprint.number);
    let targets = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for target in targets {
        let id = target.as_str().and_then(ResourceId::parse);
        let is_there = match (related, id) {
            (Some(blueprint), Some(id)) => working.get(&Key::Resource { blueprint, id })?.is_some(),
            _ => false,
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}
