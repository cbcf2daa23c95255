//! The progress of opening a data folder, for whoever waits for it. Must not know what is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The progress in thousandths. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU32>);

impl Progress {
    /// From 0 to 1.
    pub fn get(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / 1000.0
    }

    /// Notes that so many of all steps of a part are done, which begins and ends at these thousandths. It never goes back.
    pub(crate) fn set(&self, (begin, end): (u32, u32), done: u64, all: u64) {
        let part = (u64::from(end - begin) * done.min(all)).checked_div(all).unwrap_or_default();
        self.0.fetch_max(begin + u32::try_from(part).unwrap_or_default(), Ordering::Relaxed);
    }
}
