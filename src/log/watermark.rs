//! The number of the newest durable record, and the way for threads to wait for newer ones.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The number of the newest durable record.
#[derive(Debug, Default)]
pub(super) struct Watermark {
    number: Mutex<u64>,
    raised: Condvar,
}

impl Watermark {
    pub(super) fn new(number: u64) -> Watermark {
        Watermark { number: Mutex::new(number), raised: Condvar::new() }
    }

    pub(super) fn get(&self) -> u64 {
        *self.number.lock()
    }

    pub(super) fn set(&self, number: u64) {
        *self.number.lock() = number;
        self.raised.notify_all();
    }

    /// Blocks until the watermark exceeds `number` or the timeout expires. Returns the watermark.
    pub(super) fn wait(&self, number: u64, timeout: Duration) -> u64 {
        let deadline = Instant::now() + timeout;
        let mut current = self.number.lock();
        while *current <= number {
            if self.raised.wait_until(&mut current, deadline).timed_out() {
                break;
            }
        }
        *current
    }
}
