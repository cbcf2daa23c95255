//! What a changed blueprint means for the resources that are stored: what they lose, and which stand against it.
//!
//! Reads and compares; what is done about it is `change`'s and `settle`'s. The same demands are made of stored copies
//! and of those that are written while the change is under way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::content::command::{BlueprintPlan, Faults};
use crate::content::decide::{related_blueprint, unique_text};
use crate::content::read;
use crate::content::record::Meta;
use crate::content::state::State;
use crate::model::blueprint::{Blueprint, Difference, Field, FieldType};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::id::ResourceId;
use crate::model::value;
use crate::sanitize::Sanitizer;
use crate::store::{Key, Store};

mod narrow;

/// How many ids a conflict names.
const CONFLICT_IDS: usize = 10;

/// Reads a key of the store, or of what is about to be in it.
pub(crate) type Get<'a> = dyn Fn(&Key) -> Result<Option<Vec<u8>>> + 'a;

/// What a changed blueprint asks of a copy's values that the one in force does not ask.
pub(crate) struct Demands<'a> {
    sanitizer: &'a Sanitizer,
    current: &'a Blueprint,
    /// Fields whose values go: their places.
    removed: Vec<usize>,
    /// Fields that may refuse what they took: their places, and how they will be.
    narrowed: Vec<(usize, &'a Field)>,
    /// Fields whose values must be found elsewhere than before.
    redirected: Vec<(usize, &'a Field)>,
    /// Fields that become unique: their places, and the numbers that their values are claimed under.
    claimed: Vec<(usize, u32)>,
    /// Variants whose copies go.
    leaving: Vec<u16>,
    /// Whether those may hold values.
    force: bool,
}

/// What was found among the stored copies.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// How many resources lose a value, by field.
    loses: BTreeMap<String, u64>,
    /// The resources that stand against the change, by id.
    against: BTreeSet<ResourceId>,
}

/// What a survey is asked to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What stands against the change.
    Conflicts,
    /// What is lost as well.
    ConflictsAndLosses,
}

impl<'a> Demands<'a> {
    /// Compares a blueprint in force with the one that shall take its place. With `force`, variants go with their copies.
    pub(crate) fn new(sanitizer: &'a Sanitizer, current: &'a Blueprint, next: &'a Blueprint, force: bool) -> Self {
        let kept = next.variant_numbers();
        let leaving = current.variant_numbers().into_iter().filter(|number| !kept.contains(number)).collect();
        let (removed, narrowed, redirected) = (Vec::new(), Vec::new(), Vec::new());
        let claimed = current.newly_unique(next);
        let mut demands = Demands { sanitizer, current, removed, narrowed, redirected, claimed, leaving, force };
        for (place, field) in current.fields.iter().enumerate() {
            let Some(after) = next.field(&field.slug) else {
                demands.removed.push(place);
                continue;
            };
            if narrow::may_refuse(&field.field_type, &after.field_type) {
                demands.narrowed.push((place, after));
            }
            if narrow::is_redirected(field, after) {
                demands.redirected.push((place, after));
            }
        }
        demands
    }

    /// Whether stored copies may stand against the change.
    pub(crate) fn concern_copies(&self) -> bool {
        let is_met = self.narrowed.is_empty() && self.redirected.is_empty() && self.claimed.is_empty();
        !is_met || (!self.force && !self.leaving.is_empty())
    }

