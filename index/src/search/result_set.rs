//! A set of resources without an order. It knows no pages and no sort keys.

use std::sync::Arc;

use super::snapshot::Snapshot;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Filter, Hit};
use crate::schema::VariantNumber;

/// The resources of a snapshot that a search found, unordered.
#[derive(Debug, Clone)]
pub struct ResultSet {
    snapshot: Snapshot,
    slots: Arc<Bitmap>,
}

impl Snapshot {
    /// Returns the resources that at least one of the filters holds for, each in its variant.
    ///
    /// Fails if the index's files cannot be read or are damaged, and with [`Error::Interrupted`] soon after the
    /// interrupt ends it.
    pub fn select_any(
        &self,
        filters: &[(VariantNumber, Filter)],
        interrupt: &Interrupt<'_>,
    ) -> Result<ResultSet, Error> {
        let select = || {
            let mut slots = Bitmap::default();
            for (variant, filter) in filters {
                let found = self.evaluator(*variant, interrupt).select(filter)?;
                slots.union(&found.to_bitmap(&self.version));
            }
            Ok(ResultSet { snapshot: self.clone(), slots: Arc::new(slots) })
        };
        self.sound(select())
    }
}

impl ResultSet {
    /// Returns their number.
    pub fn total(&self) -> u64 {
        self.slots.count() as u64
    }

    /// Returns whether the resource with this id is among them.
    pub fn contains(&self, id: u128) -> bool {
        self.snapshot.get(id).is_some_and(|hit| self.slots.contains(hit.slot))
    }

    /// Returns the resources with the lowest ids, ascending, at most `limit`.
    pub fn first(&self, limit: usize) -> Vec<Hit> {
        let mut found: Vec<(u128, u32)> =
            self.slots.iter().map(|slot| (self.snapshot.version.rows.get(slot).id, slot)).collect();
        if found.len() > limit {
            found.select_nth_unstable(limit);
            found.truncate(limit);
        }
        found.sort_unstable();
        found.into_iter().map(|(_, slot)| self.snapshot.version.hit(slot)).collect()
    }
}
