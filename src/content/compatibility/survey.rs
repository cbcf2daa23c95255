//! A walk over the stored resources of a blueprint that will be changed. It finds values that are lost and resources
//! that conflict.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bindery_model::error::{Conflict, Result};
use bindery_model::id::ResourceId;
use bindery_model::value::unique_text;
use bindery_store::Store;
use serde_json::Value;

use super::demands::Demands;
use crate::data::lookup::{Lookup, resources};
use crate::data::records::Meta;
use crate::data::refusals::conflict_of;
use crate::data::state::State;

/// The findings among the stored copies.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The number of resources that lose a value, by field.
    pub(crate) losses: BTreeMap<String, u64>,
    /// The resources that the change would make invalid, by id.
    conflicting: BTreeSet<ResourceId>,
}

/// The scope of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Resources that conflict with the change.
    Conflicts,
    /// Conflicts, and also values that are lost.
    ConflictsAndLosses,
}

/// The values of one variant of a resource.
struct VariantValues {
    variant: u16,
    values: Vec<Value>,
    /// True for those of a working copy, which may be lost, but need not be valid.
    is_working: bool,
}

impl Survey {
    /// Returns the resources that conflict with the change.
    pub(crate) fn conflicts(&self) -> Conflict {
        conflict_of(self.conflicting.len() as u64, self.conflicting.iter().copied())
    }

    /// Reads every stored resource. Calls `go_on` with the number of resources read; an error of it ends the survey.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails; that of `go_on`.
    pub(crate) fn run(
        demands: &Demands<'_>,
        state: &State,
        store: &Store,
        scope: Scope,
        mut go_on: impl FnMut(u64) -> Result<()>,
    ) -> Result<Survey> {
        let mut survey = Survey::default();
        let is_lossless = demands.removed.is_empty() && demands.removed_variants.is_empty();
        let finds_nothing = !demands.concern_copies() && (scope == Scope::Conflicts || is_lossless);
        if finds_nothing {
            return Ok(survey);
        }
        let mut holders = Holders::default();
        for (n_read, resource) in resources(store, demands.current.number).enumerate() {
            let (id, meta) = resource?;
            go_on(n_read as u64)?;
            let copies = load_copies(demands, store, id, &meta)?;
            survey.count_losses(demands, &copies);
            for copy in &copies {
                if conflicts(demands, state, store, copy)? {
                    survey.conflicting.insert(id);
                }
                if !copy.is_working && !demands.removed_variants.contains(&copy.variant) {
                    survey.add_duplicates(demands, store, &mut holders, id, copy)?;
                }
            }
        }
        Ok(survey)
    }

    fn count_losses(&mut self, demands: &Demands<'_>, copies: &[VariantValues]) {
        for (position, field) in demands.current.fields.iter().enumerate() {
            let is_lost = |copy: &&VariantValues| {
                demands.removed.contains(&position)
                    || (demands.force && !field.is_system && demands.removed_variants.contains(&copy.variant))
            };
            if copies.iter().filter(is_lost).any(|copy| !copy.values[position].is_null()) {
                *self.losses.entry(field.slug.clone()).or_default() += 1;
            }
        }
    }

    /// Adds the resources that share a value of a field that becomes unique: all of them.
    fn add_duplicates(
        &mut self,
        demands: &Demands<'_>,
        store: &Store,
        holders: &mut Holders,
        id: ResourceId,
        copy: &VariantValues,
    ) -> Result<()> {
        for field in &demands.becoming_unique {
            let position = field.position;
            let Some(text) = unique_text(&copy.values[position]) else { continue };
            let other = holders.hold(position, copy.variant, &text, id);
            // The resource that was seen with the value first may have changed since.
            match other {
                Some(other) if store.holds(demands.current, other, copy.variant, position, &text)? => {
                    self.conflicting.extend([other, id]);
                }
                Some(_) => holders.replace(position, copy.variant, &text, id),
                None => {}
            }
        }
        Ok(())
    }
}

/// Reads the live copies of a resource, and what its working copies change.
fn load_copies(demands: &Demands<'_>, store: &Store, id: ResourceId, meta: &Meta) -> Result<Vec<VariantValues>> {
    let blueprint = demands.current;
    let mut copies = Vec::new();
    for version in meta.known_copies(blueprint) {
        let values = store.values(blueprint, id, version)?;
        copies.push(VariantValues { variant: version.variant, values, is_working: false });
    }
    for variant in meta.working_variants(blueprint) {
        let Some(version) = meta.working_copy(variant) else { continue };
        let mut values = vec![Value::Null; blueprint.fields.len()];
        store.working(blueprint, id, version)?.apply_to(blueprint, &mut values);
        copies.push(VariantValues { variant, values, is_working: true });
    }
    Ok(copies)
}

/// Returns whether a stored copy would be invalid under the changed blueprint, apart from unique values.
fn conflicts(demands: &Demands<'_>, state: &State, store: &Store, copy: &VariantValues) -> Result<bool> {
    if demands.removed_variants.contains(&copy.variant) {
        let mut values = demands.current.fields.iter().zip(&copy.values);
        // The other variants have the same system fields, so nothing of them is lost.
        return Ok(!demands.force && values.any(|(field, value)| !field.is_system && !value.is_null()));
    }
    Ok(!copy.is_working && !demands.refused(state, store, &copy.values)?.is_empty())
}

/// The first resource that was seen with each value of a field that becomes unique. Values are known by 16 bytes of
/// their hash: 32 bytes of memory for each.
#[derive(Default)]
struct Holders(HashMap<[u8; 16], ResourceId>);

impl Holders {
    /// Adds a holder of a value. Returns another resource that holds the same value, if one was seen before.
    fn hold(&mut self, position: usize, variant: u16, text: &str, id: ResourceId) -> Option<ResourceId> {
        let first = *self.0.entry(Self::hash(position, variant, text)).or_insert(id);
        (first != id).then_some(first)
    }

    /// Replaces the holder that was seen before.
    fn replace(&mut self, position: usize, variant: u16, text: &str, id: ResourceId) {
        self.0.insert(Self::hash(position, variant, text), id);
    }

    fn hash(position: usize, variant: u16, text: &str) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(position as u64).to_le_bytes());
        hasher.update(&variant.to_le_bytes());
        hasher.update(text.as_bytes());
        let mut hash = [0; 16];
        hasher.finalize_xof().fill(&mut hash);
        hash
    }
}
