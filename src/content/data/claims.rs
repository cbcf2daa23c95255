//! Claims of unique values: a key of the store for each value, which names the resource that holds it.
//!
//! A claim is made per variant and under a number of the field. A field that becomes unique again gets another number,
//! so older claims have no effect.

use std::collections::BTreeSet;

use bindery_model::blueprint::Blueprint;
use bindery_model::value::unique_text;
use bindery_store::Key;
use serde_json::Value;

/// A field whose values are claimed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimedField {
    /// Its position among the fields of the blueprint in force.
    pub(crate) position: usize,
    /// The number that its values are claimed under.
    pub(crate) claims: u32,
}

impl ClaimedField {
    /// Returns the unique fields of a blueprint.
    pub(crate) fn of(blueprint: &Blueprint) -> Vec<ClaimedField> {
        let fields = blueprint.fields.iter().enumerate();
        fields.filter_map(|(position, field)| Some(ClaimedField { position, claims: field.claims? })).collect()
    }

    /// Returns the fields that become unique when `next` takes the place of `current`.
    pub(crate) fn becoming(current: &Blueprint, next: &Blueprint) -> Vec<ClaimedField> {
        let fields = current.newly_unique(next).into_iter();
        fields.map(|(position, claims)| ClaimedField { position, claims }).collect()
    }

    /// Returns the claim of this field's value among the values of a copy; none for null and `""`.
    pub(crate) fn claim(&self, blueprint: u32, variant: u16, values: &[Value]) -> Option<Key> {
        Some(self.key(blueprint, variant, unique_text(&values[self.position])?))
    }

    /// Returns the claim of a value.
    pub(crate) fn key(&self, blueprint: u32, variant: u16, text: String) -> Key {
        Key::Unique { blueprint, claims: self.claims, variant, value: text.into() }
    }
}

/// Returns the numbers that a blueprint claims values under, and those of the blueprint that its change leads to.
pub(crate) fn numbers_in_use(blueprint: &Blueprint, next: Option<&Blueprint>) -> BTreeSet<u32> {
    let blueprints = [Some(blueprint), next].into_iter().flatten();
    blueprints.flat_map(|blueprint| &blueprint.fields).filter_map(|field| field.claims).collect()
}
