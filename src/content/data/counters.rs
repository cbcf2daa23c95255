//! The counters of the committer, for the operator of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::data::durations::{DurationFigures, Durations};

/// The counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Commands that were answered in groups.
    pub(crate) commands: AtomicU64,
    /// Commands that wait for the committer at the moment.
    pub(crate) queued: AtomicU64,
    /// The times that commands waited for the committer.
    pub(crate) queue_time: Durations,
    /// The times of appending and syncing each group.
    pub(crate) sync_time: Durations,
    /// Merges of the runs of all indexes.
    pub(crate) merges: Arc<AtomicU64>,
    /// The last sign of life of the committer while it works; `None` while it waits for commands.
    pub(crate) working_since: Mutex<Option<Instant>>,
}

/// Figures of the content at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentFigures {
    /// Blueprints.
    pub blueprints: u64,
    /// Resources of all of them.
    pub resources: u64,
    /// Versions of all indexes that are in use: one for each index, and those that reads, exports and checkpoints hold.
    pub snapshots: u64,
    /// Commands that were answered since the start.
    pub commands: u64,
    /// Commands that wait for the committer.
    pub queued: u64,
    /// The times that commands waited for the committer.
    pub queue_time: DurationFigures,
    /// The times of appending and syncing each group of writes.
    pub sync_time: DurationFigures,
    /// Merges of the indexes' runs since the start.
    pub merges: u64,
}

/// The status of the content, for the operator of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentStatus {
    /// The number of the last record of the log that readers see.
    pub number: u64,
    /// The slug of each blueprint, with the number of its resources.
    pub blueprints: Vec<(String, u64)>,
    /// The number of tokens that are stored.
    pub tokens: usize,
    /// The number of members.
    pub members: usize,
}

impl Counters {
    /// Notes that the committer works, or waits for commands.
    pub(crate) fn note_working(&self, works: bool) {
        *self.working_since.lock() = works.then(Instant::now);
    }

    /// Returns for how long the committer has worked without a sign of life, such as at a disk that does not answer.
    pub(crate) fn stuck_for(&self) -> Duration {
        self.working_since.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns the figures: the counts, and the given amounts of data.
    pub(crate) fn figures(&self, blueprints: u64, resources: u64, snapshots: u64) -> ContentFigures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ContentFigures {
            blueprints,
            resources,
            snapshots,
            commands: of(&self.commands),
            queued: of(&self.queued),
            queue_time: self.queue_time.figures(),
            sync_time: self.sync_time.figures(),
            merges: of(&self.merges),
        }
    }
}
