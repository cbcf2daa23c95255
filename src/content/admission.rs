//! Limits the memory of bodies while they are parsed, prepared, waiting for the committer, and answered.
//!
//! A body may take a hundred times its size in memory, and many may arrive at once. So each is admitted with the memory
//! that it will need, and waits while other bodies hold it. Must not know the contents of a body, only its size.

use std::sync::Arc;
use std::time::Duration;

use bindery_model::error::{Code, Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Bodies from this size on are read on a thread that may block: parsing and sanitizing them takes milliseconds.
pub(crate) const LARGE_BODY_BYTES: usize = 32 << 10;

/// The maximum number of bytes for imports and all bodies that expand to more than [`SMALL_BYTES`], and for all others.
const LARGE_POOL_BYTES: usize = 256 << 20;
const SMALL_POOL_BYTES: usize = 64 << 20;

/// The maximum number of bytes for the lines of all imports that wait for later lines.
const WAITING_POOL_BYTES: usize = 256 << 20;

/// Bodies up to this expansion never wait for larger ones.
const SMALL_BYTES: usize = 1 << 20;

/// The unit in which memory is counted.
const UNIT_BYTES: usize = 1 << 10;

/// The time that a body waits for memory.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Memory for bodies.
pub(crate) struct Admission {
    small: Pool,
    large: Pool,
    waiting: Pool,
    max_wait: Duration,
}

struct Pool {
    units: Arc<Semaphore>,
    size: usize,
}

/// Memory that is taken until this is dropped.
#[must_use]
pub(crate) struct MemoryPermit(
    #[expect(dead_code, reason = "gives the memory back when it is dropped")] OwnedSemaphorePermit,
);

impl Default for Admission {
    fn default() -> Self {
        Admission::waiting(MAX_WAIT)
    }
}

impl Admission {
    fn waiting(max_wait: Duration) -> Admission {
        Admission {
            small: Pool::of(SMALL_POOL_BYTES),
            large: Pool::of(LARGE_POOL_BYTES),
            waiting: Pool::of(WAITING_POOL_BYTES),
            max_wait,
        }
    }

    /// Reserves `bytes` of memory. Callers get it in the order in which they asked, and wait up to [`MAX_WAIT`] for it.
    /// A body that needs more than the pool has reserves the whole pool.
    ///
    /// # Errors
    /// `OVERLOADED` if the memory did not become free in time.
    pub(crate) async fn admit(&self, bytes: usize) -> Result<MemoryPermit> {
        let pool = if bytes <= SMALL_BYTES { &self.small } else { &self.large };
        self.admit_from(pool, bytes).await
    }

    /// Like [`Admission::admit`], for lines of an import. They never take the memory of small bodies: an import has
    /// many groups of lines under way, and other writes must not wait for them.
    ///
    /// # Errors
    /// The errors of [`Admission::admit`].
    pub(crate) async fn admit_lines(&self, bytes: usize) -> Result<MemoryPermit> {
        self.admit_from(&self.large, bytes).await
    }

    /// Like [`Admission::admit_lines`], but does not wait: returns `None` if the memory is not free.
    pub(crate) fn try_admit_lines(&self, bytes: usize) -> Option<MemoryPermit> {
        self.large.try_take(bytes)
    }

    async fn admit_from(&self, pool: &Pool, bytes: usize) -> Result<MemoryPermit> {
        let units = pool.units_of(bytes);
        let acquired = timeout(self.max_wait, Arc::clone(&pool.units).acquire_many_owned(units)).await;
        match acquired {
            Ok(permit) => permit.map(MemoryPermit).map_err(Error::internal),
            Err(_) => {
                let text = "too many large bodies are being handled; nothing was applied; try again in a moment";
                Err(Error::new(Code::Overloaded, text))
            }
        }
    }

    /// Reserves memory for a line of an import that waits for a later line. Returns `None` if the memory is not free.
    pub(crate) fn try_wait(&self, bytes: usize) -> Option<MemoryPermit> {
        self.waiting.try_take(bytes)
    }
}

impl Pool {
    fn of(bytes: usize) -> Pool {
        let size = bytes / UNIT_BYTES;
        Pool { units: Arc::new(Semaphore::new(size)), size }
    }

    fn try_take(&self, bytes: usize) -> Option<MemoryPermit> {
        Arc::clone(&self.units).try_acquire_many_owned(self.units_of(bytes)).ok().map(MemoryPermit)
    }

    fn units_of(&self, bytes: usize) -> u32 {
        bytes.div_ceil(UNIT_BYTES).min(self.size) as u32
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn bodies_wait_for_memory_and_are_refused_after_a_while() {
        let admission = Admission::waiting(Duration::from_millis(50));
        let half = LARGE_POOL_BYTES / 2;
        let first = admission.admit(half).await.unwrap();
        let second = admission.admit(half).await.unwrap();
        assert!(admission.try_admit_lines(1).is_none());
        assert_eq!(admission.admit(half).await.map(drop).unwrap_err().code, Code::Overloaded);
        drop(first);
        drop(admission.admit(half).await.unwrap());
        drop(second);
        drop(admission.admit(usize::MAX).await.unwrap());
    }

    #[tokio::test]
    async fn small_bodies_do_not_wait_for_large_ones() {
        let admission = Admission::default();
        let _all = admission.admit(LARGE_POOL_BYTES).await.unwrap();
        for _ in 0..SMALL_POOL_BYTES / SMALL_BYTES {
            drop(admission.admit(SMALL_BYTES).await.unwrap());
        }
    }
}
