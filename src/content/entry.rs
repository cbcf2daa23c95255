//! What an index holds of a stored resource.
//!
//! While a blueprint is being changed, its index also has the columns of fields that are re-typed, beside those of
//! today, so that they are filled when the change comes into force.

use serde_json::Value;

use crate::content::read;
use crate::content::record::Meta;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::projection;
use crate::store::{Key, Store};

/// A blueprint, and the one that takes its place.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    /// In force.
    pub(crate) blueprint: &'a Blueprint,
    /// To come, if it is being changed.
    pub(crate) next: Option<&'a Blueprint>,
}

impl Shape<'_> {
    /// The columns and variants of the index.
    pub(crate) fn schema(&self) -> bindery_index::Schema {
        let mut schema = projection::schema(self.blueprint);
        if let Some(next) = self.next {
            for column in projection::schema(next).columns {
                if schema.columns.iter().all(|known| known.id != column.id) {
                    schema.columns.push(column);
                }
            }
        }
        schema
    }

    /// The columns of fields that are being re-typed, for a copy's values.
    pub(crate) fn added_columns(&self, values: &[Value]) -> Vec<(bindery_index::ColumnId, bindery_index::Value)> {
        let retyped = self.next.into_iter().flat_map(|next| self.blueprint.retyped(next));
        retyped.flat_map(|(place, field)| projection::project_field(field, &values[place])).collect()
    }

    /// What brings the index to what the store holds of a resource.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn current_change(&self, store: &Store, id: ResourceId) -> Result<bindery_index::IndexOp> {
        let key = Key::Resource { blueprint: self.blueprint.number, id };
        match store.get(&key).map_err(Error::internal)? {
            Some(bytes) => self.change(store, id, &Meta::decode(&bytes).map_err(Error::internal)?),
            None => Ok(bindery_index::IndexOp::Delete { id: id.as_u128() }),
        }
    }

    /// The same for a resource whose meta record is read already.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn change(&self, store: &Store, id: ResourceId, meta: &Meta) -> Result<bindery_index::IndexOp> {
        let kept = self.blueprint.variant_numbers();
        let mut copies = Vec::with_capacity(meta.copies.len());
        for (variant, number) in meta.copies.iter().copied().filter(|(variant, _)| kept.contains(variant)) {
            let values = read::copy_values(store, self.blueprint, id, variant, number)?;
            let mut columns = projection::project(self.blueprint, values.iter().enumerate());
            columns.extend(self.added_columns(&values));
            copies.push((variant, Some(bindery_index::Copy { number, values: columns })));
        }
        Ok(bindery_index::IndexOp::Put { id: id.as_u128(), stamps: meta.stamps(), copies })
    }
}