    /// The fields whose values the changed blueprint would not take, and why; unique ones aside.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn refused(&self, state: &State, get: &Get<'_>, values: &[Value]) -> Result<Faults> {
        let mut refused = Faults::new();
        for (place, after) in &self.narrowed {
            let value = &values[*place];
            let faults =
                if value.is_null() { Vec::new() } else { value::stored_value_errors(after, value, self.sanitizer) };
            if !faults.is_empty() {
                refused.push((after.slug.clone(), faults));
            }
        }
        for (place, after) in &self.redirected {
            let value = &values[*place];
            if !value.is_null() && !is_target_there(state, get, after, value)? {
                let text = "must name what is there where the changed field looks for it";
                refused.push((after.slug.clone(), vec![text.to_owned()]));
            }
        }
        Ok(refused)
    }

    /// Looks at every stored resource. `go_on` is told how many were seen, and may end it.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails; that of `go_on`.
    pub(crate) fn survey(
        &self,
        state: &State,
        store: &Store,
        scope: Scope,
        mut go_on: impl FnMut(u64) -> Result<()>,
    ) -> Result<Survey> {
        let mut survey = Survey::default();
        let is_lossless = self.removed.is_empty() && self.leaving.is_empty();
        let is_idle = !self.concern_copies() && (scope == Scope::Conflicts || is_lossless);
        if is_idle {
            return Ok(survey);
        }
        let mut holders = Holders::default();
        for (seen, resource) in read::resources(store, self.current.number).enumerate() {
            let (id, meta) = resource?;
            go_on(seen as u64)?;
            let copies = self.load_copies(store, id, &meta)?;
            for (place, field) in self.current.fields.iter().enumerate() {
                let is_lost =
                    |variant: &u16| self.removed.contains(&place) || (self.force && self.leaving.contains(variant));
                if copies.iter().any(|(variant, values)| is_lost(variant) && !values[place].is_null()) {
                    *survey.loses.entry(field.slug.clone()).or_default() += 1;
                }
            }
            for (variant, values) in &copies {
                if self.is_against(state, store, values, *variant)? {
                    survey.against.insert(id);
                }
                if !self.leaving.contains(variant) {
                    self.add_doubles(store, &mut holders, &mut survey.against, (id, *variant), values)?;
                }
            }
        }
        Ok(survey)
    }

    fn load_copies(&self, store: &Store, id: ResourceId, meta: &Meta) -> Result<Vec<(u16, Vec<Value>)>> {
        let known = self.current.variant_numbers();
        let copies = meta.copies.iter().copied().filter(|(variant, _)| known.contains(variant));
        copies
            .map(|(variant, number)| Ok((variant, read::copy_values(store, self.current, id, variant, number)?)))
            .collect()
    }

    /// Whether a stored copy holds what the changed blueprint would not take, unique values aside.
    fn is_against(&self, state: &State, store: &Store, values: &[Value], variant: u16) -> Result<bool> {
        if self.leaving.contains(&variant) {
            return Ok(!self.force && values.iter().any(|value| !value.is_null()));
        }
        let get = |key: &Key| store.get(key).map_err(Error::internal);
        Ok(!self.refused(state, &get, values)?.is_empty())
    }

    /// Adds the resources that hold a value which becomes unique and which another one holds as well: all of them.
    fn add_doubles(
        &self,
        store: &Store,
        holders: &mut Holders,
        against: &mut BTreeSet<ResourceId>,
        (id, variant): (ResourceId, u16),
        values: &[Value],
    ) -> Result<()> {
        for (place, _) in &self.claimed {
            let Some(text) = unique_text(&values[*place]) else { continue };
            let other = holders.hold(*place, variant, &text, id);
            // Whoever was seen with the value first may have given it up since.
            match other {
                Some(other) if self.holds(store, other, variant, *place, &text)? => against.extend([other, id]),
                Some(_) => holders.replace(*place, variant, &text, id),
                None => {}
            }
        }
        Ok(())
    }

    /// Whether a resource holds a value in a field.
    fn holds(&self, store: &Store, id: ResourceId, variant: u16, place: usize, text: &str) -> Result<bool> {
        let Some(meta) = read::meta(store, self.current, id)? else { return Ok(false) };
        let Some(number) = meta.copy(variant) else { return Ok(false) };
        let values = read::copy_values(store, self.current, id, variant, number)?;
        Ok(unique_text(&values[place]).as_deref() == Some(text))
    }
}

impl Survey {
    /// What a replacement that was only asked about would do.
    pub(crate) fn into_plan(self, changes: Vec<Difference>) -> BlueprintPlan {
        let conflicts = self.conflicts();
        BlueprintPlan { changes, loses: self.loses.into_iter().collect(), conflicts }
    }

    /// The resources that stand against the change.
    pub(crate) fn conflicts(&self) -> Conflict {
        let ids = self.against.iter().take(CONFLICT_IDS).map(ResourceId::to_string).collect();
        Conflict { count: self.against.len() as u64, ids }
    }
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

/// Who was seen with a value of a field that becomes unique. Values are known by 16 bytes of their hash.
#[derive(Default)]
struct Holders(HashMap<[u8; 16], ResourceId>);

impl Holders {
    /// Notes a holder, and tells another one that was seen before.
    fn hold(&mut self, place: usize, variant: u16, text: &str, id: ResourceId) -> Option<ResourceId> {
        let first = *self.0.entry(Self::hash(place, variant, text)).or_insert(id);
        (first != id).then_some(first)
    }

    /// Notes another holder than the one that was seen before.
    fn replace(&mut self, place: usize, variant: u16, text: &str, id: ResourceId) {
        self.0.insert(Self::hash(place, variant, text), id);
    }

    fn hash(place: usize, variant: u16, text: &str) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(place as u64).to_le_bytes());
        hasher.update(&variant.to_le_bytes());
        hasher.update(text.as_bytes());
        let mut hash = [0; 16];
        hasher.finalize_xof().fill(&mut hash);
        hash
    }
}

fn is_target_there(state: &State, get: &Get<'_>, field: &Field, value: &Value) -> Result<bool> {
    if let FieldType::User { role } = &field.field_type {
        let member = value.as_u64().and_then(|id| state.members.get(&id));
        return Ok(member.is_some_and(|member| member.fits(role.as_deref())));
    }
    let Some(slug) = related_blueprint(field) else { return Ok(true) };
    let related = state.blueprints.get(slug).map(|collection| collection.blueprint.number);
    let targets = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for target in targets {
        let id = target.as_str().and_then(ResourceId::parse);
        let is_there = match (related, id) {
            (Some(blueprint), Some(id)) => get(&Key::Resource { blueprint, id })?.is_some(),
            _ => false,
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}
