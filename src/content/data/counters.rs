//! What the committer counts, for whoever watches the server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Groups of writes that were appended to the log.
    pub(crate) groups: AtomicU64,
    /// Commands that were answered in them.
    pub(crate) commands: AtomicU64,
    /// How long appending and syncing took, in nanoseconds.
    pub(crate) commit_nanos: AtomicU64,
}

/// Figures of the content at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentFigures {
    /// Blueprints.
    pub blueprints: u64,
    /// Resources of all of them.
    pub resources: u64,
    /// Groups of writes that were made durable since the start.
    pub groups: u64,
    /// Commands that were answered in them.
    pub commands: u64,
    /// How long appending and syncing them took.
    pub commit_time: Duration,
}

/// What there is, for whoever runs the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentStatus {
    /// The number of the last record of the log that readers see.
    pub number: u64,
    /// The slug of each blueprint, and how many resources it has.
    pub blueprints: Vec<(String, u64)>,
    /// How many tokens are stored.
    pub tokens: usize,
    /// How many members there are.
    pub members: usize,
}

impl Counters {
    /// The counts, with how much there is.
    pub(crate) fn figures(&self, blueprints: u64, resources: u64) -> ContentFigures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (groups, commands) = (of(&self.groups), of(&self.commands));
        ContentFigures {
            blueprints,
            resources,
            groups,
            commands,
            commit_time: Duration::from_nanos(of(&self.commit_nanos)),
        }
    }
}
