//! The versions of an index that are still in use. It does not know what a version holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The numbers of the versions in use, each with the number of [`Pin`]s that hold it.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    counts: Mutex<BTreeMap<u64, usize>>,
}

/// Keeps a version in use until it is dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    version: u64,
    pins: Arc<Pins>,
}

impl Pins {
    pub(crate) fn pin(pins: &Arc<Pins>, version: u64) -> Pin {
        *pins.counts.lock().entry(version).or_default() += 1;
        Pin { version, pins: Arc::clone(pins) }
    }

    /// Returns the number of versions that are in use.
    pub(crate) fn count(&self) -> usize {
        self.counts.lock().len()
    }

    /// Returns the oldest version in use; `u64::MAX` if none is.
    pub(crate) fn oldest(&self) -> u64 {
        self.counts.lock().first_key_value().map_or(u64::MAX, |(&version, _)| version)
    }
}

impl Pin {
    pub(crate) fn pins(&self) -> Arc<Pins> {
        Arc::clone(&self.pins)
    }
}

impl Clone for Pin {
    fn clone(&self) -> Pin {
        Pins::pin(&self.pins, self.version)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut counts = self.pins.counts.lock();
        if let Some(count) = counts.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.version);
            }
        }
    }
}
