//! The progress of opening a data folder, for callers that wait for it. Must not know the steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The progress in thousandths. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU32>);

impl Progress {
    /// Returns the progress from 0 to 1.
    pub fn get(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / 1000.0
    }

    /// Sets the progress of a part that spans these thousandths, of which `done` of `all` steps are done. It never goes
    /// back.
    pub(crate) fn set(&self, (begin, end): (u32, u32), done: u64, all: u64) {
        let part = (u64::from(end - begin) * done.min(all)).checked_div(all).unwrap_or_default();
        self.0.fetch_max(begin + u32::try_from(part).unwrap_or_default(), Ordering::Relaxed);
    }
}
