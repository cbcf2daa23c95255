//! The effects of a transaction on the change feed: the end that readers see moves, and changes beyond what is kept
//! leave the store. They are not removed by the log: a start removes what a kill left.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use bindery_store::{Key, Prefix, Store, StoreWrite};

use crate::data::changes::{ChangeGroup, ChangeNumbers};
use crate::data::feed::Feed;

/// The number of changes beyond those to keep at which some are removed.
const SLACK: u64 = 512;

/// The number of groups that are removed at a time, so that no write waits long.
const REMOVED_GROUPS: usize = 1_024;

/// Tracks the recorded changes.
pub(crate) struct ChangeKeeper {
    feed: Arc<Feed>,
    /// The numbers that were given.
    pub(crate) numbers: ChangeNumbers,
    /// The number of changes that are kept.
    kept: u64,
    /// The least number of recorded changes that were removed.
    removed: u64,
    /// Groups that are applied, and that readers do not see yet.
    unpublished: Vec<ChangeGroup>,
}

impl ChangeKeeper {
    /// For a store whose changes have these numbers, and of which `removed` changes were removed before.
    pub(crate) fn new(feed: Arc<Feed>, numbers: ChangeNumbers, kept: u64, removed: u64) -> ChangeKeeper {
        ChangeKeeper { feed, numbers, kept, removed, unpublished: Vec::new() }
    }

    /// Notes what a transaction recorded.
    pub(super) fn note(&mut self, first_of_epoch: Option<u64>, groups: Vec<ChangeGroup>) {
        self.numbers.first_of_epoch = first_of_epoch.unwrap_or(self.numbers.first_of_epoch);
        groups.iter().for_each(|group| self.numbers.note(group));
        self.unpublished.extend(groups);
    }

    /// Shows readers what was noted. The state that includes it must be published.
    pub(super) fn publish(&mut self, store: &Store) -> Result<()> {
        self.feed.publish(std::mem::take(&mut self.unpublished));
        self.remove_old(store).map(drop)
    }

    /// Removes everything that is not kept: what a kill left, or what was kept by another setting.
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
            // The last group stays: the next numbers follow its own.
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
