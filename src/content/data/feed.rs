//! The end of the change feed in memory: the newest changes, and the readers that wait for more. Must not know tokens.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use crate::data::changes::ChangeGroup;

/// The number of changes that are kept in memory. Reads from further back go to the store.
const RECENT_CHANGES: usize = 16_384;

/// The end of the feed. Readers see changes only up to it. It moves after the state that includes the changes is
/// published.
pub(crate) struct Feed {
    end: watch::Sender<FeedEnd>,
    recent: RwLock<RecentChanges>,
}

/// The position at which the feed ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedEnd {
    /// The number of the last change.
    pub last: u64,
    /// True if the server is stopping: waiting readers are woken.
    pub is_stopping: bool,
}

#[derive(Default)]
struct RecentChanges {
    groups: VecDeque<Arc<ChangeGroup>>,
    n_changes: usize,
}

impl Feed {
    /// Creates a feed that ends at this number.
    pub(crate) fn new(last: u64) -> Feed {
        let (end, _) = watch::channel(FeedEnd { last, is_stopping: false });
        Feed { end, recent: RwLock::default() }
    }

    /// Adds groups and wakes all waiters.
    pub(crate) fn publish(&self, groups: Vec<ChangeGroup>) {
        let Some(last) = groups.last().map(|group| group.last) else { return };
        {
            let mut recent = self.recent.write();
            for group in groups {
                recent.n_changes += group.changes.len();
                recent.groups.push_back(Arc::new(group));
            }
            while recent.n_changes > RECENT_CHANGES
                && let Some(oldest) = recent.groups.pop_front()
            {
                recent.n_changes -= oldest.changes.len();
            }
        }
        self.end.send_modify(|end| end.last = last);
    }

    /// Wakes all waiters, because the server stops.
    pub(crate) fn stop(&self) {
        self.end.send_modify(|end| end.is_stopping = true);
    }

    /// Returns the current end.
    pub(crate) fn end(&self) -> FeedEnd {
        *self.end.borrow()
    }

    /// Returns a receiver of the current end and of every later one.
    pub(crate) fn watch(&self) -> watch::Receiver<FeedEnd> {
        self.end.subscribe()
    }

    /// Returns the groups that end after a number, if all of them are in memory.
    pub(crate) fn recent_after(&self, number: u64) -> Option<Vec<Arc<ChangeGroup>>> {
        let recent = self.recent.read();
        recent.groups.front().filter(|oldest| oldest.previous <= number)?;
        let seen = recent.groups.partition_point(|group| group.last <= number);
        Some(recent.groups.range(seen..).cloned().collect())
    }
}
