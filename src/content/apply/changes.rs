//! The effects of a transaction on the change feed: the end that readers see moves, and changes beyond the limit leave
//! the store. The log does not remove them: a start removes those that a kill left.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use bindery_store::{Key, Prefix, Store, StoreWrite};

use crate::data::changes::{ChangeGroup, ChangeNumbers};
use crate::data::feed::Feed;

/// Removal begins when this many changes more than the limit are stored.
const SLACK: u64 = 512;

/// The number of groups that are removed at a time, so that no write waits long.
const REMOVED_GROUPS: usize = 1_024;

/// Tracks the recorded changes.
pub(crate) struct ChangeKeeper {
    pub(crate) feed: Arc<Feed>,
    /// The numbers that were assigned.
    pub(crate) numbers: ChangeNumbers,
    /// The number of changes that are kept.
    kept: u64,
    /// The least number of recorded changes that were removed.
    removed: u64,
    /// Groups that are applied, and that readers do not see yet.
    unpublished: Vec<ChangeGroup>,
}

impl ChangeKeeper {
    /// Creates the keeper of a store whose changes have these numbers, after `removed` changes were removed.
    pub(crate) fn new(feed: Arc<Feed>, numbers: ChangeNumbers, kept: u64, removed: u64) -> ChangeKeeper {
        ChangeKeeper { feed, numbers, kept, removed, unpublished: Vec::new() }
    }

    /// Notes the changes that a transaction recorded.
    pub(super) fn note(&mut self, first_of_epoch: Option<u64>, groups: Vec<ChangeGroup>) {
        self.numbers.first_of_epoch = first_of_epoch.unwrap_or(self.numbers.first_of_epoch);
        groups.iter().for_each(|group| self.numbers.note(group));
        self.unpublished.extend(groups);
    }

    /// Makes the noted changes visible to readers. The state that includes them must be published before.
    pub(super) fn publish(&mut self, store: &Store) -> Result<()> {
        self.feed.publish(std::mem::take(&mut self.unpublished));
        self.remove_old(store).map(drop)
    }

    /// Removes all changes beyond the limit, for example after a kill or with a smaller limit.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn clean(&mut self, store: &Store) -> Result<()> {
        while self.remove_old(store)? {}
        Ok(())
    }

    /// Removes some of the groups that are not kept. Returns whether there were any.
    fn remove_old(&mut self, store: &Store) -> Result<bool> {
        if self.numbers.recorded - self.removed <= self.kept.saturating_add(SLACK) {
            return Ok(false);
        }
        let end = self.numbers.recorded - self.kept;
        let mut removals = Vec::new();
        for entry in store.scan(Prefix::Changes).take(REMOVED_GROUPS) {
            let (key, bytes) = entry.map_err(Error::internal)?;
            let group = ChangeGroup::decode(&bytes)?;
            // The last group always stays, because the next numbers follow on it.
            if group.recorded > end || key == Key::Changes(self.numbers.last) {
                self.removed = self.removed.max(group.recorded - group.changes.len() as u64);
                break;
            }
            self.removed = group.recorded;
            removals.push(StoreWrite::delete(key));
        }
        store.apply(store.applied(), &removals).map_err(Error::internal)?;
        Ok(!removals.is_empty())
    }
}
