//! The part of a stored resource that an index holds.
//!
//! While a blueprint is being changed, its index also has the columns of fields that are re-typed, beside today's
//! columns, so that they are filled when the change comes into force.

use std::borrow::Borrow;
use std::collections::HashSet;

use bindery_index::{WORKING_UPDATED, working_variant};
use bindery_model::blueprint::Blueprint;
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_query::projection;
use serde_json::Value;

use crate::data::lookup::Lookup;
use crate::data::records::{CopyVersion, Meta};

/// The columns of a copy that are not null.
pub(crate) type Columns = Vec<(bindery_index::ColumnId, bindery_index::Value)>;

/// A blueprint, and the one that is to take its place, as their common index sees them.
#[derive(Clone, Copy)]
pub(crate) struct IndexMapping<'a> {
    /// The blueprint in force.
    pub(crate) blueprint: &'a Blueprint,
    /// The next blueprint, if the blueprint is being changed.
    pub(crate) next: Option<&'a Blueprint>,
}

impl IndexMapping<'_> {
    /// Returns the columns and variants of the index.
    pub(crate) fn schema(&self) -> bindery_index::Schema {
        let mut schema = projection::schema(self.blueprint);
        if let Some(next) = self.next {
            let known: HashSet<_> = schema.columns.iter().map(|column| column.id).collect();
            let added = projection::schema(next).columns.into_iter().filter(|column| !known.contains(&column.id));
            schema.columns.extend(added);
        }
        schema
    }

    /// Returns the columns of a copy with these values.
    pub(crate) fn columns(&self, values: &[Value]) -> Columns {
        let mut columns = projection::project(self.blueprint, values.iter().enumerate());
        columns.extend(self.retyped_columns(values));
        columns
    }

    /// Returns the columns that only the changed blueprint has, of a copy with these values.
    pub(crate) fn retyped_columns(&self, values: &[impl Borrow<Value>]) -> Columns {
        let retyped = self.next.into_iter().flat_map(|next| self.blueprint.retyped(next));
        retyped.flat_map(|(position, field)| projection::project_field(field, values[position].borrow())).collect()
    }

    /// Returns the operation that makes the index match the stored resource.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn current(&self, lookup: &dyn Lookup, id: ResourceId) -> Result<bindery_index::IndexOp> {
        match lookup.meta(self.blueprint.number, id)? {
            Some(meta) => self.put(lookup, id, &meta),
            None => Ok(bindery_index::IndexOp::Delete { id: id.as_u128() }),
        }
    }

    /// Returns the operation that puts a resource with all its copies, and removes those that the index may still have
    /// of a time before the resource was deleted and imported again.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn put(&self, lookup: &dyn Lookup, id: ResourceId, meta: &Meta) -> Result<bindery_index::IndexOp> {
        let mut copies = Vec::with_capacity(meta.copies.len());
        for variant in self.blueprint.variant_numbers() {
            let copy = match meta.copy(variant) {
                Some(version) => {
                    let values = self.columns(&lookup.values(self.blueprint, id, version)?);
                    Some(bindery_index::Copy { number: version.number, values })
                }
                None => None,
            };
            copies.push((variant, copy));
        }
        copies.extend(self.working_copies(lookup, id, meta, |_| true)?);
        Ok(bindery_index::IndexOp::Put { id: id.as_u128(), stamps: meta.stamps(), copies })
    }

    /// Returns the working copies of a resource as the index holds them: `None` where there is none, and nothing for
    /// those that stay as they are. `is_written` tells whether a copy of this variant number, live or working, was
    /// written.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn working_copies(
        &self,
        lookup: &dyn Lookup,
        id: ResourceId,
        meta: &Meta,
        is_written: impl Fn(u16) -> bool,
    ) -> Result<Vec<IndexedCopy>> {
        let mut copies = Vec::new();
        if !self.blueprint.working_copy {
            return Ok(copies);
        }
        for variant in self.blueprint.variant_numbers() {
            let number = working_variant(variant);
            match meta.copy(number) {
                None => copies.push((number, None)),
                Some(version) if is_written(variant) || is_written(number) => {
                    let values = self.working_columns(lookup, id, meta.copy(variant), version)?;
                    copies.push((number, Some(bindery_index::Copy { number: version.number, values })));
                }
                Some(_) => {}
            }
        }
        Ok(copies)
    }

    /// Returns the columns of a working copy: those of its values, and the time of its last change.
    fn working_columns(
        &self,
        lookup: &dyn Lookup,
        id: ResourceId,
        live: Option<CopyVersion>,
        version: CopyVersion,
    ) -> Result<Columns> {
        let mut values = match live {
            Some(live) => lookup.values(self.blueprint, id, live)?,
            None => vec![Value::Null; self.blueprint.fields.len()],
        };
        // The changed blueprint will not have the values of working copies in fields that are re-typed.
        let retyped = self.retyped_columns(&values);
        let working = lookup.working(self.blueprint, id, version)?;
        working.apply_to(self.blueprint, &mut values);
        let mut columns = projection::project(self.blueprint, values.iter().enumerate());
        columns.extend(retyped);
        let updated = bindery_index::Value::Instant { micros: working.updated.saturating_mul(1_000), text: "".into() };
        columns.push((WORKING_UPDATED, updated));
        Ok(columns)
    }
}

/// A copy of a variant as an operation on the index has it: `None` removes it.
pub(crate) type IndexedCopy = (u16, Option<bindery_index::Copy>);

/// Returns the operation that puts a resource, these of its copies, and these working copies; the others stay as they
/// are.
pub(crate) fn put_op(
    id: ResourceId,
    meta: &Meta,
    copies: Vec<(CopyVersion, Columns)>,
    working: Vec<IndexedCopy>,
) -> bindery_index::IndexOp {
    let copies = copies
        .into_iter()
        .map(|(version, values)| (version.variant, Some(bindery_index::Copy { number: version.number, values })));
    let copies = copies.chain(working).collect();
    bindery_index::IndexOp::Put { id: id.as_u128(), stamps: meta.stamps(), copies }
}
