//! The slots that match a filter. It knows no filters.

use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::version::Version;

/// The slots of one version that match a filter.
#[derive(Debug, Clone)]
pub(super) enum Matches {
    /// Every live slot.
    All,
    Some(Arc<Bitmap>),
}

impl Matches {
    pub(super) fn none() -> Matches {
        Matches::Some(Arc::default())
    }

    /// Returns the number of slots.
    pub(super) fn count(&self, version: &Version) -> usize {
        match self {
            Matches::All => version.total,
            Matches::Some(slots) => slots.count(),
        }
    }

    /// Returns the slots as a bitmap, which is shared with the matches unless these are all slots.
    pub(super) fn to_bitmap(&self, version: &Version) -> Arc<Bitmap> {
        match self {
            Matches::All => Arc::new(version.live_slots.to_bitmap()),
            Matches::Some(slots) => Arc::clone(slots),
        }
    }

    /// Returns the slots that are in both.
    pub(super) fn and(self, other: &Matches) -> Matches {
        match (self, other) {
            (Matches::All, other) => other.clone(),
            (matches, Matches::All) => matches,
            (Matches::Some(mut slots), Matches::Some(other)) => {
                Arc::make_mut(&mut slots).intersect(other);
                Matches::Some(slots)
            }
        }
    }

    /// Returns the slots that are not in the other.
    pub(super) fn and_not(self, other: &Matches, version: &Version) -> Matches {
        match other {
            Matches::All => Matches::none(),
            // Most often there are no drafts to leave out.
            Matches::Some(other) if other.is_empty() => self,
            Matches::Some(other) => {
                let mut slots = match self {
                    Matches::All => Arc::new(version.live_slots.to_bitmap()),
                    Matches::Some(slots) => slots,
                };
                Arc::make_mut(&mut slots).subtract(other);
                Matches::Some(slots)
            }
        }
    }
}
