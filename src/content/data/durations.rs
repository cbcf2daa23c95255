//! A histogram of durations that many threads add to. Must not know the measured operations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in seconds: from a sync of a fast disk to one that hangs.
pub const BOUNDS: [f64; 13] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// The durations since the start.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// The number of durations in each bucket. The last bucket has those that exceed all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// The durations up to one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct DurationFigures {
    /// The number of durations in each bucket: those up to each of the [`BOUNDS`] and above the one before, then the
    /// longer ones.
    pub buckets: [u64; BOUNDS.len() + 1],
    /// The sum of all durations.
    pub sum: Duration,
}

impl Durations {
    pub(crate) fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> DurationFigures {
        DurationFigures {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket].load(Ordering::Relaxed)),
            sum: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
        }
    }
}

impl DurationFigures {
    /// Returns the number of all durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}
