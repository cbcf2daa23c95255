//! A histogram of durations that many threads add to. Must not know what is measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in seconds: from a sync of a fast disk to one that hangs.
pub const BOUNDS: [f64; 13] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// The durations since the start.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// One for each bound, and one for what is longer than all.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// The durations up to one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct DurationFigures {
    /// The number in each bucket and in no smaller one: those of [`BOUNDS`], then what is longer.
    pub buckets: [u64; BOUNDS.len() + 1],
    /// All of them together.
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
    /// The number of them.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}
