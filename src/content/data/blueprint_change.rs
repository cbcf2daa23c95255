//! A change of a blueprint that is under way: the present blueprint, the next one, and the data that each stored
//! resource needs.
//!
//! Pure data and derivations. The thread that carries a change through is in `blueprint_change`.

use std::sync::Arc;

use bindery_model::blueprint::{Blueprint, render};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_store::Key;

use crate::data::claims::ClaimedField;
use crate::data::index_mapping::IndexMapping;
use crate::data::lookup::Lookup;
use crate::data::records::{CopyVersion, Meta};

const FORMAT: u8 = 2;

/// Names one change of a blueprint, so that a step of a change that is over is not taken for one of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChangeId {
    /// The blueprint's number.
    pub(crate) blueprint: u32,
    /// The number of the transaction that began the change.
    pub(crate) number: u64,
}

/// A blueprint that is being changed.
#[derive(Debug)]
pub(crate) struct BlueprintChange {
    /// The blueprint that is in force until the change takes effect.
    pub(crate) current: Arc<Blueprint>,
    /// The blueprint that is in force after the change.
    pub(crate) next: Arc<Blueprint>,
    /// True if variants that hold values may be removed.
    pub(crate) force: bool,
    /// The number of the transaction that began the change; 0 for one that has not begun.
    pub(crate) number: u64,
}

/// The writes that the changed blueprint needs for one stored resource.
#[derive(Debug)]
pub(crate) struct Backfill {
    /// The resource.
    pub(crate) id: ResourceId,
    /// The version of the resource that the rest was made from.
    pub(crate) version: u64,
    /// The copies that the rest was made from. A working copy changes without the version.
    pub(crate) copies: Vec<CopyVersion>,
    /// The claims of its values that become unique.
    pub(crate) claims: Vec<Key>,
    /// The operation that fills the new columns, where a field is re-typed.
    pub(crate) index_op: Option<bindery_index::IndexOp>,
}

impl BlueprintChange {
    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT, u8::from(self.force)];
        out.extend(self.number.to_le_bytes());
        out.extend(render::encode(&self.next));
        out
    }

    /// Reads the stored form of a change of this blueprint.
    pub(crate) fn decode(current: Arc<Blueprint>, bytes: &[u8]) -> Result<BlueprintChange, String> {
        let unreadable = || "a blueprint change has a format that this version cannot read".to_owned();
        let [FORMAT, force, rest @ ..] = bytes else { return Err(unreadable()) };
        let (number, next) = rest.split_first_chunk().ok_or_else(unreadable)?;
        let next = Arc::new(render::decode(next)?);
        Ok(BlueprintChange { current, next, force: *force != 0, number: u64::from_le_bytes(*number) })
    }

    /// Returns its name.
    pub(crate) fn id(&self) -> ChangeId {
        ChangeId { blueprint: self.current.number, number: self.number }
    }

    /// Returns whether a blueprint is the one that the change has brought into force, which settles the last details.
    pub(crate) fn has_led_to(&self, blueprint: &Blueprint) -> bool {
        let (updated_at, filled) = (blueprint.updated_at, blueprint.filled);
        *blueprint == Blueprint { updated_at, filled, ..Blueprint::clone(&self.next) }
    }

    /// Returns the columns of the blueprint in force and of the changed one.
    pub(crate) fn mapping(&self) -> IndexMapping<'_> {
        IndexMapping { blueprint: &self.current, next: Some(&self.next) }
    }

    /// Returns whether a field is re-typed.
    pub(crate) fn retypes(&self) -> bool {
        self.current.retyped(&self.next).next().is_some()
    }

    /// Returns the fields that become unique.
    pub(crate) fn becoming_unique(&self) -> Vec<ClaimedField> {
        ClaimedField::becoming(&self.current, &self.next)
    }

    /// Returns the writes that the changed blueprint needs for the resource with this meta record.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn backfill(&self, lookup: &dyn Lookup, id: ResourceId, meta: &Meta) -> Result<Backfill> {
        let claims = self.claims(lookup, id, meta)?;
        let index_op = match self.retypes() {
            true => Some(self.mapping().put(lookup, id, meta)?),
            false => None,
        };
        Ok(Backfill { id, version: meta.version, copies: meta.copies.clone(), claims, index_op })
    }

    fn claims(&self, lookup: &dyn Lookup, id: ResourceId, meta: &Meta) -> Result<Vec<Key>> {
        let fields = self.becoming_unique();
        let mut claims = Vec::new();
        if fields.is_empty() {
            return Ok(claims);
        }
        let kept = self.next.variant_numbers();
        for version in meta.copies.iter().copied().filter(|version| kept.contains(&version.variant)) {
            let values = lookup.values(&self.current, id, version)?;
            let of_copy = fields.iter().filter_map(|field| field.claim(self.current.number, version.variant, &values));
            claims.extend(of_copy);
        }
        Ok(claims)
    }
}
